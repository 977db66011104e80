"""Node types that share spare nodes: each rule alone decides."""

from dataclasses import replace

import pytest

from tests.packing.draws import draw, spare_group


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
