"""Actuals beside a plan: nodes delivered against planned, demand against its forecast."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from planner.errors import Finding, InputError, refuse
from planner.inputs.base import Count, Frozen, NotNegative, PositiveCount
from planner.inputs.reading.grid import table_rows
from planner.inputs.reading.reader import read_text
from planner.inputs.scenario.quarter import Quarter
from planner.inputs.text import count_of, did_you_mean
from planner.planning.plan import Plan

_NUMBERS = ("count", "gpu_hours", "gpus")
_COLUMNS = ("quarter", "job", "node_type", *_NUMBERS)
_REQUIRED = ("quarter", "count")
_SLIP = 10
"""A figure more than this many times what the plans have is an error, not a difference."""
_MEND = "more than ten times what is planned is taken for a slip of the hand"


class Actual(Frozen):
    """One line of what happened: units of a job, its runs, or nodes in service."""

    quarter: Quarter
    job: Annotated[str, Field(min_length=1)] | None = None
    node_type: Annotated[str, Field(min_length=1)] | None = None
    count: Count
    gpu_hours: NotNegative | None = None
    """The GPU-hours that a job's runs held in the quarter, if `count` is of runs in sequence."""
    gpus: PositiveCount | None = None
    """The most GPUs that one run held."""

    @model_validator(mode="after")
    def _is_of_one_thing(self) -> Actual:
        if (self.job is None) == (self.node_type is None):
            raise ValueError("name either a job or a node_type")
        if self.job is None and (self.gpu_hours is not None or self.gpus is not None):
            raise ValueError("GPU-hours and GPUs are those of a job's runs, not of nodes")
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

    Raises InputError with all mistakes, including names and quarters that no plan knows, and
    impossible figures.
    """
    known = _Known(tuple(plans))
    actuals: dict[tuple[str, str | None, str | None], Actual] = {}
    findings: list[Finding] = []
    for row in table_rows(read_text(path, str(path)), str(path), _COLUMNS, _REQUIRED):
        try:
            stated = {
                column: row.value(column) if column in _NUMBERS else cell.text
                for column, cell in row.cells.items()
            }
            actual = row.build(Actual, stated)
        except InputError as error:
            findings += error.findings
            continue
        faults = list(known.unknown(actual)) or list(known.slips(actual))
        findings += (row.finding(said, column, hint) for column, said, hint in faults)
        key = str(actual.quarter), actual.job, actual.node_type
        if actuals.setdefault(key, actual) is not actual:
            findings.append(row.finding("the same quarter and name stand above already"))
    refuse(findings)
    return tuple(actuals.values())


_Fault = tuple[str, str, str | None]
"""The column, the message and the hint."""


class _Known:
    """Names and quarters of the plans that are compared, and their figures."""

    def __init__(self, plans: tuple[Plan, ...]) -> None:
        self._plans = plans
        self._names = {
            "quarter": {quarter for plan in plans for quarter in plan.quarters},
            "job": {job.name for plan in plans for job in plan.jobs},
            "node_type": {node.node_type for plan in plans for node in plan.nodes},
        }

    def unknown(self, actual: Actual) -> Iterator[_Fault]:
        """Yield names and quarters that no plan has."""
        for column, known in self._names.items():
            name = getattr(actual, column)
            if name is not None and str(name) not in known:
                hint = did_you_mean(str(name), sorted(known))
                if column == "quarter":
                    hint = f"they have {min(known)} to {max(known)}"
                yield column, f"no plan here knows {str(name)!r}", hint

    def slips(self, actual: Actual) -> Iterator[_Fault]:
        """Yield figures that are impossible, or far beyond the plans."""
        quarter, count, held = str(actual.quarter), actual.count, actual.gpu_hours
        if actual.node_type is not None:
            nodes = self._most(lambda plan, at: sum(pool.nodes[at] for pool in plan.pools))
            if count > _SLIP * max(nodes, 1):
                yield "count", f"{count:,} nodes: {nodes:,.0f} are planned at the most", _MEND
            return
        gpus = self._most(lambda plan, at: sum(pool.gpus[at] for pool in plan.pools), quarter)
        planned = f"{gpus:,.0f} are planned for {quarter}"
        if actual.gpus is not None and actual.gpus > _SLIP * max(gpus, 1):
            yield "gpus", f"{actual.gpus:,} GPUs in one run: {planned}", _MEND
        if held is None:
            units = self._most(partial(_units, actual.job or ""))
            if count > max(gpus, _SLIP * max(units, 1)):
                said = f"{count:,} units: {units:,.0f} are planned at the most, and of GPUs"
                hint = "for runs one after the other, `gpu_hours` says how long they held GPUs"
                yield "count", f"{said} {planned}", hint
            return
        days = ((actual.quarter + 1).start - actual.quarter.start).days
        most = 24 * days * count * (actual.gpus or 0)
        hours = self._most(lambda plan, at: sum(p.gpu_hours[at] for p in plan.pools), quarter)
        if actual.gpus and held > most:
            runs = f"{count_of(count, 'run')} on {count_of(actual.gpus, 'GPU')}"
            said = f"{held:,} GPU-hours: {runs} can hold {most:,} in {quarter}"
            yield "gpu_hours", said, "look for hours of other runs among them"
        elif held > Decimal(_SLIP * max(hours, 1)):
            said = f"{held:,} GPU-hours: those planned for {quarter} have {hours:,.0f}"
            yield "gpu_hours", said, _MEND

    def _most(self, figure: Callable[[Plan, int], float], quarter: str | None = None) -> float:
        """Return the largest figure in any plan, in one quarter or in all."""
        return max(
            (
                figure(plan, at)
                for plan in self._plans
                for at, label in enumerate(plan.quarters)
                if quarter in (None, label)
            ),
            default=0,
        )


def _units(name: str, plan: Plan, at: int) -> float:
    """Return a job's units in a quarter, placed or asked for, run by run."""
    runs = next((one.runs for one in plan.jobs if one.name == name), 1)
    placed = [one.units[at] for one in plan.jobs if one.name == name]
    short = plan.shortage.jobs if plan.shortage else ()
    return runs * max((*placed, *(one.asked[at] for one in short if one.name == name)), default=0)


def outcomes(
    plan: Plan, actuals: Iterable[Actual]
) -> tuple[tuple[PlannedAndActual, ...], tuple[PlannedAndActual, ...]]:
    """Return the demand of jobs and the deliveries of nodes for the quarters in the table.

    What the plan has in such a quarter and the table leaves out is listed as unknown.
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
    told = {(str(one.quarter), one.job, one.node_type): one.count for one in actuals}
    jobs = {(quarter, job): count for (quarter, job, _), count in told.items() if job}
    nodes = {(quarter, node): count for (quarter, _, node), count in told.items() if node}
    return _joined(plan, units, jobs), _joined(plan, entering, nodes)


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
