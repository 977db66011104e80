"""Plans the variants of a scenario on a Dask cluster that somebody else runs.

A worker reads the same files at the same paths, as a process of this machine would.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

from planner.errors import Finding, InputError, LimitError, PlannerError
from planner.whatif.variants.variant_planner import VariantPlanner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from planner.whatif.variants.plan_summary import PlanSummary
    from planner.whatif.variants.variant_planner import Variant, WorkerConfig

__all__ = ["DaskExecutor"]

_ANSWER_S = 10
"""How long a scheduler may take to answer."""
_IDLE_S = 60
"""After so long without any worker there is no cluster."""
_AHEAD = 3
"""Variants that wait for each thread of a worker, so that none is idle."""
_CHANGED = (
    "a worker of the cluster does not read what is read here: planner, scenario, catalog and rules "
    "must be the same there, at the same paths"
)


class DaskExecutor:
    """Plans any number of variants on the workers of a Dask scheduler, until it is closed.

    What a worker that dies was planning is planned by another.
    """

    def __init__(self, planner: VariantPlanner, address: str) -> None:
        """Raises InputError where no scheduler answers there, or Dask is not installed."""
        self._station = _absolute(planner.config)
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
                for key, variant in islice(left, max(0, self._room() - len(waiting))):
                    asked = (self._station, key, variant)
                    waiting[self._client.submit(_figures, *asked, pure=False)] = key
                if not waiting:
                    return
                for future in self._finished(waiting):
                    done(waiting.pop(future), self._figures(future))
        finally:
            self._client.cancel(list(waiting))

    def _room(self) -> int:
        """How many variants are handed over at a time."""
        threads: int = sum(self._client.nthreads().values())
        return _AHEAD * max(1, threads)

    def _finished(self, waiting: Mapping[Any, str]) -> Iterator[Any]:
        """Those that are done, one at least."""
        idle_s = 0
        while True:
            try:
                states = self._dask.wait(
                    list(waiting), timeout=_ANSWER_S, return_when="FIRST_COMPLETED"
                )
            except TimeoutError:
                idle_s = 0 if self._client.nthreads() else idle_s + _ANSWER_S
                if idle_s >= _IDLE_S:
                    raise LimitError(f"the cluster at {self._address} has no workers") from None
                continue
            yield from states.done
            return

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
    """Ask a scheduler who it is: Dask's client waits for good where something else listens."""
    secured = dask.Security().get_connection_args("client")
    async with dask.rpc(address, connection_args=secured) as scheduler:
        await scheduler.identity()


def _absolute(config: WorkerConfig) -> WorkerConfig:
    """The same files, wherever a worker was started."""
    return replace(
        config,
        scenario=config.scenario.absolute(),
        catalog=tuple(path.absolute() for path in config.catalog),
        rules=tuple(path.absolute() for path in config.rules),
    )


_HERE: list[VariantPlanner] = []
"""The variant planner of this worker process."""
_ALONE = threading.Lock()
"""A worker may have several threads; one of them plans."""


def _figures(config: WorkerConfig, key: str, variant: Variant) -> PlanSummary:
    """What a worker does."""
    with _ALONE:
        if not _HERE or _HERE[0].config != config:
            _HERE[:] = [VariantPlanner(config)]
        (planner,) = _HERE
        if planner.key(variant) != key:
            raise LimitError(_CHANGED)
        return planner.figures(variant)
