"""Runs that held GPUs of a cluster, counted by quarter, as the actuals of a plan."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Annotated

from pydantic import Field

from planner.inputs.base import Frozen, Name
from planner.inputs.reading.diagnostics import validate
from planner.inputs.reading.reader import read_document
from planner.inputs.scenario.quarter import Quarter
from planner.inputs.text.scalars import csv_text
from planner.inputs.text.words import count_of


class _Mapping(Frozen):
    jobs: Annotated[dict[str, Name], Field(min_length=1)]
    """The cluster's name of a job, where `*` stands for anything, and the scenario's; several may
    become one."""


def read_names(path: Path) -> dict[str, str]:
    """Read what the jobs of a cluster are called in the scenario; raises InputError."""
    return validate(read_document(path), _Mapping).jobs


def scenario_name(name: str, names: Mapping[str, str]) -> str:
    """The scenario's name of a job: by its own name, else by the first pattern that fits it.

    Without `names`, each is taken as it is; empty where they do not name it.
    """
    if not names:
        return name
    fitting = (
        ours
        for theirs, ours in names.items()
        if re.fullmatch(".*".join(map(re.escape, theirs.split("*"))), name)
    )
    return names.get(name) or next(fitting, "")


@dataclass(slots=True)
class ClusterUsage:
    """What jobs of each name held, by quarter."""

    runs: defaultdict[tuple[str, str], set[str]] = field(default_factory=lambda: defaultdict(set))
    """By quarter and name, the runs; one that was queued again is one, and so is one of several
    components."""
    gpu_seconds: Counter[tuple[str, str]] = field(default_factory=Counter)
    most_gpus: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Of one run."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Why, and how many jobs."""
    seconds_left_out: Counter[str] = field(default_factory=Counter)
    """Why, and GPU-seconds."""
    days: set[date] = field(default_factory=set)
    """On which a run that counts began or ended."""

    def count(self, run: str, name: str, begins: datetime, seconds: int, gpus: int) -> None:
        """Count a run in every quarter that it lies in, or why it does not count."""
        if not (seconds and gpus and name):
            why = "are not in the mapping" if seconds and gpus else "held no GPU"
            why = why if seconds else "ended in the second in which they began"
            self.leave_out(why, gpus * seconds)
            return
        for quarter, held in _by_quarter(begins, seconds):
            self.runs[quarter, name].add(run)
            self.gpu_seconds[quarter, name] += held * gpus
            self.most_gpus[quarter, name] = max(self.most_gpus[quarter, name], gpus)
        self.days |= {begins.date(), (begins + timedelta(seconds=seconds)).date()}

    def leave_out(self, why: str, gpu_seconds: int) -> None:
        """Count a job that does not count, with what it held."""
        self.left_out[why] += 1
        self.seconds_left_out[why] += gpu_seconds

    @property
    def notes(self) -> list[str]:
        """What is left out and why, and from when to when the others ran."""
        told = [
            f"{count_of(count, 'job')} left out: {why}{_gpu_hours(self.seconds_left_out[why])}"
            for why, count in sorted(self.left_out.items())
        ]
        if self.days:
            told.append(f"runs from {min(self.days)} to {max(self.days)}")
        return told


def _by_quarter(begins: datetime, seconds: int) -> Iterator[tuple[str, int]]:
    """The quarters that a run lies in, with its seconds in each."""
    ends = begins + timedelta(seconds=seconds)
    while begins < ends:
        quarter = Quarter.of(begins)
        over = datetime.combine((quarter + 1).start, datetime.min.time())
        yield str(quarter), int((min(over, ends) - begins).total_seconds())
        begins = over


def actuals_csv(usage: ClusterUsage) -> str:
    """Runs of each job by quarter as `planner compare --actuals` reads them, notes above them."""
    return "".join(f"# {note}\n" for note in usage.notes) + csv_text(_rows(usage))


def _gpu_hours(seconds: int) -> str:
    return f" ({seconds / 3600:,.1f} GPU-hours)" if seconds else ""


def _rows(usage: ClusterUsage) -> Iterable[tuple[object, ...]]:
    yield ("quarter", "job", "count", "gpu_hours", "gpus")
    for key, jobs in sorted(usage.runs.items()):
        hours = f"{usage.gpu_seconds[key] / 3600:.1f}"
        yield *key, len(jobs), hours, usage.most_gpus[key]
