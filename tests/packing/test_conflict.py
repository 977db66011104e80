"""What stands in each other's way: the smallest set, and raises that are enough and no more."""

import random
from collections import Counter
from dataclasses import replace
from itertools import combinations

import pytest

from planner.errors import InfeasibleError
from planner.packing import conflict, solve
from planner.packing.conflict import conflicts_of
from planner.packing.constraints import conditions_of
from planner.packing.problem import SpendLimit
from tests.packing.conftest import translated
from tests.packing.draws import draw

BUY = 100_000


@pytest.fixture
def told():
    """The names of a conflict, and what would mend it."""

    def of(problem):
        found = conflicts_of(translated(problem))
        assert found is not None
        remedies = [[one.mended(more) for one, more in raises] for raises in found.remedies]
        return [one.said for each in found.every for one in each.members], remedies

    return of


@pytest.fixture
def four_budgets(build):
    """Eight units to buy in any of four ways, each with its own budget, all of them too small."""
    pools = [build.pool(site=site) for site in "abcd"]
    supplies = [build.buy(BUY, pool=number) for number in range(4)]
    budgets = tuple(
        SpendLimit(f"capex {number}", BUY, tuple((BUY * (at == number),) for at in range(4)))
        for number in range(4)
    )
    units = build.units(8, ("h100", 8, 0, 0))
    return replace(build.problem(pools, supplies, [units]), budgets=budgets)


def test_a_conflict_of_which_little_may_be_asked_is_shrunk_till_none_can_be_left_out(
    four_budgets, told, monkeypatch
):
    usual = told(four_budgets)
    assert len(usual[0]) == 4
    monkeypatch.setattr(conflict, "_QUESTIONS", 2)
    assert told(four_budgets)[0] == usual[0]


def test_without_time_for_the_reasons_it_is_still_said_that_there_is_no_plan(
    four_budgets, monkeypatch
):
    monkeypatch.setattr(conflict, "_QUESTIONS", 2)
    monkeypatch.setattr(conflict, "_TIME_S", 0.0)
    with pytest.raises(InfeasibleError, match="no plan exists: ") as raised:
        solve(translated(four_budgets))
    assert "capex" not in raised.value.headline


def test_a_date_and_a_budget_stand_in_each_others_way(build, told):
    """What is bought comes a quarter too late; the rent until then is not paid for."""
    supplies = [build.buy(None, BUY), build.rent(BUY, BUY)]
    units = build.units(1, ("h100", 8, 0, 0), quarters=(0, 1))
    problem = build.problem([build.pool()], supplies, [units], 2)
    opex = SpendLimit("opex in total", 0, ((0, 0), (BUY, BUY)))
    named, remedies = told(replace(problem, budgets=(opex,)))
    assert named == ["the dates of offer buy-0 (from 2027Q2 on)", "opex in total ($0)"]
    assert remedies == [
        ["have offer buy-0 enter service from 2027Q1 on"],
        ["raise opex in total by $1,000, to $1,000"],
    ]


def drawn(seed):
    """Quotas, power, money, spare nodes, few offers that may come late, pins: what comes."""
    rng = random.Random(f"conflict {seed}")
    features = [one for one in ("window", "today", "power", "budget") if rng.random() < 0.5]
    problem = draw(" ".join(["quotas", *features]), seed)
    pools = (replace(pool, spare=rng.choice((0, 0, 1)), owned=1) for pool in problem.pools)
    return replace(problem, pools=tuple(pools))


def test_conflicts_agree_with_trying_everything(least_cost):
    seen: Counter[int | str] = Counter()
    for number in (1, 2, 5, 8, 10, 11, 13, 14, 29, 36, 76):
        problem = drawn(number)
        if least_cost(problem) is not None:
            continue
        translation = translated(problem)
        every = conditions_of(translation)

        def kept(asked, problem=problem, every=every):
            """Whether there is a plan where nothing but this is asked for."""
            for one in every:
                problem = problem if one in asked else one.raised(problem, None)
            return least_cost(problem) is not None

        found = conflicts_of(translation)
        assert found is not None
        apart = [one for each in found.every for one in each.members]
        assert len({one.name for one in apart}) == len(apart), f"{number}: members in common"
        assert not apart or kept([one for one in every if one not in apart]), number
        for members in (one.members for one in found.every):
            assert not kept(members), number
            fewer = [[one for one in members if one != left] for left in members]
            assert all(kept(some) for some in fewer), f"{number}: a smaller set is a conflict"
            seen[len(members)] += 1
        if apart:
            fewest = min(len(one.members) for one in found.every)
            smaller = combinations(every, fewest - 1)
            assert all(kept(some) for some in smaller), f"{number}: a smaller set is a conflict"
        seen["beside"] += len(found.every) - 1
        for raises in found.remedies:
            mended, short = problem, problem
            for one, more in raises:
                cent = one.name.startswith("spending")  # which the solver may be off by
                short = one.raised(mended, more - 1 - cent)
                mended = one.raised(mended, more)
            assert least_cost(mended) is not None, f"{number}: {raises} is not enough"
            assert least_cost(short) is None, f"{number}: {raises} is more than enough"
            seen["alone" if len(raises) == 1 else "together"] += 1
    assert all(seen[size] for size in (0, 1, 2, 3)), f"too little variety: {seen}"
    assert min(seen["alone"], seen["together"]) > 2, f"too few remedies: {seen}"
