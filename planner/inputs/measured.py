"""Measured tuning runs as a CSV table, in the words of a scenario, every row with its line.

One reader for the measurements that ship and for those of a user: what `tune:` says in a scenario
is a column here, beside the GPUs, what was measured and how.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import Field, model_validator

from planner.errors import InputError
from planner.inputs.base import Frozen, Name, PositiveCount, PositiveNumber
from planner.inputs.checks.faults import unknown_reference
from planner.inputs.reading.grid import table_rows
from planner.inputs.reading.reader import MOST_FINDINGS, read_text
from planner.inputs.scenario.job import Job, Tune

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from planner.errors import Finding
    from planner.inputs.catalog.catalog import Catalog
    from planner.inputs.reading.grid import TableRow

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
        peaks = (self.measured_gb, self.measured_gib)
        has_figures = any(one is not None for one in (*peaks, self.tokens_per_second_per_gpu))
        if self.outcome == "oom" and has_figures:
            raise ValueError("a run that ran out of memory has no figures, leave them empty")
        if self.outcome == "fit" and not has_figures and self.gpu_type is None:
            raise ValueError("nothing was measured: give `measured_gb`, or `gpu_type` if it fitted")
        return self

    @model_validator(mode="after")
    def _says_what_was_read(self) -> Measurement:
        if self.measured_gb is not None and self.measured_gib is not None:
            raise ValueError("give the peak of one GPU once: as `measured_gb` or `measured_gib`")
        if (self.measured_gb or self.measured_gib) is not None and self.kind is None:
            raise ValueError("say in `kind` what was read: allocated, reserved or nvidia-smi")
        return self

    @model_validator(mode="after")
    def _can_be_judged(self) -> Measurement:
        if self.outcome == "oom" and self.gpu_type is None:
            raise ValueError("a run that ran out of memory needs `gpu_type` to be judged by")
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
    rows = table_rows(read_text(path, name), name, COLUMNS, _REQUIRED, row="run")
    runs, findings = [], []
    for row in rows:
        try:
            run = _measurement(row)
            findings += _unknown_names(row, run, catalog)
            runs.append(run)
        except InputError as error:
            findings += error.findings
        if len(findings) >= MOST_FINDINGS:
            break
    if findings:
        raise InputError(*findings)
    return tuple(runs)


def _measurement(row: TableRow) -> Measurement:
    """Build one row; raises InputError with all its mistakes."""
    values: dict[str, Any] = {"line": row.line, "tune": {}}
    for column, cell in row.cells.items():
        where = values if column in _OWN else values["tune"]
        where[column] = cell.text if column in _TEXT else row.value(column)
    return row.build(Measurement, values, lambda path: path.removeprefix("tune."))


def _unknown_names(row: TableRow, run: Measurement, catalog: Catalog) -> list[Finding]:
    """Find names in a row that stand for nothing in the catalog."""
    asked: tuple[tuple[str, str, str | None, Collection[str]], ...] = (
        ("model", "model", run.tune.model, catalog.models),
        ("GPU type", "gpu_type", run.gpu_type, catalog.gpus),
    )
    findings = []
    for sort, column, name, known in asked:
        if name is not None and name not in known:
            message, hint = unknown_reference(sort, name, known, catalog)
            findings.append(row.finding(message, column, hint))
    return findings
