"""Sorts what differs a little into a few classes of nearly the same size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def classified(
    cells: Iterable[Sequence[int]],
    points: Sequence[Sequence[float]],
    weights: Sequence[float],
    most: int,
) -> list[list[int]]:
    """Split cells until there are `most`, or no two points of a cell differ.

    Cells hold indices of `points`, which give the sizes along some axes, and of `weights`, which
    say how many there are. The cell that differs most is split next, where its gap is widest.
    """
    found = [list(cell) for cell in cells]
    spreads = [_spread(cell, points, weights) for cell in found]
    while len(found) < most:
        widest = max(range(len(found)), key=lambda cell: (spreads[cell][0], -cell))
        spread, axis = spreads[widest]
        if spread <= 0:
            break
        ordered = sorted(found[widest], key=lambda index: (points[index][axis], index))
        halves = _halves(ordered, [points[index][axis] for index in ordered])
        found[widest : widest + 1] = halves
        spreads[widest : widest + 1] = [_spread(half, points, weights) for half in halves]
    return found


def _spread(
    cell: Sequence[int], points: Sequence[Sequence[float]], weights: Sequence[float]
) -> tuple[float, int]:
    """How far members differ along the axis where they differ most, times their number."""
    spreads = [
        (max(along) - min(along), -axis)
        for axis, along in enumerate(zip(*(points[index] for index in cell), strict=True))
    ]
    widest, axis = max(spreads, default=(0.0, 0))
    return widest * sum(weights[index] for index in cell), -axis


def _halves(ordered: list[int], along: Sequence[float]) -> list[list[int]]:
    """Split at a wide gap that leaves many on both sides; nearer the middle where gaps tie."""
    middle = len(ordered) / 2
    cut = max(
        range(1, len(ordered)),
        key=lambda at: (
            (along[at] - along[at - 1]) * min(at, len(ordered) - at),
            -abs(at - middle),
        ),
    )
    return [ordered[:cut], ordered[cut:]]
