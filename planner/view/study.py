"""What the local page shows: the plans and scenarios of a folder, and what is being planned.

Files are found anew for each page and read once. Each task is worked on in a process of its own,
which ends with the server, whichever way that ends, and can be ended at any time.
"""

from __future__ import annotations

import json
import os
import re
import signal
import threading
import time
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache, partial
from itertools import count
from multiprocessing import get_all_start_methods, get_context, parent_process
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import planner
from planner import (
    CheckError,
    Finding,
    InfeasibleError,
    InputError,
    PlannerError,
    PlannerWarning,
    PlanResult,
    Result,
)

_Key: TypeAlias = tuple[object, ...]
"""A path, the time of its last change, and its size; or what else tells one from another."""

_PLAN = "plan.json"
_DEPTH, _MOST_FILES = 4, 400
"""The depth of folders that are searched, and the most files of either kind that are listed."""
_PLANS_KEPT = 8
"""How many plans are held in memory: a large one takes a few hundred MB."""
_LARGEST_SCENARIO_BYTES = 20_000_000
_IS_SCENARIO = re.compile(r"^(jobs|extends)\s*:", re.MULTILINE)
_BREAKS = (AttributeError, KeyError, OSError, RecursionError, TypeError, ValueError)
"""The errors met while reading a file that is no plan."""


@dataclass(frozen=True, slots=True)
class FoundPlan:
    """A plan.json at a glance; it is not checked before it is opened."""

    name: str
    """Its path from the folder."""
    made: str
    """When the file was written."""
    broken: str = ""
    """Why it cannot be shown; all else is empty then."""
    title: str = ""
    scenario: str = ""
    as_of: str = ""
    status: str = ""
    cost_cents: int = 0
    jobs: int = 0
    nodes: int = 0
    """Nodes that enter service; a rented one counts in each quarter."""
    changes: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    """The files that said what to plan."""

    @property
    def folder(self) -> str:
        """Its folder, or its file if that folder is the current one."""
        parent = str(Path(self.name).parent)
        return self.name if parent == "." else parent


class Opened(NamedTuple):
    """A plan that was read and checked, with the warnings that this gave."""

    plan: PlanResult
    warnings: tuple[str, ...]


_AT_A_TIME, _KEPT = 2, 12
State = Literal["waiting", "at work", "done", "failed", "cancelled"]
TaskKind = Literal["plan", "causes", "alternatives", "sensitivity"]


@dataclass(frozen=True, slots=True)
class Task:
    """What is asked for, as plain data that any process understands."""

    kind: TaskKind
    title: str
    scenario: str = ""
    """The path of what to plan; `apply`, `set`, and the paths of catalog and rules likewise."""
    changes: dict[str, Any] = field(default_factory=dict)
    plans: tuple[str, ...] = ()
    """Plans to compare, or the one whose scenario is examined further, as paths or texts."""
    labels: tuple[str, str] = ("before", "after")
    of: str = ""
    """The plan with which the result is compared."""
    back: str = ""
    """The address from which this was asked."""

    @property
    def is_variant(self) -> bool:
        """Return whether something is changed in the scenario."""
        return bool(self.changes.get("set") or self.changes.get("apply"))


class Failure(NamedTuple):
    """Why there is no result, in the words of the command line."""

    headline: str
    reasons: tuple[str, ...] = ()
    remedies: tuple[str, ...] = ()


@dataclass(slots=True)
class Execution:
    """A task at work, and its result."""

    name: str
    task: Task
    state: State = "waiting"
    doing: str = "starting"
    began: float = field(default_factory=time.monotonic)
    seconds: float = 0.0
    value: Any = None
    """A plan.json as text; for causes, the comparison as a part of a page."""
    failure: Failure | None = None
    _process: Any = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def is_over(self) -> bool:
        """Return whether nothing more will come of it."""
        return self.state in ("done", "failed", "cancelled")

    @property
    def elapsed_seconds(self) -> float:
        """Return the seconds since it was asked for, until it was over."""
        return self.seconds if self.is_over else time.monotonic() - self.began

    def end(self, state: State, value: Any = None, failure: Failure | None = None) -> None:  # noqa: ANN401
        """Record its result once, and end its process."""
        with self._lock:
            if not self.is_over:
                self.seconds = time.monotonic() - self.began
                self.value, self.failure, self.state = value, failure, state
            if self._process is not None and self._process.is_alive():
                self._process.kill()

    def work(self, prepare: Callable[[Execution, Any], None]) -> None:
        """Start it in a process, unless it was cancelled, and receive messages until it ends."""
        # A copy of this process would be made beside threads that hold locks for good.
        method = "forkserver" if "forkserver" in get_all_start_methods() else "spawn"
        context: Any = get_context(method)  # whose type depends on the system
        if method == "forkserver":
            context.set_forkserver_preload([__name__, "planner.api.variants"])
        receiver, sender = context.Pipe(duplex=False)
        with self._lock:
            if self.is_over:
                return
            self._process = context.Process(target=_work, args=(sender, self.task), daemon=True)
            self._process.start()
            sender.close()
            self.state, self.doing = "at work", "starting"  # which takes a second itself
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


