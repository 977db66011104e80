"""What came of a plan: nodes delivered against those planned, demand against its forecast."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, model_validator

from planner.errors import InputError
from planner.inputs.base import Count, Frozen
from planner.inputs.reading.reader import read_text
from planner.inputs.reading.table import table_rows
from planner.inputs.scenario.quarter import Quarter
from planner.inputs.text.words import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from planner.errors import Finding
    from planner.inputs.reading.table import Row
    from planner.plan.plan import Plan

__all__ = ["Actual", "Outcome", "outcomes", "read_actuals"]

_COLUMNS = ("quarter", "job", "node_type", "count")
_REQUIRED = ("quarter", "count")


class Actual(Frozen):
    """One line of what came: units of a job that were wanted, or nodes that entered service."""

    quarter: Quarter
    job: Annotated[str, Field(min_length=1)] | None = None
    node_type: Annotated[str, Field(min_length=1)] | None = None
    count: Count

    @model_validator(mode="after")
    def _is_of_one_thing(self) -> Actual:
        if (self.job is None) == (self.node_type is None):
            raise ValueError("name either a job or a node_type")
        return self


class Outcome(Frozen):
    """A figure of the plan beside what came of it."""

    quarter: str
    name: str
    """Job or node type."""
    planned: int | None
    """Units of the forecast, or nodes to enter service; None where the plan does not know it."""
    actual: int | None
    """None where the file does not say."""


def read_actuals(path: Path, plans: Iterable[Plan]) -> tuple[Actual, ...]:
    """Read a table with the columns quarter, count, and job or node_type.

    Raises InputError with all mistakes: also names and quarters that none of the plans knows.
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
    if findings:
        raise InputError(*findings)
    return tuple(actuals.values())


def _actual(row: Row) -> Actual:
    return row.build(
        Actual,
        {
            column: row.value(column) if column == "count" else cell.text
            for column, cell in row.cells.items()
        },
    )


class _Known:
    """Names and quarters of the plans that are compared."""

    def __init__(self, plans: tuple[Plan, ...]) -> None:
        self._names = {
            "quarter": {quarter for plan in plans for quarter in plan.quarters},
            "job": {job.name for plan in plans for job in plan.jobs},
            "node_type": {node.node_type for plan in plans for node in plan.nodes},
        }

    def faults(self, row: Row, actual: Actual) -> Iterator[Finding]:
        for column, known in self._names.items():
            name = getattr(actual, column)
            if name is not None and str(name) not in known:
                hint = did_you_mean(str(name), sorted(known))
                yield row.finding(f"no plan here knows {str(name)!r}", column, hint)


def outcomes(
    plan: Plan, actuals: Iterable[Actual]
) -> tuple[tuple[Outcome, ...], tuple[Outcome, ...]]:
    """Demand of jobs, and deliveries of nodes, of the quarters of which anything is told.

    What the plan has in such a quarter and the table leaves out is listed as not told.
    """
    units = {
        (quarter, job.name): count
        for job in plan.jobs
        for quarter, count in zip(plan.quarters, job.units, strict=True)
        if count
    }
    entering: Counter[tuple[str, str]] = Counter()
    for line in plan.acquisitions:
        entering[line.quarter, line.node_type] += line.count
    told = tuple(actuals)
    jobs = {(str(one.quarter), one.job): one.count for one in told if one.job}
    nodes = {(str(one.quarter), one.node_type): one.count for one in told if one.node_type}
    return _joined(plan, units, jobs), _joined(plan, dict(entering), nodes)


def _joined(
    plan: Plan, planned: dict[tuple[str, str], int], actual: dict[tuple[str, str], int]
) -> tuple[Outcome, ...]:
    quarters = {quarter for quarter, _ in actual}
    keys = sorted(actual.keys() | {key for key in planned if key[0] in quarters})
    return tuple(
        Outcome(
            quarter=quarter,
            name=name,
            planned=planned.get((quarter, name), 0 if quarter in plan.quarters else None),
            actual=actual.get((quarter, name)),
        )
        for quarter, name in keys
    )
