"""Background work of the local page, each task in a process of its own.

A process ends with the server, whichever way that ends, and can be ended at any time.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_all_start_methods, get_context, parent_process
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Literal, NamedTuple

import planner
from planner import CheckError, InfeasibleError, InputError, PlannerError, Result

_AT_A_TIME, _KEPT = 2, 12
State = Literal["waiting", "at work", "done", "failed", "cancelled"]
TaskKind = Literal["plan", "causes", "alternatives", "sensitivity"]


@dataclass(frozen=True, slots=True)
class Task:
    """What is asked for, as plain data that any process understands."""

    kind: TaskKind
    title: str
    scenario: str = ""
    """Path of what to plan; likewise `apply`, `set`, and where catalog and rules are."""
    changes: dict[str, Any] = field(default_factory=dict)
    plans: tuple[str, ...] = ()
    """Plans to compare, or the one whose scenario is asked more of, as paths or texts."""
    labels: tuple[str, str] = ("before", "after")
    of: str = ""
    """The plan that what is planned is held against."""
    back: str = ""
    """The address from which this was asked."""

    @property
    def is_variant(self) -> bool:
        """Whether something is changed in the scenario."""
        return bool(self.changes.get("set") or self.changes.get("apply"))


class Failure(NamedTuple):
    """Why there is no result, in the words of the command line."""

    headline: str
    reasons: tuple[str, ...] = ()
    remedies: tuple[str, ...] = ()


@dataclass(slots=True)
class Execution:
    """A task on its way, and what came of it."""

    name: str
    task: Task
    state: State = "waiting"
    doing: str = "starting"
    began: float = field(default_factory=time.monotonic)
    seconds: float = 0.0
    value: Any = None
    """A plan.json as text; of causes, the comparison as a part of a page."""
    failure: Failure | None = None
    _process: Any = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come of it."""
        return self.state in ("done", "failed", "cancelled")

    @property
    def elapsed_seconds(self) -> float:
        """Since it was asked for, until it was over."""
        return self.seconds if self.is_over else time.monotonic() - self.began

    def end(self, state: State, value: Any = None, failure: Failure | None = None) -> None:  # noqa: ANN401
        """Say once what came of it, and end its process."""
        with self._lock:
            if not self.is_over:
                self.seconds = time.monotonic() - self.began
                self.value, self.failure, self.state = value, failure, state
            if self._process is not None and self._process.is_alive():
                self._process.kill()

    def start(self) -> Connection | None:
        """Begin in a process; None where it was cancelled before."""
        with self._lock:
            if self.is_over:
                return None
            context = _context()
            receiver, sender = context.Pipe(duplex=False)
            self._process = context.Process(target=_work, args=(sender, self.task), daemon=True)
            self._process.start()
            sender.close()
            self.state, self.doing = "at work", "starting"  # which takes a second itself
            found: Connection = receiver
            return found

    def follow(self, receiver: Connection, prepare: Callable[[Execution, Any], None]) -> None:
        """Hear from its process until there is nothing more to hear."""
        try:
            while not self.is_over:
                what, value = receiver.recv()
                if what == "doing":
                    self.doing = value
                elif what == "failed":
                    self.end("failed", failure=value)
                else:
                    self.doing = "checking what came of it"
                    prepare(self, value)
                    self.end("done", value)
        except (EOFError, OSError):
            self.end("failed", failure=Failure("the process that planned ended without a word"))
        self._process.join()


class Executions:
    """Tasks by name, two at work at a time, the others waiting their turn.

    `prepare` is called with what came of one before it counts as done.
    """

    def __init__(self, prepare: Callable[[Execution, Any], None]) -> None:
        self._prepare = prepare
        self._runs: dict[str, Execution] = {}
        self._turns = threading.Semaphore(_AT_A_TIME)
        self._lock = threading.Lock()
        self._count = 0

    def start(self, task: Task) -> Execution:
        """Begin a task, in the background."""
        with self._lock:
            self._count += 1
            run = Execution(f"run-{self._count}", task)
            self._runs[run.name] = run
            over = [one.name for one in self._runs.values() if one.is_over]
            for name in over[: max(0, len(self._runs) - _KEPT)]:
                del self._runs[name]
        threading.Thread(target=self._follow, args=(run,), daemon=True).start()
        return run

    def get(self, name: str) -> Execution | None:
        """One by its name; None if there is none, or not any more."""
        return self._runs.get(name)

    def all(self) -> list[Execution]:
        """The latest first."""
        with self._lock:
            return list(reversed(self._runs.values()))

    def drop(self, name: str) -> None:
        """Forget one, ended if it is not over."""
        with self._lock:
            run = self._runs.pop(name, None)
        if run is not None:
            run.end("cancelled")

    def stop(self) -> None:
        """End all that is at work."""
        for run in self.all():
            run.end("cancelled")

    def _follow(self, run: Execution) -> None:
        # Ctrl-C is for the server: its processes inherit that it is blocked here.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        if not self._turns.acquire(blocking=False):
            run.doing = "waiting for another to end"
            self._turns.acquire()
        try:
            receiver = run.start()
            if receiver is not None:
                run.follow(receiver, self._prepare)
        finally:
            self._turns.release()


def _context() -> Any:  # noqa: ANN401 - its type depends on the system
    # A copy of this process would be made beside threads that hold locks for good.
    if "forkserver" not in get_all_start_methods():
        return get_context("spawn")
    context = get_context("forkserver")
    context.set_forkserver_preload([__name__, "planner.api.variants"])
    return context


# What follows runs in the process of a task.


def _work(sender: Connection, task: Task) -> None:
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=partial(_end_with, parent.sentinel), daemon=True).start()
    try:
        sender.send(("done", _DO[task.kind](task, lambda words: sender.send(("doing", words)))))
    except PlannerError as error:
        sender.send(("failed", _failure(error)))
    except (MemoryError, OSError) as error:
        sender.send(("failed", Failure(str(error) or "out of memory: no plan was made")))


def _end_with(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)


def _failure(error: PlannerError) -> Failure:
    if isinstance(error, InfeasibleError):
        return Failure(error.headline, tuple(error.reasons), tuple(error.remedies))
    if isinstance(error, InputError):
        return Failure("the question cannot be planned as it stands", lines_of(error))
    first, *others = lines_of(error)
    return Failure(first, tuple(others))


def lines_of(error: PlannerError) -> tuple[str, ...]:
    """What went wrong, a line for each mistake."""
    if isinstance(error, InputError):
        return tuple(
            f"{one.headline()}{f' – {one.hint}' if one.hint else ''}" for one in error.findings
        )
    return str(error), *(error.violations if isinstance(error, CheckError) else ())


def _plan(task: Task, progress: Callable[[str], None]) -> str:
    return planner.plan(Path(task.scenario), progress=progress, **task.changes).to_json()


def _causes(task: Task, progress: Callable[[str], None]) -> tuple[str, str]:
    plans = [planner.read_plan(one) for one in task.plans]
    found = planner.compare(plans[0], plans[1], labels=task.labels, progress=progress)
    return found.to_part()


def _sought(find: Callable[..., Result], task: Task, progress: Callable[[str], None]) -> None:
    """Write what is found beside the plan, as the command with `--out` does."""
    scenario = planner.read_plan(task.plans[0]).scenario()
    find(scenario, progress=progress).write(Path(task.plans[0]).parent)


_DO: dict[TaskKind, Callable[[Task, Callable[[str], None]], Any]] = {
    "plan": _plan,
    "causes": _causes,
    "alternatives": partial(_sought, planner.alternatives),
    "sensitivity": partial(_sought, planner.sensitivity),
}