class Study:
    """What lies in a folder, which is the current one, and the tasks that are worked on for it.

    Nothing else is read or written by name. Two tasks are at work at a time, the others wait.
    """

    def __init__(self) -> None:
        self._opened: OrderedDict[_Key, Opened] = OrderedDict()
        # One at a time: warnings are caught in all threads, and reading a plan takes a whole core.
        self._reading = threading.Lock()
        self._runs: dict[str, Execution] = {}
        self._turns = threading.Semaphore(_AT_A_TIME)
        self._lock = threading.Lock()
        self._numbers = count(1)

    def plans(self) -> list[FoundPlan]:
        """Return the plans, those of a scenario together, in the order in which they were made."""
        found = [_glance(path) for path in _files((_PLAN,))]
        return sorted(found, key=lambda one: (one.broken != "", one.scenario, one.made, one.name))

    def scenarios(self) -> list[str]:
        """Return the paths of files with jobs, or with a base that has them."""
        return [path.as_posix() for path in _files((".yaml", ".yml")) if _asks(path)]

    def scenario_path(self, name: str) -> Path:
        """Return a listed scenario; raises InputError for any other name."""
        return _one_of(name, self.scenarios(), "scenario")

    def plan_path(self, name: str) -> Path:
        """Return a listed plan; raises InputError for any other name."""
        return _one_of(name, [path.as_posix() for path in _files((_PLAN,))], "plan")

    def open(self, name: str) -> Opened:
        """Read and check a plan that is listed, or that a run has made.

        It is read anew where it has changed, or a file that it was made from. Raises what
        `planner.read_plan` does.
        """
        if name.startswith("run-"):
            return self._kept((name, 0, 0), self.made(name).value)
        path = self.plan_path(name)
        behind = [*map(Path, _glance(path).files)]
        return self._kept((*_key(path), *(_key(one) for one in behind if one.is_file())), path)

    def _kept(self, key: _Key, source: Path | str) -> Opened:
        """Return what is read of a plan, from a file or its text; once for each key."""
        with self._reading:
            if key not in self._opened:
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always", PlannerWarning)
                    plan = planner.read_plan(source)
                told = (one.message for one in caught if issubclass(one.category, PlannerWarning))
                self._opened[key] = Opened(plan, tuple(map(str, told)))
            self._opened.move_to_end(key)
            while len(self._opened) > _PLANS_KEPT:
                self._opened.popitem(last=False)
            return self._opened[key]

    def start(self, task: Task) -> Execution:
        """Start a task in the background."""
        with self._lock:
            run = Execution(f"run-{next(self._numbers)}", task)
            self._runs[run.name] = run
            over = [one.name for one in self._runs.values() if one.is_over]
            for name in over[: max(0, len(self._runs) - _KEPT)]:
                del self._runs[name]
        threading.Thread(target=self._work, args=(run,), daemon=True).start()
        return run

    def runs(self) -> list[Execution]:
        """Return the runs, the latest first."""
        with self._lock:
            return list(reversed(self._runs.values()))

    def run(self, name: str) -> Execution:
        """Return a run by name; raises InputError if there is none, or no longer."""
        if name not in self._runs:
            raise InputError(Finding("is not there any more; plan again", path=name or "run"))
        return self._runs[name]

    def made(self, name: str) -> Execution:
        """Return a run that has made a plan; raises InputError for any other."""
        run = self.run(name)
        if run.task.kind != "plan" or run.state != "done":
            raise InputError(Finding("is no plan that was made here", path=name))
        return run

    def drop(self, name: str) -> None:
        """Forget a run, and end it if it is not over."""
        with self._lock:
            run = self._runs.pop(name, None)
        if run is not None:
            run.end("cancelled")

    def stop(self) -> None:
        """End all tasks at work."""
        for run in self.runs():
            run.end("cancelled")

    def _work(self, run: Execution) -> None:
        # Ctrl-C is for the server: its processes inherit that it is blocked here.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        if not self._turns.acquire(blocking=False):
            run.doing = "waiting for another to end"
            self._turns.acquire()
        try:
            run.work(self._check)
        finally:
            self._turns.release()

    def _check(self, run: Execution, value: Any) -> None:  # noqa: ANN401 - of any task
        """Check a plan before it is shown; the page tells what is wrong with it."""
        if run.task.kind == "plan":
            with suppress(PlannerError):
                self._kept((run.name, 0, 0), value)


