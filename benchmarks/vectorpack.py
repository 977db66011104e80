"""Reads vector bin packing instances: items of several sizes each, as few bins as can be.

The format `.vbp` is that of VPSolver (https://github.com/fdabrandao/vpsolver, its manual), numbers
alone: a line with how many dimensions, one with the capacity of a bin in each, one with how many
kinds of items, and one for each kind with its size in every dimension and how many there are.

The classes New, Panigrahy and Triplet are the archives `data/*_instances.tar.gz` of
https://github.com/Vectorpack/experiments_vector_paper. The fewest bins known are its tables
`results_data/*_summary_known.csv`, with tabs: name, lower bound, optimum or -1, best known.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from planner.packing.problem import JobClass, Mode, Pool, Problem, Shape, Supply

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["BIN_CENTS", "DIMENSIONS", "NoPortfolioError", "fewest_known", "read_vbp"]

BIN_CENTS = 100_000
"""Price of a bin."""
DIMENSIONS = 3
"""Resources of a node: GPUs, cores and memory."""
_MISSING = (0,) * DIMENSIONS


class NoPortfolioError(Exception):
    """An instance that no portfolio can be: what it has, after `instances with`."""


def read_vbp(path: Path) -> Problem:
    """One node type to buy, whose GPUs, cores and memory are the dimensions of a bin.

    Raises ValueError with the place of a mistake, and NoPortfolioError.
    """
    lines = [
        (number, _numbers(path, number, line))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if line.strip()
    ]
    if len(lines) < 3:
        raise ValueError(f"{path.name}: ends before its items; is it whole?")
    dimensions, kinds = (_alone(path, *lines[at]) for at in (0, 2))
    if dimensions > DIMENSIONS:
        raise NoPortfolioError(f"more dimensions than the {DIMENSIONS} resources of a node")
    if any(size < 0 for _, numbers in lines for size in numbers):
        raise NoPortfolioError("sizes below 0")
    if len(lines) - 3 != kinds:
        raise ValueError(f"{path.name}: {len(lines) - 3} kinds of items, where it says {kinds}")
    bins = _so_many(path, *lines[1], dimensions)
    items = [_so_many(path, *line, dimensions + 1) for line in lines[3:]]
    for (number, _), item in zip(lines[3:], items, strict=True):
        if any(size > most for size, most in zip(item, bins, strict=False)):
            raise ValueError(f"{path.name}, line {number}: an item that no bin holds")
    return _problem(bins, items)


def fewest_known(folder: Path) -> dict[str, int]:
    """By benchmark and name (`New/class1_20_3_0`), the optimum, or the best that was published."""
    known = {}
    for path in sorted(folder.rglob("*_summary_known.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                fewest = min(
                    bins for column in ("OPT", "best_overall") if (bins := int(row[column])) > 0
                )
                known[f"{path.name.split('_')[0]}/{row['instance_name']}"] = fewest
    return known


def _problem(bins: Sequence[int], items: Sequence[Sequence[int]]) -> Problem:
    """GPUs are scaled where a piece would take none, or would have a node to itself for taking all.

    With a factor f, items of f·a GPUs, or of 1 where a is 0, fit on a node of f·A + f - 1 just
    where those of size a fit into A, as long as those of 0 are fewer than f.
    """
    without = sum(count for *sizes, count in items if not sizes[0])
    factor = max(without + 1, 2 if any(sizes[0] == bins[0] for sizes in items) else 1)
    gpus, cpus, memory_mb = (*bins, *_MISSING)[:DIMENSIONS]
    node = Shape(factor * gpus + factor - 1, cpus or 1, memory_mb or 1)
    classes = []
    for *sizes, count in items:
        gpus, cpus, memory_mb = (*sizes, *_MISSING)[:DIMENSIONS]
        shape = Shape(factor * gpus or 1, cpus, memory_mb)
        classes.append(JobClass((Mode("bin", shape),), (0,), count))
    pool = Pool("bin", "main", "bin", node, 0, 0, False)
    supply = Supply("bin", "buy", 0, None, (BIN_CENTS,))
    return Problem(1, (pool,), (supply,), tuple(classes), 0)


def _numbers(path: Path, number: int, line: str) -> tuple[int, ...]:
    try:
        return tuple(map(int, line.split()))
    except ValueError:
        raise ValueError(f"{path.name}, line {number}: not whole numbers: {line.strip()}") from None


def _alone(path: Path, line: int, numbers: tuple[int, ...]) -> int:
    return _so_many(path, line, numbers, 1)[0]


def _so_many(path: Path, line: int, numbers: tuple[int, ...], asked: int) -> tuple[int, ...]:
    if len(numbers) != asked:
        raise ValueError(
            f"{path.name}, line {line}: {len(numbers)} numbers, where {asked} are asked for"
        )
    return numbers
