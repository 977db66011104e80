"""A tuning job tried out on the GPU at hand, as a row of a table of measured runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from planner.api.result import FilePath, Result, Row, require
from planner.api.sizing import described_job
from planner.errors import Finding, InputError
from planner.exchange.inventory import gpu_types_by_name, plain_name
from planner.exchange.training_run import TrainingRun, observe
from planner.exchange.training_shape import configuration, not_measured
from planner.inputs.load import load_rules
from planner.inputs.measured import COLUMNS
from planner.inputs.reading.diagnostics import Attempts
from planner.inputs.scenario.job import Tune
from planner.inputs.scenario.scenario import Policies
from planner.inputs.settled import settled_settings
from planner.inputs.text.scalars import csv_text
from planner.reporting.document import Column, Document, Heading, Table
from planner.sizing import Sizer

_BYTES_PER_GIB: Final = 2**30
_STEPS_AT_MOST: Final = 1000
_RANK_RULE: Final = "tuning/lora-parameters"
"""It says which rank an adapter has where the job does not."""


class MeasureResult(Result):
    """What one tuning job took on the GPU at hand."""

    _name = "measured"

    def __init__(self, row: dict[str, str], expected_gib: float | None) -> None:
        """Private: `planner.measure` gives these."""
        super().__init__(f"{row['model']}, {row['method']}")
        self._row, self.expected_gib = row, expected_gib

    expected_gib: float | None
    """What the rules expect the allocator to peak at; None where they do not say."""

    @property
    def summary(self) -> tuple[str, ...]:
        """What was seen, and what was expected."""
        seen = self._row["measured_gib"]
        told = f"{seen} GiB at the peak" if seen else "out of memory"
        if self.expected_gib is not None:
            told += f", {self.expected_gib:.2f} GiB expected"
        return (told,)

    def rows(self) -> list[Row]:
        """The one row, with the columns of a table of measured runs."""
        return [dict(self._row)]

    def to_csv(self) -> str:
        """The row as `planner size --measured` reads it, under its header."""
        return csv_text([tuple(self._row), tuple(self._row.values())])

    def _document(self, page: int | None = None) -> Document:  # noqa: ARG002 - the same everywhere
        told = tuple((name, value) for name, value in self._row.items() if value)
        columns = (Column("Column"), Column("Value"))
        return (Heading(f"Measured: {self.title}", 1), Table(columns, told))


def measure(
    job: Mapping[str, Any] | str,
    *,
    config: FilePath | None = None,
    gpu_type: str | None = None,
    steps: int = 4,
    catalog: FilePath | Sequence[FilePath] = (),
) -> MeasureResult:
    """Run a tuning job for some steps on the GPU at hand, with random weights.

    `job` and `config` are as in `planner.size`; the job runs on one GPU, and states `batch` and
    `sequence`. `gpu_type` names the GPU where the catalog does not know its product. `steps` are
    timed, after one that is not.

    >>> import planner
    >>> job = {"tune": {"model": "llama-3.1-8b", "method": "lora", "batch": 8, "gpus": 2}}
    >>> try:
    ...     planner.measure(job)
    ... except planner.InputError as error:
    ...     for one in error.findings:
    ...         print(f"{one.path} {one.message}")
    tune.gpus '2' is not measured here, on one GPU without other packages
    tune.sequence is needed to measure

    Raises InputError with all mistakes, where packages (extra `measure`) or a GPU are missing, or
    where the job has what is not measured here.
    """
    fits = 1 <= steps <= _STEPS_AT_MOST
    require(fits, "steps", steps, f"a number from 1 to {_STEPS_AT_MOST:,}")
    attempts = Attempts()
    named = () if gpu_type is None else (gpu_type,)
    asked, facts = described_job(attempts, job, config, catalog, *named)
    if asked is not None and facts is not None:
        attempts.findings += not_measured(asked)
    if attempts.findings or not (asked and asked.tune and facts):
        raise InputError(*attempts.findings)
    tune = asked.tune
    file = None if config is None else Path(config)
    read = configuration(file, facts.models[tune.model or ""])
    book, _ = load_rules(())
    usual = book.rules[_RANK_RULE].inputs["adapter_rank"].default
    seen = observe(read, tune, int(tune.adapter_rank or usual or 1), steps)
    policies = Policies()
    sizer = Sizer(facts, book, settled_settings(book, policies), policies)
    expected = sizer.memory(asked, 1)
    peak_mb = None if expected is None else expected.allocator_peak_mb
    row = _row(tune, seen, gpu_type or _gpu_type(seen))
    return MeasureResult(row, None if peak_mb is None else peak_mb * 10**6 / _BYTES_PER_GIB)


def _gpu_type(seen: TrainingRun) -> str:
    """The GPU in the words of the catalog; raises InputError where it is not there."""
    found = gpu_types_by_name().get(plain_name(seen.gpu))
    if found is None:
        message = f"the GPU here, {seen.gpu!r}, is no product that the catalog knows"
        raise InputError(Finding(message, hint="name its type with `--gpu-type`"))
    return found


def _row(tune: Tune, seen: TrainingRun, gpu_type: str) -> dict[str, str]:
    """All columns that a table may have: rows of other jobs can follow."""
    micro_batch = (tune.batch or 1) // tune.gradient_accumulation
    told = {
        name: getattr(tune, name)
        for name in tune.model_fields_set
        if name in COLUMNS and getattr(tune, name) is not None
    }
    told |= {"gradient_accumulation": tune.gradient_accumulation, "micro_batch": micro_batch}
    told |= {"sharding": "none", "gpus": 1, "gpu_type": gpu_type, "quality": "A"}
    told |= {"origin": "planner measure", "framework": seen.framework}
    if seen.allocated_bytes is None or seen.seconds_per_step is None:
        told["outcome"] = "oom"
    else:
        tokens = (tune.batch or 1) * int(tune.sequence or 1)
        told |= {"outcome": "fit", "kind": "allocated"}
        told["measured_gib"] = f"{seen.allocated_bytes / _BYTES_PER_GIB:.3f}"
        told["tokens_per_second_per_gpu"] = f"{tokens / seen.seconds_per_step:.1f}"
    return {name: _cell(told.get(name)) for name in COLUMNS}


def _cell(value: object) -> str:
    """A value as a table of measured runs has it."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
