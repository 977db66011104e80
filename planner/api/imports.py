"""Imports jobs, traffic and actuals, and writes a first scenario of them."""

from __future__ import annotations

import csv
from collections.abc import Collection, Mapping, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, Literal

from planner.api.result import FilePath, Progress, Result, Row, paths, warn
from planner.api.scenario import load
from planner.errors import Finding, InputError, refuse
from planner.exchange import cluster, parsed, traffic
from planner.exchange.portfolio import (
    Columns,
    jobs_from,
    portfolio_rows,
    read_columns,
    scenario_part,
    template,
)
from planner.exchange.programs import imported
from planner.exchange.starter import Ask, Found, assumed, first_scenario
from planner.inputs.catalog.catalog import Catalog
from planner.inputs.checks.faults import Fault, unknown_references
from planner.inputs.load import load_catalog
from planner.inputs.reading.diagnostics import Attempts
from planner.inputs.reading.document import dotted
from planner.inputs.reading.grid import csv_grid
from planner.inputs.reading.reader import read_bytes, read_text
from planner.reporting.format import count_of

_EXCEL = (".xlsx", ".xlsm", ".xls")
_YAML = (".yaml", ".yml")
_ZIPPED = b"PK\x03\x04"
"""The first bytes of a workbook."""
_BEFORE = b"\xef\xbb\xbf \t\r\n"
"""What may stand before a document of JSON."""


class ImportResult(Result):
    """Jobs, or actuals, as another program had them."""

    def __init__(self, file: Path, text: str, jobs: dict[str, dict[str, Any]] | None) -> None:
        """Private: `planner.import_table` gives these."""
        super().__init__(file.name, jobs, (file,))
        self.text, self._jobs = text, jobs

    text: str
    """A scenario part in YAML that a scenario may extend, or a table of actuals in CSV."""

    @property
    def kind(self) -> Literal["jobs", "actuals"]:
        """What was found in it."""
        return "actuals" if self._jobs is None else "jobs"

    @property
    def jobs(self) -> dict[str, dict[str, Any]]:
        """The jobs as a scenario states them under `jobs:`; empty of actuals."""
        return dict(self._jobs or {})

    @property
    def summary(self) -> tuple[str, ...]:
        """How much there is."""
        return (count_of(len(self.rows()), "job" if self._jobs is not None else "actual"),)

    def rows(self) -> list[Row]:
        """A row for each job with its keys as columns, or for each actual."""
        if self._jobs is not None:
            return [dict(row) for row in portfolio_rows(self._jobs)]
        lines = (line for line in self.text.splitlines() if not line.startswith("#"))
        return [dict(row) for row in csv.DictReader(lines)]

    def files(self) -> dict[str, str | bytes]:
        """`jobs.yaml` or `actuals.csv`."""
        return {"jobs.yaml" if self._jobs is not None else "actuals.csv": self.text}


_SUMS = {"grand total", "sum", "subtotal", "total", "totals"}
"""What tables call a row that is no job."""


_OTHER_TABLES = {
    ("quarter", "count"): ("actuals", "`planner compare --actuals`"),
    ("kind", "measured_gib"): ("measured runs", "`planner size --measured`"),
    ("kind", "measured_gb"): ("measured runs", "`planner size --measured`"),
}
"""Columns of tables that others read, what they hold, and who reads them."""