def _key(path: Path) -> tuple[str, int, int]:
    found = path.stat()
    return path.as_posix(), found.st_mtime_ns, found.st_size


def _glance(path: Path) -> FoundPlan:
    try:
        return _read_glance(*_key(path))
    except OSError as error:
        return FoundPlan(path.as_posix(), "", broken=str(error.strerror))


def _files(ends: tuple[str, ...]) -> Iterator[Path]:
    """Return files of the current folder with such an ending, but none behind a link."""
    count = 0
    for folder, inner, names in os.walk("."):
        here = Path(folder)
        deep = len(here.parts) >= _DEPTH
        inner[:] = [] if deep else sorted(name for name in inner if not name.startswith("."))
        for name in sorted(names):
            path = here / name
            if name.endswith(ends) and path.is_file() and not path.is_symlink():
                count += 1
                if count > _MOST_FILES:
                    return
                yield path


def _one_of(name: str, listed: list[str], what: str) -> Path:
    if name not in listed:
        raise InputError(Finding(f"is no {what} of this folder", file=name))
    return Path(name)


def _asks(path: Path) -> bool:
    with suppress(OSError, UnicodeDecodeError):
        small = path.stat().st_size <= _LARGEST_SCENARIO_BYTES
        return small and _IS_SCENARIO.search(path.read_text(encoding="utf-8-sig")) is not None
    return False


@lru_cache(_MOST_FILES)
def _read_glance(name: str, changed_ns: int, size: int) -> FoundPlan:  # noqa: ARG001 - of the key
    made = datetime.fromtimestamp(changed_ns / 10**9).astimezone()
    try:
        data: dict[str, Any] = json.loads(Path(name).read_text(encoding="utf-8-sig"))
        proof, made_from = data["proof"], data["provenance"]
        files = [(role, file) for role, file, _ in made_from["files"]]
        options = made_from.get("options") or {}
        return FoundPlan(
            name,
            f"{made:%Y-%m-%d %H:%M}",
            title=str(data["scenario"]),
            scenario=str(dict(files).get("scenario", "")),
            as_of=str(data["as_of"]),
            status=str(proof["status"]),
            cost_cents=int(proof["cost_cents"]),
            jobs=len(data["jobs"]),
            nodes=sum(int(one["count"]) for one in data["acquisitions"]),
            changes=tuple(
                str(one)
                for one in (*options.get("variations", ()), *options.get("settings", ()))
                if not str(one).startswith("name=")
            ),
            files=tuple(str(file) for role, file in files if role in ("scenario", "base")),
        )
    except _BREAKS as error:
        told = str(error) if isinstance(error, OSError) else "it is no plan, or not whole"
        return FoundPlan(name, f"{made:%Y-%m-%d %H:%M}", broken=told)


# What follows runs in the process of a task.


def _work(sender: Connection, task: Task) -> None:
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=partial(_end_with, parent.sentinel), daemon=True).start()
    try:
        sender.send(("done", _done(task, lambda words: sender.send(("doing", words)))))
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
    lines = lines_of(error)
    if isinstance(error, InputError):
        return Failure("the question cannot be planned as it stands", lines)
    return Failure(lines[0], lines[1:])


def lines_of(error: PlannerError) -> tuple[str, ...]:
    """Return what went wrong, a line for each mistake."""
    if isinstance(error, InputError):
        return tuple(
            f"{one.headline()}{f' – {one.hint}' if one.hint else ''}" for one in error.findings
        )
    return str(error), *(error.violations if isinstance(error, CheckError) else ())


def _done(task: Task, progress: Callable[[str], None]) -> Any:  # noqa: ANN401 - of any task
    """Return the result of a task: a plan, a comparison, or files beside a plan."""
    if task.kind == "plan":
        return planner.plan(Path(task.scenario), progress=progress, **task.changes).to_json()
    plans = [planner.read_plan(one) for one in task.plans]
    if task.kind == "causes":
        found = planner.compare(plans[0], plans[1], labels=task.labels, progress=progress)
        return found.to_part()
    find = planner.alternatives if task.kind == "alternatives" else planner.sensitivity
    sought: Result = find(plans[0].scenario(), progress=progress)
    sought.write(Path(task.plans[0]).parent)
    return None
