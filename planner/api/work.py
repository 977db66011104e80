"""Who plans many variants of a question: how far, how many at a time, and where."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import cast

from planner.api.planning import Effort, require_effort
from planner.api.result import Progress, require
from planner.api.scenario import Changes, require_known_keys
from planner.errors import Finding, InputError
from planner.inputs.load import Question
from planner.sizing.sizers import Sizers
from planner.whatif.executors import DaskExecutor, ProcessExecutor
from planner.whatif.variants import (
    AS_STATED,
    CachedRunner,
    Executor,
    Variant,
    VariantPlanner,
    WorkerConfig,
)


class Work(Effort, total=False):
    """How many plans are made, and where; each may be left out."""

    workers: int | None
    """Plans made at the same time, each in a process of its own; 1 is this process, which is what
    is done unless told otherwise; None: as many as there are cores. A script that asks for more
    than one keeps what it runs below `if __name__ == "__main__":`."""
    cluster: str | None
    """Address of a Dask scheduler on whose workers to plan instead, as `tcp://HOST:8786`."""


class VariantOptions(Changes, Work):
    """What is asked beside the scenario's own file, and how many plans are made at a time."""


def parted(options: VariantOptions) -> tuple[Changes, Work]:
    """Which scenario, and how it is planned; raises TypeError for what is neither."""
    require_known_keys(options, VariantOptions)
    changes = {key: value for key, value in options.items() if key in Changes.__annotations__}
    work = cast("Work", {key: value for key, value in options.items() if key not in changes})
    require_work(work)
    return cast("Changes", changes), work


def require_work(work: Work) -> None:
    """Raise InputError for what nothing can be planned by."""
    require_effort(work.get("gap", 1e-4), work.get("time_limit_seconds", 60.0))
    workers, cluster = work.get("workers"), work.get("cluster")
    require(workers is None or workers >= 1, "workers", workers, "a number of processes")
    if cluster is None:
        return
    require(bool(cluster.strip()), "cluster", cluster, "an address as tcp://HOST:8786")
    if workers is not None:
        told = "is for other machines, a number of processes for this one: give one of them"
        raise InputError(Finding(told, path="cluster"))


def usable_cores() -> int:
    """Cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def executor(planner: VariantPlanner, work: Work) -> AbstractContextManager[Executor]:
    """What plans the variants; raises InputError where there is no such cluster."""
    if cluster := work.get("cluster"):
        return DaskExecutor(planner, cluster)
    return ProcessExecutor(planner, work.get("workers", 1) or usable_cores())


def planner_of(question: Question, work: Work, sizers: Sizers | None = None) -> VariantPlanner:
    """What plans variants of a question, so far and for so long."""
    gap, seconds = work.get("gap", 1e-4), work.get("time_limit_seconds", 60.0)
    catalog, rules = tuple(question.given["catalog"]), tuple(question.given["rules"])
    config = WorkerConfig(question.path, catalog, rules, gap, seconds, question.text)
    return VariantPlanner(config, question, sizers)


@contextmanager
def runner_of(
    question: Question,
    work: Work,
    progress: Progress,
    asked: Variant = AS_STATED,
    sizers: Sizers | None = None,
) -> Iterator[CachedRunner]:
    """Plans of what is asked with settings added; raises InputError."""
    planner = planner_of(question, work, sizers)
    with executor(planner, work) as planners:
        yield CachedRunner(planner, planners, asked, progress or (lambda _: None))
