"""Executors of variants: this process, worker processes, or a Dask cluster.

A worker reads the same files anew, at the same paths, and shares nothing with this process.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from functools import partial
from itertools import islice
from multiprocessing import get_all_start_methods, get_context, parent_process
from multiprocessing.connection import wait
from typing import Any, Self

from planner.errors import Finding, InputError, LimitError, PlannerError
from planner.whatif.results import PlanSummary
from planner.whatif.variants import Variant, VariantPlanner, WorkerConfig

_ROWS_OF_A_WORKER = 250
"""Workers are replaced after so many plans, so that their memory cannot grow without end."""

_MOST_DEATHS = 3
"""Workers that may die one after the other without a plan in between."""


class ProcessExecutor:
    """Plans any number of variants, several at a time, until it is closed.

    With one job, this process plans them itself. Where a worker dies, the others are replaced as
    well, and what they were planning is planned again.
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
        left, deaths = dict(variants), 0
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
            self._pool = ProcessPoolExecutor(self._jobs, context, initializer=_start)
        # A worker begins when work is handed to it, and does not hear Ctrl-C until it can heed it.
        heard = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            config = self._planner.config
            waiting = {
                self._pool.submit(_figures, config, *one): one[0] for one in variants.items()
            }
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, heard)
        try:
            for future in as_completed(waiting):
                yield waiting[future], future.result()
        finally:
            for future in waiting:
                future.cancel()

    def _close(self) -> None:
        """End the workers, whether they are idle, at work or waiting for the lock of a dead one."""
        if self._pool is not None:
            for worker in tuple((self._pool._processes or {}).values()):
                worker.terminate()
            self._pool.shutdown(cancel_futures=True)
            self._pool = None


def _start() -> None:
    """Begin as a worker: Ctrl-C and the end of the parent end it at once and without words."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=partial(_end_with, parent.sentinel), daemon=True).start()


def _end_with(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)


_ANSWER_S = 10
"""How long a scheduler may take to answer."""
_IDLE_S = 60
"""After so long without any worker there is no cluster."""
_AHEAD = 3
"""Variants that wait for each thread of a worker, so that none is idle."""
_CHANGED = "the scenario, the catalog or the rules were changed meanwhile"
_OTHER_FILES = (
    "a worker of the cluster does not read what is read here: planner, scenario, catalog and rules "
    "must be the same there, at the same paths"
)


class DaskExecutor:
    """Plans any number of variants on the workers of a Dask scheduler, until it is closed.

    What a worker that dies was planning is planned by another.
    """

    def __init__(self, planner: VariantPlanner, address: str) -> None:
        """Raises InputError where no scheduler answers there, or Dask is not installed."""
        self._config = replace(  # the same files, wherever a worker was started
            planner.config,
            scenario=planner.config.scenario.absolute(),
            catalog=tuple(path.absolute() for path in planner.config.catalog),
            rules=tuple(path.absolute() for path in planner.config.rules),
        )
        self._address = address
        try:
            import distributed  # noqa: PLC0415 - an extra
        except ImportError:
            hint = (
                "install it with `pip install 'gpu-fit-planner[cluster]'`, or leave out --cluster"
            )
            message = "--cluster needs the package `distributed`, which is not installed"
            raise InputError(Finding(message, hint=hint)) from None
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        self._dask: Any = distributed
        try:
            asyncio.run(asyncio.wait_for(_identity(distributed, address), _ANSWER_S))
            self._client: Any = distributed.Client(address, timeout=_ANSWER_S, name="planner")
        except (OSError, ValueError) as error:
            hint = "write it as its scheduler says it: --cluster tcp://HOST:8786"
            message = f"no Dask scheduler answers at {address}"
            raise InputError(Finding(message, hint=hint)) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close(timeout=_ANSWER_S)

    def plan(
        self, variants: Mapping[str, Variant], done: Callable[[str, PlanSummary], None]
    ) -> None:
        """As every executor does; LimitError also where the cluster goes away."""
        left = iter(variants.items())
        waiting: dict[Any, str] = {}
        try:
            while True:
                room = _AHEAD * max(1, sum(self._client.nthreads().values()))
                for key, variant in islice(left, max(0, room - len(waiting))):
                    asked = (self._config, key, variant, _OTHER_FILES)
                    waiting[self._client.submit(_figures, *asked, pure=False)] = key
                if not waiting:
                    return
                for future in self._finished(list(waiting)):
                    done(waiting.pop(future), self._figures(future))
        finally:
            self._client.cancel(list(waiting))

    def _finished(self, waiting: list[Any]) -> Iterable[Any]:
        """Those that are done, one at least."""
        idle_s = 0
        while idle_s < _IDLE_S:
            try:
                found = self._dask.wait(waiting, timeout=_ANSWER_S, return_when="FIRST_COMPLETED")
                return set(found.done)
            except TimeoutError:
                idle_s = 0 if self._client.nthreads() else idle_s + _ANSWER_S
        raise LimitError(f"the cluster at {self._address} has no workers")

    def _figures(self, future: Any) -> PlanSummary:  # noqa: ANN401 - Dask's
        try:
            figures: PlanSummary = future.result()
        except PlannerError:
            raise
        except self._dask.scheduler.KilledWorker:
            raise LimitError("workers of the cluster died again and again on a variant") from None
        except self._dask.CancelledError:
            raise LimitError(f"the scheduler at {self._address} went away") from None
        except Exception as error:
            raise LimitError(f"a worker of the cluster cannot plan: {error}") from error
        return figures


async def _identity(dask: Any, address: str) -> None:  # noqa: ANN401 - Dask's
    """Ask a scheduler who it is: Dask's client waits forever where something else listens."""
    secured = dask.Security().get_connection_args("client")
    async with dask.rpc(address, connection_args=secured) as scheduler:
        await scheduler.identity()


_HERE: list[VariantPlanner] = []
"""The variant planner of this worker."""
_ALONE = threading.Lock()
"""A worker of a cluster may have several threads; one of them plans."""


def _figures(
    config: WorkerConfig, key: str, variant: Variant, changed: str = _CHANGED
) -> PlanSummary:
    """What a worker does; raises LimitError, with these words, where it reads something else."""
    with _ALONE:
        if not _HERE or _HERE[0].config != config:
            _HERE[:] = [VariantPlanner(config)]
        (planner,) = _HERE
        if planner.key(variant) != key:
            raise LimitError(changed)
        return planner.figures(variant)