def import_table(
    file: FilePath,
    *,
    mapping: FilePath | None = None,
    sheet: str | None = None,
    progress: Progress = None,
) -> ImportResult:
    r"""Read jobs from a table, the load of models from traffic, or actuals from a cluster.

    Tables are CSV or Excel. A trace of requests, or vLLM's counters from Prometheus or Grafana,
    become a serving job for each model with the load that arrived. Actuals come from Slurm
    (`sacct --parsable2`), Kueue (`kubectl get workloads -o json`) or DCGM's gauges. `mapping` is a
    YAML file that says what the columns, or the jobs of a cluster, are called here. `sheet` names
    the sheet of a workbook; it may be left out where only one is visible.

    >>> import pathlib, planner
    >>> _ = pathlib.Path("jobs.csv").write_text("job,serve.model,count\nchat,llama-3.1-8b,2\n")
    >>> planner.import_table("jobs.csv").jobs
    {'chat': {'serve': {'model': 'llama-3.1-8b'}, 'count': 2}}

    Raises InputError with every mistake at its place.
    """
    path, say = Path(file), progress or (lambda _: None)
    mapped = None if mapping is None else Path(mapping)
    if path.suffix.lower() in _YAML:
        hint = "a scenario takes the jobs of another one by `extends`"
        raise InputError(Finding("is YAML, and no table", file=str(path), hint=hint))
    is_trace = traffic.is_trace(path)
    text = None if is_trace or _is_workbook(path) else read_text(path, str(path))
    if sheet is not None and (is_trace or text is not None):
        raise InputError(Finding("is no workbook, so it has no sheets", path="sheet"))
    found = imported(path, text, mapped)
    if found is not None:
        for note in found.notes:
            say(note)
        return ImportResult(path, found.text, found.jobs)
    if text is None:
        from planner.exchange.workbook import workbook_grid  # noqa: PLC0415 - openpyxl is slow

        grid = workbook_grid(path, sheet)
    else:
        grid = csv_grid(text, str(path))
    for columns, (kind, readers) in _OTHER_TABLES.items():
        if not mapped and {*columns} <= {cell.text for cell in grid.header}:
            hint = f"{readers} reads it"
            raise InputError(Finding(f"holds {kind}, and no jobs", str(path), hint=hint))
    say(f"{path}: {grid.said}")
    for words in grid.hidden:
        warn(f"{path}: {words}")
    jobs = jobs_from(grid, read_columns(mapped) if mapped else Columns())
    for name in jobs:
        if name.casefold() in _SUMS:
            warn(
                f"{path}: {name!r} is read as a job: delete the row there if it sums up the others"
            )
    _warn_of_unknown_names(path, jobs)
    return ImportResult(path, scenario_part(jobs, f"Jobs of {path.name}"), jobs)


def _warn_of_unknown_names(path: Path, jobs: Mapping[str, object]) -> None:
    """Tell of names that no shipped file has: each once, with the first job that says it.

    They stop nothing, as a scenario may bring a catalog of its own.
    """
    catalog, _ = load_catalog([])
    told: dict[str, list[Fault]] = {}
    for fault in unknown_references({"jobs": jobs}, catalog, None):
        told.setdefault(fault.message, []).append(fault)
    for message, (first, *others) in told.items():
        more = f" and of {count_of(len(others), 'other job')}" if others else ""
        hint = f"; {first.hint}" if first.hint else ""
        warn(f"{path}: {dotted(first.path)}{more}: {message} in the shipped catalog{hint}")


def table_template(*, full: bool = False) -> str:
    """A CSV file of jobs to write over, with the usual columns, or with every key of a job.

    >>> import planner
    >>> planner.table_template().splitlines()[0].split(",")[0]
    'job'
    """
    return template(full=full)


def _is_workbook(file: Path) -> bool:
    """Whether it is one, whatever its name is."""
    return file.suffix.lower() in _EXCEL or read_bytes(file, str(file)).startswith(_ZIPPED)


class InitResult(Result):
    """A first scenario: a commented file, with what nobody has said marked `assumed`."""

    def __init__(self, text: str, read_from: tuple[Path, ...]) -> None:
        """Private: `planner.init` gives these."""
        self.text, self._scenario = text, load(text)
        super().__init__(self._scenario.title, text, read_from)

    text: str
    """The scenario as YAML, which `planner.plan` takes."""

    @property
    def summary(self) -> tuple[str, ...]:
        """How much there is to plan, and how much of that is assumed."""
        figures = count_of(len(self.rows()), "figure")
        return (*self._scenario.summary, f"{figures} assumed, and marked so")

    def rows(self) -> list[Row]:
        """A row for each figure that nobody has stated: its key, its value, and what it means."""
        return list(assumed(self.text))

    def files(self) -> dict[str, str | bytes]:
        """`scenario.yaml`."""
        return {"scenario.yaml": self.text}


