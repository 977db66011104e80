"""What the commands that make many plans share: who makes them, with which effort, and how far."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from planner.cli.options import effort_options

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from planner.cli.options import Effort
    from planner.whatif.crew import Crew
    from planner.whatif.desk import Desk

__all__ = ["Staff", "staff_options", "time_left", "usable_cores"]


@dataclass(frozen=True, slots=True)
class Staff:
    """How many plans are made at the same time, and with which effort each."""

    jobs: int
    effort: Effort

    def desk(self, scenario: Path, catalog: tuple[Path, ...], rules: tuple[Path, ...]) -> Desk:
        """Read a scenario of which variants are planned; raises InputError."""
        from planner.whatif.desk import Desk, Station  # noqa: PLC0415 - not every command plans

        effort = self.effort
        return Desk(Station(scenario, catalog, rules, effort.gap, effort.time_limit_s))

    def crew(self, desk: Desk) -> AbstractContextManager[Crew]:
        """Those who plan its variants."""
        from planner.whatif.crew import Processes  # noqa: PLC0415

        return Processes(desk, self.jobs)


def usable_cores() -> int:
    """Cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def staff_options(command: Callable[..., None]) -> Callable[..., None]:
    """`--jobs`, `--gap` and `--time-limit`, handed over together as `staff`."""

    @wraps(command)
    def with_staff(*, jobs: int, effort: Effort, **given: Any) -> None:  # noqa: ANN401
        command(staff=Staff(jobs, effort), **given)

    return _jobs_option(effort_options(with_staff))


_jobs_option = click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=usable_cores,
    show_default="the cores at hand",
    metavar="N",
    help="Plans to make at the same time, each in a process of its own.",
)


def time_left(say: Callable[[str], None]) -> Callable[[int, int, int], None]:
    """Says how far the rows are, and after how long the rest may be done."""
    began = time.monotonic()

    def told(done: int, found: int, rows: int) -> None:
        planned = done - found
        text = f"planning, {done:,} of {rows:,} done"
        if planned and done < rows:
            seconds = (time.monotonic() - began) / planned * (rows - done)
            text += f", about {_duration(seconds)} left"
        say(text)

    return told


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
