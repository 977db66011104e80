"""Measured tuning runs as a CSV table, in the words of a scenario, every row with its line.

One reader for the measurements that ship and for those of a user: what `tune:` says in a scenario
is a column here, beside the GPUs, what was measured and how.
"""

from __future__ import annotations

import csv
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import Field, model_validator

from planner.errors import Finding, InputError
from planner.inputs.base import Frozen, Name, PositiveCount, PositiveNumber
from planner.inputs.builder import MOST_FINDINGS
from planner.inputs.diagnostics import validate_values
from planner.inputs.document import shown_line
from planner.inputs.job import Job, Tune
from planner.inputs.reader import read_text
from planner.inputs.references import unknown_reference
from planner.inputs.scalars import ScalarError, plain_value
from planner.inputs.words import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from planner.inputs.catalog import Catalog

__all__ = ["COLUMNS", "Measurement", "read_measurements"]

_GB_PER_GIB: Final = Fraction(2**30, 10**9)
_NOT_COLUMNS: Final = frozenset(
    {"dataset_tokens", "epochs", "deadline_hours", "gpu_partition", "deploy"}
)
"""What a scenario says of a tuning job and no measurement of memory depends on."""


class Measurement(Frozen):
    """One run: what was tuned, on what, and the memory it took or failed to get."""

    line: PositiveCount
    """Line of the file, 1-based."""
    name: Name | None = None
    """What the run is called; its line if left out."""
    tune: Tune
    """The run in the words of a scenario."""
    gpus: PositiveCount = Field(default=1, validate_default=True)
    """GPUs of the run."""
    gpu_type: str | None = None
    """GPU type id of the catalog; needed to judge whether it fits."""
    outcome: Literal["fit", "oom"] = "fit"
    """Whether the run fitted or ran out of memory."""
    kind: Literal["allocated", "reserved", "nvidia-smi"] | None = None
    """What was read: the allocator's peak, what it reserved, or what nvidia-smi showed."""
    measured_gb: PositiveNumber | None = None
    """Peak of the fullest GPU, GB of 10^9 bytes; or give `measured_gib`."""
    measured_gib: PositiveNumber | None = None
    """Peak of the fullest GPU, GiB of 2^30 bytes."""
    tokens_per_second_per_gpu: PositiveNumber | None = None
    """Throughput of one GPU, tokens per second."""
    origin: Name | None = None
    """Who measured; figures of one origin share its habits."""
    framework: Name | None = None
    """What trained, with its version."""
    quality: Literal["A", "B"] | None = None
    """A: settings stated and figure logged; B: reported by hand, or a setting inferred."""
    source: Annotated[str, Field(max_length=300)] | None = None
    """Where the figure stands."""
    note: Annotated[str, Field(max_length=300)] | None = None
    """For readers; nothing is computed from it."""

    @model_validator(mode="after")
    def _says_something(self) -> Measurement:
        peaks = (self.measured_gb is not None) + (self.measured_gib is not None)
        if self.outcome == "oom" and (peaks or self.tokens_per_second_per_gpu is not None):
            raise ValueError("a run that ran out of memory has no figures, leave them empty")
        if peaks > 1:
            raise ValueError("give the peak of one GPU once: as `measured_gb` or `measured_gib`")
        if peaks and self.kind is None:
            raise ValueError("say in `kind` what was read: allocated, reserved or nvidia-smi")
        if self.outcome == "oom" and self.gpu_type is None:
            raise ValueError("a run that ran out of memory needs `gpu_type` to be judged by")
        if not peaks and self.tokens_per_second_per_gpu is None and self.gpu_type is None:
            raise ValueError("nothing was measured: give `measured_gb`, or `gpu_type` if it fitted")
        return self

    @property
    def peak_gb(self) -> Fraction | None:
        """Peak of the fullest GPU in GB of 10^9 bytes; None where the run ran out of memory."""
        if self.measured_gb is not None:
            return Fraction(self.measured_gb)
        return None if self.measured_gib is None else Fraction(self.measured_gib) * _GB_PER_GIB

    @property
    def job(self) -> Job:
        """The run as a job of a scenario."""
        return Job(tune=self.tune)


_TUNE: Final = frozenset(Tune.model_fields) - _NOT_COLUMNS
_OWN: Final = frozenset(Measurement.model_fields) - {"line", "tune"}
_TEXT: Final = frozenset({"name", "origin", "framework", "quality", "source", "note"})
COLUMNS: Final = tuple(
    name
    for name in ("name", *Tune.model_fields, *Measurement.model_fields)
    if name in _TUNE or name in _OWN
)
"""Every column that such a table may have, in their usual order."""
_REQUIRED: Final = ("method",)