def init(  # noqa: PLR0913 - a parameter for each question
    *,
    serve: str | Sequence[str] | None = None,
    tune: str | Sequence[str] | None = None,
    own: str | Sequence[str] | None = None,
    offer: str | Sequence[str] | None = None,
    quarters: str | None = None,
    as_of: str | date | None = None,
    sources: FilePath | Sequence[FilePath] = (),
    mapping: FilePath | None = None,
    sheet: str | None = None,
    ask: Ask | None = None,
    progress: Progress = None,
) -> InitResult:
    """Write a first scenario of what is known, every other figure a visible assumption.

    `serve` names models with their traffic, `tune` models with their method, `own` servers by node
    type, `offer` what may be had, and `quarters` the first and the last one; a list, or one text
    with commas. What is left out is assumed; `"none"` is nothing. `as_of` is the day of the plan,
    today if left out.

    `sources` are files of other programs: a table of jobs as `import_table` reads it, for which
    `mapping` and `sheet` hold; or owned servers, of `kubectl get nodes -o json` or of `nvidia-smi
    -q -x`, a file for each server. Servers that the catalog does not know are told as a
    PlannerWarning, and stand in the scenario as a remark. `ask` is called with the name of each
    question that is still open, and again with the mistakes of its answer; None leaves it open.

    >>> import planner
    >>> first = planner.init(serve="llama-3.1-8b 900 users", own="xe9680-h100", as_of="2026-11-23")
    >>> planner.plan(first.text).proved
    True

    Raises InputError with every answer and every file that cannot be taken.
    """
    catalog, _ = load_catalog()
    files = paths(sources)
    found = _found(files, catalog, mapping, sheet, progress)
    for sentence in found.unknown:
        warn(f"left out: {sentence}")
    answers = {"serve": serve, "tune": tune, "own": own, "offer": offer, "quarters": quarters}
    text = first_scenario(answers, found, catalog, _day(as_of), ask)
    try:
        return InitResult(text, files)
    except InputError as error:  # of jobs as a table states them; the text is nowhere yet
        told = (Finding(one.message, path=one.path, hint=one.hint) for one in error.findings)
        raise InputError(*told) from None


def _day(stated: str | date | None) -> date:
    if isinstance(stated, date):
        return stated
    try:
        return date.today() if stated is None else date.fromisoformat(stated)
    except ValueError:
        found = Finding(f"{stated!r} is no day, write it as 2026-11-23", path="as_of")
        raise InputError(found) from None


def _found(
    files: Sequence[Path],
    catalog: Catalog,
    mapping: FilePath | None,
    sheet: str | None,
    progress: Progress,
) -> Found:
    """What the files tell; raises InputError with the mistakes of all."""
    jobs: dict[str, dict[str, Any]] = {}
    servers: list[cluster.Server] = []
    met: dict[str, Path] = {}
    attempts = Attempts()
    for file in files:
        owned = attempts.take(partial(_servers, file, catalog))
        if owned is None:
            continue
        asked = partial(_jobs, file, mapping, sheet, progress)
        found = {} if owned else attempts.take(asked) or {}
        names = [*found, *(name for _, marks in owned for name in marks)]
        if twice := [name for name in names if met.setdefault(name, file) is not file]:
            message = f"{twice[0]} stands in {met[twice[0]]} already"
            attempts.findings.append(Finding(message, file=str(file), hint="name it once"))
        jobs |= found
        servers += (server for server, _ in owned)
    refuse(attempts.findings)
    return Found(jobs, *cluster.recognized(servers, catalog))


def _servers(file: Path, catalog: Catalog) -> list[tuple[cluster.Server, Collection[str]]]:
    """The servers of a file, each with what marks it; none where it is of another kind."""
    content = read_bytes(file, str(file))
    if cluster.is_report(content):
        return [cluster.server_of(content, file.stem, str(file))]
    if not content.lstrip(_BEFORE).startswith(b"{"):
        return []
    data = parsed(read_text(file, str(file)), str(file))
    if not cluster.is_nodes(data):
        return []
    resources = {gpu.kubernetes_resource for gpu in catalog.gpus.values()}
    found = cluster.servers_of(data, str(file), resources)
    return [(server, [f"node {server.name}"]) for server in found]


def _jobs(
    file: Path, mapping: FilePath | None, sheet: str | None, progress: Progress
) -> dict[str, dict[str, Any]]:
    renamed = None if traffic.is_trace(file) else mapping  # which is of tables beside it
    found = import_table(file, mapping=renamed, sheet=sheet, progress=progress)
    if found.kind == "actuals":
        message = "tells what ran, and neither jobs nor servers"
        hint = "`planner import` makes actuals of it, for `planner compare --actuals`"
        raise InputError(Finding(message, file=str(file), hint=hint))
    return found.jobs
