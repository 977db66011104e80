"""What the commands that make many plans share: who makes them, with which effort, and how far."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

import click

from planner.cli.options import effort_options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from planner.cli.options import Asked, Effort
    from planner.whatif.desk.crew import Crew
    from planner.whatif.desk.desk import Desk
    from planner.whatif.desk.made import Made

__all__ = ["Staff", "jobs_options", "staff_options", "time_left", "usable_cores"]


@dataclass(frozen=True, slots=True)
class Staff:
    """Where plans are made, how many at the same time, and with which effort each."""

    jobs: int
    cluster: str | None
    effort: Effort

    def desk(
        self,
        scenario: Path,
        catalog: tuple[Path, ...],
        rules: tuple[Path, ...],
        text: str | None = None,
    ) -> Desk:
        """Read a scenario of which variants are planned, or what its file said; InputError."""
        from planner.whatif.desk.desk import Desk, Station  # noqa: PLC0415 - not every command plans

        effort = self.effort
        return Desk(Station(scenario, catalog, rules, effort.gap, effort.time_limit_s, text))

    def crew(self, desk: Desk) -> AbstractContextManager[Crew]:
        """Those who plan its variants; raises InputError where there is no such cluster."""
        if self.cluster is not None:
            from planner.whatif.desk.cluster import Cluster  # noqa: PLC0415 - few have one

            return Cluster(desk, self.cluster)
        from planner.whatif.desk.crew import Processes  # noqa: PLC0415

        return Processes(desk, self.jobs)

    @contextmanager
    def made(self, scenario: Path, asked: Asked) -> Iterator[Made]:
        """Plans of a scenario as it is asked for, with settings added; raises InputError."""
        from planner.cli.progress import Progress  # noqa: PLC0415 - not every command plans
        from planner.whatif.desk.desk import Variant  # noqa: PLC0415 - likewise
        from planner.whatif.desk.made import Made  # noqa: PLC0415 - likewise

        desk = self.desk(scenario, asked.catalog, asked.rules)
        with Progress() as progress, self.crew(desk) as crew:
            yield Made(desk, crew, Variant(asked.variations, asked.settings), progress)


def usable_cores() -> int:
    """Cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _address(ctx: click.Context, param: click.Parameter, given: str | None) -> str | None:
    """An address, which must not be empty: Dask would start a cluster of its own."""
    if given is not None and not given.strip():
        raise click.BadParameter("an address is needed: tcp://HOST:8786", ctx, param)
    return given


def staff_options(command: Callable[..., None]) -> Callable[..., None]:
    """`--jobs`, `--cluster`, `--gap` and `--time-limit`, handed over together as `staff`."""

    @wraps(command)
    def with_staff(
        *,
        jobs: int | None,
        cluster: str | None,
        effort: Effort,
        **given: Any,  # noqa: ANN401 - click's values
    ) -> None:
        if jobs is not None and cluster is not None:
            raise click.UsageError("--jobs is for this machine, --cluster for others: give one")
        command(staff=Staff(jobs or usable_cores(), cluster, effort), **given)

    optional = effort_options(with_staff)
    return _jobs_option(show_default="the cores at hand")(_cluster_option(optional))


def jobs_options(command: Callable[..., None]) -> Callable[..., None]:
    """The same without `--cluster`: for the few plans beside one of this machine.

    One more than there are cores is begun, so that none stands idle while the longest is made.
    """

    @wraps(command)
    def with_staff(*, jobs: int | None, effort: Effort, **given: Any) -> None:  # noqa: ANN401
        command(staff=Staff(jobs or usable_cores() + 1, None, effort), **given)

    return _jobs_option(show_default="one more than the cores at hand")(effort_options(with_staff))


_jobs_option = partial(
    click.option,
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Plans to make at the same time, each in a process of its own.",
)
_cluster_option = click.option(
    "--cluster",
    metavar="ADDRESS",
    callback=_address,
    help="Plan on the workers of the Dask scheduler at this address instead.",
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
