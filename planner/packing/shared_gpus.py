"""Puts pieces that take parts of GPUs onto GPUs, and these onto nodes.

Parts are partitions or shares of memory. A GPU is *opened* for parts. Its maximal fillings describe
what fits it: whatever fits is part of one of them. Partitions fit if a division has them all;
shares fit by their memory.

To a node, a GPU with its pieces is one GPU with the cores and the host memory of them all: from
there on it is a shape like any other, and the cutting stock lays it out.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import mul

from planner.packing.cutting import (
    CuttingStock,
    Packed,
    fullest_first_fit,
    nodes_in,
)
from planner.packing.cutting import shares as shares_of
from planner.packing.problem import WHOLE, Part, Pool, Shape
from planner.packing.solver import Program, solve_integer

OPENED = Shape(1, 0, 0)
"""An opened GPU as it is laid out on a node; its pieces bring cores and memory of their own."""

_SCARCITY = 8
"""The power by which the load of a resource counts: the scarcest ones matter most."""
_MANY = 100
"""Beyond this many shares of memory, first-fit decides how many GPUs they take."""

_TIME_S = 5.0
"""Seconds to find the fewest GPUs that hold some partitions."""

Fill = tuple[tuple[Part, int], ...]
"""What one GPU holds: (part, pieces), sorted."""
Held = tuple[Shape, ...]
"""The pieces on one GPU, sorted."""


def fillings(pool: Pool, profiles: Sequence[Part]) -> tuple[Fill, ...]:
    """Return maximal sets of partitions of these profiles on one GPU."""
    known = {part.profile: part for part in profiles}
    held = {
        tuple(sorted(Counter(known[name] for name, _ in one.slots if name in known).items()))
        for one in pool.divisions
    }
    fills = sorted(held - {()})
    return tuple(
        fill
        for fill in fills
        if not any(
            fill != other and all(count <= dict(other).get(part, 0) for part, count in fill)
            for other in fills
        )
    )


@lru_cache(maxsize=1024)
def _fewest(fills: tuple[Fill, ...], wanted: Fill) -> tuple[tuple[Fill, int], ...]:
    """Return fills, with multiplicity, that hold what is wanted on the fewest GPUs."""
    program = Program()
    used = {fill: program.variable("used", cost=1.0, integer=True) for fill in fills}
    for part, count in wanted:
        terms = {index: float(dict(fill).get(part, 0)) for fill, index in used.items()}
        program.row("held", terms, ">=", count)
    values = solve_integer(program, time_limit_s=_TIME_S, effort="branching").values
    times = {fill: round(values[index]) for fill, index in used.items()} if values else {}
    return tuple((fill, number) for fill, number in times.items() if number)


def starts(pool: Pool, profiles: Sequence[str]) -> tuple[int, ...]:
    """Return the first memory slice of each of these partitions of one GPU; 0 for no partition.

    Raises ValueError if no division of the GPU has them all.
    """
    wanted = Counter(profile for profile in profiles if profile)
    for division in pool.divisions if wanted else ():
        free: dict[str, list[int]] = defaultdict(list)
        for profile, start in division.slots:
            free[profile].append(start)
        if all(len(free[profile]) >= count for profile, count in wanted.items()):
            return tuple(free[profile].pop(0) if profile else 0 for profile in profiles)
    if wanted:
        raise ValueError(f"no division of {pool.gpu_type} has the partitions {sorted(wanted)}")
    return (0,) * len(profiles)


def _fewest_opened(pool: Pool, pieces: Mapping[Shape, int]) -> list[Fill]:
    """Return what each of the fewest GPUs holds that have room for these pieces.

    As far as found.
    """
    wanted: Counter[Part] = Counter()
    for shape, number in pieces.items():
        wanted[shape.part] += number
    profiles = tuple(sorted((part, number) for part, number in wanted.items() if part.profile))
    shares = sorted((part, number) for part, number in wanted.items() if not part.profile)
    fills = [*_fewest_shared(pool, shares)] if shares else []
    if profiles:
        holds = fillings(pool, [part for part, _ in profiles])
        fills += [fill for fill, times in _fewest(holds, profiles) for _ in range(times)]
    return fills


def _fewest_shared(pool: Pool, wanted: Sequence[tuple[Part, int]]) -> Iterator[Fill]:
    """Lay shares of memory out on GPUs like pieces on nodes that offer nothing else."""
    asked = [number for _, number in wanted]
    shapes = [Shape(1, 0, part.memory_mb) for part, _ in wanted]
    gpu = gpu_of(pool.shared_mb, shapes)
    packed = fullest_first_fit(gpu, shapes, asked)
    memory_mb = sum(part.memory_mb * number for part, number in wanted)
    least, stock = -(-memory_mb // pool.shared_mb), CuttingStock(gpu, shapes)
    for gpus in range(least, nodes_in(packed)) if sum(asked) <= _MANY else ():
        fewer = stock.pack(asked, gpus)
        if isinstance(fewer, Packed):
            packed = [*fewer.patterns]
            break
    for pattern, times in packed:
        fill = tuple((wanted[index][0], number) for index, number in pattern)
        yield from (fill for _ in range(times))


def gpu_of(shared_mb: int, shares: Sequence[Shape]) -> Shape:
    """Return a GPU that is shared by memory, as a node for pieces that take so much of it."""
    return Shape(shared_mb // min(share.memory_mb for share in shares), 0, shared_mb)


def lay_out_bundles(
    pool: Pool,
    whole: tuple[Sequence[Shape], Sequence[int]],
    pieces: Mapping[Shape, int],
    nodes: int,
    most_opened: float,
    go_on: Callable[[], bool],
) -> Packed | None:
    """Lay pieces with parts and pieces of whole GPUs out on so many nodes; None if that fails.

    No more than `most_opened` GPUs hold parts. `whole` are the shapes that patterns index, and
    the pieces of each. First-fit comes first; otherwise parts are on the fewest GPUs.
    """
    first = first_fit_with_parts(pool, whole, pieces)
    if nodes_in(first.patterns) <= nodes and first.opened() <= most_opened:
        return first
    shapes, asked = whole
    fills = _fewest_opened(pool, pieces)
    seated = sum(number for fill in fills for _, number in fill)
    if seated < sum(pieces.values()) or len(fills) > most_opened:
        return None
    bundles = sorted(Counter(held for held in _alike(fills, pieces) if held).items())
    gpus = [_size(held) for held, _ in bundles]
    if any(gpu.cpus > pool.node.cpus or gpu.memory_mb > pool.node.memory_mb for gpu in gpus):
        return None
    stock = CuttingStock(pool.node, (*shapes, *gpus), go_on)
    packed = stock.pack([*asked, *(times for _, times in bundles)], nodes)
    if not isinstance(packed, Packed):
        return None
    last = len(shapes)  # shapes as they are; bundles, which came after all shapes, from -1 down
    patterns = tuple(
        (tuple((at if at < last else last - 1 - at, number) for at, number in pattern), times)
        for pattern, times in packed.patterns
    )
    return Packed(patterns, tuple(held for held, _ in bundles))


def first_fit_with_parts(
    pool: Pool, whole: tuple[Sequence[Shape], Sequence[int]], pieces: Mapping[Shape, int]
) -> Packed:
    """Lay pieces with parts and pieces of whole GPUs out by first-fit decreasing.

    No piece is too large for a node. Nodes are filled one after another: each with the piece
    that takes most of what is scarce, then in the order that fills it best. A piece goes to the
    first GPU there that has room for it, if the host has the cores and the memory.
    """
    shapes, asked = whole
    left = {shape: number for shape, number in zip(shapes, asked, strict=True) if number}
    left |= {shape: number for shape, number in pieces.items() if number}
    filled = _nodes_filled(_Gpus(pool, left), left)
    bundles = sorted({one for _, held, _ in filled for one in held})
    indices = {shape: index for index, shape in enumerate(shapes)}
    patterns = []
    for wholes, held, times in filled:
        pattern = [(-1 - bundles.index(one), number) for one, number in Counter(held).items()]
        pattern += [(indices[shape], number) for shape, number in wholes.items()]
        patterns.append((tuple(sorted(pattern)), times))
    return Packed(tuple(patterns), tuple(bundles))


class _Gpus:
    """What one GPU of a pool holds of these pieces, and what share of a node each takes."""

    def __init__(self, pool: Pool, shapes: Iterable[Shape]) -> None:
        self.pool = pool
        profiles = sorted({shape.part for shape in shapes if shape.part.profile})
        self._fills = [dict(fill) for fill in fillings(pool, profiles)]

    def takes(self, held: Sequence[Shape], shape: Shape) -> bool:
        """Return whether a GPU that holds these pieces has room for another one."""
        if not shape.part.profile:
            taken = sum(one.part.memory_mb for one in held)
            return (
                not any(one.part.profile for one in held)
                and taken + shape.part.memory_mb <= self.pool.shared_mb
            )
        parts = Counter(one.part for one in (*held, shape))
        return any(all(n <= fill.get(part, 0) for part, n in parts.items()) for fill in self._fills)

    def shares(self, shape: Shape) -> tuple[float, float, float]:
        """Return the shares of a node's GPUs, cores and memory; a part counts as its part."""
        gpus, cpus, memory_mb = shares_of(shape, self.pool.node)
        if shape.part.profile:
            gpus /= max(fill.get(shape.part, 0) for fill in self._fills)
        elif shape.part != WHOLE:
            gpus *= shape.part.memory_mb / self.pool.shared_mb
        return gpus, cpus, memory_mb


