"""A first scenario."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from planner.api.result import FilePath, Progress, Result, Row, paths, warn
from planner.api.scenario import load
from planner.api.tables import import_table
from planner.errors import Finding, InputError, refuse
from planner.exchange import kubernetes_nodes, nvidia_smi
from planner.exchange.exported import parsed
from planner.exchange.inventory import Server, recognized
from planner.exchange.starter import Answers, Ask, Found, assumed, first_scenario
from planner.inputs.catalog.catalog import Catalog
from planner.inputs.load import load_catalog
from planner.inputs.reading.diagnostics import Attempts
from planner.inputs.reading.reader import read_bytes, read_text
from planner.reporting.document import Document, Heading, Paragraph, table
from planner.reporting.format import count_of

_BEFORE = b"\xef\xbb\xbf \t\r\n"


class InitResult(Result):
    """A first scenario: a commented file, with what nobody has said marked `assumed`."""

    def __init__(self, text: str, read_from: tuple[Path, ...]) -> None:
        """Private: `planner.init` gives these."""
        self.text, self._scenario = text, load(text)
        super().__init__(self._scenario.title, read_from)

    text: str
    """The scenario as YAML, which `planner.plan` takes."""

    @property
    def summary(self) -> tuple[str, ...]:
        """How much there is to plan, and how much of that is assumed."""
        figures = count_of(len(self.rows()), "figure")
        return (*self._scenario.summary, f"{figures} assumed, and marked so")

    def rows(self) -> list[Row]:
        """A row for each figure that nobody has stated: its key, its value, and what it means."""
        return [one._asdict() for one in assumed(self.text)]

    def files(self) -> dict[str, str | bytes]:
        """`scenario.yaml`."""
        return {"scenario.yaml": self.text}

    def _document(self) -> Document:
        rows = self.rows()
        told = (Paragraph(f"{line}.") for line in self.summary)
        drawn = table(
            rows,
            ("Assumed", "text", lambda row: row["key"]),
            ("Figure", "name", lambda row: row["value"] or "–"),
            ("That is", "text", lambda row: row["why"]),
        )
        return (Heading(self.title, 1), *told, *((drawn,) if rows else ()))


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
    answers = Answers(serve, tune, own, offer, quarters)
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
    servers: list[Server] = []
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
    return Found(jobs, *recognized(servers, catalog))


def _servers(file: Path, catalog: Catalog) -> list[tuple[Server, Collection[str]]]:
    """The servers of a file, each with what marks it; none where it is of another kind."""
    content = read_bytes(file, str(file))
    if nvidia_smi.is_report(content):
        return [nvidia_smi.server_of(content, file.stem, str(file))]
    if not content.lstrip(_BEFORE).startswith(b"{"):
        return []
    data = parsed(read_text(file, str(file)), str(file))
    if not kubernetes_nodes.is_nodes(data):
        return []
    resources = {gpu.kubernetes_resource for gpu in catalog.gpus.values()}
    found = kubernetes_nodes.servers_of(data, str(file), resources)
    return [(server, [f"node {server.name}"]) for server in found]


def _jobs(
    file: Path, mapping: FilePath | None, sheet: str | None, progress: Progress
) -> dict[str, dict[str, Any]]:
    found = import_table(file, mapping=mapping, sheet=sheet, progress=progress)
    if found.kind == "actuals":
        message = "tells what ran, and neither jobs nor servers"
        hint = "`planner import` makes actuals of it, for `planner compare --actuals`"
        raise InputError(Finding(message, file=str(file), hint=hint))
    return found.jobs
