"""Nodes that are had for hours: runs share what is paid, and each rule alone decides."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import product
from typing import TYPE_CHECKING

import pytest

from planner.packing.limits import SpendLimit
from planner.packing.problem import Choice, Demand, HourlyTerms, Quota, Shape, Supply
from planner.packing.solution import Status
from tests.packing.meaning import SLOT, SLOTS, slots
from tests.properties.questions import draws

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.packing.problem import Problem

NODE, HOUR = 10_000_000, 3_600
HOURLY = HourlyTerms(1, 1)
SEEDS = 120


def runs(count: int, gpus: int, hours: int, *, cpus: int = 0, owner: str = "", **window) -> Demand:
    """Runs of some hours, anywhere in the quarter unless told otherwise."""
    run = slots(1)._replace(hours=hours, **{"earliest": 0, "until": 2160, **window})
    return Demand((Choice("h100", Shape(gpus, cpus, 0, run=run)),), (0,), count, owner)


@pytest.fixture
def hours_of(build, solve, faults):
    """Hours that are paid of nodes of 8 GPUs and 80 cores; None where there is no plan."""

    def paid(*demands, hire=HOURLY, maximum=None, quotas=(), proved=True):
        problem = by_the_hour(build, demands, hire, maximum)
        solution = solve(replace(problem, quotas=quotas), asked_gap=0.0)
        if solution is None:
            return None
        assert not faults(replace(problem, quotas=quotas), solution)
        assert solution.status is Status.PROVED or not proved
        return solution.hired[0][0] * hire.step_hours

    return paid


def by_the_hour(build, demands, hire=HOURLY, maximum=None) -> Problem:
    pool = replace(build.pool(), hire=hire, offer="cloud")
    supply = Supply("cloud", "hourly", 0, maximum, (HOUR * hire.step_hours,))
    problem: Problem = build.problem([pool], [supply], demands)
    return problem


def test_eighty_small_runs_pay_for_their_gpu_hours(hours_of):
    rng = random.Random(1)
    asked = [(rng.choice((1, 2, 4)), rng.randint(2, 15)) for _ in range(80)]
    gpu_hours = sum(gpus * hours for gpus, hours in asked)
    assert hours_of(*(runs(1, *one) for one in asked)) == -(-gpu_hours // 8)


def test_runs_that_are_apart_in_time_do_not_pay_for_the_time_between(hours_of):
    early, late = runs(1, 1, 5, until=10), runs(1, 1, 5, earliest=1000)
    assert hours_of(early, late) == 10
    assert hours_of(early, late, hire=HourlyTerms(1, 48), proved=False) == 96


def test_a_minimum_is_paid_each_time(hours_of):
    assert hours_of(runs(1, 8, 3), hire=HourlyTerms(1, 24)) == 24
    assert hours_of(runs(3, 8, 10), hire=HourlyTerms(1, 24)) == 30


def test_weeks_are_paid_whole(hours_of):
    assert hours_of(runs(1, 8, 3), hire=HourlyTerms(168, 168)) == 168
    assert hours_of(runs(2, 8, 100), hire=HourlyTerms(168, 168)) == 336
    assert hours_of(runs(3, 8, 100), hire=HourlyTerms(336, 336)) == 336


def test_no_more_nodes_at_once_than_the_offer_gives(hours_of):
    together = runs(2, 8, 10, until=12)
    assert hours_of(together) == 20
    assert hours_of(together, maximum=2) == 20
    assert hours_of(together, maximum=1) is None
    assert hours_of(runs(2, 8, 10), maximum=1) == 20


def test_a_quota_counts_the_gpus_that_are_had_at_once(hours_of):
    mine = runs(2, 4, 10, owner="team")
    assert hours_of(mine) == 10
    assert hours_of(mine, quotas=(Quota("quota", "team", None, (4,)),), proved=False) == 20


def test_a_budget_counts_the_hours(build, solve):
    problem = by_the_hour(build, [runs(1, 8, 10)])
    enough, short = (
        replace(problem, budgets=(SpendLimit("budget", cents, ((HOUR,),), 0),))
        for cents in (10 * HOUR, 10 * HOUR - 1)
    )
    assert solve(enough, asked_gap=0.0).cost_cents == 10 * HOUR
    assert solve(short, asked_gap=0.0) is None


@pytest.mark.parametrize("batch", [1, 5, 0, 2, 3, 4][: draws(2, 6)])
def test_nodes_and_hours_together_cost_the_least_that_trying_everything_finds(
    build, solve, faults, least_cost, batch
):
    seen: Counter[str] = Counter()
    for seed in range(batch * SEEDS // 6, (batch + 1) * SEEDS // 6):
        problem = drawn(build, random.Random(f"hire {seed}"))
        solution = solve(problem, asked_gap=0.0)
        best = least_with_hours(problem, least_cost)
        if best is None:
            assert solution is None
            seen["infeasible"] += 1
            continue
        assert solution is not None, seed
        assert not list(faults(problem, solution)), seed
        assert solution.bound_cents <= best <= solution.cost_cents, seed
        seen[solution.status.value] += 1
        seen["hours"] += any(map(any, solution.hired))
    assert seen["not proved"] <= 4, seen
    assert seen["hours"] > 5, seen


def drawn(build, rng: random.Random) -> Problem:
    """Few runs, some with windows; nodes to buy, and by the hour."""
    demands = []
    for number in range(rng.randint(1, 3)):
        taken = rng.randint(1, 5)
        first = rng.choice((0, 0, rng.randint(0, SLOTS - taken)))
        until = rng.choice((SLOTS, rng.randint(first + taken, SLOTS)))
        shape = Shape(
            rng.choice((1, 2, 4, 8)), rng.choice((0, 30)), 0, run=slots(taken, first, until)
        )
        demands.append(Demand((Choice("h100", shape),), (0,), 1 + (number == 0)))
    if rng.random() < 0.3:
        demands.append(Demand((Choice("h100", Shape(rng.choice((2, 4)), 0, 0)),), (0,), 1))
    hire = HourlyTerms(SLOT, SLOT * rng.choice((1, 1, 3)))
    pools = [
        replace(build.pool(), owned=rng.choice((0, 0, 1))),
        replace(build.pool(), hire=hire, offer="c"),
    ]
    price = rng.choice((NODE // 20, NODE // 8, NODE // 4))
    supplies = [build.buy(NODE), Supply("c", "hourly", 1, None, (price,))]
    problem: Problem = build.problem(pools, supplies, demands)
    return problem


def least_with_hours(problem: Problem, least_cost) -> int | None:
    """Every way to leave runs to nodes, and the others to hours, by trying everything."""
    hire = problem.pools[1].hire
    price = problem.supplies[1].unit_cost_cents[0] or 0
    assert hire is not None
    nodes = replace(problem, pools=problem.pools[:1], supplies=problem.supplies[:1])
    shapes = [demand.choices[0].shape for demand in problem.demands]
    most = [
        demand.count if shape.is_run else 0
        for demand, shape in zip(problem.demands, shapes, strict=True)
    ]
    found = []
    for leaving in product(*(range(count + 1) for count in most)):
        rest = [
            replace(demand, count=demand.count - gone)
            for demand, gone in zip(problem.demands, leaving, strict=True)
            if demand.count > gone
        ]
        on_nodes = (
            least_cost(replace(nodes, demands=tuple(rest))) if rest else problem.fixed_cost_cents
        )
        if on_nodes is not None:
            alone = [
                shape for shape, gone in zip(shapes, leaving, strict=True) for _ in range(gone)
            ]
            found.append(on_nodes + price * least_steps(tuple(alone), problem.pools[1].node, hire))
    return min(found, default=None)


@cache
def least_steps(shapes: Sequence[Shape], node: Shape, hire: HourlyTerms) -> int:
    """The least that is paid for these runs: every way to share nodes and every start."""
    if not shapes:
        return 0
    first, rest = shapes[0], shapes[1:]
    best = 10**9
    for mask in range(2 ** len(rest)):
        together = (first, *(one for place, one in enumerate(rest) if mask >> place & 1))
        others = tuple(one for place, one in enumerate(rest) if not mask >> place & 1)
        alone = _on_one(together, node, hire)
        if alone is not None:
            best = min(best, alone + least_steps(others, node, hire))
    return best


@cache
def _on_one(shapes: Sequence[Shape], node: Shape, hire: HourlyTerms) -> int | None:
    """Steps of one node that is had once for all of these."""
    found = None
    for starts in product(*map(_starts, shapes)):
        held: list[Counter[str]] = [Counter() for _ in range(SLOTS)]
        for shape, start in zip(shapes, starts, strict=True):
            for slot in range(start, start + shape.run.hours // SLOT):
                held[slot].update({"gpus": shape.gpus, "cpus": shape.cpus})
        if all(one["gpus"] <= node.gpus and one["cpus"] <= node.cpus for one in held):
            ends = (s + shape.run.hours // SLOT for shape, s in zip(shapes, starts, strict=True))
            steps = hire.steps((max(ends) - min(starts)) * SLOT)
            found = steps if found is None else min(found, steps)
    return found


def _starts(shape: Shape) -> range:
    return range(shape.run.earliest // SLOT, shape.run.latest // SLOT + 1)
