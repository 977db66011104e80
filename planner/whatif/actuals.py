"""Actuals beside a plan: nodes delivered against planned, demand against its forecast."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from planner.errors import Finding, InputError, refuse
from planner.inputs.base import Count, Frozen
from planner.inputs.reading.grid import table_rows
from planner.inputs.reading.reader import read_text
from planner.inputs.scenario.quarter import Quarter
from planner.inputs.text import did_you_mean
from planner.planning.plan import Plan, PlannedJob

_HELD = ("gpu_hours", "gpus")
"""Columns for readers: what a job's runs held, as `planner import` tells it."""
_COLUMNS = ("quarter", "job", "node_type", "count", *_HELD)
_REQUIRED = ("quarter", "count")


class Actual(Frozen):
    """One line of what happened: units of a job, its runs, or nodes in service."""

    quarter: Quarter
    job: Annotated[str, Field(min_length=1)] | None = None
    node_type: Annotated[str, Field(min_length=1)] | None = None
    count: Count

    @model_validator(mode="after")
    def _is_of_one_thing(self) -> Actual:
        if (self.job is None) == (self.node_type is None):
            raise ValueError("name either a job or a node_type")
        return self


class PlannedAndActual(Frozen):
    """A figure of the plan beside the actual one."""

    quarter: str
    name: str
    """The job or node type."""
    planned: int | None
    """Units of the forecast, their runs, or nodes to enter service; None: not in the plan."""
    actual: int | None
    """None if the file does not say."""


def read_actuals(path: Path, plans: Iterable[Plan]) -> tuple[Actual, ...]:
    """Read a table with the columns quarter, count, and job or node_type.

    Raises InputError with all mistakes, including names and quarters that no plan knows.
    """
    several = tuple(plans)
    known = {
        "quarter": {quarter for plan in several for quarter in plan.quarters},
        "job": {job.name for plan in several for job in plan.jobs},
        "node_type": {node.node_type for plan in several for node in plan.nodes},
    }
    actuals: dict[tuple[str, str | None, str | None], Actual] = {}
    findings: list[Finding] = []
    for row in table_rows(read_text(path, str(path)), str(path), _COLUMNS, _REQUIRED):
        try:
            stated = {
                column: row.value(column) if column == "count" else cell.text
                for column, cell in row.cells.items()
                if column not in _HELD
            }
            actual = row.build(Actual, stated)
        except InputError as error:
            findings += error.findings
            continue
        for column, names in known.items():
            name = getattr(actual, column)
            if name is not None and str(name) not in names:
                hint = did_you_mean(str(name), sorted(names))
                if column == "quarter":
                    hint = f"they have {min(names)} to {max(names)}"
                findings.append(row.finding(f"no plan here knows {str(name)!r}", column, hint))
        key = str(actual.quarter), actual.job, actual.node_type
        if actuals.setdefault(key, actual) is not actual:
            findings.append(row.finding("the same quarter and name stand above already"))
    refuse(findings)
    return tuple(actuals.values())


def outcomes(
    plan: Plan, actuals: Iterable[Actual]
) -> tuple[tuple[PlannedAndActual, ...], tuple[PlannedAndActual, ...]]:
    """Return the demand of jobs and the deliveries of nodes for the quarters in the table.

    What the plan has in such a quarter and the table leaves out is listed as unknown.
    """
    units = {
        (quarter, job.name): count * job.runs
        for job in plan.jobs
        for quarter, count in zip(plan.quarters, _asked(plan, job), strict=True)
        if count
    }
    entering: Counter[tuple[str, str]] = Counter()
    for line in (one for one in plan.acquisitions if not one.step_hours):
        entering[line.quarter, line.node_type] += line.count
    told = {(str(one.quarter), one.job, one.node_type): one.count for one in actuals}
    jobs = {(quarter, job): count for (quarter, job, _), count in told.items() if job}
    nodes = {(quarter, node): count for (quarter, _, node), count in told.items() if node}
    return _joined(plan, units, jobs), _joined(plan, entering, nodes)


def _asked(plan: Plan, job: PlannedJob) -> tuple[int, ...]:
    """Return the units that the scenario asks for, by quarter, wherever they are placed, if at all.

    An endpoint whose replicas share its traffic is one.
    """
    for short in plan.shortage.jobs if plan.shortage else ():
        if short.name == job.name:
            return short.asked
    placed = (min(1, count) for count in job.units) if job.replicas else job.units
    return tuple(map(sum, zip(placed, *(units for _, units in job.on_apis), strict=True)))


def _joined(
    plan: Plan, planned: Mapping[tuple[str, str], int], actual: Mapping[tuple[str, str], int]
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
