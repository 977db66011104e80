"""Variants of one problem from one warm program: sound, bounded, and the same in any order."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from benchmarks.portfolios import catalogue, quarterly
from planner.packing.answer import answer
from planner.packing.counting.build import build_counts
from planner.packing.families import family as room
from planner.packing.families.elastic import uncapped
from planner.packing.families.family import Family, family_of
from planner.packing.families.known import KnownPatterns
from planner.packing.families.trial import Trial
from planner.packing.limits import Limit, Reserve, SpendLimit
from planner.packing.problem import Quota

GAP = 1e-3


def asked(problem, counts=None, prices=None):
    """The same for other counts, at other prices."""
    counts = counts or [demand.count for demand in problem.demands]
    prices = prices or [supply.unit_cost_cents[0] for supply in problem.supplies]
    return replace(
        problem,
        demands=tuple(
            replace(demand, count=count)
            for demand, count in zip(problem.demands, counts, strict=True)
        ),
        supplies=tuple(
            replace(supply, unit_cost_cents=(cents,))
            for supply, cents in zip(problem.supplies, prices, strict=True)
        ),
    )


def drawn(problem, number):
    """Variants of counts and prices, the same in every run."""
    rng = random.Random(number)
    return asked(
        problem,
        [max(1, round(demand.count * rng.uniform(0.4, 1.8))) for demand in problem.demands],
        [
            round((supply.unit_cost_cents[0] or 0) * rng.uniform(0.8, 1.2))
            for supply in problem.supplies
        ],
    )


def family(problem) -> Family:
    """That of a problem which has one."""
    found = family_of(problem, 60.0)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def portfolio():
    return catalogue(80, 1)


@pytest.fixture(scope="module")
def members(portfolio):
    return family(portfolio)


@pytest.fixture(scope="module")
def best(portfolio, solve):
    """The cheapest plan of a drawn variant, searched for once."""
    return cache(lambda number: solve(drawn(portfolio, number), asked_gap=0.0))


def test_variants_are_laid_out_soundly_and_as_near_as_asked(portfolio, members, best, faults):
    planned = 0
    for number in range(12):
        problem = drawn(portfolio, number)
        found = members.found(problem, GAP)
        if found is None:
            continue
        planned += 1
        solution = answer(problem, found, GAP)
        assert not faults(problem, solution)
        assert solution.gap <= GAP
        assert solution.bound_cents <= best(number).cost_cents
        assert solution.cost_cents >= best(number).bound_cents
    assert planned >= 10


def test_a_variant_does_not_depend_on_those_before_it(portfolio):
    variants = [drawn(portfolio, number) for number in range(6)]

    def plans(order):
        members = family(portfolio)
        found = {number: members.found(variants[number], GAP) for number in order}
        return {
            number: one and (one.values, one.cost_cents, one.bound_cents, one.packings)
            for number, one in found.items()
        }

    assert plans(range(6)) == plans((5, 2, 0, 3, 1, 4))


@pytest.fixture
def small(build):
    """Units of 1, 2, 4 and 8 GPUs and one that spans two nodes, on two kinds of node."""
    pools = [build.pool("h100", owned=1), build.pool("l40s", node=(4, 40, 400_000))]
    offers = [build.buy(9_000_000), build.buy(5_100_000, pool=1, maximum=4)]
    demands = [
        build.units(2, ("h100", 1, 8, 90_000), ("l40s", 2, 9, 60_000)),
        build.units(1, ("h100", 2, 30, 90_000), ("l40s", 4, 40, 90_000)),
        build.units(1, ("h100", 4, 10, 500_000)),
        build.units(1, ("h100", 16, 20, 200_000)),
    ]
    return build.problem(pools, offers, demands)


def test_small_variants_agree_with_trying_everything(small, least_cost, faults):
    members = family(small)
    planned = 0
    for counts in ((2, 1, 1, 1), (1, 1, 1, 1), (3, 1, 2, 1), (4, 2, 1, 1), (2, 2, 2, 1)):
        for prices in ((9_000_000, 5_100_000), (12_000_000, 2_000_000)):
            problem = asked(small, counts, prices)
            found = members.found(problem, GAP)
            if found is None:
                continue
            planned += 1
            assert not faults(problem, answer(problem, found, GAP))
            least = least_cost(problem)
            assert found.cost_cents is not None
            assert found.bound_cents <= least <= found.cost_cents
            assert found.closed(GAP)
    assert planned >= 8


def test_variants_that_owned_nodes_hold_cost_nothing(build):
    problem = build.problem(
        [build.pool("h100", owned=2)],
        [build.buy(9_000_000)],
        [build.units(3, ("h100", 4, 8, 90_000)), build.units(1, ("h100", 1, 8, 90_000))],
    )
    members = family(problem)
    for counts, cost in (((3, 1), 0), ((3, 4), 0), ((3, 5), 9_000_000), ((1, 1), 0)):
        found = members.found(asked(problem, counts), GAP)
        assert found is not None
        assert found.cost_cents == found.bound_cents == cost


def test_what_the_family_cannot_prove_it_leaves_to_the_search(portfolio, members, monkeypatch):
    assert members.found(portfolio, GAP) is not None
    monkeypatch.setattr(room, "_MOST_POINTS", 0)
    assert members.found(portfolio, GAP) is None


def test_another_kind_of_problem_is_no_member(portfolio, members, small):
    other = replace(portfolio, demands=portfolio.demands[1:])
    dearer = replace(portfolio, fixed_cost_cents=5)
    assert members.found(other, GAP) is None
    assert members.found(small, GAP) is None
    cheap, dear = members.found(portfolio, GAP), members.found(dearer, GAP)
    assert cheap
    assert dear
    assert dear.cost_cents == (cheap.cost_cents or 0) + 5
    assert family_of(quarterly(20, 0), 60.0) is None
    spare = replace(small.pools[1], spare=1)
    assert family_of(replace(small, pools=(small.pools[0], spare)), 60.0) is None
    origin = replace(small.demands[0], origin="node-h100/main")
    assert family_of(replace(small, demands=(origin, *small.demands[1:])), 60.0) is None


def test_limits_and_quotas_hold_for_every_variant(small, least_cost, faults):
    demands = tuple(
        replace(demand, owner="team" if number == 1 else "")
        for number, demand in enumerate(small.demands)
    )
    bound = replace(
        small,
        demands=demands,
        limits=(Limit("power at main", ((0, 5), (1, 2)), (29,), "W"),),
        quotas=(Quota("quota of team", "team", "l40s", (4,)),),
        reserves=(Reserve("h100", Fraction(1, 8)),),
        budgets=(SpendLimit("capex of 2027Q1", 60_000_000, ((9_000_000,), (5_100_000,))),),
    )
    members, planned = family(bound), 0
    for counts in ((2, 1, 1, 1), (1, 2, 1, 1), (3, 1, 2, 1), (2, 2, 2, 1), (6, 2, 1, 1)):
        problem = asked(bound, counts)
        found, least = members.found(problem, GAP), least_cost(problem)
        assert found is None or least is not None
        if found is not None:
            planned += 1
            assert not faults(problem, answer(problem, found, GAP))
            assert found.cost_cents is not None
            assert found.bound_cents <= least <= found.cost_cents
    assert planned >= 2


def test_every_cut_on_node_counts_holds_for_plans_of_other_counts_and_prices(
    portfolio, members, best
):
    cuts, held = members._cuts.stacked, 0
    for number in range(4):
        problem, plan = drawn(portfolio, number), best(number)
        nodes = [
            sum(plan.entering(n, 0) for n, one in enumerate(problem.supplies) if one.pool == p)
            for p in range(len(problem.pools))
        ]
        bundles = [
            sum(
                layout.count
                for layout in plan.layouts[0][bundle.pool]
                if layout.span == bundle.size
            )
            for bundle in members._cuts.bundles
        ]
        counts = [demand.count for demand in problem.demands]
        worth = cuts.nodes @ nodes + cuts.bundles @ bundles
        assert (worth >= cuts.need(np.array(counts, float)) - 1e-6).all()
        held += len(worth)
    assert held > 20


def test_a_choice_is_left_out_only_where_another_always_stands_in_for_it(build):
    """12 GPUs fill no nodes of 8, on which 16 run; on nodes of 4, those are no better."""
    larger = build.units(1, ("h100", 12, 8, 90_000), ("h100", 16, 8, 90_000))
    twice = build.units(1, ("h100", 1, 8, 90_000), ("h100", 2, 16, 180_000), ("h100", 2, 4, 1))
    for gpus, beaten in ((8, set()), (4, {(0, 1)})):
        pool = build.pool("h100", node=(gpus, 112, 2_000_000))
        counts = build_counts(build.problem([pool], [build.buy(1)], [larger, twice]))
        free = uncapped(counts)
        left_out = {key for key, index in counts.choice.items() if free[index].upper == 0}
        assert left_out == beaten | {(1, 1)}


def test_units_that_are_made_whole_keep_every_row_and_all_that_is_asked(
    portfolio, members, monkeypatch
):
    """Also those that rounding alone does not give: what it breaks is mended."""
    trial, kept = members._trial, {True: 0, False: 0}
    mended = Trial._mended
    for mends in (False, True):
        monkeypatch.setattr(Trial, "_mended", mended if mends else lambda *_: None)
        for number in range(16):
            problem = drawn(portfolio, number)
            bounded = members._bounded(problem, members._cheapest(problem))
            members._cuts.forget()
            units = bounded and trial.rounded(bounded[1])
            if units is None:
                continue
            kept[mends] += 1
            values = members._values(problem, bounded[0], units)
            assert (np.array(values) >= 0).all()
            assert values == tuple(map(round, values))
            program = members._variant(problem).program
            for row in program.rows:
                total = sum(factor * values[index] for index, factor in row.terms)
                assert total <= row.right + 1e-6 or row.sense == ">="
                assert total >= row.right - 1e-6 or row.sense == "<="
    assert kept[True] > kept[False] > 0


def test_a_longer_search_for_whole_units_is_sound_as_well(
    portfolio, members, best, faults, monkeypatch
):
    """As if units were never made whole simply, and never laid out by what is known."""
    planned = 0
    monkeypatch.setattr(Trial, "rounded", lambda *_: None)
    monkeypatch.setattr(KnownPatterns, "quickly", lambda *_: None)
    monkeypatch.setattr(KnownPatterns, "laid_out", lambda *_: None)
    for number in range(4):
        problem = drawn(portfolio, number)
        found = members.found(problem, GAP)
        if found is not None:
            planned += 1
            solution = answer(problem, found, GAP)
            assert not faults(problem, solution)
            assert solution.bound_cents <= best(number).cost_cents
            assert solution.cost_cents >= best(number).bound_cents
    assert planned >= 2


def test_a_cut_that_layouts_violate_holds_for_the_variant_and_is_then_forgotten(portfolio, members):
    bounded = members._bounded(portfolio, members._cheapest(portfolio))
    assert bounded is not None
    point, trial = bounded[0], members._trial
    assert trial.whole(point) is not None
    pool = max(range(len(portfolio.pools)), key=point.nodes.__getitem__)
    trial.require(pool, dict.fromkeys(members._root.shapes[pool], 8.0))
    assert trial.whole(point) is None
    members._bounded(portfolio, members._cheapest(portfolio))
    assert trial.whole(point) is not None
