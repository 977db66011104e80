"""Jobs as a table, a row each: out of a scenario, and into one.

A column is the dotted path of a key under a job, `tune.method`, and a cell says what the scenario
would say there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import Discriminator, Field, Tag

from planner.errors import Finding, InputError, refuse
from planner.inputs.base import Frozen
from planner.inputs.reading.diagnostics import Attempts, validate, validate_values
from planner.inputs.reading.document import parts_of
from planner.inputs.reading.grid import Grid, GridCell
from planner.inputs.reading.reader import MOST_FINDINGS, parse_document, read_document
from planner.inputs.reading.shape import FieldTree
from planner.inputs.scenario.job import Job
from planner.inputs.text import (
    LONGEST_NAME,
    UNFILLED,
    ScalarError,
    csv_text,
    did_you_mean,
    difference,
    flow,
    folded,
    key_meant,
    one_of,
    plain_value,
)

NAME = "job"
"""The column that names the job."""

_SHAPE = FieldTree(Job)
_COLUMNS_KNOWN = (
    "`planner import --template --full` has all; `--mapping` says what they are called here"
)
_KINDS = ("tune", "serve", "fixed")
"""The sections of a job, of which it has one."""
_FLOW = ("[", "{", '"')
_ERROR = re.compile(
    r"#(CALC|DIV/0|FIELD|NULL|NUM|REF|SPILL|VALUE)!|#N/A|#NAME\?|#GETTING_DATA", re.IGNORECASE
)
"""What a spreadsheet shows if a formula failed."""

Jobs = dict[str, dict[str, Any]]
_Path = tuple[str, ...]
ByValue = dict[str, dict[str, Any]]
Meaning = TypeVar("Meaning")


def _shape(value: object) -> str:
    if isinstance(value, dict):
        return "by value"
    return "several" if isinstance(value, list | tuple) else "one"


class Columns(Frozen):
    """How the columns of a foreign table are called here."""

    columns: dict[
        str,
        Annotated[
            Annotated[str, Tag("one")]
            | Annotated[tuple[str, ...], Tag("several"), Field(min_length=1)]
            | Annotated[ByValue, Tag("by value"), Field(min_length=1)],
            Discriminator(_shape),
        ],
    ] = Field(default_factory=dict)
    """Their name and ours; several of ours, of which a cell is the one of the kind of its job; or
    what a job has by what the cell says: `{LoRA: {tune.method: lora}, endpoint: {serve: {}}}`."""
    values: dict[str, dict[str, str]] = Field(default_factory=dict)
    """What their words mean here, by their column: `{Model: {Llama 8B: llama-3.1-8b}}`."""
    ignore: tuple[str, ...] = ()
    """Columns of theirs that say nothing of a job."""
    always: dict[str, Any] = Field(default_factory=dict)
    """What holds for every job whose cell is empty, by our column: `{serve.bits: 8}`; of a kind of
    job for those of that kind."""

    def paths(self, column: str) -> tuple[str, ...]:
        """Our columns that one of theirs may go to."""
        ours = self.columns.get(column, column)
        if isinstance(ours, str):
            return (ours,)
        return ours if isinstance(ours, tuple) else tuple({k: 0 for v in ours.values() for k in v})


def read_columns(path: Path) -> Columns:
    """Read a mapping; raises InputError with all its mistakes."""
    return validate(read_document(path), Columns)


def template(*, full: bool = False) -> str:
    """Return a CSV file with three jobs to write over, in the columns that they use or in all."""
    keys = (path for path in _leaves(()) if not _SHAPE.model(path))
    return portfolio_csv(_EXAMPLES, tuple(".".join(path) for path in keys) if full else ())


_EXAMPLES: Jobs = {
    "summaries": {
        "team": "research",
        "tune": {
            "model": "llama-3.1-8b",
            "method": "lora",
            "dataset_tokens": 50_000_000,
            "sequence": 4096,
            "batch": 16,
        },
        "quarters": "2027Q1",
    },
    "assistant": {
        "team": "support",
        "serve": {
            "model": "llama-3.1-8b",
            "load": {"requests_per_second": 2, "input_tokens": 1000, "output_tokens": 200},
        },
    },
    "notebooks": {"fixed": {"gpus": 1, "cpus": 4, "memory_gb": 32}, "count": 3},
}


def portfolio_csv(jobs: Mapping[str, Mapping[str, Any]], columns: Sequence[str] = ()) -> str:
    """Return the jobs of a scenario as CSV, by default with the columns in use.

    Columns are in the order of the format. `jobs` is plain data, as a scenario states it.
    """
    rows = portfolio_rows(jobs, columns)
    heads = tuple(rows[0]) if rows else (NAME, *columns)
    return csv_text([heads, *(tuple(row.values()) for row in rows)])


def portfolio_rows(
    jobs: Mapping[str, Mapping[str, Any]], columns: Sequence[str] = ()
) -> list[dict[str, str]]:
    """Return the jobs as records of text."""
    rows = {name: dict(_flat((), job)) for name, job in jobs.items()}
    used = {column for row in rows.values() for column in row}
    order = [".".join(path) for path in _leaves(())]
    heads = columns or sorted(used, key=order.index)
    return [
        {NAME: name, **{column: row.get(column, "") for column in heads}}
        for name, row in rows.items()
    ]


def _leaves(outer: _Path) -> Iterator[_Path]:
    """Yield every key under a job; a section as a whole, which says `{}`, comes after its keys."""
    for key in _SHAPE.keys(outer):
        path = (*outer, key)
        if _SHAPE.model(path):
            yield from _leaves(path)
        yield path


def _flat(outer: _Path, data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in data.items():
        path = (*outer, key)
        if isinstance(value, Mapping) and value and _SHAPE.model(path):
            yield from _flat(path, value)
        else:
            text = value if _SHAPE.is_text(path) and isinstance(value, str) else flow(value)
            yield ".".join(path), text


def jobs_from(grid: Grid, columns: Columns) -> Jobs:
    """Return the jobs of a table as plain data.

    Raises InputError with all mistakes, cell by cell.
    """
    named = _column_of_names(grid, columns)
    attempts = Attempts()
    jobs: Jobs = {}
    met: dict[str, str] = {}
    for row in grid.rows:
        name = row[named]
        fault = _fault_of_text(name)
        first = met.setdefault(folded(name.text), name.text)
        if name.text in jobs:
            fault = f"the job {name.text!r} stands above already"
        elif first != name.text:
            fault = f"{name.text!r} differs from {first!r} in {difference(name.text, first)}"
        elif not name.text:
            fault = "the job has no name"
        elif not name.text.isprintable():
            fault = "the name holds a line break or a tab"
        elif len(name.text) > LONGEST_NAME:
            fault = f"the name has {len(name.text):,} characters, at most {LONGEST_NAME}"
        attempts.findings += [name.finding(fault, NAME)] if fault else []
        cells = {
            head.text: cell
            for head, cell in zip(grid.header, row, strict=True)
            if cell.text and cell is not name and head.text not in columns.ignore
        }
        jobs[name.text] = attempts.take(partial(_job, cells, name, columns)) or {}
        if len(attempts.findings) >= MOST_FINDINGS:
            break
    if not attempts.findings and not jobs:
        hint = "a scenario without jobs needs no table, it says `jobs: {}`"
        found = grid.header[0].finding("there is no job below the header", hint=hint)
        attempts.findings.append(found)
    refuse(attempts.findings)
    return jobs


_NAMES_ELSEWHERE = {"job name", "job_name", "name", "project", "title", "use case", "workload"}
"""What other tables call the column that names the job."""


def _column_meant(head: str, known: Sequence[str]) -> str | None:
    """Return the columns that a header may mean: those of several kinds of jobs, or the nearest."""
    word = head.casefold()
    if word in _NAMES_ELSEWHERE:
        return f"did you mean {NAME!r}?"
    ends = [one for one in known if one.rpartition(".")[2] == word.replace(" ", "_")]
    return f"write one of {', '.join(ends)}" if len(ends) > 1 else key_meant(head, known)


def _column_of_names(grid: Grid, columns: Columns) -> int:
    """Return the column that names the job.

    Raises InputError for meaningless columns and mappings.
    """
    known = sorted({NAME, *(".".join(path) for path in _leaves(()))})
    findings: list[Finding] = []
    theirs: list[str] = []
    places: dict[str, int] = {}
    for place, cell in enumerate(grid.header):
        if len(findings) >= MOST_FINDINGS:
            break
        ours = () if cell.text in columns.ignore else columns.paths(cell.text)
        alone = isinstance(columns.columns.get(cell.text, ""), str)
        if not cell.text:
            if any(row[place].text for row in grid.rows):
                findings.append(cell.finding("a column with values has no name"))
        elif ours and (cell.text in theirs or (alone and ours[0] in places)):
            findings.append(cell.finding("stands twice in the header", ours[0]))
        else:
            for one in ours:
                if one not in known:
                    hint = _column_meant(one, known) or _COLUMNS_KNOWN
                    findings.append(cell.finding(f"{one!r} is no column of jobs", hint=hint))
                elif alone:
                    places[one] = place
        theirs.append(cell.text)
    if NAME not in places and not findings:
        hint = "name it `job`, or map it: `--mapping`"
        findings.append(grid.header[0].finding("no column names the job", hint=hint))
    for name in columns.always:
        if name not in known or _SHAPE.model(parts_of(name)):
            meant = key_meant(name, known)
            findings.append(Finding(f"{name!r} is no column of jobs", path="always", hint=meant))
    for name in columns.values:
        if name not in theirs:
            meant, path = key_meant(name, theirs), f"values.{name}"
            findings.append(Finding("the table has no such column", path=path, hint=meant))
    refuse(findings)
    return places[NAME]


def _job(cells: Mapping[str, GridCell], name: GridCell, columns: Columns) -> dict[str, Any]:
    """Return one row, checked as a job by itself."""
    findings: list[Finding] = []
    said: dict[str, tuple[object, GridCell]] = {}
    by_kind: list[tuple[GridCell, tuple[str, ...]]] = []

    def say(path: str, cell: GridCell, value: Callable[[], object]) -> None:
        if path in said:
            findings.append(cell.finding("another cell of the row says it, too", path))
        try:
            said[path] = value(), cell
        except ScalarError as error:
            findings.append(cell.finding(str(error), path))
        except InputError as error:
            findings.extend(cell.finding(one.message, path) for one in error.findings)

    for head, shown in cells.items():
        ours = columns.columns.get(head, head)
        cell = replace(shown, text=_meant(shown.text, columns.values.get(head, {})) or shown.text)
        if isinstance(ours, str):
            say(ours, cell, partial(_value, cell, ours))
        elif isinstance(ours, tuple):
            by_kind.append((cell, ours))
        elif (stated := _meant(cell.text, ours)) is None:
            message = f"{cell.text!r} is not in the mapping, which has {one_of(list(ours))}"
            findings.append(cell.finding(message, head, did_you_mean(cell.text, ours)))
        else:
            for path, value in stated.items():
                say(path, cell, partial(_stated, value, path))
    kinds = _kinds(said)
    for cell, paths in by_kind:
        fitting = [path for path in paths if not _kinds([path]) or _kinds([path]) <= kinds]
        if len(fitting) == 1:
            say(fitting[0], cell, partial(_value, cell, fitting[0]))
        else:
            message = f"is {one_of([f'`{path}`' for path in fitting or paths])}"
            hint = "another column has to tell which kind of job this is"
            findings.append(cell.finding(message, hint=hint))
    refuse(findings)
    data: dict[str, Any] = {}
    for path, value in columns.always.items():
        if path not in said and _kinds([path]) <= (kinds or set(_KINDS)):
            _put(data, path, value)
    for path, (value, _) in said.items():
        _put(data, path, value)
    try:
        validate_values(data, Job, str)
    except InputError as error:
        for one in error.findings:  # at the cell of its column, or at the name of the job
            path = one.path or ""
            column = max(
                (said_at for said_at in said if path.startswith(said_at)), key=len, default=""
            )
            cell = said[column][1] if column else name
            findings.append(cell.finding(one.message, path or name.text, one.hint))
        raise InputError(*findings) from None
    return data


def _kinds(paths: Iterable[str]) -> set[str]:
    """Return the kinds of job that have these columns."""
    return {parts_of(path)[0] for path in paths}.intersection(_KINDS)


def _meant(text: str, words: Mapping[str, Meaning]) -> Meaning | None:
    """Return what a mapping has for a word, whatever its case."""
    folded = {word.casefold(): meaning for word, meaning in words.items()}
    return words.get(text, folded.get(text.casefold()))


def _put(data: dict[str, Any], column: str, value: object) -> None:
    *outer, last = path = parts_of(column)
    if value is False and _SHAPE.model(path):  # as an empty cell
        return
    for key in outer:
        data = data.setdefault(key, {})
    if value == {}:
        data.setdefault(last, {})
    else:
        data[last] = value


def _fault_of_text(cell: GridCell) -> str | None:
    """Say why a cell cannot be taken as text: what it shows is not what was meant."""
    if cell.is_number:
        return f"{cell.text} is a number to the spreadsheet: type it into a cell of type text"
    if _ERROR.fullmatch(cell.text):
        return f"is an error of the spreadsheet: {cell.text}"
    found = UNFILLED.search(cell.text)
    return f"unresolved placeholder {found[0]!r}" if found else None


def _value(cell: GridCell, column: str) -> object:
    path = parts_of(column)
    if _SHAPE.is_text(path):
        if fault := _fault_of_text(cell):
            raise InputError(Finding(fault))
        return cell.text
    if not cell.text.startswith(_FLOW):
        return _stated(plain_value(cell.text), column)
    text = " ".join(cell.text.splitlines())
    return _stated(parse_document(f"value: {text}\n", cell.file).data["value"], column)


def _stated(value: object, column: str) -> object:
    """Return a value for a column; for a section only whether it is there."""
    if not _SHAPE.model(parts_of(column)):
        return value
    if value is True:
        return {}
    if value not in ({}, False):
        message = "holds a section, which is written key by key in columns of their own"
        raise InputError(Finding(message))
    return value


def scenario_part(jobs: Mapping[str, Mapping[str, Any]], name: str) -> str:
    """Return the jobs as a scenario file that another one `extends`."""
    lines = (f"  {flow({job: data})[1:-1]}\n" for job, data in jobs.items())
    return f"format: 1\nname: {flow(name)}\njobs:\n{''.join(lines)}"
