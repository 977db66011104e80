"""Small portfolios with runs are decided as a whole, and proved where hours alone do not do."""

from dataclasses import replace

import pytest

from planner.packing.problem import HourlyTerms, JobClass, Mode, RunWindow, Shape, Supply
from planner.packing.solution import Status
from tests.packing.test_runs import NODE


def runs(
    count: int, gpus: int, hours: int, earliest: int = 0, until: int = 2160, *, cpus: int = 0
) -> JobClass:
    """Runs on h100, or up to 8 GPUs and if their window allows it, twice as long on a100."""
    modes = [Mode("h100", Shape(gpus, cpus, 0, run=RunWindow(hours, earliest, until)))]
    if gpus <= 8 and 2 * hours <= until - earliest:
        modes.append(Mode("a100", Shape(gpus, cpus, 0, run=RunWindow(2 * hours, earliest, until))))
    return JobClass(tuple(sorted(modes)), (0,), count)


@pytest.fixture
def proved(build, solve, faults):
    """The least cost, which must be proved; `hour_cents` is the price of an h100 node by the hour.

    An h100 node is bought, an a100 node has the price of `slow`.
    """

    def cost(classes, *, slow=None, hour_cents=None, owned=0, most=None):
        pools, supplies = [build.pool(owned=owned)], [build.buy(NODE)]
        if slow:
            supplies.append(replace(slow, pool=len(pools)))
            pools.append(build.pool("a100"))
        if hour_cents:
            supplies.append(Supply("cloud", "hourly", len(pools), most, (hour_cents,)))
            pools.append(replace(build.pool(), hire=HourlyTerms(1, 1), offer="cloud"))
        if not slow:
            classes = [
                replace(one, modes=tuple(mode for mode in one.modes if mode.gpu_type == "h100"))
                for one in classes
            ]
        problem = build.problem(pools, supplies, classes)
        solution = solve(problem)
        assert not faults(problem, solution)
        assert solution.status is Status.PROVED
        return solution.cost_cents

    return cost


def test_runs_on_two_nodes_beside_nodes_by_the_hour(proved):
    """Four nodes hold all but one run of two nodes for 350 hours, which is had by the hour."""
    classes = [
        runs(1, 16, 350, 504),
        runs(2, 4, 100),
        runs(2, 8, 900, 840, cpus=80),
        runs(1, 2, 900, cpus=12),
        runs(1, 16, 1200),
        runs(3, 16, 350),
    ]
    assert proved(classes, hour_cents=NODE // 700) == 4 * NODE + 700 * (NODE // 700)


def test_units_that_stay_beside_runs_on_two_node_types(proved, build):
    """By their hours, runs find room beside the units that stay on fewer nodes."""
    classes = [
        runs(1, 4, 500, until=1344),
        runs(1, 8, 500, cpus=80),
        runs(2, 1, 1200, cpus=10),
        runs(3, 4, 100, cpus=40),
        runs(3, 2, 350, until=1344),
        runs(1, 1, 350, 840, cpus=6),
        runs(1, 1, 900, 840, cpus=10),
        runs(2, 1, 500, cpus=10),
        runs(2, 8, 350, cpus=48),
        build.units(1, ("a100", 2, 4, 0), ("h100", 1, 4, 0)),
        build.units(2, ("a100", 8, 16, 0), ("h100", 4, 16, 0)),
    ]
    assert proved(classes, slow=build.buy(5_500_000), owned=1) == NODE + 5_500_000


def test_node_types_and_hours_are_decided_together(proved, build):
    """A node is bought and one of the other type rented, though hours by the piece may do."""
    classes = [
        runs(1, 1, 500, until=1344),
        runs(2, 1, 350),
        runs(6, 2, 500, cpus=20),
        runs(1, 8, 900, cpus=48),
        runs(1, 2, 500),
        runs(3, 2, 1200, cpus=12),
        runs(2, 4, 1200, cpus=40),
    ]
    rented = build.rent(4_500_000)
    assert proved(classes, slow=rented, hour_cents=NODE // 700, owned=1) == NODE + 4_500_000


def test_runs_that_no_hours_hold_have_no_plan(build, solve):
    """Beside two runs of five GPUs, 160 hours are left for one that needs four of them for 300."""
    classes = [runs(2, 5, 1000), runs(1, 4, 300)]
    classes = [replace(one, modes=one.modes[-1:]) for one in classes]
    one, two = (build.problem([build.pool(owned=n)], [], classes) for n in (1, 2))
    assert solve(one) is None
    assert solve(two).cost_cents == 0


def test_hours_of_a_node_that_no_sum_over_hours_shows(proved):
    """Three runs hold six GPUs for 13 hours, beside which four are free at no hour of these."""
    classes = [runs(3, 2, 13, until=504), runs(1, 4, 1)]
    assert proved(classes, hour_cents=NODE // 700) == 14 * (NODE // 700)
