"""`python -m benchmarks`: measures the planner against its targets and prints a table."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.start import start_seconds
from benchmarks.table import Row, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PARTS = {
    "processes": "Whole processes",
    "sizing": "Sizing one job",
    "catalogue": "Many jobs alike (seeds 0 / 1 / 2)",
    "side-by-side": "One portfolio, each way (seed 0)",
    "quarterly": "Over four quarters (seeds 0 / 1 / 2)",
    "divided": "Serving jobs on partitions of GPUs (seeds 0 / 1 / 2)",
    "runs": "Runs by the hour, with all that binds (seeds 0 / 1 / 2)",
    "shipped": "Scenarios of the project, planned and checked in full",
    "unique": "No two jobs alike (seeds 0 / 1 / 2)",
    "load": "Far more than a company has",
}
"""In this order: processes first, while this one is still small."""

_NAIVE_LIMIT_S = 120.0
_LONG = ("side-by-side", "load")


def main() -> int:
    """Run the parts asked for; 1 if a target was missed."""
    options = _options()
    if options.instances:
        from benchmarks.instances import from_folder  # noqa: PLC0415

        measured = {"Instances of others": from_folder(options.instances)}
    else:
        measured = {
            title: _measure(part, quick=options.quick)
            for part, title in PARTS.items()
            if options.only in (None, part) and not (options.quick and part in _LONG)
        }
    tables, missed = [], 0
    for title, each in measured.items():
        rows = []
        for row in each:
            print(f"{row.verdict:6}  {row.what}: {row.measured}", file=sys.stderr, flush=True)
            rows.append(row)
        missed += sum(row.verdict == "MISSED" for row in rows)
        tables.append(table(title, rows))
    print(f"R, one start, took {start_seconds():.3f} s here.\n")
    print("\n".join(tables))
    return 1 if missed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave out what takes minutes")
    parser.add_argument("--only", choices=PARTS, help="measure one part alone")
    parser.add_argument(
        "--instances", type=Path, metavar="FOLDER", help="measure instances of others instead"
    )
    return parser.parse_args()


def _measure(part: str, *, quick: bool) -> Iterator[Row]:
    """The rows of a part; solvers are loaded only once a part needs them."""
    if part == "processes":
        from benchmarks.processes import whole_processes  # noqa: PLC0415

        return whole_processes(() if quick else (20_000,))
    if part == "sizing":
        from benchmarks.sizing_runs import one_job  # noqa: PLC0415

        return one_job()
    if part == "load":
        from benchmarks.load import under_load  # noqa: PLC0415

        return under_load()
    if part == "side-by-side":
        from benchmarks.side_by_side import side_by_side  # noqa: PLC0415

        return side_by_side(_NAIVE_LIMIT_S)
    from benchmarks import portfolio_runs as runs  # noqa: PLC0415

    sizes = (20, 50, 100, 200, 500, 1000)
    measured: dict[str, Callable[[], Iterator[Row]]] = {
        "catalogue": lambda: runs.many_alike(sizes if quick else (*sizes, 5000, 20_000)),
        "divided": runs.on_partitions,
        "quarterly": runs.over_quarters,
        "runs": lambda: runs.runs_beside_endpoints((80, 500) if quick else (80, 500, 5000)),
        "shipped": runs.shipped,
        "unique": lambda: runs.no_two_alike((200,) if quick else (200, 1000)),
    }
    return measured[part]()


if __name__ == "__main__":
    sys.exit(main())
