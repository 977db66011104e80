"""Actuals beside a plan: nodes delivered against planned, demand against its forecast."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from planner.errors import Finding, InputError, refuse
from planner.inputs.base import Count, Frozen, NotNegative, PositiveCount
from planner.inputs.reading.grid import TableRow, table_rows
from planner.inputs.reading.reader import read_text
from planner.inputs.scenario.quarter import Quarter
from planner.inputs.text import count_of, did_you_mean
from planner.planning.plan import Plan

_NUMBERS = ("count", "gpu_hours", "gpus")
_COLUMNS = ("quarter", "job", "node_type", *_NUMBERS)
_REQUIRED = ("quarter", "count")
_SLIP = 10
"""More than so many times what the plans have is no difference any more, but a slip of the hand."""


_MEND = "more than ten times what is planned is taken for a slip of the hand"


class Actual(Frozen):
    """One line of what came: units of a job that were wanted, or its runs, or nodes in service."""

    quarter: Quarter
    job: Annotated[str, Field(min_length=1)] | None = None
    node_type: Annotated[str, Field(min_length=1)] | None = None
    count: Count
    gpu_hours: NotNegative | None = None
    """That the runs of a job held in the quarter, where `count` is of runs one after the other."""
    gpus: PositiveCount | None = None
    """The most that one run held."""

    @model_validator(mode="after")
    def _is_of_one_thing(self) -> Actual:
        if (self.job is None) == (self.node_type is None):
            raise ValueError("name either a job or a node_type")
        if self.job is None and (self.gpu_hours is not None or self.gpus is not None):
            raise ValueError("GPU-hours and GPUs are those of a job's runs, not of nodes")
        return self


class PlannedAndActual(Frozen):
    """A figure of the plan beside what came of it."""

    quarter: str
    name: str
    """Job or node type."""
    planned: int | None
    """Units of the forecast, or their runs, or nodes to enter service; None: not in the plan."""
    actual: int | None
    """None where the file does not say."""


def read_actuals(path: Path, plans: Iterable[Plan]) -> tuple[Actual, ...]:
    """Read a table with the columns quarter, count, and job or node_type.

    Raises InputError with all mistakes: also names and quarters that none of the plans knows, and
    figures that cannot have come of them.
    """
    rows = table_rows(read_text(path, str(path)), str(path), _COLUMNS, _REQUIRED)
    known = _Known(tuple(plans))
    actuals: dict[tuple[str, str | None, str | None], Actual] = {}
    findings: list[Finding] = []
    for row in rows:
        try:
            actual = _actual(row)
        except InputError as error:
            findings += error.findings
            continue
        key = str(actual.quarter), actual.job, actual.node_type
        findings += known.faults(row, actual)
        if actuals.setdefault(key, actual) is not actual:
            findings.append(row.finding("the same quarter and name stand above already"))
    refuse(findings)
    return tuple(actuals.values())


def _actual(row: TableRow) -> Actual:
    return row.build(
        Actual,
        {
            column: row.value(column) if column in _NUMBERS else cell.text
            for column, cell in row.cells.items()
        },
    )


class _Known:
    """Names and quarters of the plans that are compared, and how much they have."""

    def __init__(self, plans: tuple[Plan, ...]) -> None:
        self._plans = plans
        self._names = {
            "quarter": {quarter for plan in plans for quarter in plan.quarters},
            "job": {job.name for plan in plans for job in plan.jobs},
            "node_type": {node.node_type for plan in plans for node in plan.nodes},
        }

    def faults(self, row: TableRow, actual: Actual) -> Iterator[Finding]:
        unknown = False
        for column, known in self._names.items():
            name = getattr(actual, column)
            if name is not None and str(name) not in known:
                meant = did_you_mean(str(name), sorted(known))
                hint = f"they have {min(known)} to {max(known)}" if column == "quarter" else meant
                yield row.finding(f"no plan here knows {str(name)!r}", column, hint)
                unknown = True
        if not unknown:
            for column, said, hint in self._slips(actual):
                yield row.finding(said, column, hint)

    def _slips(self, actual: Actual) -> Iterator[tuple[str, str, str]]:
        """Figures that cannot have been, or are far beyond the plans: column, words and hint."""
        quarter, count = str(actual.quarter), actual.count
        if actual.node_type is not None:
            nodes = self._most(lambda plan, at: sum(pool.nodes[at] for pool in plan.pools))
            if count > _SLIP * max(nodes, 1):
                yield "count", f"{count:,} nodes: {nodes:,.0f} are planned at the most", _MEND
            return
        gpus = self._most(lambda plan, at: sum(pool.gpus[at] for pool in plan.pools), quarter)
        planned = f"{gpus:,.0f} are planned for {quarter}"
        if actual.gpus is not None and actual.gpus > _SLIP * max(gpus, 1):
            yield "gpus", f"{actual.gpus:,} GPUs in one run: {planned}", _MEND
        if actual.gpu_hours is not None:
            yield from self._too_long(actual)
        elif count > max(gpus, _SLIP * max(units := self._units(actual.job or ""), 1)):
            said = f"{count:,} units: {units:,.0f} are planned at the most, and of GPUs {planned}"
            hint = "for runs one after the other, `gpu_hours` says how long they held GPUs"
            yield "count", said, hint

    def _too_long(self, actual: Actual) -> Iterator[tuple[str, str, str]]:
        """GPU-hours that so many runs cannot have held, or all GPUs of the plans together."""
        quarter, held, gpus = actual.quarter, actual.gpu_hours or 0, actual.gpus or 0
        of_one = 24 * ((quarter + 1).start - quarter.start).days * gpus
        there = self._most(
            lambda plan, at: sum(one.gpu_hours[at] for one in plan.pools), str(quarter)
        )
        if gpus and held > actual.count * of_one:
            runs = f"{count_of(actual.count, 'run')} on {count_of(gpus, 'GPU')}"
            said = f"{held:,} GPU-hours: {runs} can hold {actual.count * of_one:,} in {quarter}"
            yield "gpu_hours", said, "look for hours of other runs among them"
        elif held > Decimal(_SLIP * max(there, 1)):
            said = f"{held:,} GPU-hours: those planned for {quarter} have {there:,.0f}"
            yield "gpu_hours", said, _MEND

    def _units(self, job: str) -> float:
        """The most of a job in any quarter, placed or asked for, each run."""

        def units(plan: Plan, at: int) -> float:
            short = plan.shortage.jobs if plan.shortage else ()
            runs = next((one.runs for one in plan.jobs if one.name == job), 1)
            placed = [one.units[at] for one in plan.jobs if one.name == job]
            asked = [one.asked[at] for one in short if one.name == job]
            return runs * max((*placed, *asked), default=0)

        return self._most(units)

    def _most(self, figure: Callable[[Plan, int], float], quarter: str | None = None) -> float:
        """The greatest that a figure is in any plan, in one quarter or in all."""
        return max(
            (
                figure(plan, at)
                for plan in self._plans
                for at, label in enumerate(plan.quarters)
                if quarter in (None, label)
            ),
            default=0,
        )


def outcomes(
    plan: Plan, actuals: Iterable[Actual]
) -> tuple[tuple[PlannedAndActual, ...], tuple[PlannedAndActual, ...]]:
    """Demand of jobs, and deliveries of nodes, of the quarters of which anything is told.

    What the plan has in such a quarter and the table leaves out is listed as not told.
    """
    units = {
        (quarter, job.name): count * job.runs
        for job in plan.jobs
        for quarter, count in zip(plan.quarters, job.units, strict=True)
        if count
    }
    entering: Counter[tuple[str, str]] = Counter()
    for line in (one for one in plan.acquisitions if not one.step_hours):
        entering[line.quarter, line.node_type] += line.count
    told = tuple(actuals)
    jobs = {(str(one.quarter), one.job): one.count for one in told if one.job}
    nodes = {(str(one.quarter), one.node_type): one.count for one in told if one.node_type}
    return _joined(plan, units, jobs), _joined(plan, dict(entering), nodes)


def _joined(
    plan: Plan, planned: dict[tuple[str, str], int], actual: dict[tuple[str, str], int]
) -> tuple[PlannedAndActual, ...]:
    quarters = {quarter for quarter, _ in actual}
    keys = sorted(actual.keys() | {key for key in planned if key[0] in quarters})
    return tuple(
        PlannedAndActual(
            quarter=quarter,
            name=name,
            planned=planned.get((quarter, name), 0 if quarter in plan.quarters else None),
            actual=actual.get((quarter, name)),
        )
        for quarter, name in keys
    )
