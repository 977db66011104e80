"""Jobs as a table, a row each: out of a scenario, and into one.

A column is the dotted path of a key under a job, `tune.method`, and a cell says what the scenario
would say there.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import Field

from planner.errors import Finding, InputError
from planner.inputs.base import Frozen
from planner.inputs.layers.written import flow
from planner.inputs.reading.diagnostics import Attempts, validate, validate_values
from planner.inputs.reading.document import parts_of
from planner.inputs.reading.reader import parse_document, read_document
from planner.inputs.reading.shape import FieldTree
from planner.inputs.scenario.job import Job
from planner.inputs.text.scalars import PLACEHOLDER, ScalarError, csv_text, plain_value
from planner.inputs.text.words import key_meant

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from planner.inputs.reading.grid import Cell, Grid

__all__ = [
    "NAME",
    "Columns",
    "jobs_from",
    "portfolio_csv",
    "portfolio_rows",
    "read_columns",
    "scenario_part",
    "template",
]

NAME = "job"
"""The column that names the job."""

_SHAPE = FieldTree(Job)
_COLUMNS_KNOWN = "`planner import --template` has all; `--mapping` says what they are called here"
_FLOW = ("[", "{", '"')
_ERROR = re.compile(
    r"#(CALC|DIV/0|FIELD|NULL|NUM|REF|SPILL|VALUE)!|#N/A|#NAME\?|#GETTING_DATA", re.IGNORECASE
)
"""What a spreadsheet shows where a formula failed."""

Jobs = dict[str, dict[str, Any]]
_Path = tuple[str, ...]


class Columns(Frozen):
    """How the columns of a foreign table are called here."""

    columns: dict[str, str] = Field(default_factory=dict)
    """Their name and ours."""
    ignore: tuple[str, ...] = ()
    """Columns of theirs that say nothing of a job."""
    always: dict[str, Any] = Field(default_factory=dict)
    """What holds for every job whose cell is empty, by our column: `{serve.bits: 8}`."""


def read_columns(path: Path) -> Columns:
    """Read a mapping; raises InputError with all its mistakes."""
    return validate(read_document(path), Columns)


def template() -> str:
    """A CSV file with every key of a job, and three jobs to write over."""
    keys = (path for path in _leaves(()) if not _SHAPE.model(path))
    return portfolio_csv(_EXAMPLES, tuple(".".join(path) for path in keys))


_EXAMPLES: Jobs = {
    "summaries": {"tune": {"model": "llama-3.1-8b", "method": "lora"}, "quarters": "2027Q1"},
    "assistant": {"serve": {"model": "llama-3.1-8b"}, "count": 2},
    "notebooks": {"fixed": {"gpus": 1, "cpus": 4, "memory_gb": 32}},
}


def portfolio_csv(jobs: Mapping[str, Mapping[str, Any]], columns: Sequence[str] = ()) -> str:
    """The jobs of a scenario as CSV; columns in the order of its format, those in use if not given.

    `jobs` is plain data, as a scenario states it.
    """
    rows = portfolio_rows(jobs, columns)
    heads = tuple(rows[0]) if rows else (NAME, *columns)
    return csv_text([heads, *(tuple(row.values()) for row in rows)])


def portfolio_rows(
    jobs: Mapping[str, Mapping[str, Any]], columns: Sequence[str] = ()
) -> list[dict[str, str]]:
    """The same as records of text."""
    rows = {name: dict(_flat((), job)) for name, job in jobs.items()}
    used = {column for row in rows.values() for column in row}
    order = [".".join(path) for path in _leaves(())]
    heads = columns or sorted(used, key=order.index)
    return [
        {NAME: name, **{column: row.get(column, "") for column in heads}}
        for name, row in rows.items()
    ]


def _leaves(outer: _Path) -> Iterator[_Path]:
    """Every key under a job; a section as a whole, which says `{}`, comes after its keys."""
    for key in _SHAPE.keys(outer):
        path = (*outer, key)
        if _SHAPE.model(path):
            yield from _leaves(path)
        yield path


def _flat(outer: _Path, data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in data.items():
        path = (*outer, key)
        if _SHAPE.model(path) and value:
            yield from _flat(path, value)
        else:
            text = value if _SHAPE.is_text(path) and isinstance(value, str) else flow(value)
            yield ".".join(path), text


def jobs_from(grid: Grid, columns: Columns) -> Jobs:
    """The jobs of a table as plain data; raises InputError with all mistakes, cell by cell."""
    heads = _heads(grid, columns)
    attempts = Attempts()
    jobs: Jobs = {}
    first: dict[str, Cell] = {}
    for row in grid.rows:
        cells = {head: cell for head, cell in zip(heads, row, strict=True) if head}
        name = cells.pop(NAME)
        if name.text in first:
            attempts.findings.append(
                name.finding(f"the job {name.text!r} stands above already", NAME)
            )
        elif not name.text:
            attempts.findings.append(name.finding("the job has no name", NAME))
        elif not name.text.isprintable():
            attempts.findings.append(name.finding("the name holds a line break or a tab", NAME))
        elif fault := _fault_of_text(name):
            attempts.findings.append(name.finding(fault, NAME))
        first.setdefault(name.text, name)
        job = attempts.take(partial(_job, cells, name, columns))
        jobs[name.text] = job or {}
    if not attempts.findings and not jobs:
        hint = "a scenario without jobs needs no table, it says `jobs: {}`"
        found = grid.header[0].finding("there is no job below the header", hint=hint)
        attempts.findings.append(found)
    if attempts.findings:
        raise InputError(*attempts.findings)
    return jobs


def _heads(grid: Grid, columns: Columns) -> list[str]:
    """Our name of each column, empty where it is left out."""
    known = sorted({NAME, *(".".join(path) for path in _leaves(()))})
    findings: list[Finding] = []
    heads: list[str] = []
    for cell in grid.header:
        head = "" if cell.text in columns.ignore else columns.columns.get(cell.text, cell.text)
        if head in heads and head:
            findings.append(cell.finding("stands twice in the header", head))
        elif head and head not in known:
            hint = key_meant(head, known) or _COLUMNS_KNOWN
            findings.append(cell.finding(f"{head!r} is no column of jobs", hint=hint))
        elif not head and any(row[len(heads)].text for row in grid.rows) and not cell.text:
            findings.append(cell.finding("a column with values has no name"))
        heads.append(head)
    if NAME not in heads and not findings:
        hint = "name it `job`, or map it: `--mapping`"
        findings.append(grid.header[0].finding("no column names the job", hint=hint))
    findings += [
        Finding(f"{name!r} is no column of jobs", path="always", hint=key_meant(name, known))
        for name in columns.always
        if name not in known or _SHAPE.model(parts_of(name))
    ]
    if findings:
        raise InputError(*findings)
    return heads


def _job(cells: Mapping[str, Cell], name: Cell, columns: Columns) -> dict[str, Any]:
    """One row, checked as a job by itself."""
    findings: list[Finding] = []
    data: dict[str, Any] = {}
    for column, value in columns.always.items():
        if not (column in cells and cells[column].text):
            _put(data, column, value)
    for column, cell in cells.items():
        if cell.text:
            try:
                _put(data, column, _value(cell, column))
            except ScalarError as error:
                findings.append(cell.finding(str(error), column))
            except InputError as error:
                findings += (cell.finding(one.message, column) for one in error.findings)
    if findings:
        raise InputError(*findings)
    try:
        validate_values(data, Job, str)
    except InputError as error:
        found = [_placed(one, cells, name) for one in error.findings]
        raise InputError(*found) from None
    return data


def _placed(finding: Finding, cells: Mapping[str, Cell], name: Cell) -> Finding:
    """A mistake at the cell of its column, or at the name of the job where it has none."""
    path = finding.path or ""
    column = max((one for one in cells if path.startswith(one)), key=len, default=None)
    cell = name if column is None else cells[column]
    return cell.finding(finding.message, path or name.text, finding.hint)


def _put(data: dict[str, Any], column: str, value: object) -> None:
    *outer, last = parts_of(column)
    for key in outer:
        data = data.setdefault(key, {})
    if value == {}:
        data.setdefault(last, {})
    else:
        data[last] = value


def _fault_of_text(cell: Cell) -> str | None:
    """Why a cell cannot be taken as text: what it shows is not what was meant."""
    if cell.is_number:
        return f"{cell.text} is a number to the spreadsheet: type it into a cell of type text"
    if _ERROR.fullmatch(cell.text):
        return f"is an error of the spreadsheet: {cell.text}"
    found = PLACEHOLDER.search(cell.text)
    return f"unresolved placeholder {found[0]!r}" if found else None


def _value(cell: Cell, column: str) -> object:
    path = parts_of(column)
    if _SHAPE.is_text(path):
        if fault := _fault_of_text(cell):
            raise InputError(Finding(fault))
        return cell.text
    if _SHAPE.model(path) and cell.text != "{}":
        message = "holds a section, which is written key by key in columns of their own"
        raise InputError(Finding(message))
    if not cell.text.startswith(_FLOW):
        return plain_value(cell.text)
    text = " ".join(cell.text.splitlines())
    return parse_document(f"value: {text}\n", cell.file).data["value"]


def scenario_part(jobs: Mapping[str, Mapping[str, Any]], name: str) -> str:
    """The jobs as a scenario file that another one `extends`."""
    lines = (f"  {flow({job: data})[1:-1]}\n" for job, data in jobs.items())
    return f"format: 1\nname: {flow(name)}\njobs:\n{''.join(lines)}"
