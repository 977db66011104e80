"""Measured runs as CSV tables, in the words of a scenario, every row with its line.

One reader for the measurements that ship and for those of a user. A table holds tuning runs or
serving runs: what `tune:` or `serve:` says in a scenario is a column here, beside the GPUs, what
was measured and how.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import AfterValidator, Field, model_validator

from planner.errors import Finding, InputError, refuse
from planner.inputs.base import Bits, Frozen, KvBits, Name, PositiveCount, PositiveNumber
from planner.inputs.catalog.catalog import Catalog
from planner.inputs.checks.faults import Fault, fault_of_name
from planner.inputs.checks.jobs import out_of_place
from planner.inputs.reading.grid import TableRow, csv_grid, table_rows
from planner.inputs.reading.reader import MOST_FINDINGS, read_text
from planner.inputs.scenario.job import RELEASE, Engine, Job, Parallelism, Tune

_GB_PER_GIB: Final = Fraction(2**30, 10**9)
_NOT_COLUMNS: Final = frozenset(
    {"dataset_tokens", "epochs", "deadline_hours", "gpu_partition", "deploy"}
)
"""What a scenario says of a tuning job and no measurement of memory depends on."""


def _not_seconds(ms: Decimal) -> Decimal:
    if ms < _LEAST_MS:
        raise ValueError(
            f"{ms:f} is less than any engine takes: write {(ms * 1000).normalize():f} if it is in s"
        )
    return ms


_LEAST_MS = Decimal("0.1")
_Milliseconds = Annotated[PositiveNumber, Field(le=10**7), AfterValidator(_not_seconds)]


class _Run(Frozen):
    """What every measured run says of itself."""

    line: PositiveCount
    """Line of the file, 1-based."""
    name: Name | None = None
    """What the run is called; its line if left out."""
    gpus: Annotated[PositiveCount, Field(le=10_000)] = Field(default=1, validate_default=True)
    """GPUs of the run, or of the replica."""
    origin: Name | None = None
    """Who measured; figures of one origin share its habits."""
    quality: Literal["A", "B"] | None = None
    """A: settings stated and figure logged; B: reported by hand, or a setting inferred."""
    source: Annotated[str, Field(max_length=300)] | None = None
    """Where the figure stands."""
    note: Annotated[str, Field(max_length=300)] | None = None
    """For readers; nothing is computed from it."""


class Measurement(_Run):
    """One run: what was tuned, on what, and the memory it took or failed to get."""

    tune: Tune
    """The run in the words of a scenario."""
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
    fabric_gb_per_s: PositiveNumber | None = None
    """What all links of a node to the others move one way, GB/s; if left out, the most that the
    catalog has of nodes with this GPU type."""
    framework: Name | None = None
    """What trained, with its version."""

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


MOST_AT_ONCE: Final = 256
"""Requests at once where the run does not say: as many as vLLM holds unless it is told."""


class ServingMeasurement(_Run):
    """One run of an engine under a load, and how fast it answered."""

    model: str
    """Model id of the catalog."""
    bits: Bits
    """Bits of a weight."""
    kv_bits: KvBits = 16
    """Bits of an element of the KV cache."""
    gpu_type: str
    """GPU type id of the catalog."""
    input_tokens: PositiveCount
    """Mean tokens of a request."""
    output_tokens: PositiveCount
    """Mean tokens of an answer."""
    load: Literal["closed", "open", "batch"] = "closed"
    """`closed`: as many clients as `concurrency`, each asks anew when it is answered; `open`:
    requests come at `requests_per_second`; `batch`: all requests at once."""
    lengths: Literal["equal", "alike", "varied"] = "alike"
    """Of prompts and answers: clients of a `closed` load keep in step where all are alike, and ask
    anew together where all are equal."""
    concurrency: PositiveCount | None = None
    """Requests at once."""
    requests_per_second: PositiveNumber | None = None
    """Requests that came (`open`), or that were answered."""
    requests: PositiveCount | None = None
    """Requests that were sent in all."""
    poll_steps: PositiveCount | None = None
    """Decoding steps from one look for new requests to the next, where an engine is told to look
    seldom."""
    ttft_ms: _Milliseconds | None = None
    """Time to the first token: mean; the median of loads that are `open`."""
    ttft_p99_ms: _Milliseconds | None = None
    """Its 99th percentile."""
    tpot_ms: _Milliseconds | None = None
    """Mean time for each further token."""
    e2e_ms: _Milliseconds | None = None
    """Mean time to the end of an answer."""
    engine: Name | None = None
    """What served, with its version: `vLLM 0.6.1`."""

    @model_validator(mode="after")
    def _says_its_load(self) -> ServingMeasurement:
        if self.load == "open" and self.requests_per_second is None:
            raise ValueError("an open load needs `requests_per_second`, at which requests come")
        if self.load != "open" and self.concurrency is None:
            raise ValueError("say in `concurrency` how many requests were answered at once")
        return self

    @property
    def answered_per_second(self) -> float | None:
        """Requests per second that were answered; None of open loads, and where nothing tells."""
        if self.concurrency is None or self.load == "open":
            return None
        if self.requests_per_second is not None:
            return float(self.requests_per_second)
        if self.e2e_ms is not None:
            return self.concurrency * 1000 / float(self.e2e_ms)
        if self.ttft_ms is None or self.tpot_ms is None:
            return None
        answered_ms = float(self.ttft_ms) + (self.output_tokens - 1) * float(self.tpot_ms)
        return self.concurrency * 1000 / answered_ms

    @property
    def sent_before_answered(self) -> bool:
        """Whether all requests of an `open` load came before the first was answered.

        So few wait for nothing but each other's prompts, however many come per second.
        """
        if None in (self.requests, self.requests_per_second, self.ttft_ms, self.tpot_ms):
            return False
        came_s = (self.requests or 0) / float(self.requests_per_second or 0)
        answered_ms = float(self.ttft_ms or 0) + (self.output_tokens - 1) * float(self.tpot_ms or 0)
        return self.load == "open" and came_s * 1000 < answered_ms

    @property
    def _engine(self) -> dict[str, str]:
        """What `serve:` says of the engine; nothing where its name is not one of an engine."""
        name, _, version = (self.engine or "").partition(" ")
        if name.lower() not in get_args(Engine):
            return {}
        release = RELEASE.match(version)
        return {"engine": name.lower()} | ({"engine_version": release[0]} if release else {})

    def job(self, percentile: int = 50) -> Job:
        """The run as a job of a scenario that asks for its latency at a percentile."""
        serve = {
            "model": self.model,
            "bits": self.bits,
            "kv_bits": self.kv_bits,
            "concurrency": self.concurrency or MOST_AT_ONCE,
            "gpus_per_replica": self.gpus,
            **self._engine,
            "load": {
                "requests_per_second": self.requests_per_second or 1,
                "input_tokens": self.input_tokens,
                "output_tokens": self.output_tokens,
            },
            "latency": {"ttft_ms": 1000, "percentile": percentile},
        }
        return Job.model_validate({"serve": serve})


MeasuredRuns = tuple[Measurement | ServingMeasurement, ...]

_PARALLELISM: Final = tuple(f"parallelism.{key}" for key in Parallelism.model_fields)
_TUNE: Final = (frozenset(Tune.model_fields) - _NOT_COLUMNS - {"parallelism"}).union(_PARALLELISM)
_OWN: Final = frozenset(Measurement.model_fields) - {"line", "tune"}
_TEXT: Final = frozenset(
    {"name", "load", "lengths", "engine", "origin", "framework", "quality", "source", "note"}
)
COLUMNS: Final = tuple(
    dict.fromkeys(
        name
        for name in ("name", *Tune.model_fields, *_PARALLELISM, *Measurement.model_fields)
        if name in _TUNE or name in _OWN
    )
)
"""Every column that such a table may have, in their usual order."""
_SERVING_COLUMNS: Final = tuple(name for name in ServingMeasurement.model_fields if name != "line")
_OF_SERVING: Final = frozenset({"input_tokens", "output_tokens", "tpot_ms"})
"""Columns by which a table of serving runs is known."""
_NEEDED: Final = ("model", "bits", "gpu_type", "input_tokens", "output_tokens")
"""Columns that a table of serving runs must have."""


def read_measured(path: Path, catalog: Catalog, *, shown_as: str | None = None) -> MeasuredRuns:
    """Read a table of tuning or of serving runs, as its header tells: a row for each run.

    Columns stand in any order. Raises InputError with the mistakes of all rows, each with its line
    and column.
    """
    name = str(path) if shown_as is None else shown_as
    text = read_text(path, name)
    header = csv_grid(text, name, notes=True).header
    serving = not _OF_SERVING.isdisjoint(cell.text for cell in header)
    columns, required = (_SERVING_COLUMNS, _NEEDED) if serving else (COLUMNS, ("method",))
    build = _serving_run if serving else _tuning_run
    runs: list[Measurement | ServingMeasurement] = []
    findings: list[Finding] = []
    for row in table_rows(text, name, columns, required, row="run"):
        try:
            run = build(row)
            for fault in _faults(run, catalog):
                findings.append(row.finding(fault.message, str(fault.path[0]), fault.hint))
            runs.append(run)
        except InputError as error:
            findings += error.findings
        if len(findings) >= MOST_FINDINGS:
            break
    refuse(findings)
    return tuple(runs)


def _tuning_run(row: TableRow) -> Measurement:
    values: dict[str, Any] = {"line": row.line, "tune": {}}
    for column in row.cells:
        where = values if column in _OWN else values["tune"]
        outer, dot, key = column.partition(".")
        if dot:
            where = where.setdefault(outer, {})
        where[key or outer] = _said(row, column)
    return row.build(Measurement, values, lambda path: path.removeprefix("tune."))


def _serving_run(row: TableRow) -> ServingMeasurement:
    values = {column: _said(row, column) for column in row.cells}
    return row.build(ServingMeasurement, {"line": row.line, **values})


def _faults(run: Measurement | ServingMeasurement, catalog: Catalog) -> Iterator[Fault]:
    """Names that stand for nothing, and what no such run can have been; each at its column."""
    model = run.tune.model if isinstance(run, Measurement) else run.model
    for sort, column, named in (("model", "model", model), ("GPU type", "gpu_type", run.gpu_type)):
        if named is not None and (fault := fault_of_name(sort, named, catalog)):
            yield Fault((column,), *fault)
    if isinstance(run, Measurement):
        yield from out_of_place(run.tune, catalog)
        yield from _beyond(run, catalog)


def _beyond(run: Measurement, catalog: Catalog) -> Iterator[Fault]:
    """A peak that is more than one GPU holds."""
    gpu = catalog.gpus.get(run.gpu_type or "")
    if gpu is not None and run.peak_gb is not None and run.peak_gb > gpu.most_memory_gb:
        column = "measured_gib" if run.measured_gb is None else "measured_gb"
        yield Fault(
            (column,),
            f"{float(run.peak_gb):.4g} GB are more than one {run.gpu_type} holds, "
            f"{gpu.most_memory_gb:.4g} GB",
            "give the peak of the fullest GPU, not the sum of several",
        )


def _said(row: TableRow, column: str) -> object:
    """What a cell says; raises InputError where it is nothing."""
    return row.cells[column].text if column in _TEXT else row.value(column)