def _nodes_filled(
    gpus: _Gpus, pieces: Mapping[Shape, int]
) -> list[tuple[dict[Shape, int], list[Held], int]]:
    """Yield nodes: pieces of whole GPUs, what the shared ones hold, and how many are alike."""
    left, filled = dict(pieces), []
    shares = {shape: gpus.shares(shape) for shape in pieces}
    loads = [sum(shares[shape][at] * number for shape, number in pieces.items()) for at in range(3)]
    scarce = [(load / max(*loads, 1e-9)) ** _SCARCITY for load in loads]
    worth = {shape: sum(map(mul, scarce, shares[shape])) for shape in pieces}
    keys: tuple[Callable[[Shape], object], ...] = (
        lambda shape: worth[shape],
        lambda shape: shares[shape],
        lambda shape: max(shares[shape]),
        lambda shape: sum(shares[shape]),
        lambda shape: shares[shape][1],
        lambda shape: shares[shape][2],
    )
    orders = [sorted(pieces, key=lambda shape: (key(shape), shape), reverse=True) for key in keys]
    while any(left.values()):
        orders = [[shape for shape in order if left[shape]] for order in orders]
        first, best = orders[0][0], -1.0
        for order in orders:
            wholes, held = _node_filled(
                gpus, left, [first, *(one for one in order if one != first)]
            )
            taken = Counter(wholes) + Counter(shape for one in held for shape in one)
            value = sum(worth[shape] * number for shape, number in taken.items())
            if value > best:
                best, node, on_it = value, (wholes, held), taken
        times = min(left[shape] // number for shape, number in on_it.items())
        for shape, number in on_it.items():
            left[shape] -= number * times
        filled.append((*node, times))
    return filled


def _node_filled(
    gpus: _Gpus, left: Mapping[Shape, int], order: Sequence[Shape]
) -> tuple[dict[Shape, int], list[Held]]:
    node = gpus.pool.node
    free, cpus, memory_mb = node.gpus, node.cpus, node.memory_mb
    wholes: dict[Shape, int] = {}
    opened: list[list[Shape]] = []
    for shape in order:
        most = left[shape]
        most = min(most, cpus // shape.cpus) if shape.cpus else most
        most = min(most, memory_mb // shape.memory_mb) if shape.memory_mb else most
        number = 0
        if shape.part == WHOLE:
            number = min(most, free // shape.gpus)
            free -= number * shape.gpus
            wholes |= {shape: number} if number else {}
        while shape.part != WHOLE and number < most:
            room = next((held for held in opened if gpus.takes(held, shape)), None)
            if room is None and not free:
                break
            if room is None:
                free -= 1
                opened.append(room := [])
            room.append(shape)
            number += 1
        cpus -= number * shape.cpus
        memory_mb -= number * shape.memory_mb
    return wholes, [tuple(sorted(held)) for held in opened]


def _size(held: Held) -> Shape:
    cpus, memory_mb = sum(one.cpus for one in held), sum(one.memory_mb for one in held)
    return Shape(1, cpus, memory_mb)


def _alike(fills: Sequence[Fill], pieces: Mapping[Shape, int]) -> list[Held]:
    """Put pieces of the same shape side by side: few kinds of bundles, each used often."""
    waiting: dict[Part, list[Shape]] = defaultdict(list)
    for shape, number in sorted(pieces.items()):
        waiting[shape.part] += [shape] * number
    held = []
    for fill in sorted(fills):
        mine: list[Shape] = []
        for part, number in fill:
            mine += waiting[part][-number:]
            del waiting[part][-number:]
        held.append(tuple(sorted(mine)))
    return held
