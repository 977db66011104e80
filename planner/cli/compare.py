"""`planner compare`: two plans, scenarios or variants of a scenario side by side."""

from __future__ import annotations

import re
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from planner.cli.options import FILE, asking, effort_options, format_option, out_option
from planner.cli.saved import saved_plan
from planner.cli.screen import print_as
from planner.errors import ExitCode, Finding, InputError
from planner.inputs.text.words import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.cli.files import Target
    from planner.cli.options import Asked, Effort
    from planner.inputs.settled import Inputs
    from planner.planning.plan import Plan
    from planner.reporting.document import Document
    from planner.whatif.comparison.comparison import Comparison
    from planner.whatif.comparison.sides import Side

__all__ = ["COMPARISON", "compare", "comparison_json"]

COMPARISON, _SVG = "compare.json", "waterfall.svg"
_FILES = (COMPARISON, "compare.md", "compare.html", _SVG)
_ON_SCREEN, _IN_FULL = 40, 1000


@click.command(short_help="Show what differs between two plans, and why.")
@click.argument("before")
@click.argument("after")
@out_option(*_FILES)
@click.option(
    "--actuals",
    type=FILE,
    metavar="FILE",
    help="What came, a CSV file (quarter, job or node_type, count), beside the plan of BEFORE.",
)
@click.option("--exit-code", is_flag=True, help="End with exit code 1 where anything differs.")
@effort_options
@format_option
@asking
def compare(
    before: str,
    after: str,
    out: Target | None,
    actuals: Path | None,
    exit_code: bool,
    effort: Effort,
    format_: str,
    asked: Asked,
) -> None:
    """Show what differs between two plans: inputs first, then purchases, cost, jobs and more.

    BEFORE and AFTER are each a plan.json, a scenario, or SCENARIO:NAME for one of its overrides or
    scenarios; AFTER may be such a NAME alone. Scenarios are planned first; `--scenario` and `--set`
    apply to both sides. A side that has no plan is an error, never a figure.
    """
    from planner.cli.progress import Progress  # noqa: PLC0415
    from planner.whatif.comparison.actuals import read_actuals  # noqa: PLC0415
    from planner.whatif.comparison.compare import compare as compared_with  # noqa: PLC0415

    with Progress() as progress:
        planner = partial(effort.plan, progress=progress)
        sides = _Sides(asked, planner)
        asked_for = sides.named(before), sides.named(after, beside=before)
        if out is not None:
            read = (one for named in asked_for for one in sides.read_from(*named))
            out.require_free(_FILES, (*read, *filter(None, [actuals])))
        first, second = (
            sides.side(text, *named) for text, named in zip((before, after), asked_for, strict=True)
        )
        came = read_actuals(actuals, (first.plan, second.plan)) if actuals else ()
        compared = compared_with(first, second, planner, came)
    if out is not None:
        out.write({COMPARISON: comparison_json(compared), **_pages(compared)})
    print_as(
        format_,
        _document(compared, _ON_SCREEN),
        lambda: comparison_json(compared),
        lambda: _markdown(compared),
    )
    if exit_code and not compared.same:
        click.get_current_context().exit(ExitCode.DIFFERENT)


def comparison_json(compared: Comparison) -> str:
    """A comparison as the text of its file."""
    return compared.model_dump_json(indent=1) + "\n"


def _document(compared: Comparison, rows: int) -> Document:
    from planner.reporting.compare import comparison_document  # noqa: PLC0415 - slow to load

    return comparison_document(compared, rows)


def _markdown(compared: Comparison) -> str:
    from planner.reporting.markdown import draw  # noqa: PLC0415 - slow to load

    return draw(_document(compared, _IN_FULL))


def _pages(compared: Comparison) -> dict[str, str]:
    from planner.reporting.pages import illustrated  # noqa: PLC0415 - only where files are asked for
    from planner.reporting.waterfall import waterfall_chart  # noqa: PLC0415 - likewise

    chart = waterfall_chart(compared)
    title = f"{compared.before.label} → {compared.after.label}"
    document = _document(compared, _IN_FULL)
    return illustrated("compare", document, {_SVG: chart} if chart else {}, title)


class _Sides:
    """Reads what the command line calls a side."""

    def __init__(self, asked: Asked, planner: Callable[[Inputs], Plan]) -> None:
        self._asked = asked
        self._planner = planner
        self._question = cache(asked.question)
        self._inputs = cache(self._read)

    def _read(self, path: Path, variations: tuple[str, ...]) -> Inputs:
        names = (*self._asked.variations, *variations)
        return self._question(path).inputs(names, self._asked.settings)

    def read_from(self, path: Path, variations: tuple[str, ...]) -> tuple[Path, ...]:
        """The files that one side is read from; raises InputError."""
        return (path,) if path.suffix == ".json" else self._inputs(path, variations).read_from

    def side(self, text: str, path: Path, variations: tuple[str, ...]) -> Side:
        """Read or plan one side that was named so."""
        from planner.whatif.comparison.sides import planned_side, saved_side  # noqa: PLC0415

        if path.suffix == ".json":
            asked = self._asked
            return saved_side(
                saved_plan(path, label=text, catalog=asked.catalog, rules=asked.rules)
            )
        return planned_side(text, self._inputs(path, variations), self._planner)

    def named(self, text: str, *, beside: str = "") -> tuple[Path, tuple[str, ...]]:
        """File and variations of a side; a name alone is a variation of the scenario `beside` it.

        Raises InputError for what is neither.
        """
        if Path(text).exists():
            return Path(text), ()
        for place in reversed([match.start() for match in re.finditer(":", text)]):
            if Path(text[:place]).is_file():
                return Path(text[:place]), tuple(text[place + 1 :].split(","))
        if not beside:
            return Path(text), ()
        other, _ = self.named(beside)
        if other.suffix == ".json":
            return Path(text), ()
        known = self._question(other).layers.names
        if not set(text.split(",")) <= set(known):
            raise InputError(
                Finding(
                    f"is neither a file nor a scenario or override of {other}",
                    file=text,
                    hint=did_you_mean(text, known),
                )
            )
        return other, tuple(text.split(","))
