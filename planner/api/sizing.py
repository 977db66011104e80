"""Sizes one job on every GPU type, or measures it on the GPU at hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from planner.api.knowledge import catalog_of, rules_of
from planner.api.result import FilePath, Result, Row, require
from planner.api.scenario import Scenario, Source, load, plain_data
from planner.costs import rented_usd_per_hour
from planner.errors import Finding, InputError, refuse
from planner.exchange.cluster import gpu_types_by_name, plain_name
from planner.exchange.training import TrainingRun, configuration, not_measured, observe
from planner.inputs.catalog.catalog import Catalog
from planner.inputs.catalog.modelconfig import read_model_config
from planner.inputs.checks.faults import fault_of_name, unknown_reference
from planner.inputs.checks.jobs import contradictions
from planner.inputs.measured import COLUMNS, read_measured
from planner.inputs.reading.diagnostics import Attempts, validate_values
from planner.inputs.reading.document import dotted
from planner.inputs.reading.reader import parse_document
from planner.inputs.scenario.job import SERVING_SUFFIX, Job, Tune
from planner.inputs.scenario.scenario import Policies
from planner.inputs.settled import settled_settings
from planner.inputs.text import csv_text
from planner.reporting.document import Column, Document, Heading, Table
from planner.reporting.format import record
from planner.reporting.sections.sizing import RentedCandidate, sizing_document
from planner.sizing import Sizer
from planner.sizing.calibrate import calibrate
from planner.sizing.calibration import Calibration
from planner.sizing.candidate import Candidate, Sizing
from planner.sizing.sizers import Sizers, size_portfolio

_BYTES_PER_GIB: Final = 2**30
_STEPS_AT_MOST: Final = 1000
_RANK_RULE: Final = "tuning/lora-parameters"
"""It says which rank an adapter has where the job does not."""


class SizeResult(Result):
    """What one job takes on each GPU type, or what rules the GPU type out."""

    _name = "sizing"

    def __init__(
        self, sizing: Sizing, facts: Catalog, calibration: Calibration | None, *, sums: bool
    ) -> None:
        """Private: `planner.size` gives these."""
        super().__init__(sizing.summary)
        self._sizing, self._calibration, self._sums = sizing, calibration, sums
        self._book = facts.prices.header
        self._ranked = _ranked(sizing.candidates, facts)

    @property
    def summary(self) -> tuple[str, ...]:
        """How many GPUs of each type, the cheapest first."""
        found = [f"{one.gpus * one.replicas} × {one.way}" for one, *_ in self._ranked]
        some = ", ".join(found[:5]) + (f" and {len(found) - 5} more" if len(found) > 5 else "")
        return (some or "no GPU type can run it",)

    @property
    def rejections(self) -> list[Row]:
        """GPU types that cannot run the job: `gpu_type`, `rule` and `message`."""
        return [record(one, "gpu_type rule message") for one in self._sizing.rejections]

    def rows(self) -> list[Row]:
        """A row for each way to run the job, the cheapest first; needs of one replica.

        `usd_per_hour` is of all replicas at the least rent of the GPU type in the price book, and
        `usd_per_run` the same for the hours of a tuning run; None where that is not known.
        `weight_bits`, `kv_bits` and `gradient_accumulation` are what was chosen; None where the job
        states it, and of one pass. `rests_on` is what its need for memory rests on. `concurrency`,
        the requests that a replica holds, and the latency expected are of jobs with a load.
        """
        return [
            {
                **record(one, "gpu_type gpus replicas"),
                "usd_per_hour": None if per_hour is None else float(per_hour),
                "usd_per_run": None if per_run is None else float(per_run),
                "partition": one.partition,
                "gpu_memory_gb": one.gpu_memory_mb / 1000,
                "gpu_capacity_gb": one.gpu_capacity_mb / 1000,
                "cpus": one.cpus,
                "memory_gb": one.memory_mb / 1000,
                **record(one, "hours weight_bits kv_bits gradient_accumulation decided_by"),
                "rests_on": one.evidence[0].rests if one.evidence else None,
                **{
                    name: None if one.serving is None else getattr(one.serving, name)
                    for name in ("concurrency", "ttft_ms", "tpot_ms", "e2e_ms")
                },
            }
            for one, per_hour, per_run in self._ranked
        ]

    def to_json(self) -> str:
        """The whole sizing, with every sum."""
        return self._sizing.model_dump_json(indent=2) + "\n"

    def _document(self) -> Document:
        return sizing_document(
            self._sizing, self._ranked, self._book, sums=self._sums, calibration=self._calibration
        )


def _ranked(candidates: Sequence[Candidate], facts: Catalog) -> list[RentedCandidate]:
    """The cheapest first: by run where runs are of known length, else by the hour."""
    rented = []
    for way in candidates:
        per_hour = rented_usd_per_hour(way, facts)
        held = way.planned_hours or way.hours
        per_run = per_hour * Decimal(str(held)) if per_hour is not None and held else None
        rented.append(RentedCandidate(way, per_hour, per_run))
    known = [one for one in rented if one.usd_per_hour is not None]
    known.sort(key=lambda one: one.usd_per_run or one.usd_per_hour or 0)
    return [*known, *(one for one in rented if one.usd_per_hour is None)]


def size(  # noqa: PLR0913 - a parameter for each option
    job: Mapping[str, Any] | str,
    *,
    scenario: Source | None = None,
    config: FilePath | None = None,
    measured: FilePath | None = None,
    headroom: float | Decimal | str | None = None,
    mig: bool = False,
    shared_gpus: bool = False,
    faster: bool = False,
    sums: bool = False,
    catalog: FilePath | Sequence[FilePath] = (),
    rules: FilePath | Sequence[FilePath] = (),
) -> SizeResult:
    """Size one job on every GPU type, the cheapest first.

    `job` is what a scenario says of a job, as a dict or YAML text; with a `scenario`, it is the
    name of one of its jobs or deployments, which is sized with its policies, traffic, catalog and
    rules, on GPU types that are not in play as well. `config` is the config.json of its model
    (Hugging Face) where the job names none. `measured` is a table of your own measured
    runs, which correct what is expected. `headroom` is the share of GPU memory kept free. `mig`
    and `shared_gpus` try a serving job on partitions and beside others, `faster` a tuning job on
    more and more GPUs. `sums` shows host, peak memory and every sum for each GPU type.

    >>> import planner
    >>> job = {"tune": {"model": "llama-3.1-70b", "method": "lora", "sequence": 4096, "batch": 8}}
    >>> sized = planner.size(job)
    >>> [(one["gpus"], one["gpu_type"]) for one in sized.rows()][:2]
    [(4, 'h100-80gb-pcie'), (2, 'h200-141gb-sxm')]
    >>> planner.size("claims-expert", scenario="scenarios/quickstart.yaml").rows()[0]["gpus"]
    2

    Raises InputError with all mistakes of the job and of the files.
    """
    if scenario is not None:
        if config or measured or headroom is not None or mig or shared_gpus:
            raise InputError(Finding("a job of a scenario is described there", path="scenario"))
        read = load(scenario, catalog=catalog, rules=rules) if catalog or rules else load(scenario)
        return _size_in(read, str(job), faster=faster, sums=sums)
    attempts = Attempts()
    asked, facts = described_job(attempts, job, config, catalog)
    policies = attempts.take(lambda: _policies(headroom, mig=mig, shared_gpus=shared_gpus))
    book = attempts.take(lambda: rules_of(rules))
    if asked is not None:
        attempts.findings += _without_effect(asked, mig, shared_gpus, faster)
    if attempts.findings or not (asked and policies and facts and book):
        raise InputError(*attempts.findings)
    settings = settled_settings(book, policies)
    calibration = None
    if measured is not None:
        runs = read_measured(Path(measured), facts)
        calibration = calibrate(runs, Sizer(facts, book, settings, policies), facts, book)
    sizing = Sizer(facts, book, settings, policies, calibration=calibration).size(asked)
    return SizeResult(_smallest(sizing, faster), facts, calibration, sums=sums)


def _smallest(sizing: Sizing, faster: bool) -> Sizing:
    """Without the ways that take more GPUs for a shorter run, unless these are asked for."""
    if faster:
        return sizing
    smallest = tuple(one for one in sizing.candidates if one.decided_by != "time")
    return sizing.model_copy(update={"candidates": smallest})


def _size_in(scenario: Scenario, name: str, *, faster: bool, sums: bool) -> SizeResult:
    """A job of a scenario, by its name."""
    inputs = scenario._inputs
    stated = inputs.scenario.jobs
    root = name if name in stated else name.removesuffix(SERVING_SUFFIX)
    sizer, sized = Sizers().sizer(inputs, None), {}
    if root in stated:
        refuse(_without_effect(stated[root], False, False, faster))
        alone = inputs.scenario.model_copy(update={"jobs": {root: stated[root]}})
        sized = {one.name: one.sizing for one in size_portfolio(sizer, alone)}
    if name not in sized:
        message, hint = unknown_reference("job", name, {*stated, *sized}, inputs.catalog)
        raise InputError(Finding(message, path=f"jobs.{name}", hint=hint))
    return SizeResult(_smallest(sized[name], faster), inputs.catalog, sizer.calibration, sums=sums)


def described_job(
    attempts: Attempts,
    job: Mapping[str, Any] | str,
    config: FilePath | None,
    catalog: FilePath | Sequence[FilePath],
    *gpu_types: str,
) -> tuple[Job | None, Catalog | None]:
    """A job, on these GPU types where any are named, and the catalog with the model of `config`.

    None for what has mistakes; all of them join the attempts.
    """
    model = attempts.take(lambda: read_model_config(Path(config))) if config is not None else None
    stated = attempts.take(lambda: _stated_job(job, None if model is None else model[0]))
    asked = None
    # Without the configuration that was named it is not known what the job describes.
    if stated is not None and attempts.sound:
        told = {**stated, "gpu_types": gpu_types} if gpu_types else stated
        asked = attempts.take(lambda: validate_values(told, Job, str))
    facts = attempts.take(lambda: catalog_of(catalog))
    if facts is not None and model is not None:
        facts = facts.model_copy(update={"models": {**facts.models, model[0]: model[1]}})
    if asked is not None and facts is not None:
        attempts.findings += [*_unknown_names(asked, facts), *_contradicting(asked, facts)]
    return asked, facts


def _stated_job(job: Mapping[str, Any] | str, model: str | None) -> dict[str, Any]:
    """The job as plain data, its model put in where a configuration gives it."""
    data = parse_document(job, "<text>").data if isinstance(job, str) else plain_data(job)
    for kind in ("tune", "serve"):
        if model is None or not isinstance(data.get(kind), dict):
            continue
        for other in ("model", "parameters_b", "family"):
            if other in data[kind]:
                message = f"the model is given twice, by `config` and by `{kind}.{other}`"
                path = f"{kind}.{other}"
                raise InputError(Finding(message, path=path, hint="leave one of them out"))
        data[kind]["model"] = model
    return data


def _policies(headroom: float | Decimal | str | None, *, mig: bool, shared_gpus: bool) -> Policies:
    stated: dict[str, Any] = {"shared_gpus": shared_gpus}
    if headroom is not None:
        stated["headroom"] = plain_data({"headroom": headroom})["headroom"]
    if mig:
        stated["mig"] = "same-node"
    return validate_values(stated, Policies, str)


def _without_effect(job: Job, mig: bool, shared_gpus: bool, faster: bool) -> Iterator[Finding]:
    """Arguments that change nothing for this kind of job."""
    for name, given, fits, other in (
        ("mig", mig, job.serve, "serve"),
        ("shared_gpus", shared_gpus, job.serve, "serve"),
        ("faster", faster, job.tune, "tune"),
    ):
        if given and fits is None:
            yield Finding(f"goes with `{other}` only", path=name)
    if job.tune is not None and faster and job.tune.dataset_tokens is None:
        yield Finding("needs the hours of a run", path="faster", hint="give `dataset_tokens`")


def _contradicting(job: Job, facts: Catalog) -> Iterator[Finding]:
    """What contradicts itself or the model, as in a scenario."""
    for found in contradictions(job, facts):
        yield Finding(found.message, path=dotted(found.path), hint=found.hint)


def _unknown_names(job: Job, facts: Catalog) -> Iterator[Finding]:
    """Names that stand for nothing, in the words in which a scenario is refused."""
    asked = job.tune or job.serve
    wanted = [("GPU type", "gpu_types", name) for name in job.gpu_types or ()]
    if asked is not None and asked.model:
        wanted.insert(0, ("model", f"{job.kind}.model", asked.model))
    for sort, place, name in wanted:
        if fault := fault_of_name(sort, name, facts):
            yield Finding(fault[0], path=place, hint=fault[1])


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
    book = rules_of()
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
