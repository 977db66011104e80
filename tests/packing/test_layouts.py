"""What is said about one kind of node holds for every way to fill it, tried one by one."""

import random
from collections.abc import Iterator, Sequence
from itertools import pairwise

import pytest

from planner.packing.build import build_master
from planner.packing.cutting import (
    Cut,
    CuttingStock,
    Packed,
    Pattern,
    Pricing,
    fullest_first_fit,
    least_slack,
    nodes_in,
)
from planner.packing.problem import Shape

NODE = Shape(8, 56, 1_000_003)
SMALL_NODE = Shape(3, 56, 1_000_003)


def draw_shapes(
    rng: random.Random, count: int, node: Shape, least_share: float = 0.2
) -> list[Shape]:
    """Different shapes, each taking at least a share of some resource."""
    shapes: set[Shape] = set()
    while len(shapes) < count:
        shape = Shape(
            rng.randrange(1, node.gpus + 1),
            rng.randrange(0, node.cpus + 1),
            rng.randrange(0, node.memory_mb + 1),
        )
        if max(shape.gpus / node.gpus, shape.memory_mb / node.memory_mb) >= least_share:
            shapes.add(shape)
    return sorted(shapes)


def patterns(node: Shape, shapes: Sequence[Shape], start: int = 0) -> Iterator[list[int]]:
    """Every way to fill a node, as lists of indices."""
    yield []
    for index in range(start, len(shapes)):
        shape = shapes[index]
        left = Shape(
            node.gpus - shape.gpus, node.cpus - shape.cpus, node.memory_mb - shape.memory_mb
        )
        if min(left.gpus, left.cpus, left.memory_mb) >= 0:
            for rest in patterns(left, shapes, index):
                yield [index, *rest]


def split(rng: random.Random, parts: int) -> list[Shape]:
    """A node in parts that fill it to the last core and MB."""
    cpus = sorted(rng.randrange(NODE.cpus + 1) for _ in range(parts - 1))
    memory = sorted(rng.randrange(NODE.memory_mb + 1) for _ in range(parts - 1))
    return [
        Shape(NODE.gpus // parts, cpus_to - cpus_from, memory_to - memory_from)
        for (cpus_from, cpus_to), (memory_from, memory_to) in zip(
            pairwise([0, *cpus, NODE.cpus]), pairwise([0, *memory, NODE.memory_mb]), strict=True
        )
    ]


@pytest.mark.parametrize("others", [3, 80])
@pytest.mark.parametrize("seed", range(5))
def test_a_pattern_that_fills_a_node_to_the_last_core_is_not_overlooked(seed, others):
    rng = random.Random(seed)
    parts = split(rng, rng.randrange(2, 5))
    shapes = sorted({*parts, *draw_shapes(rng, others, NODE)})
    prices = dict.fromkeys(map(shapes.index, parts), 1.0)
    ceiling, _ = Pricing(NODE, shapes, range(len(shapes))).best(prices)
    assert ceiling >= len(parts) - 1e-6


def heaviest(node: Shape, shapes: Sequence[Shape], cut: Cut) -> float:
    """What the heaviest filling of a node weighs."""
    return max(sum(cut.weights[index] for index in filled) for filled in patterns(node, shapes))


@pytest.mark.parametrize("seed", range(4))
def test_a_cut_of_classes_holds_for_every_pattern_of_many_shapes(seed):
    """Of 80 shapes, those of nearly the same size are priced as one, of their least size."""
    rng = random.Random(seed)
    shapes = draw_shapes(rng, 80, SMALL_NODE)
    nodes = 0.8 * nodes_in(fullest_first_fit(SMALL_NODE, shapes, [1] * len(shapes)))
    cut = CuttingStock(SMALL_NODE, shapes).separate([1.0] * len(shapes), nodes)
    assert cut is not None
    assert heaviest(SMALL_NODE, shapes, cut) <= 1
    assert sum(cut.weights) > nodes


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("missing", [1, 2])
def test_a_cut_holds_for_every_pattern_and_forbids_what_it_was_made_against(seed, missing):
    rng = random.Random(seed)
    shapes = draw_shapes(rng, rng.randrange(2, 7), NODE, least_share=0.25)
    counts = [rng.randrange(1, 6) for _ in shapes]
    nodes = nodes_in(fullest_first_fit(NODE, shapes, counts)) - missing
    check_cut(CuttingStock(NODE, shapes).pack(counts, nodes), shapes, counts, nodes)


@pytest.mark.parametrize("seed", range(8))
def test_a_cut_against_fractional_counts_holds_for_every_pattern(seed):
    rng = random.Random(seed)
    shapes = draw_shapes(rng, 6, NODE, least_share=0.25)
    usage = [3 * rng.random() for _ in shapes]
    nodes = sum(
        units * max(shape.gpus / NODE.gpus, shape.cpus / NODE.cpus) / 1.6
        for shape, units in zip(shapes, usage, strict=True)
    )
    check_cut(CuttingStock(NODE, shapes).separate(usage, nodes), shapes, usage, nodes)


def check_cut(cut: object, shapes: Sequence[Shape], counts: Sequence[float], nodes: float) -> None:
    assert isinstance(cut, Cut)
    assert heaviest(NODE, shapes, cut) <= 1
    weighed = sum(weight * units for weight, units in zip(cut.weights, counts, strict=True))
    assert weighed > nodes, "a cut that its own counts obey would be found for ever"


def test_dual_feasible_functions_count_what_sums_do_not(build):
    """Five units of just over half a node: 2.6 nodes by the sum, 5 by the function for halves."""
    job_class = build.units(5, ("h100", 1, 42, 0))
    master = build_master(build.problem([build.pool()], [build.buy(100)], [job_class]))
    load = {row.name: dict(row.terms).get(master.mode[0, 0]) for row in master.program.rows}
    assert load["cpus[0,0]"] == pytest.approx(42 / 80)
    assert load["dual-cpus-1[0,0]"] == 1


def fits(node: Shape, shapes: Sequence[Shape], pattern: Pattern) -> bool:
    held = [(shapes[index], units) for index, units in pattern]
    return (
        sum(shape.gpus * units for shape, units in held) <= node.gpus
        and sum(shape.cpus * units for shape, units in held) <= node.cpus
        and sum(shape.memory_mb * units for shape, units in held) <= node.memory_mb
    )


def check_packed(
    packed: Packed, shapes: Sequence[Shape], counts: Sequence[int], nodes: int
) -> None:
    assert sum(times for _, times in packed.patterns) <= nodes
    held = [0] * len(shapes)
    for pattern, times in packed.patterns:
        assert fits(NODE, shapes, pattern)
        for index, units in pattern:
            held[index] += units * times
    assert held == list(counts)


@pytest.mark.parametrize("seed", range(10))
def test_greedy_packings_hold_exactly_the_units_asked_for(seed):
    rng = random.Random(seed)
    shapes = draw_shapes(rng, 8, NODE)
    counts = [rng.randrange(0, 9) for _ in shapes]
    packed = fullest_first_fit(NODE, shapes, counts)
    check_packed(Packed(tuple(packed)), shapes, counts, nodes_in(packed))
    tight, left = least_slack(NODE, shapes, counts, nodes_in(packed) - 1)
    seated = [units - missing for units, missing in zip(counts, left, strict=True)]
    check_packed(Packed(tuple(tight)), shapes, seated, nodes_in(packed) - 1)
