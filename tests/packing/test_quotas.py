"""Quotas of teams: the search agrees with trying everything, and what no plan keeps is told."""

from __future__ import annotations

import random
from dataclasses import replace
from operator import ne
from typing import TYPE_CHECKING

import pytest

from planner.errors import InfeasibleError
from planner.packing import Translation
from planner.packing import solve as packed
from planner.packing.limits import Limit, SpendLimit
from planner.packing.problem import Choice, Demand, Pool, Problem, Quota, Shape, Supply
from planner.packing.solution import Status
from tests.properties.questions import draws

if TYPE_CHECKING:
    from collections.abc import Iterable

BUY = 10_000_000


def quota(*gpus: int | None, owner: str = "red", gpu_type: str | None = None) -> Quota:
    name = f"quota of {owner}" + (f" on {gpu_type}" if gpu_type else "")
    return Quota(name, owner, gpu_type, gpus)


@pytest.fixture
def few_or_many(build):
    """Six units on 4 GPUs of cheap type a, or on 2 of dear type b."""

    def problem(*quotas: Quota, copies: tuple[int, int] = (1, 1)) -> Problem:
        pools = [build.pool("a"), build.pool("b")]
        supplies = [build.buy(BUY), build.buy(5 * BUY, pool=1)]
        units = build.units(6, ("a", 4, 0, 0), ("b", 2, 0, 0), copies=copies)
        stated = build.problem(pools, supplies, [replace(units, owner="red")])
        limited: Problem = replace(stated, quotas=quotas)
        return limited

    return problem


def test_the_bound_is_what_the_terms_say_where_a_quota_costs_money(few_or_many, plan):
    solution = plan(few_or_many(quota(20)))
    terms = dict(solution.bound_terms)
    tags = 6 * solution.tags[0].cents
    assert terms["quotas of the teams"] < -1
    assert tags + sum(terms.values()) == pytest.approx(solution.bound_cents, abs=1)


def test_very_many_unlike_units_are_levelled_within_their_quotas(build, solve, faults):
    rng = random.Random(5)
    demands = []
    for number in range(330):
        small, large = rng.choice((1, 2)), rng.choice((2, 3, 4))
        units = build.units(
            1,
            ("a", large, rng.randrange(20), rng.randrange(1, 150_000)),
            ("b", small, rng.randrange(20), rng.randrange(1, 150_000)),
        )
        demands.append(replace(units, owner=("red", "blue")[number % 2]))
    pools = [build.pool("a"), build.pool("b", node=(8, 90, 900_000))]
    supplies = [build.buy(BUY), build.buy(3 * BUY, pool=1)]
    stated = build.problem(pools, supplies, demands)
    free = solve(stated, asked_gap=0.01)
    quotas = (quota(330), quota(440, owner="blue"), quota(60, owner="blue", gpu_type="b"))
    problem = replace(stated, quotas=quotas)
    assert faults(problem, free), "the quotas do not bind"
    solution = solve(problem, asked_gap=0.01)
    assert not faults(problem, solution)
    assert free.cost_cents < solution.cost_cents
    assert solution.gap < 0.02


@pytest.fixture
def told():
    """What the user is told of a problem that no plan solves; one job for each demand."""

    def raised(problem: Problem, *labels: str) -> InfeasibleError:
        members = tuple(
            tuple((f"job-{number}", unit) for unit in range(1, demand.count + 1))
            for number, demand in enumerate(problem.demands)
        )
        with pytest.raises(InfeasibleError) as caught:
            packed(Translation(problem, members, labels or ("2027Q1",)))
        return caught.value

    return raised


def test_a_quota_that_no_plan_keeps_is_named_with_the_raise_that_would_do(few_or_many, told):
    error = told(few_or_many(quota(6)))
    assert error.headline == (
        "no plan exists: the quota of red is 6 GPUs, at least 12 GPUs are needed"
    )
    assert error.remedies == ("raise the quota of red by 6 GPUs, to 12 GPUs",)


def test_the_raise_is_the_least_that_whole_units_need(build, told):
    """Four units of 3 GPUs: 8 is two short of a third unit, and four need 12."""
    units = replace(build.units(4, ("h100", 3, 0, 0)), owner="red")
    problem = build.problem([build.pool()], [build.buy(BUY)], [units])
    error = told(replace(problem, quotas=(quota(8),)))
    assert error.remedies == ("raise the quota of red by 4 GPUs, to 12 GPUs",)


def test_two_quotas_too_low_are_raised_together(build, told):
    red = replace(build.units(2, ("h100", 8, 0, 0)), owner="red")
    blue = replace(red, owner="blue")
    problem = build.problem([build.pool()], [build.buy(BUY)], [red, blue])
    error = told(replace(problem, quotas=(quota(8), quota(10, owner="blue"))))
    assert error.headline.endswith("the quota of red is 8 GPUs, at least 16 GPUs are needed")
    assert error.remedies == (
        "together: raise the quota of red by 8 GPUs, to 16 GPUs, "
        "raise the quota of blue by 6 GPUs, to 16 GPUs",
    )


def test_quotas_that_hold_singly_and_not_together_say_so(few_or_many, told):
    """18 in all allow three units on type a; 4 of type b allow two units there."""
    error = told(few_or_many(quota(18), quota(4, gpu_type="b")))
    assert error.headline == (
        "no plan exists: no plan for all jobs keeps the quota of red (18 GPUs) and "
        "the quota of red on b (4 GPUs) together"
    )
    assert error.remedies == (
        "raise the quota of red by 2 GPUs, to 20 GPUs",
        "raise the quota of red on b by 2 GPUs, to 6 GPUs",
    )


