"""Who plans the variants of a scenario: this process, or several worker processes.

A worker begins as a copy of this process where it can, else it reads the same files anew; from then
on it shares nothing.
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from itertools import islice
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Protocol, Self

from planner.errors import LimitError
from planner.whatif.desk.copies import heed_silently, interrupts_blocked, may_copy
from planner.whatif.desk.desk import Desk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from planner.whatif.desk.desk import Station, Variant
    from planner.whatif.desk.figures import Figures

__all__ = ["Crew", "Processes"]

_ROWS_OF_A_WORKER = 250
"""After so many plans a worker is replaced: what it holds in memory cannot grow for good."""

_MOST_DEATHS = 3
"""Workers that may die one after the other without a plan in between."""


class Crew(Protocol):
    """Plans any number of variants; what they come to does not depend on who is in it."""

    def plan(self, variants: Mapping[str, Variant], done: Callable[[str, Figures], None]) -> None:
        """Plan variants by their keys and hand over each as it is done.

        Raises LimitError where workers die again and again.
        """


class Processes:
    """Plans any number of variants, several at a time, until it is closed.

    With one job nothing leaves this process. A worker that dies is replaced, and its plans are made
    again.
    """

    def __init__(self, desk: Desk, jobs: int) -> None:
        self._desk = desk
        self._jobs = jobs
        self._pool: ProcessPoolExecutor | None = None
        self._workers = self._planned = 0
        """Those that there are now, and the plans that they have made."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._dismiss()

    def plan(self, variants: Mapping[str, Variant], done: Callable[[str, Figures], None]) -> None:
        """As every crew does."""
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
        with interrupts_blocked():  # a worker begins when work is handed to it
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
        """As many workers as there are rows for, or more from before; once those are too few, all.

        Another beginning costs as much as a plan or two, so there is one at most.
        """
        few, wanted = self._pool is not None, min(self._jobs, rows)
        if self._workers < wanted:
            self._dismiss()
        if self._pool is None:
            self._workers = self._jobs if few else wanted
            copied = may_copy()  # to load all that a copy knows takes as long as several plans
            self._pool = ProcessPoolExecutor(
                self._workers,
                get_context("fork" if copied else "spawn"),
                initializer=_start,
                initargs=(self._desk if copied else self._desk.station,),
            )
        return self._pool

    def _dismiss(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
        self._pool, self._workers, self._planned = None, 0, 0


_HERE: list[Desk] = []
"""The desk of this worker process."""


def _start(given: Desk | Station) -> None:
    """Begin as a worker: Ctrl-C and the end of the parent end it at once and without words."""
    heed_silently()
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=partial(_end_with, parent.sentinel), daemon=True).start()
    _HERE[:] = [given if isinstance(given, Desk) else Desk(given)]


def _end_with(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)


def _figures(key: str, variant: Variant) -> Figures:
    (desk,) = _HERE
    if desk.key(variant) != key:
        raise LimitError("the scenario, the catalog or the rules were changed meanwhile")
    return desk.figures(variant)
