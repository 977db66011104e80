"""Instances of others, from a folder; what is missing there is left out, and none are shipped.

Where they come from, and what they look like, is told in `vectorpack.py` and `openb.py`.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from itertools import product
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.greedy import first_fit_decreasing
from benchmarks.openb import read_openb
from benchmarks.portfolio_runs import PROOF, Run, timed
from benchmarks.start import starts
from benchmarks.table import Row
from benchmarks.vectorpack import BIN_CENTS, NoPortfolioError, fewest_known, read_vbp

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from planner.packing.problem import Problem

__all__ = ["from_folder"]

_NODES = "openb_node_list_gpu_node.csv"
_FIRST_LINES = 500
_LIMIT_S, _BINS_LIMIT_S = 60.0, 10.0
"""Of one search: the planner's own, and where there are very many."""
_MOST_ITEMS = (60, 120)
"""Of bin packing instances that are told of in one row; larger ones are skipped."""
_OF_A_SIZE = 2
"""Instances of one class with as many items that are measured."""


class Measured(NamedTuple):
    """One instance."""

    run: Run
    first_fit_cents: int
    known_cents: int | None = None


def from_folder(folder: Path) -> Iterator[Row]:
    """A row for each class of instances that the folder has."""
    yield from _openb(folder)
    yield from _vectorpack(folder)


def _openb(folder: Path) -> Iterator[Row]:
    nodes = next(folder.rglob(_NODES), None)
    pods = sorted(folder.rglob("openb_pod_list_*.csv"))
    if nodes is None or not pods:
        _say(f"no {_NODES} with openb_pod_list_*.csv in {folder}: openb is skipped")
        return
    for path, shares in product(pods, (False, True)):
        try:
            asked = [
                read_openb(nodes, path, first=first, shares=shares)
                for first in (_FIRST_LINES, None)
            ]
        except ValueError as mistake:
            _say(f"{mistake}: skipped")
            continue
        name = path.stem.removeprefix("openb_pod_list_")
        for pieces, problem in {_units(problem): problem for problem in asked}.items():
            if pieces:
                what = f"openb {name}, {pieces:,} pods{'' if shares else ' with whole GPUs'}"
                yield _row(what, [_measured(problem, _LIMIT_S)])


def _vectorpack(folder: Path) -> Iterator[Row]:
    known = fewest_known(folder)
    classes: dict[tuple[str, int], list[tuple[str, Problem]]] = defaultdict(list)
    sizes: Counter[tuple[str, int]] = Counter()
    skipped: Counter[str] = Counter()
    for path in sorted(folder.rglob("*.vbp")):
        try:
            problem = read_vbp(path)
        except NoPortfolioError as why:
            skipped[str(why)] += 1
            continue
        except ValueError as mistake:
            _say(f"{mistake}: skipped")
            continue
        items = _units(problem)
        most = next((most for most in _MOST_ITEMS if items <= most), None)
        if most is None:
            skipped[f"more than {_MOST_ITEMS[-1]} items"] += 1
            continue
        benchmark = path.relative_to(folder).parts[0].split("_")[0]
        name = f"{benchmark} {path.stem.split('_')[0]}"
        sizes[name, items] += 1
        if sizes[name, items] <= _OF_A_SIZE:
            classes[name, most].append((f"{benchmark}/{path.stem}", problem))
    for reason, number in skipped.items():
        _say(f"{number:,} instances with {reason}: skipped")
    if not classes:
        _say(f"no *.vbp to measure in {folder}: Vectorpack is skipped")
    for (name, most), instances in sorted(classes.items()):
        done = [_measured(problem, _BINS_LIMIT_S, known.get(stem)) for stem, problem in instances]
        yield _row(f"{name}, up to {most} items", done)


def _units(problem: Problem) -> int:
    return sum(job_class.count for job_class in problem.classes)


def _measured(problem: Problem, limit_s: float, known: int | None = None) -> Measured:
    run = timed(problem, time_limit_s=limit_s)
    cost = first_fit_decreasing(problem).cost_cents
    return Measured(run, cost, None if known is None else known * BIN_CENTS)


def _row(what: str, done: list[Measured]) -> Row:
    planned = [one for one in done if one.run.cost_cents]
    without = len(done) - len(planned)
    times = [starts(one.run.seconds) for one in done]
    told = [f"{median(times):.1f} R" + (f", most {max(times):.1f}" if len(done) > 1 else "")]
    if without:
        told.append(f"no plan for {without} of {len(done)}")
    if planned:
        gaps = [one.run.gap for one in planned]
        ours = sum(one.run.cost_cents for one in planned)
        proved = sum(gap <= PROOF for gap in gaps)
        told.append(
            f"{proved} of {len(done)} proved, largest gap {max(gaps):.1%}".replace("%", " %")
        )
        told.append(f"first-fit {_above(sum(one.first_fit_cents for one in planned), ours)}")
        if all(one.known_cents is not None for one in planned):
            told.append(
                f"best published {_above(sum(one.known_cents or 0 for one in planned), ours)}"
            )
    met = not without and all(one.run.cost_cents <= one.first_fit_cents for one in done)
    return Row(what, "; ".join(told), "a plan; never dearer", met)


def _above(other: int, ours: int) -> str:
    return f"{other / ours - 1:+.1%}".replace("%", " %")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
