"""`python -m benchmarks.accuracy`: prints the scoreboard, draws it, and fails on a regression."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.accuracy.bars import BARS_FILE, judge, read_bars
from benchmarks.accuracy.board import board
from benchmarks.accuracy.neighbours import write_neighbours
from benchmarks.accuracy.page import publish
from benchmarks.accuracy.picture import Dot, picture
from benchmarks.accuracy.tables import table
from benchmarks.accuracy.world import World
from planner.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.accuracy.bars import Verdict

__all__ = ["dots", "main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the scoreboard; 1 where a figure is worse than it was, 2 where a file is wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=__doc__)
    parser.add_argument(
        "--publish",
        type=Path,
        metavar="DOCS",
        help="also write accuracy.md and accuracy.svg here, and the whole scoreboard.txt",
    )
    parser.add_argument(
        "--neighbours", type=Path, metavar="FILE", help="also write this file of the catalog"
    )
    options = parser.parse_args(arguments)
    try:
        world = World()
        made = board(world)
        verdicts = judge(made.figures, read_bars())
        print(*made.tables, _bars("Bars: shares and GiB", verdicts), sep="\n")
        if options.publish:
            missed = _bars(
                "Targets that are missed: shares", [one for one in verdicts if not one.met]
            )
            whole, brief = ("\n".join((*tables, missed)) for tables in (made.tables, made.brief))
            written = publish(options.publish, whole, brief, picture(dots(world)))
            print("written:", *written, file=sys.stderr)
        if options.neighbours:
            write_neighbours(options.neighbours, world)
            print("written:", options.neighbours, file=sys.stderr)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    worse = [verdict for verdict in verdicts if not verdict.held]
    for verdict in worse:
        print(
            f"regression: {verdict.name} is {verdict.figure:.4f}, it was {verdict.bar.holds} "
            f"({BARS_FILE})",
            file=sys.stderr,
        )
    return 1 if worse else 0


def dots(world: World) -> list[Dot]:
    """Every tuning run with a peak and a prediction of the same kind."""
    return [
        Dot(
            method=one.run.tune.method,
            measured_gb=float(one.run.peak_gb),
            predicted_gb=float(one.predicted_gb),
            fitted=world.origins[one.run.origin or ""].fitted,
        )
        for one in world.runs
        if one.run.peak_gb is not None and one.predicted_gb is not None
    ]


def _bars(title: str, verdicts: Sequence[Verdict]) -> str:
    rows = []
    for verdict in verdicts:
        bar = verdict.bar
        sign, target = ("≤", bar.at_most) if bar.at_most is not None else ("≥", bar.at_least)
        said = "ok" if verdict.met else "missed"
        rows.append(
            (
                verdict.name,
                f"{verdict.figure:.3f}",
                f"{sign} {target}" if target is not None else "–",
                f"{sign} {bar.holds}",
                said if verdict.held else "WORSE",
            )
        )
    header = ("", "reached", "target", "must hold", "")
    return table(title, header, rows)


if __name__ == "__main__":
    sys.exit(main())
