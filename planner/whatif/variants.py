"""Plans variants of one scenario, each once: in this process, in worker processes, or on Dask.

What a variant comes to does not depend on who plans it, nor beside which others. A worker reads the
same files anew, at the same paths, and shares nothing with this process.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from multiprocessing import get_all_start_methods, get_context, parent_process
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, Protocol, Self

from planner.errors import Finding, InputError, LimitError, PlannerError
from planner.inputs.load import Question
from planner.inputs.override import Override
from planner.inputs.reading.locate import USED
from planner.inputs.settled import Inputs
from planner.planning.assemble import Request
from planner.planning.make import make_plan
from planner.planning.plan import Plan
from planner.sizing.sizers import Sizers
from planner.version import GAP, TIME_LIMIT_SECONDS, __version__
from planner.whatif.results import PlanSummary, tried
from planner.whatif.shortfall import Commitment, short_quarters


@dataclass(frozen=True, slots=True)
class Variant:
    """A variant of a scenario: its overrides and scenarios by name, then further overrides."""

    apply: tuple[str, ...] = ()
    settings: tuple[Override, ...] = ()

    @property
    def label(self) -> str:
        """Return its name as a person would type it on the command line."""
        return ", ".join((*self.apply, *map(str, self.settings))) or "as it is"

    def with_more(self, other: Variant) -> Variant:
        """Return both together: the other's overrides and settings come later, and win."""
        return Variant((*self.apply, *other.apply), (*self.settings, *other.settings))


AS_STATED = Variant()
"""Nothing is changed."""


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """All that a worker needs to know."""

    scenario: Path
    catalog: tuple[Path, ...] = ()
    rules: tuple[Path, ...] = ()
    gap: float = GAP
    time_limit_s: float = TIME_LIMIT_SECONDS
    text: str | None = None
    """The content of the scenario's file, if a plan records it."""
    whole: bool = False
    """Whether that is put together from several files."""
    committed: tuple[Commitment, ...] | None = None
    """Nodes of a plan that are tested against the jobs of each variant; None: they are not."""


class VariantPlanner:
    """Plans variants of a scenario whose files are read once, and whose sizings are shared."""

    def __init__(
        self,
        config: WorkerConfig,
        question: Question | None = None,
        sizers: Sizers | None = None,
    ) -> None:
        """Read the files, unless that is done; raises InputError."""
        self.config = config
        self.question = question or Question(
            config.scenario,
            catalog=config.catalog,
            rules=config.rules,
            text=config.text,
            whole=config.whole,
        )
        self._sizers = sizers or Sizers()
        self._keys: dict[Variant, str] = {}

    @property
    def name(self) -> str:
        """Return the scenario's title, or its file's name if it has none."""
        stated = self.question.layers.composed().document.data
        return str(stated.get("name", self.config.scenario.name))

    def inputs(self, variant: Variant) -> Inputs:
        """Return the inputs of a variant; raises InputError."""
        return self.question.inputs(variant.apply, variant.settings)

    def key(self, variant: Variant) -> str:
        """Return a digest of all that a variant's figures depend on; raises InputError."""
        if variant not in self._keys:
            inputs, config = self.inputs(variant), self.config
            files = [(file.role, file.sha256) for file in inputs.files if file.role in USED]
            effort = (config.gap, config.time_limit_s, config.committed)
            asked = repr((__version__, effort, files, inputs.question))
            self._keys[variant] = hashlib.sha256(asked.encode()).hexdigest()[:24]
        return self._keys[variant]

    def plan(self, inputs: Inputs) -> Plan:
        """Plan with the gap and limits of the configuration; raises what planning raises."""
        config = self.config
        return make_plan(
            inputs,
            asked_gap=config.gap,
            time_limit_s=config.time_limit_s,
            sizers=self._sizers,
            price_choices=False,
        )

    def request(self, inputs: Inputs) -> Request:
        """What is asked of a plan of these inputs, with the gap and limits of the configuration."""
        return Request(inputs, self._sizers, self.config.gap, self.config.time_limit_s)

    def figures(self, variant: Variant) -> PlanSummary:
        """Return the result of a variant."""
        inputs = self.inputs(variant)
        figures = tried(lambda: self.plan(inputs))
        committed = self.config.committed
        if committed is None:
            return figures
        try:
            short = short_quarters(self.request(inputs), committed)
        except LimitError:
            return figures
        return figures.model_copy(update={"short_quarters": short})


