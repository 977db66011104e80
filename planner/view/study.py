"""The plans and scenarios of a folder, found anew for each page and read once."""

from __future__ import annotations

import json
import os
import re
import threading
import warnings
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import planner
from planner import Finding, InputError, PlannerWarning, PlanResult

_Key: TypeAlias = tuple[object, ...]
"""A path, the time of its last change, and its size; or what else tells one from another."""

_PLAN = "plan.json"
_DEPTH, _MOST_FILES = 4, 400
"""Folders below the one that is looked at, and files of either kind that are listed."""
_PLANS_KEPT = 8
"""Plans that are held ready: a large one takes a few hundred MB."""
_LARGEST_SCENARIO_BYTES = 20_000_000
_IS_SCENARIO = re.compile(r"^(jobs|extends)\s*:", re.MULTILINE)
_BREAKS = (AttributeError, KeyError, OSError, RecursionError, TypeError, ValueError)
"""What reading a file meets that is no plan."""


@dataclass(frozen=True, slots=True)
class FoundPlan:
    """A plan.json at a glance, not checked before it is opened."""

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
    """That enter service, a rented one anew in each quarter."""
    changes: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    """That say what was to be planned."""

    @property
    def folder(self) -> str:
        """What it is called: its folder, or the file where that is the one looked at."""
        parent = str(Path(self.name).parent)
        return self.name if parent == "." else parent


class Opened(NamedTuple):
    """A plan that was read and checked, with the warnings that this gave."""

    plan: PlanResult
    warnings: tuple[str, ...]


class Study:
    """What lies in a folder, which is the current one; nothing else is read or written by name."""

    def __init__(self) -> None:
        self._opened: OrderedDict[_Key, Opened] = OrderedDict()
        # One at a time: warnings are caught in all threads, and reading a plan takes a whole core.
        self._reading = threading.Lock()

    def plans(self) -> list[FoundPlan]:
        """Those of a scenario together, in the order in which they were made."""
        found = [_glance(path) for path in _files((_PLAN,))]
        return sorted(found, key=lambda one: (one.broken != "", one.scenario, one.made, one.name))

    def scenarios(self) -> list[str]:
        """Paths of files with jobs, or with a base that has them."""
        return [path.as_posix() for path in _files((".yaml", ".yml")) if _asks(path)]

    def scenario_path(self, name: str) -> Path:
        """A scenario that is listed; raises InputError for any other name."""
        return _one_of(name, self.scenarios(), "scenario")

    def plan_path(self, name: str) -> Path:
        """A plan that is listed; raises InputError for any other name."""
        return _one_of(name, [path.as_posix() for path in _files((_PLAN,))], "plan")

    def open(self, name: str) -> Opened:
        """Read a plan that is listed, and check it; raises what `planner.read_plan` does.

        It is read anew where it has changed, or a file that it was made from.
        """
        path = self.plan_path(name)
        behind = [*map(Path, _glance(path).files)]
        return self.kept((*_key(path), *(_key(one) for one in behind if one.is_file())), path)

    def kept(self, key: _Key, source: Path | str) -> Opened:
        """What is read of a plan, from a file or its text; once for the same key."""
        with self._reading:
            if key not in self._opened:
                self._opened[key] = _read(source)
            self._opened.move_to_end(key)
            while len(self._opened) > _PLANS_KEPT:
                self._opened.popitem(last=False)
            return self._opened[key]


def _read(source: Path | str) -> Opened:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PlannerWarning)
        plan = planner.read_plan(source)
    told = (one for one in caught if issubclass(one.category, PlannerWarning))
    return Opened(plan, tuple(str(one.message) for one in told))


def _key(path: Path) -> tuple[str, int, int]:
    found = path.stat()
    return path.as_posix(), found.st_mtime_ns, found.st_size


def _glance(path: Path) -> FoundPlan:
    try:
        return _read_glance(*_key(path))
    except OSError as error:
        return FoundPlan(path.as_posix(), "", broken=str(error.strerror))


def _files(ends: tuple[str, ...]) -> Iterator[Path]:
    """Files of the current folder whose names end so; none that a link leads to."""
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
