"""Compares two plans, and makes a saved plan again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias, Unpack

from planner.api.folder import plan_text
from planner.api.planning import (
    GAP,
    TIME_LIMIT_SECONDS,
    PlanResult,
    PlanSource,
    read_plan,
    require_effort,
    text_of,
)
from planner.api.result import FilePath, Progress, Result, Row
from planner.api.scenario import Changes, Scenario, load
from planner.inputs.settled import Inputs
from planner.planning.make import make_plan
from planner.planning.plan import Plan
from planner.planning.store import Saved
from planner.reporting import markdown
from planner.reporting.document import Document, Picture
from planner.reporting.format import count_of, in_usd, record, usd
from planner.reporting.sections.variants import (
    OPEN,
    comparison_document,
    replay_document,
    waterfall_chart,
)
from planner.sizing.sizers import Sizers
from planner.whatif.actuals import read_actuals
from planner.whatif.compare import Comparison, Replay, compare_plans, planned_side, replay_plan

_ON_SCREEN, _IN_FULL, _ALL = 40, 1000, 10**9


class ComparisonResult(Result):
    """What differs between two plans, and what each cause adds to the cost."""

    _name = "compare"

    def __init__(self, found: Comparison, read_from: tuple[Path, ...]) -> None:
        """Private: `planner.compare` gives comparisons."""
        super().__init__(f"{found.before.label} → {found.after.label}", read_from)
        self._found = found

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return self._found.same

    @property
    def added_usd(self) -> float:
        """What the second plan costs beyond the first: net present cost, negative if it is less."""
        return (self._found.after.cost_cents - self._found.before.cost_cents) / 100

    @property
    def inputs(self) -> list[Row]:
        """Values of the inputs that differ: `cause`, `path`, `before` and `after`."""
        return [one.model_dump() for one in self._found.inputs]

    @property
    def purchases(self) -> list[Row]:
        """Purchases that differ, by quarter, offer and site: how many before and after."""
        columns = "quarter kind offer node_type site before after before_usd after_usd"
        return [record(one, columns) for one in self._found.purchases]

    @property
    def summary(self) -> tuple[str, ...]:
        """Both costs, and how much differs."""
        if self.same:
            return ("the plans are the same",)
        before, after = self._found.before.cost_cents, self._found.after.cost_cents
        inputs, bought = len(self._found.inputs), len(self._found.purchases)
        return (
            f"{usd(before)} → {usd(after)} net present cost",
            f"{count_of(inputs, 'input')} and {count_of(bought, 'purchase')} differ",
        )

    def rows(self) -> list[Row]:
        """A row for each kind of cost that differs, present value; the last is the whole."""
        return [
            {
                "cost": one.name,
                "before_usd": in_usd(one.before),
                "after_usd": in_usd(one.after),
            }
            for one in self._found.costs
        ]

    def to_json(self) -> str:
        """The comparison as `compare.json`."""
        return self._found.model_dump_json(indent=1) + "\n"

    def to_github(self) -> str:
        """The comparison as a comment on a pull request: Markdown of at most 65,000 bytes.

        Money and nodes are open, all else opens on a click; long tables are cut, and say so.
        """
        document = comparison_document(self._found, _ALL)
        return markdown.comment(document, OPEN, "`planner compare --format json` has all.")

    def _document(self) -> Document:
        return comparison_document(self._found, _IN_FULL)

    def _on_screen(self) -> Document:
        return comparison_document(self._found, _ON_SCREEN)

    def _pictures(self) -> dict[str, Picture]:
        chart = waterfall_chart(self._found)
        return {"waterfall.svg": chart} if chart else {}


CompareSource: TypeAlias = "PlanResult | Scenario | str | PathLike[str] | dict[str, Any]"
"""A plan, a scenario, or the path of either; a plan's path ends in `.json`."""


