"""Plans variants of one scenario, here or in worker processes, one after the other.

A worker reads the same files anew and shares nothing: what a variant comes to does not depend on
who plans it, nor beside which others.
"""

from __future__ import annotations

import hashlib
import os
import signal
import threading
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from itertools import islice
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from typing import TYPE_CHECKING

from planner import __version__
from planner.errors import LimitError
from planner.inputs.load import Question
from planner.inputs.written import flow
from planner.plan.make import make_plan
from planner.sizing.sizers import Sizers
from planner.whatif.figures import tried

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from planner.inputs.settled import Inputs
    from planner.plan.plan import Plan
    from planner.whatif.figures import Figures

__all__ = ["Desk", "Station", "Variant", "plan_all"]

_ROWS_OF_A_WORKER = 250
"""After so many plans a worker is replaced: what it holds in memory cannot grow for good."""

_MOST_DEATHS = 3
"""Workers that may die one after the other without a plan in between."""


@dataclass(frozen=True, slots=True)
class Variant:
    """What is asked of a scenario: overrides and scenarios by name, then `path=value` settings."""

    apply: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """As a person would say it on the command line."""
        return ", ".join((*self.apply, *self.settings)) or "as it is"


@dataclass(frozen=True, slots=True)
class Station:
    """All that a worker must be told."""

    scenario: Path
    catalog: tuple[Path, ...]
    rules: tuple[Path, ...]
    gap: float
    time_limit_s: float


class Desk:
    """Plans variants of a scenario whose files are read once, and whose sizings are shared."""

    def __init__(self, station: Station) -> None:
        """Read the files; raises InputError."""
        self.station = station
        self.question = Question(station.scenario, catalog=station.catalog, rules=station.rules)
        self._sizers = Sizers()

    def inputs(self, variant: Variant) -> Inputs:
        """The inputs of a variant; raises InputError."""
        return self.question.inputs(variant.apply, variant.settings)

    def key(self, variant: Variant) -> str:
        """What a variant is asked with and of, in short: alike for the same figures alone."""
        inputs = self.inputs(variant)
        data = self.question.layers.composed(variant.apply, variant.settings).document.data
        files = sorted(
            (file.role, file.path, file.sha256)
            for file in inputs.files
            if file.role in ("catalog", "rules")
        )
        effort = (self.station.gap, self.station.time_limit_s)
        asked = repr((__version__, effort, files, flow(data)))
        return hashlib.sha256(asked.encode()).hexdigest()[:24]

    def plan(self, inputs: Inputs) -> Plan:
        """Plan as the station asks; raises what planning raises."""
        return make_plan(
            inputs,
            asked_gap=self.station.gap,
            time_limit_s=self.station.time_limit_s,
            sizers=self._sizers,
            price_choices=False,
        )

    def figures(self, variant: Variant) -> Figures:
        """What a variant comes to."""
        inputs = self.inputs(variant)
        return tried(lambda: self.plan(inputs))


def plan_all(
    desk: Desk,
    variants: Mapping[str, Variant],
    jobs: int,
    done: Callable[[str, Figures], None],
) -> None:
    """Plan variants by their keys, `jobs` at a time, and hand over each as it is done.

    With one job nothing leaves this process. A worker that dies is replaced and its plans are made
    again; raises LimitError where that happens again and again.
    """
    if min(jobs, len(variants)) <= 1:
        for key, variant in variants.items():
            done(key, desk.figures(variant))
        return
    left = dict(variants)
    deaths = 0
    while left:
        before = len(left)
        batch = dict(islice(left.items(), jobs * _ROWS_OF_A_WORKER))
        try:
            for key, figures in _planned(desk.station, batch, min(jobs, len(batch))):
                del left[key]
                done(key, figures)
        except BrokenProcessPool:
            deaths = deaths + 1 if len(left) == before else 1
            if deaths == _MOST_DEATHS:
                first = next(iter(left.values()))
                raise LimitError(
                    f"worker processes died {deaths} times in a row, at last on {first.label}; "
                    "try again with `--jobs 1`, which takes the least memory"
                ) from None


def _planned(
    station: Station, batch: Mapping[str, Variant], jobs: int
) -> Iterator[tuple[str, Figures]]:
    """Figures by key, as they come."""
    context = get_context("spawn")
    with ProcessPoolExecutor(jobs, context, initializer=_start, initargs=(station,)) as pool:
        waiting = {pool.submit(_figures, key, variant): key for key, variant in batch.items()}
        try:
            for future in as_completed(waiting):
                yield waiting[future], future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


_HERE: list[Desk] = []
"""The desk of this worker process."""


def _start(station: Station) -> None:
    """Begin as a worker: Ctrl-C and the end of the parent end it at once and without words."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=partial(_end_with, parent.sentinel), daemon=True).start()
    _HERE[:] = [Desk(station)]


def _end_with(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)


def _figures(key: str, variant: Variant) -> Figures:
    (desk,) = _HERE
    if desk.key(variant) != key:
        raise LimitError("the scenario, the catalog or the rules were changed meanwhile")
    return desk.figures(variant)
