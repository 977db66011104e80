"""Parts of GPUs: partitions and shares of memory, each alone."""

import random
from dataclasses import replace

import pytest

from planner.packing.problem import WHOLE, JobClass, Mode, Part, Shape
from planner.packing.solution import Status
from tests.packing.draws import SEVENTHS


@pytest.fixture
def nodes_for(build, solve, faults):
    """Nodes bought for pieces of one pool: (what of a GPU, cores, pieces, pieces of a unit)."""

    def bought(
        *pieces: tuple[Part, int, int],
        node: tuple[int, int, int] = (1, 80, 800),
        mixes: bool = True,
    ) -> int | None:
        pool = replace(build.pool(node=node), divisions=SEVENTHS, shared_mb=80_000, mixes=mixes)
        classes = [
            JobClass((Mode("h100", Shape(1, cpus, 0, part=part)),), (0,), count)
            for part, cpus, count in pieces
        ]
        problem = build.problem([pool], [build.buy(1_000)], classes)
        solution = solve(problem)
        if solution is None:
            return None
        assert not faults(problem, solution)
        assert solution.status is Status.PROVED
        nodes: int = solution.acquired[0][0]
        return nodes

    return bought


def test_shares_of_a_hundred_sizes_are_told_apart_when_they_are_laid_out(nodes_for):
    """Too many fillings to list: the bound counts in cells, the layout in MB."""
    pieces = [(Part("", 20_000 + 37 * number), 0, 1) for number in range(50)]
    pieces += [(Part("", 20_000 - 37 * number), 0, 1) for number in range(50)]
    assert nodes_for(*pieces, node=(8, 80, 800)) == 4


def test_hosts_that_decide_which_parts_share_a_node_are_in_the_bound(nodes_for):
    """Two GPUs would do for the memory of four halves; a node has cores for two of them alone."""
    half = Part("", 40_000)
    assert nodes_for((half, 30, 4), (WHOLE, 20, 1), node=(3, 80, 9)) == 2
    assert nodes_for((half, 50, 2), (half, 30, 2), node=(2, 80, 9)) == 2
    assert nodes_for((half, 50, 3), (half, 29, 3), node=(2, 80, 9)) == 3


def test_unlike_shares_over_quarters_have_a_plan_at_once(build, solve, faults):
    rng = random.Random(5)
    pool = replace(build.pool(), shared_mb=72_000)
    classes = [
        JobClass(
            (Mode("h100", Shape(1, 0, 0, part=Part("", rng.randrange(20_000, 40_000)))),),
            tuple(range(rng.randrange(3), 3)),
            1,
        )
        for _ in range(80)
    ]
    problem = build.problem([pool], [build.buy(900_000, 800_000, 700_000)], classes, 3)
    solution = solve(problem, asked_gap=0.5)
    assert not faults(problem, solution)
