"""Node types that share spare nodes: each rule alone decides."""

from dataclasses import replace

import pytest

from planner.packing.build import kept_apart
from tests.packing.draws import draw, pinned, spare_group
from tests.packing.meaning import stands_in


@pytest.mark.parametrize(
    ("on_b", "taken_in"),
    [
        ((4, 40, 400_000), True),
        ((5, 40, 400_000), False),
        ((4, 27, 400_000), True),
        ((4, 61, 400_000), False),
        ((4, 40, 401_000), False),
    ],
)
def test_a_unit_takes_no_more_there_than_its_share_of_the_node(build, on_b, taken_in):
    """Half of the GPUs of a node are followed by half of the host of the other: 60 cores."""
    pools = [build.pool("a"), build.pool("b", node=(8, 120, 800_000))]
    unit = build.units(1, ("a", 4, 40, 400_000), ("b", *on_b))
    problem = replace(build.problem(pools, [], [unit]), spare_groups=(spare_group(0, 1, nodes=1),))

    (mode, _) = kept_apart(problem).classes[0].modes
    assert ((0, 1) in mode.shape.stand_ins) is taken_in
    assert stands_in(unit, unit.modes[0], *pools) is taken_in


def test_a_pinned_unit_and_one_over_several_nodes_wait_for_a_node_of_their_own_type(build):
    """Also where one node of another type would hold all of it."""
    pools = [build.pool("a"), build.pool("b", node=(16, 80, 800_000))]
    stays = pinned(build.units(1, ("a", 4, 0, 0), ("b", 4, 0, 0)), "node-a/main")
    spanning = build.units(1, ("a", 16, 0, 0), ("b", 16, 0, 0))
    problem = build.problem(pools, [], [stays, spanning])
    problem = kept_apart(replace(problem, spare_groups=(spare_group(0, 1, nodes=1),)))

    shapes = [mode.shape for job_class in problem.classes for mode in job_class.modes]
    pairs = [(pool, other) for shape in shapes for pool, other in shape.stand_ins if pool != other]
    assert not pairs


@pytest.mark.parametrize("features", ["runs", "mig", "shared", "runs mig", "runs shared", "today"])
def test_plans_with_runs_parts_and_pins_are_sound_too(features, solve, faults):
    """Nothing here tries everything, but all that is wrong with a plan is seen."""
    plans = asked = 0
    for seed in range(6):
        problem = draw(features, seed)
        here = tuple(number for number, one in enumerate(problem.pools) if not one.held)
        problem = replace(problem, spare_groups=(spare_group(*here, nodes=1),))
        solution = solve(problem, time_limit_s=1.0)
        if solution is not None:
            plans += 1
            asked += any(map(any, solution.spare))
            assert not faults(problem, solution), seed
    assert plans == asked > 1