def compare(
    before: CompareSource,
    after: CompareSource,
    *,
    labels: tuple[str, str] | None = None,
    actuals: FilePath | None = None,
    causes: bool = True,
    gap: float = GAP,
    time_limit_seconds: float = TIME_LIMIT_SECONDS,
    progress: Progress = None,
    **changes: Unpack[Changes],
) -> ComparisonResult:
    """Show what differs between two plans: inputs first, then purchases, cost, jobs and more.

    Scenarios are planned first; so are the plans between the two that tell which cause costs how
    much, unless `causes` is False. `actuals` is a table of what came beside the plan before
    (quarter, job or node_type, count). `labels` name the two sides. `changes` apply to scenarios on
    either side; of a saved plan, `catalog` and `rules` are looked for there.

    >>> import planner
    >>> base = planner.load("scenarios/quickstart.yaml")
    >>> found = planner.compare(base, base.changed(set={"offers.buy-l40s.price_usd": 150_000}))
    >>> found.added_usd > 0, found.inputs[0]["path"]
    (True, 'offers.buy-l40s.price_usd')

    Raises what planning a side raises: a side without a plan is an error, never a figure.
    """
    require_effort(gap, time_limit_seconds)
    planner = partial(make_plan, asked_gap=gap, time_limit_s=time_limit_seconds, progress=progress)
    sides = [_loaded(one, changes) for one in (before, after)]
    names = labels or (sides[0].label, sides[1].label)
    first, second = (_side(one, name, planner) for one, name in zip(sides, names, strict=True))
    came = read_actuals(Path(actuals), (first.plan, second.plan)) if actuals else ()
    # Of the plans between the two nothing but the cost is told.
    step = partial(planner, price_choices=False, sizers=Sizers()) if causes else None
    found = compare_plans(first, second, step, came)
    return ComparisonResult(found, (*sides[0].read_from, *sides[1].read_from))


def _loaded(given: CompareSource, changes: Changes) -> PlanResult | Scenario:
    if isinstance(given, PlanResult):
        return given
    if not isinstance(given, Scenario | dict) and Path(given).suffix == ".json":
        own = {key: changes[key] for key in ("catalog", "rules") if key in changes}
        return read_plan(given, **own)
    return load(given, **changes)


def _side(side: PlanResult | Scenario, label: str, planner: Callable[[Inputs], Plan]) -> Saved:
    if isinstance(side, Scenario):
        return planned_side(label, side._inputs, planner)
    return replace(side._saved, label=label)


class ReplayResult(Result):
    """Whether a plan that was made again is the same."""

    _name = "replay"

    def __init__(self, found: Replay, read_from: tuple[Path, ...]) -> None:
        """Private: `planner.replay` gives these."""
        super().__init__(found.plan, read_from)
        self._found = found

    @property
    def identical(self) -> bool:
        """Whether it is the same, byte for byte."""
        return self._found.identical

    @property
    def summary(self) -> tuple[str, ...]:
        """Whether it is the same, and what is not."""
        if self.identical:
            return ("identical",)
        return "not identical", *(f"{one.what} {one.name} differs" for one in self._found.origins)

    def rows(self) -> list[Row]:
        """A row for each file or version that differs: what was recorded, and what is here."""
        return [one.model_dump() for one in self._found.origins]

    def to_json(self) -> str:
        """All that differs, with the comparison of both plans."""
        return self._found.model_dump_json(indent=1) + "\n"

    def _document(self) -> Document:
        return replay_document(self._found, _IN_FULL)

    def _on_screen(self) -> Document:
        return replay_document(self._found, _ON_SCREEN)


def replay(plan: PlanSource, *, progress: Progress = None) -> ReplayResult:
    """Plan again from the files and options that a plan records, and compare.

    Its files are looked for from the current folder, as when it was planned.

    >>> import planner
    >>> planner.replay(planner.plan("scenarios/quickstart.yaml")).identical
    True

    Raises InputError for a plan that was changed after it was written, and for files that are not
    there.
    """
    text, path = text_of(plan)
    return ReplayResult(replay_plan(text, str(path), plan_text, progress), (path,))
