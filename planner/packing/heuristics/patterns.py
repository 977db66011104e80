"""Units and layouts chosen at once, by an integer program over the patterns met so far."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.packing.counting.layout import load_of
from planner.packing.counting.variants import with_patterns
from planner.packing.solvers.solver import solve_integer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planner.packing.counting.counts import PoolInQuarter
    from planner.packing.found import Found
    from planner.packing.layouts.packed import Packed

__all__ = ["from_patterns"]

_NODES = 500


def from_patterns(
    found: Found, held: Mapping[int, float], time_limit_s: float
) -> tuple[tuple[float, ...], dict[PoolInQuarter, Packed]] | None:
    """Values and layouts on node counts that are held; None where known patterns do not do."""
    counts = found.counts
    known = {key: (found.shapes[key[0]], found.stocks[key[0]].patterns()) for key in counts.usages}
    program, columns = with_patterns(counts, known)
    answer = solve_integer(
        program.fixed(dict(held)).priced({}), time_limit_s=time_limit_s, node_limit=_NODES
    )
    if not answer.values:
        return None
    values = tuple(float(round(value)) for value in answer.values)
    packings = {}
    for (pool, quarter), used in columns.items():
        stock = found.stocks[pool]
        chosen = [(pattern, round(values[index])) for pattern, index in used.items()]
        load, _ = load_of(counts, stock, (pool, quarter), values)
        packings[pool, quarter] = stock.exactly(chosen, [round(units) for units in load])
    return values, packings
