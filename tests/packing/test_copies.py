"""Units of several pieces: what the bound says of them, and very many of them."""

from __future__ import annotations

import random

import pytest

TEN = 10_000_000


def test_the_tags_of_units_and_the_other_terms_add_up_to_the_bound(build, solve):
    demands = [
        build.units(3, ("h100", 2, 5, 90_000), copies=(3,)),
        build.units(2, ("h100", 1, 30, 20_000)),
    ]
    solution = solve(build.problem([build.pool(owned=1)], [build.buy(TEN)], demands))
    tags = sum(tag.cents * unit.count for tag, unit in zip(solution.tags, demands, strict=True))
    assert tags + sum(cents for _, cents in solution.bound_terms) == pytest.approx(
        solution.bound_cents
    )
    assert solution.tags[0].cents > solution.tags[1].cents > 0


def test_very_many_unlike_units_of_several_pieces_are_planned_soundly(build, solve, faults):
    rng = random.Random(1)
    demands = []
    for _ in range(320):
        gpus = rng.choice((1, 2, 4))
        size = (gpus, 6 * gpus + rng.randrange(4), 60_000 * gpus + rng.randrange(20_000))
        copies = (rng.choice((1, 1, 2)), rng.choice((1, 2, 3)))
        demands.append(build.units(1, ("h100", *size), ("l40s", *size), copies=copies))
    pools = [build.pool(), build.pool("l40s", node=(4, 64, 500_000))]
    problem = build.problem(pools, [build.buy(TEN), build.buy(4_000_000, pool=1)], demands)
    solution = solve(problem)
    assert not faults(problem, solution)
    assert solution.gap < 0.03