def read_measurements(
    path: Path, catalog: Catalog, *, shown_as: str | None = None
) -> tuple[Measurement, ...]:
    """Read a table of measured runs: a header and one row for each run, in any order of columns.

    Raises InputError with the mistakes of all rows, each with its line and column.
    """
    name = str(path) if shown_as is None else shown_as
    table = _Table(read_text(path, name), name)
    runs, findings = [], []
    for line, cells in table.rows:
        try:
            run = table.measurement(line, cells)
            findings += table.unknown_names(run, catalog)
            runs.append(run)
        except InputError as error:
            findings += error.findings
        if len(findings) >= MOST_FINDINGS:
            break
    if findings:
        raise InputError(*findings)
    return tuple(runs)


class _Table:
    """One file: its header, its rows, and where each stands."""

    def __init__(self, text: str, shown_as: str) -> None:
        """Raises InputError where the header is unusable."""
        self._shown_as = shown_as
        self._lines = text.split("\n")
        reader = csv.reader(text.splitlines(), strict=True)
        found: list[tuple[int, list[str]]] = []
        try:
            for cells in reader:
                if any(cell.strip() for cell in cells) and not cells[0].startswith("#"):
                    found.append((reader.line_num, [cell.strip() for cell in cells]))
        except csv.Error as error:
            raise InputError(self._finding(reader.line_num, f"is no CSV: {error}")) from None
        if not found:
            raise InputError(Finding("is empty, a header and a row are needed", file=shown_as))
        self._header_line, self._header = found[0]
        self.rows: Sequence[tuple[int, list[str]]] = found[1:]
        self._check_header()

    def _check_header(self) -> None:
        findings = []
        for column in self._header:
            if column not in COLUMNS:
                hint = did_you_mean(column, COLUMNS) or f"columns are {', '.join(COLUMNS)}"
                findings.append(self._finding(self._header_line, "unknown column", column, hint))
        repeated = sorted({name for name in self._header if self._header.count(name) > 1})
        findings += [
            self._finding(self._header_line, "stands twice in the header", column)
            for column in repeated
        ]
        findings += [
            self._finding(self._header_line, "this column is missing", column)
            for column in _REQUIRED
            if column not in self._header
        ]
        if not findings and not self.rows:
            findings.append(self._finding(self._header_line, "there is no run below the header"))
        if findings:
            raise InputError(*findings)

    def measurement(self, line: int, cells: Sequence[str]) -> Measurement:
        """Build one row; raises InputError with all its mistakes."""
        if len(cells) != len(self._header):
            message = f"has {len(cells)} cells, the header has {len(self._header)}"
            raise InputError(self._finding(line, message))
        values: dict[str, Any] = {"line": line, "tune": {}}
        for column, cell in zip(self._header, cells, strict=True):
            if cell:
                (values if column in _OWN else values["tune"])[column] = self._value(
                    line, column, cell
                )
        try:
            return validate_values(values, Measurement, lambda path: path.removeprefix("tune."))
        except InputError as error:
            raise InputError(
                *(self._finding(line, f.message, f.path, f.hint) for f in error.findings)
            ) from None

    def _value(self, line: int, column: str, cell: str) -> object:
        if column in _TEXT:
            return cell
        try:
            return plain_value(cell)
        except ScalarError as error:
            raise InputError(self._finding(line, str(error), column)) from None

    def unknown_names(self, run: Measurement, catalog: Catalog) -> list[Finding]:
        """Find names in a row that stand for nothing in the catalog."""
        asked: tuple[tuple[str, str, str | None, Collection[str]], ...] = (
            ("model", "model", run.tune.model, catalog.models),
            ("GPU type", "gpu_type", run.gpu_type, catalog.gpus),
        )
        findings = []
        for sort, column, name, known in asked:
            if name is not None and name not in known:
                message, hint = unknown_reference(sort, name, known, catalog)
                findings.append(self._finding(run.line, message, column, hint))
        return findings

    def _finding(
        self, line: int, message: str, column: str | None = None, hint: str | None = None
    ) -> Finding:
        return Finding(
            message,
            file=self._shown_as,
            line=line,
            path=column or None,
            source_line=shown_line(self._lines[line - 1]),
            hint=hint,
        )