def test_figures_by_quarter_are_told_and_the_hard_quarter_is_named(build, told):
    units = replace(build.units(2, ("h100", 8, 0, 0), quarters=(1,)), owner="red")
    problem = build.problem([build.pool()], [build.buy(BUY, BUY)], [units], 2)
    error = told(replace(problem, quotas=(quota(4, 8),)), "2027Q1", "2027Q2")
    assert error.headline == (
        "no plan exists: the quota of red is 4 GPUs from 2027Q1 on, 8 GPUs from 2027Q2 on, "
        "at least 8 GPUs more are needed"
    )
    assert "job-0: 1 of 2 units without room (2027Q2)" in error.reasons
    assert error.remedies == ("raise the quota of red by 8 GPUs in every quarter",)


def test_where_nodes_are_short_too_the_quota_is_not_blamed(build, told):
    units = replace(build.units(2, ("h100", 8, 0, 0)), owner="red")
    problem = build.problem([build.pool(owned=1)], [], [units])
    error = told(replace(problem, quotas=(quota(8),)))
    assert "at least 8 GPUs more are needed than can be in service" in error.headline
    assert not any("quota" in line for line in (*error.reasons, *error.remedies))


def draw(rng: random.Random) -> Problem:
    """Two pools, at most six units of two owners and of nobody, and one to three quotas."""
    quarters = rng.choice((1, 1, 2))
    pools = tuple(
        Pool(f"n{number}", "main", gpu_type, Shape(rng.choice((4, 8)), 20, 10), 0, 0, fabric=True)
        for number, gpu_type in enumerate(rng.choice(("ab", "ab", "aa")))
    )
    supplies = []
    for number in range(len(pools)):
        price = rng.randrange(1_000_000, 9_000_000)
        bought = tuple(price - q * price // 3 for q in range(quarters))
        supplies.append(Supply(f"buy{number}", "buy", number, rng.choice((1, 2, None)), bought))
    demands = []
    for _ in range(rng.randrange(1, 5)):
        choices = {
            Choice(
                rng.choice(pools).gpu_type,
                Shape(rng.choice((1, 2, 3, 4, 5, 8)), rng.randrange(15), rng.randrange(8)),
                rng.choice((1, 1, 1, 2)),
            )
            for _ in range(rng.choice((1, 2, 3)))
        }
        active = tuple(sorted(rng.sample(range(quarters), rng.randrange(1, quarters + 1))))
        owner = rng.choice(("", "red", "red", "blue"))
        demands.append(Demand(tuple(sorted(choices)), active, rng.choice((1, 1, 2)), owner))
    quotas = tuple(
        quota(
            *(rng.choice((None, *range(1, 13))) for _ in range(quarters)),
            owner=rng.choice(("red", "red", "blue")),
            gpu_type=rng.choice((None, None, "a")),
        )
        for _ in range(rng.randrange(1, 4))
    )
    return Problem(quarters, pools, tuple(supplies), tuple(demands), 55, quotas=quotas)


def with_power(problem: Problem, rng: random.Random) -> Problem:
    terms = tuple((number, rng.choice((3, 4, 7))) for number in range(len(problem.pools)))
    most = tuple(rng.choice((7, 10, 14, None)) for _ in range(problem.quarters))
    return replace(problem, limits=(Limit("power at main", terms, most, "W"),))


def with_budget(problem: Problem, rng: random.Random) -> Problem:
    cents = tuple(
        tuple(price or 0 for price in supply.unit_cost_cents) for supply in problem.supplies
    )
    most = rng.randrange(5_000_000, 25_000_000)
    return replace(problem, budgets=(SpendLimit("spending in total", most, cents),))


def with_rents_and_spares(problem: Problem, rng: random.Random) -> Problem:
    rents = tuple(
        Supply(
            f"rent{number}",
            "rent",
            number,
            2,
            tuple(rng.randrange(500_000, 3_000_000) for _ in range(problem.quarters)),
        )
        for number in range(len(problem.pools))
    )
    pools = tuple(replace(pool, spare=rng.choice((0, 1))) for pool in problem.pools)
    return replace(problem, pools=pools, supplies=(*problem.supplies, *rents))


@pytest.fixture
def bind(agree, least_cost):
    """Compare the search with trying everything: plans proved, and where quotas cost something."""

    def compared(problems: Iterable[Problem]) -> tuple[int, int]:
        drawn = [*problems]
        proved = agree(drawn)[Status.PROVED]
        free = (replace(problem, quotas=()) for problem in drawn)
        return proved, sum(map(ne, map(least_cost, drawn), map(least_cost, free)))

    return compared


@pytest.mark.parametrize("batch", range(draws(5, 12)))
def test_the_search_agrees_with_trying_everything_under_quotas(batch, bind):
    numbers = range(batch * 20, batch * 20 + 20)
    proved, decided = bind(draw(random.Random(number)) for number in numbers)
    assert proved >= 4, "too few plans to mean anything"
    assert decided >= 2, "too few quotas bind to mean anything"


@pytest.mark.parametrize("other", [with_power, with_budget, with_rents_and_spares])
def test_so_it_does_where_quotas_meet_another_limit(other, bind):
    drawn = (random.Random(number) for number in range(1000, 1000 + draws(20, 50)))
    proved, decided = bind(other(draw(rng), rng) for rng in drawn)
    assert proved >= draws(3, 8), "too few plans to mean anything"
    assert decided >= draws(2, 5), "too few quotas bind to mean anything"
