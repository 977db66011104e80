"""Units of several pieces: all alike, each with its own place, the choice taken as a whole."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from planner.packing.solution import Status

TEN, FIFTEEN = 10_000_000, 15_000_000


def placed(solution, quarter=0):
    """Pieces by (pool, demand, choice)."""
    found: Counter[tuple[int, int, int]] = Counter()
    for pool, layouts in enumerate(solution.layouts[quarter]):
        for layout in layouts:
            for demand, choice, pieces in layout.parts:
                found[pool, demand, choice] += pieces * layout.count
    return found


def test_every_piece_of_a_unit_needs_its_room(build, solve, faults):
    unit = build.units(2, ("h100", 4, 10, 100_000), copies=(3,))
    problem = build.problem([build.pool()], [build.buy(TEN)], [unit])
    solution = solve(problem)
    assert not faults(problem, solution)
    assert (solution.assigned, solution.cost_cents) == (((2,),), 3 * TEN)
    assert placed(solution) == {(0, 0, 0): 6}
    assert solution.status is Status.PROVED


def test_copies_decide_between_gpu_types(build, solve):
    """One large node holds three pieces; the other GPU type is cheaper until it needs six."""

    def choice_with(copies):
        unit = build.units(1, ("h100", 2, 0, 0), ("l40s", 2, 0, 0), copies=(3, copies))
        pools = [build.pool(), build.pool("l40s", node=(4, 64, 500_000))]
        offers = [build.buy(FIFTEEN), build.buy(TEN, pool=1)]
        return solve(build.problem(pools, offers, [unit])).assigned[0]

    assert choice_with(2) == (0, 1)
    assert choice_with(6) == (1, 0)


def test_no_unit_runs_on_two_gpu_types_even_where_half_of_it_fits_each(build, solve):
    pools = [build.pool(owned=1), build.pool("h200", owned=1)]
    both = [("h100", 8, 0, 0), ("h200", 8, 0, 0)]
    assert solve(build.problem(pools, [], [build.units(1, *both, copies=(2, 2))])) is None
    assert solve(build.problem(pools, [], [build.units(2, *both)])) is not None


def test_pieces_of_one_unit_may_run_on_several_pools_of_the_gpu_type(build, solve, faults):
    pools = [build.pool(owned=1), build.pool(node=(4, 40, 400_000), owned=1, site="annex")]
    problem = build.problem(pools, [], [build.units(1, ("h100", 4, 0, 0), copies=(3,))])
    solution = solve(problem)
    assert not faults(problem, solution)
    assert placed(solution) == {(0, 0, 0): 2, (1, 0, 0): 1}


def test_pieces_may_each_span_whole_nodes(build, solve, faults):
    unit = build.units(1, ("h100", 16, 100, 1_000_000), copies=(2,))
    problem = build.problem([build.pool(owned=1)], [build.buy(TEN)], [unit])
    solution = solve(problem)
    assert not faults(problem, solution)
    assert solution.cost_cents == 3 * TEN


def test_a_unit_keeps_its_choice_over_its_quarters(build, solve, faults):
    """Rent is cheap on one GPU type first and on the other later; a unit cannot have both."""
    unit = build.units(1, ("h100", 8, 0, 0), ("h200", 8, 0, 0), quarters=(0, 1), copies=(2, 3))
    pools = [build.pool(), build.pool("h200")]
    offers = [build.rent(TEN, 9 * TEN), build.rent(9 * TEN, TEN, pool=1)]
    problem = build.problem(pools, offers, [unit], quarters=2)
    solution = solve(problem)
    assert not faults(problem, solution)
    assert solution.cost_cents == 2 * 10 * TEN
    assert placed(solution, 0) == placed(solution, 1) == {(0, 0, 0): 2}


def test_a_spare_node_is_kept_beside_the_nodes_of_all_pieces(build, solve, faults):
    unit = build.units(1, ("h100", 8, 0, 0), copies=(3,))
    problem = build.problem([build.pool(spare=1)], [build.buy(TEN)], [unit])
    solution = solve(problem)
    assert not faults(problem, solution)
    assert solution.cost_cents == 4 * TEN


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


@pytest.mark.parametrize("seed", range(2))
def test_very_many_unlike_units_of_several_pieces_are_planned_soundly(build, solve, faults, seed):
    rng = random.Random(seed)
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
