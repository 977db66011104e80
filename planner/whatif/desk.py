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
from typing import TYPE_CHECKING, Self

from planner import __version__
from planner.errors import LimitError
from planner.inputs.load import Question
from planner.inputs.written import flow
from planner.plan.make import make_plan
from planner.sizing.sizers import Sizers
from planner.whatif.figures import tried
from planner.whatif.held import short_quarters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from planner.inputs.settled import Inputs
    from planner.plan.plan import Plan
    from planner.whatif.figures import Figures
    from planner.whatif.held import Commitment

__all__ = ["Crew", "Desk", "Station", "Variant"]

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
    committed: tuple[Commitment, ...] | None = None
    """Nodes of a plan: do they hold the jobs of each variant? None: nobody asks."""


class Desk:
    """Plans variants of a scenario whose files are read once, and whose sizings are shared."""

    def __init__(self, station: Station) -> None:
        """Read the files; raises InputError."""
        self.station = station
        self.question = Question(station.scenario, catalog=station.catalog, rules=station.rules)
        self._sizers = Sizers()
        self._keys: dict[Variant, str] = {}

    @property
    def name(self) -> str:
        """The scenario's title, or its file's name where it has none."""
        stated = self.question.layers.composed().document.data
        return str(stated.get("name", self.station.scenario.name))

    def inputs(self, variant: Variant) -> Inputs:
        """The inputs of a variant; raises InputError."""
        return self.question.inputs(variant.apply, variant.settings)

    def key(self, variant: Variant) -> str:
        """All that the figures of a variant depend on, in short; raises InputError."""
        if variant not in self._keys:
            self._keys[variant] = self._key(variant)
        return self._keys[variant]

    def _key(self, variant: Variant) -> str:
        inputs = self.inputs(variant)
        data = self.question.layers.composed(variant.apply, variant.settings).document.data
        files = sorted(
            (file.role, file.path, file.sha256)
            for file in inputs.files
            if file.role in ("catalog", "rules")
        )
        station = self.station
        effort = (station.gap, station.time_limit_s, station.committed)
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
        figures = tried(lambda: self.plan(inputs))
        committed = self.station.committed
        if committed is None:
            return figures
        try:
            short = short_quarters(inputs, committed, self._sizers, self.station.time_limit_s)
        except LimitError:
            return figures
        return figures.model_copy(update={"short_quarters": short})


class Crew:
    """Plans any number of variants, several at a time, until it is closed.

    With one job nothing leaves this process. A worker that dies is replaced, and its plans are made
    again.
    """

    def __init__(self, desk: Desk, jobs: int) -> None:
        self._desk = desk
        self._jobs = jobs
        self._pool: ProcessPoolExecutor | None = None
        self._planned = 0
        """By the workers that there are now."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._dismiss()

    def plan(self, variants: Mapping[str, Variant], done: Callable[[str, Figures], None]) -> None:
        """Plan variants by their keys and hand over each as it is done.

        Raises LimitError where workers die again and again.
        """
        if self._jobs == 1 or (len(variants) <= 1 and self._pool is None):
            for key, variant in variants.items():
                done(key, self._desk.figures(variant))
            return
        left = dict(variants)
        deaths = 0
        while left:
            before = len(left)
            try:
                for key, figures in self._work(left):
                    del left[key]
                    done(key, figures)
            except BrokenProcessPool:
                self._dismiss()
                deaths = deaths + 1 if len(left) == before else 1
                if deaths == _MOST_DEATHS:
                    first = next(iter(left.values()))
                    raise LimitError(
                        f"worker processes died {deaths} times in a row, at last on {first.label}; "
                        "try again with `--jobs 1`, which takes the least memory"
                    ) from None

    def _work(self, variants: Mapping[str, Variant]) -> Iterator[tuple[str, Figures]]:
        """Figures by key, as they come, of as many as the workers may still plan."""
        pool = self._hired(len(variants))
        room = self._jobs * _ROWS_OF_A_WORKER - self._planned
        batch = list(islice(variants.items(), room))
        waiting = {pool.submit(_figures, key, variant): key for key, variant in batch}
        try:
            for future in as_completed(waiting):
                self._planned += 1
                yield waiting[future], future.result()
        finally:
            for future in waiting:
                future.cancel()
        if self._planned >= self._jobs * _ROWS_OF_A_WORKER:
            self._dismiss()

    def _hired(self, rows: int) -> ProcessPoolExecutor:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                min(self._jobs, rows),
                get_context("spawn"),
                initializer=_start,
                initargs=(self._desk.station,),
            )
        return self._pool

    def _dismiss(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
        self._pool, self._planned = None, 0


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
