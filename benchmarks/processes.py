"""Whole processes as a user starts them: wall time and peak memory of the command."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.scenario import write_scenario
from benchmarks.start import starts
from benchmarks.table import Row

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["whole_processes"]

_ROOT = Path(__file__).resolve().parent.parent
_QUARTERLY = "scenarios/quarterly.yaml"
_GIB = 1024**3
_NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"


@dataclass(frozen=True, slots=True)
class Process:
    """One finished command."""

    seconds: float
    processor_seconds: float
    """Its own, of all threads."""
    peak_bytes: int
    code: int


def run(*arguments: str) -> Process:
    """Run `planner` with these arguments, its output thrown away.

    Python keeps the bytecode of modules, as it does for a user, whatever this shell has set. The
    kernel counts the memory of this process towards the command's peak, so nothing large may
    have been loaded before.
    """
    command = [sys.executable, "-m", "planner.cli", *arguments]
    silence = [
        (os.POSIX_SPAWN_OPEN, descriptor, os.devnull, os.O_WRONLY, 0o600) for descriptor in (1, 2)
    ]
    started = time.perf_counter()
    kept = {name: value for name, value in os.environ.items() if name != _NO_BYTECODE}
    child = os.posix_spawn(sys.executable, command, kept, file_actions=silence)
    _, status, usage = os.wait4(child, 0)
    seconds = time.perf_counter() - started
    unit = 1 if sys.platform == "darwin" else 1024
    return Process(
        seconds,
        usage.ru_utime + usage.ru_stime,
        usage.ru_maxrss * unit,
        os.waitstatus_to_exitcode(status),
    )


def whole_processes(jobs: tuple[int, ...]) -> Iterator[Row]:
    """Check, plan and report a shipped scenario, and plan generated ones of these sizes."""
    quarterly = str(_ROOT / _QUARTERLY)
    yield _row(f"`planner check {_QUARTERLY}`", [run("check", quarterly) for _ in range(5)], 3.0)
    plans = [run("plan", quarterly) for _ in range(3)]
    yield _row(f"`planner plan {_QUARTERLY}`", plans, 60.0)
    with tempfile.TemporaryDirectory() as folder:
        yield from _reported(quarterly, folder)
        for number in jobs:
            scenario = Path(folder) / f"{number}.yaml"
            write_scenario(scenario, number)
            out = str(Path(folder) / "out")
            plans = [run("plan", str(scenario), "--out", out)]
            yield _row(f"`planner plan` with {number:,} jobs, files written", plans, 120.0)


def _reported(scenario: str, folder: str) -> Iterator[Row]:
    """Documents of a plan: the first time, when its options are planned, and from then on."""
    plan = str(Path(folder) / "plan.json")
    planned = run("plan", scenario, "--out", folder)
    first = [run("report", plan, "--out", str(Path(folder) / f"{n}")) for n in range(5)]
    told = run("report", plan, "--out", folder)
    failed = [one for one in (planned, told) if one.code]
    yield _row("`planner report` of its plan, the first, which plans its options", first, 60.0)
    again = [run("report", plan, "--out", folder, "--force") for _ in range(3)]
    yield _row("`planner report` of its plan, options known", failed or again, 12.0)


def _row(what: str, runs: list[Process], most: float) -> Row:
    """The median of the times, in starts as `most`, and the largest of the peaks."""
    median = starts(sorted(run.seconds for run in runs)[len(runs) // 2])
    peak = max(run.peak_bytes for run in runs)
    failed = [str(run.code) for run in runs if run.code]
    suffix = f"; exit code {failed[0]}" if failed else ""
    return Row(
        what,
        f"{median:.1f} R; {peak / _GIB:.2f} GiB{suffix}",
        f"≤ {most:g} R; ≤ 2 GiB",
        median <= most and peak <= 2 * _GIB and not failed,
    )
