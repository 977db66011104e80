"""Nodes that are had for hours: runs share what is paid, and each rule alone decides."""

import random
from collections import Counter
from dataclasses import replace

import pytest

from planner.errors import LimitError
from planner.packing.problem import HourlyTerms, JobClass, Mode, Problem, Shape, SpendLimit, Supply
from planner.packing.solution import Status
from tests.packing.by_the_hour import least_with_hours
from tests.packing.meaning import SLOT, SLOTS, slots
from tests.properties.questions import draws

NODE, HOUR = 10_000_000, 3_600
HOURLY = HourlyTerms(1, 1)


def runs(
    count: int, gpus: int, hours: int, *, cpus: int = 0, owner: str = "", **window
) -> JobClass:
    """Runs of some hours, anywhere in the quarter unless told otherwise."""
    run = slots(1)._replace(hours=hours, **{"earliest": 0, "until": 2160, **window})
    return JobClass((Mode("h100", Shape(gpus, cpus, 0, run=run)),), (0,), count, owner)


@pytest.fixture
def hours_of(build, solve, faults):
    """Hours that are paid of nodes of 8 GPUs and 80 cores; None where there is no plan."""

    def paid(*classes, hire=HOURLY, maximum=None, quotas=(), proved=True):
        problem = by_the_hour(build, classes, hire, maximum)
        solution = solve(replace(problem, quotas=quotas), asked_gap=0.0)
        if solution is None:
            return None
        assert not faults(replace(problem, quotas=quotas), solution)
        assert solution.status is Status.PROVED or not proved
        return solution.acquired[0][0] * hire.step_hours

    return paid


def by_the_hour(build, classes, hire=HOURLY, maximum=None) -> Problem:
    pool = replace(build.pool(), hire=hire, offer="cloud")
    supply = Supply("cloud", "hourly", 0, maximum, (HOUR * hire.step_hours,))
    problem: Problem = build.problem([pool], [supply], classes)
    return problem


def test_what_an_offer_gives_at_once_has_its_price_under_limited_offers(build, solve):
    """One of three runs is had for its hours, two nodes are bought, and nothing is owned."""
    early, hours = runs(3, 8, 10, until=10), by_the_hour(build, (), maximum=1)
    bought = replace(build.buy(NODE), pool=1)
    problem = build.problem([*hours.pools, build.pool()], [*hours.supplies, bought], [early])
    solution = solve(problem)
    assert solution.cost_cents == solution.bound_cents == 2 * NODE + 10 * HOUR
    assert solution.tags[0].cents == pytest.approx(NODE)
    terms = {name: cents for name, cents in solution.bound_terms if abs(cents) > 0.5}
    assert terms == {"limited offers": pytest.approx(10 * HOUR - NODE)}


def test_a_budget_counts_the_hours(build, solve):
    problem = by_the_hour(build, [runs(1, 8, 10)])
    enough, short = (
        replace(problem, budgets=(SpendLimit("budget", cents, ((HOUR,),), 0),))
        for cents in (10 * HOUR, 10 * HOUR - 1)
    )
    assert solve(enough, asked_gap=0.0).cost_cents == 10 * HOUR
    assert solve(short, asked_gap=0.0) is None


@pytest.mark.parametrize("feature", ["", "several nodes", "sites", "weeks", "minimum"])
def test_nodes_and_hours_together_cost_the_least_that_trying_everything_finds(
    build, solve, faults, least_cost, feature
):
    seen: Counter[str] = Counter()
    for seed in range(draws(16 if feature == "several nodes" else 8, 32)):
        problem = drawn(build, random.Random(f"hire {feature} {seed}"), feature)
        best = least_with_hours(problem, least_cost)
        try:
            solution = solve(problem, asked_gap=0.0)
        except LimitError:
            assert best is None, f"{seed} has a plan that costs {best}"
            seen["undecided"] += 1
            continue
        assert (solution is None) == (best is None), f"{seed}: {best}"
        if solution is not None:
            assert not faults(problem, solution), seed
            assert solution.bound_cents <= best <= solution.cost_cents, seed
            seen[solution.status.value] += 1
            supplies = zip(problem.supplies, solution.acquired, strict=True)
            seen["hours"] += any(any(n) for one, n in supplies if problem.pools[one.pool].hire)
    assert seen["not proved"] + seen["undecided"] <= draws(3, 12), seen
    assert seen["hours"] >= 2, seen


def drawn(build, rng: random.Random, feature: str = "") -> Problem:
    """Few runs, some with windows; nodes to buy, and by the hour."""
    classes: list[JobClass] = []
    wide = feature == "several nodes"
    for _ in range(rng.randint(1, 3)):
        taken = rng.randint(1, 4)
        first = rng.choice((0, 0, rng.randint(0, SLOTS - taken)))
        until = rng.choice((SLOTS, rng.randint(first + taken, SLOTS)))
        until = min(until, first + taken + rng.choice((0, 1, 2, 4)))
        shape = Shape(
            rng.choice((1, 2, 4, 8, *(16, 16, 16, 24) * wide)),
            rng.choice((0, 30)),
            0,
            spans=rng.random() < 0.9,
            sites=rng.choice(((), ("main",), ("other",))) if feature == "sites" else (),
            run=slots(taken, first, until),
        )
        more = len(classes) < 2 and rng.random() < 0.3
        classes.append(JobClass((Mode("h100", shape),), (0,), 1 + more))
    if rng.random() < 0.3:
        classes.append(JobClass((Mode("h100", Shape(rng.choice((2, 4)), 0, 0)),), (0,), 1))
    minimum = rng.choice((2, 3, 5) if feature == "minimum" else (1, 1, 3))
    hire = HourlyTerms(SLOT, SLOT * minimum)
    here = build.pool(fabric=rng.random() < 0.8)
    pools = [
        replace(here, owned=rng.choice((0, 0, 1))),
        replace(here, hire=hire, offer="c"),
    ]
    price = rng.choice((NODE // 20, NODE // 8, NODE // 4))
    most = rng.choice((None, None, 1, 2, 3)) if feature else None
    supplies = [build.buy(NODE), Supply("c", "hourly", 1, most, (price,))]
    if feature == "sites":
        pools.append(replace(pools[1], site="other"))
        supplies[1] = replace(supplies[1], offer=7)
        supplies.append(replace(supplies[1], pool=2))
    if feature == "weeks":
        pools.append(replace(pools[1], hire=HourlyTerms(3 * SLOT, 3 * SLOT), offer="w"))
        cents = rng.choice((price, 2 * price, 5 * price // 2))
        supplies.append(Supply("w", "rent", 2, rng.choice((None, 1)), (cents,)))
    if rng.random() < 0.3:
        supplies[0] = replace(supplies[0], maximum=rng.choice((0, 1)))
    problem: Problem = build.problem(pools, supplies, classes)
    return problem
