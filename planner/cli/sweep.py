"""`planner sweep`: many variants of a scenario, a row each."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from planner.cli.files import make_folder, require_folder, write_files
from planner.cli.options import catalog_option, effort_options, rules_option
from planner.cli.screen import print_document
from planner.errors import ExitCode
from planner.report.format import count_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.cli.options import Effort
    from planner.whatif.sweep import Shard

__all__ = ["jobs_option", "sweep", "time_left", "usable_cores"]


class _ShardType(click.ParamType["Shard"]):
    """`2/8`: the second of eight."""

    name = "shard"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Shard:
        """Read it; fails in the user's words."""
        from planner.whatif.sweep import Shard  # noqa: PLC0415 - few sweeps are in parts

        number, slash, of = str(value).partition("/")
        if not (slash and number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
            self.fail(f"{value!r} is not a part, write 2/8 for the second of eight", param, ctx)
        return Shard(int(number), int(of))


def usable_cores() -> int:
    """Cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def jobs_option(command: Callable[..., None]) -> Callable[..., None]:
    """`--jobs N`."""
    return click.option(
        "--jobs",
        type=click.IntRange(min=1),
        default=usable_cores,
        show_default="the cores at hand",
        metavar="N",
        help="Plans to make at the same time, each in a process of its own.",
    )(command)


@click.command(short_help="Plan many variants of a scenario, a row each.")
@click.argument("grid", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    required=True,
    help="Folder for the results, made if needed; a sweep that was stopped carries on from there.",
)
@jobs_option
@click.option(
    "--shard",
    type=_ShardType(),
    metavar="I/N",
    help="Plan only every N-th row, from the I-th on: one part of N, for other machines.",
)
@catalog_option
@rules_option
@effort_options
@click.pass_context
def sweep(
    ctx: click.Context,
    grid: Path,
    out: Path,
    jobs: int,
    shard: Shard | None,
    catalog: tuple[Path, ...],
    rules: tuple[Path, ...],
    effort: Effort,
) -> None:
    """Plan many variants of a scenario, a row each.

    GRID is a file that names the scenario and what is changed. Rows that the folder has already
    are not planned again, whichever process or machine they are from. Exit code 4: a row was not
    proved within the limits.
    """
    from planner.cli.progress import Progress  # noqa: PLC0415
    from planner.report.markdown import draw  # noqa: PLC0415
    from planner.report.variants import sweep_csv, sweep_document, sweep_svg  # noqa: PLC0415
    from planner.whatif.desk import Desk, Station  # noqa: PLC0415
    from planner.whatif.grid import read_grid  # noqa: PLC0415
    from planner.whatif.sweep import RESULTS, results_name  # noqa: PLC0415
    from planner.whatif.sweep import sweep as swept  # noqa: PLC0415

    require_folder(out)
    asked = read_grid(grid)
    desk = Desk(Station(asked.scenario, catalog, rules, effort.gap, effort.time_limit_s))
    variants = asked.variants(desk)
    make_folder(out)
    with Progress() as progress:
        rows = swept(desk, variants, out, jobs=jobs, shard=shard, progress=time_left(progress))
    if shard:
        done = count_of(len(rows), "row")
        file = out / results_name(shard)
        click.echo(f"wrote {done} of {len(variants):,} to {file}", err=True)
    else:
        title = desk.name
        document = sweep_document(title, rows)
        texts = {"sweep.csv": sweep_csv(rows), "sweep.md": draw(document)}
        if picture := sweep_svg(title, rows):
            texts["sweep.svg"] = picture
            texts["sweep.md"] += "\n![Cost against headroom](sweep.svg)\n"
        write_files(out, texts)
        click.echo(f"wrote {out / RESULTS}", err=True)
        print_document(document)
    codes = {row.figures.exit_code for row in rows}
    for code in (ExitCode.UNVERIFIED, ExitCode.LIMIT):
        if code in codes:
            ctx.exit(code)


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
