"""Who plans the variants of a scenario: this process, or several worker processes.

A worker reads the same files anew, and shares nothing with this process.
"""

from __future__ import annotations

import os
import signal
import threading
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from itertools import islice
from multiprocessing import get_all_start_methods, get_context, parent_process
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any, Protocol, Self

from planner.errors import LimitError
from planner.whatif.variants.variant_planner import VariantPlanner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from planner.whatif.variants.plan_summary import PlanSummary
    from planner.whatif.variants.variant_planner import Variant, WorkerConfig

__all__ = ["Executor", "ProcessExecutor"]

_ROWS_OF_A_WORKER = 250
"""After so many plans workers are replaced: what they hold in memory cannot grow for good."""

_A_MOMENT_S = 0.2

_MOST_DEATHS = 3
"""Workers that may die one after the other without a plan in between."""


class Executor(Protocol):
    """Plans any number of variants; what they come to does not depend on who is in it."""

    def plan(
        self, variants: Mapping[str, Variant], done: Callable[[str, PlanSummary], None]
    ) -> None:
        """Plan variants by their keys and hand over each as it is done.

        Raises LimitError where workers die again and again.
        """


class ProcessExecutor:
    """Plans any number of variants, several at a time, until it is closed.

    With one job nothing leaves this process. Where a worker dies, the others are replaced as well,
    and what they were planning is planned again.
    """

    def __init__(self, planner: VariantPlanner, jobs: int) -> None:
        self._planner = planner
        self._jobs = jobs
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def plan(
        self, variants: Mapping[str, Variant], done: Callable[[str, PlanSummary], None]
    ) -> None:
        """As every executor does."""
        if self._jobs == 1 or (len(variants) <= 1 and self._pool is None):
            for key, variant in variants.items():
                done(key, self._planner.figures(variant))
            return
        left = dict(variants)
        deaths = 0
        while left:
            before = len(left)
            batch = dict(islice(left.items(), self._jobs * _ROWS_OF_A_WORKER))
            try:
                for key, figures in self._work(batch):
                    del left[key]
                    done(key, figures)
                if left:
                    self._close()
            except BrokenProcessPool:
                self._close()
                deaths = deaths + 1 if len(left) == before else 1
                if deaths == _MOST_DEATHS:
                    first = next(iter(left.values()))
                    raise LimitError(
                        f"worker processes died {deaths} times in a row, at last on {first.label}; "
                        "try again with `--jobs 1`, which takes the least memory"
                    ) from None

    def _work(self, variants: Mapping[str, Variant]) -> Iterator[tuple[str, PlanSummary]]:
        """Figures by key, as they come."""
        if self._pool is None:
            # A copy of this process would be made beside threads that hold locks for good.
            method = "forkserver" if "forkserver" in get_all_start_methods() else "spawn"
            context = get_context(method)
            if method == "forkserver":
                context.set_forkserver_preload([__name__])
            self._pool = ProcessPoolExecutor(
                self._jobs,
                context,
                initializer=_start,
                initargs=(self._planner.config,),
            )
        with _interrupts_blocked():  # a worker begins when work is handed to it
            waiting = {self._pool.submit(_figures, *one): one[0] for one in variants.items()}
        try:
            for future in as_completed(waiting):
                yield waiting[future], future.result()
        finally:
            for future in waiting:
                future.cancel()

    def _close(self) -> None:
        """Wait until the workers have ended.

        One that is killed while it waits for work holds the lock of the queue for good, so that
        the others never hear that they are to end: they are ended then.
        """
        if self._pool is None:
            return
        workers = tuple((self._pool._processes or {}).values())
        manager: Any = self._pool._executor_manager_thread  # a Thread, whatever its stub says
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._pool = None
        while left := [worker for worker in workers if worker.is_alive()]:
            if any(worker.exitcode for worker in workers):
                for worker in left:
                    worker.terminate()
            wait([worker.sentinel for worker in left], _A_MOMENT_S)
        if manager is not None:
            manager.join()


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Ctrl-C waits, also in processes that begin now: until they unblock it, they keep silent."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_HERE: list[VariantPlanner] = []
"""The variant planner of this worker process."""


def _start(config: WorkerConfig) -> None:
    """Begin as a worker: Ctrl-C and the end of the parent end it at once and without words."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=partial(_end_with, parent.sentinel), daemon=True).start()
    _HERE[:] = [VariantPlanner(config)]


def _end_with(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)


def _figures(key: str, variant: Variant) -> PlanSummary:
    (planner,) = _HERE
    if planner.key(variant) != key:
        raise LimitError("the scenario, the catalog or the rules were changed meanwhile")
    return planner.figures(variant)