class Executor(Protocol):
    """Plans any number of variants; the results do not depend on who plans them."""

    def plan(
        self, variants: Mapping[str, Variant], done: Callable[[str, PlanSummary], None]
    ) -> None:
        """Plan variants by their keys, and yield each as it is done.

        Raises LimitError if workers die again and again.
        """


_ROWS_OF_A_WORKER = 250
"""Workers are replaced after so many plans, so that their memory cannot grow without end."""

_MOST_DEATHS = 3
"""How many workers may die in sequence without a plan in between."""


class ProcessExecutor:
    """Plans any number of variants, several at a time, until it is closed.

    With one job, this process plans them itself. If a worker dies, the others are replaced as
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
        """Plan variants as every executor does."""
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
        """Yield figures by key, as they come."""
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
    """Start as a worker: Ctrl-C and the end of the parent end it at once and silently."""
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
"""After so long without any worker, there is no cluster."""
_AHEAD = 3
"""Variants that wait for each thread of a worker, so that none is idle."""
_CHANGED = "the scenario, the catalog or the rules were changed meanwhile"
_OTHER_FILES = (
    "a worker of the cluster does not read what is read here: planner, scenario, catalog and rules "
    "must be the same there, at the same paths"
)


class DaskExecutor:
    """Plans any number of variants on the workers of a Dask scheduler, until it is closed.

    What a dying worker was planning is planned by another.
    """

    def __init__(self, planner: VariantPlanner, address: str) -> None:
        """Connect; raises InputError if no scheduler answers there, or Dask is not installed."""
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
        """Plan as every executor does; raises LimitError also if the cluster goes away."""
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
        """Return those that are done, at least one."""
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
    """Ask a scheduler for its identity: Dask's client waits forever if something else listens."""
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
    """Plan on a worker; raises LimitError, with these words, if it reads something else."""
    with _ALONE:
        if not _HERE or _HERE[0].config != config:
            _HERE[:] = [VariantPlanner(config)]
        (planner,) = _HERE
        if planner.key(variant) != key:
            raise LimitError(changed)
        return planner.figures(variant)


class CachedRunner:
    """Plans a scenario with any further settings, each once."""

    def __init__(
        self,
        planner: VariantPlanner,
        executor: Executor,
        asked: Variant,
        progress: Callable[[str], None],
    ) -> None:
        self.planner = planner
        self.progress = progress
        self._executor = executor
        self._asked = asked
        self._figures: dict[str, PlanSummary] = {}

    @cached_property
    def inputs(self) -> Inputs:
        """Return the inputs of what is asked; raises InputError."""
        return self.planner.inputs(self._asked)

    def _with(self, settings: tuple[Override, ...]) -> Variant:
        return Variant(self._asked.apply, (*self._asked.settings, *settings))

    def know(self, figures: PlanSummary) -> None:
        """Record the figures of what is asked, so that it is not planned again."""
        self._figures[self.planner.key(self._asked)] = figures

    def one(self, settings: tuple[Override, ...] = ()) -> PlanSummary:
        """Return one plan; without settings, that of what is asked."""
        (figures,) = self.all([settings])
        return figures

    def all(self, wanted: Iterable[tuple[Override, ...]]) -> list[PlanSummary]:
        """Return several plans in this order; missing ones are made together."""
        variants = [self._with(one) for one in wanted]
        keys = [self.planner.key(variant) for variant in variants]
        fresh = {
            key: variant
            for key, variant in zip(keys, variants, strict=True)
            if key not in self._figures
        }
        number = len(self._figures) + len(fresh)

        def done(key: str, figures: PlanSummary) -> None:
            self._figures[key] = figures
            self.progress(f"planning, {len(self._figures):,} of {number:,} or a few more")

        self._executor.plan(fresh, done)
        return [self._figures[key] for key in keys]
