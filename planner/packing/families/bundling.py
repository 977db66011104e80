"""Ways to bundle the nodes of a pool: which of them one piece takes as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import product
from operator import mul
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from planner.packing.families.nodecuts import Bundle, Stacked

    Floats = NDArray[np.float64]
    Whole = NDArray[np.int64]

__all__ = ["Ways", "by_pool", "ways_of"]


@cache
def by_pool(bundles: tuple[Bundle, ...]) -> list[tuple[int, tuple[int, ...]]]:
    """The bundles of each pool that has some."""
    pools = sorted({bundle.pool for bundle in bundles})
    return [(pool, tuple(n for n, one in enumerate(bundles) if one.pool == pool)) for pool in pools]


@dataclass(frozen=True, slots=True)
class Ways:
    """Ways to bundle the nodes of a pool."""

    bundles: tuple[int, ...]
    """Which ones are told apart."""
    grid: Whole
    rows: Whole
    """Cuts that tell bundles apart."""
    gives: Floats
    """What they are worth, by such cut."""
    best: Floats
    """The most that any is worth, by cut."""


@lru_cache(maxsize=256)
def ways_of(stacked: Stacked, bundles: tuple[int, ...], sizes: tuple[int, ...], total: int) -> Ways:
    """Ways to bundle so many nodes of a pool, one of those that cuts do not tell apart."""
    grid, rows = _grid(sizes, total), _of_bundles(stacked)
    gives = grid @ stacked.bundles[rows][:, bundles].T
    first = np.sort(np.unique(gives, axis=0, return_index=True)[1])
    grid, gives = grid[first], gives[first]
    best = np.zeros(len(stacked))
    best[rows] = gives.max(axis=0)
    return Ways(bundles, grid, rows, gives, best)


@lru_cache(maxsize=4)
def _of_bundles(stacked: Stacked) -> Whole:
    return np.flatnonzero(stacked.bundles.any(axis=1))


@cache
def _grid(sizes: tuple[int, ...], total: int) -> Whole:
    ways = product(*(range(total // size + 1) for size in sizes))
    return np.array([way for way in ways if sum(map(mul, way, sizes)) <= total], dtype=np.int64)
