"""Sizes or measures one job; and looks up the catalog and the rules that this rests on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, Final

from planner.api.result import FilePath, Result, Row, paths, require
from planner.api.scenario import Scenario, Source, load, plain_data
from planner.costs import rented_usd_per_hour
from planner.errors import Finding, InputError, refuse
from planner.exchange.cluster import gpu_types_by_name, plain_name
from planner.exchange.training import TrainingRun, configuration, not_measured, observe
from planner.inputs.catalog.catalog import Catalog
from planner.inputs.catalog.modelconfig import read_model_config
from planner.inputs.checks.faults import fault_of_name, unknown_reference
from planner.inputs.checks.jobs import contradictions
from planner.inputs.load import load_catalog, load_rules
from planner.inputs.measured import COLUMNS, read_measured
from planner.inputs.reading.diagnostics import Attempts, validate_values
from planner.inputs.reading.document import dotted
from planner.inputs.reading.reader import parse_document
from planner.inputs.rules.book import RuleBook
from planner.inputs.scenario.job import SERVING_SUFFIX, Job, Tune
from planner.inputs.scenario.scenario import Policies
from planner.inputs.scenario.schema import scenario_schema
from planner.inputs.settled import settled_settings
from planner.inputs.text import csv_text, did_you_mean, one_of, some_of
from planner.reporting.document import Document
from planner.reporting.format import record
from planner.reporting.knowledge import (
    catalog_document,
    entry_document,
    entry_ids,
    examples_document,
    rule_document,
    rules_document,
)
from planner.reporting.sections.sizing import RentedCandidate, sizing_document
from planner.sizing import Sizer
from planner.sizing.calibrate import calibrate
from planner.sizing.calibration import Calibration
from planner.sizing.candidate import Candidate, Sizing
from planner.sizing.engine import run_examples
from planner.sizing.sizers import Sizers, size_portfolio

KINDS: Final = ("gpus", "nodes", "models", "prices")
_BYTES_PER_GIB: Final = 2**30
_STEPS_AT_MOST: Final = 1000
_RANK_RULE: Final = "tuning/lora-parameters"
"""It says which rank an adapter has where the job does not."""

_shipped_catalog, _shipped_rules = cache(load_catalog), cache(load_rules)
"""Files of one's own may change while a process runs; those of the package are read once."""


def catalog_of(own: FilePath | Sequence[FilePath] = ()) -> Catalog:
    """The shipped catalog with files of one's own; raises InputError with all mistakes."""
    files = paths(own)
    return (load_catalog(files) if files else _shipped_catalog())[0]


def rules_of(own: FilePath | Sequence[FilePath] = ()) -> RuleBook:
    """The shipped rules with files of one's own; raises InputError with all mistakes."""
    files = paths(own)
    return (load_rules(files) if files else _shipped_rules())[0]


class SizeResult(Result):
    """What one job takes on each GPU type, or what rules the GPU type out."""

    _name = "sizing"

    def __init__(
        self, sizing: Sizing, facts: Catalog, calibration: Calibration | None, *, sums: bool
    ) -> None:
        """Private: `planner.size` gives these."""
        super().__init__(sizing.summary, sizing)
        self._calibration, self._sums = calibration, sums
        self._book = facts.prices.header
        self._ranked = _ranked(sizing.candidates, facts)

    @property
    def summary(self) -> tuple[str, ...]:
        """How many GPUs of each type, the cheapest first."""
        found = [f"{one.gpus * one.replicas} × {one.way}" for one, *_ in self._ranked]
        return (some_of(found, 5) or "no GPU type can run it",)

    @property
    def rejections(self) -> list[Row]:
        """GPU types that cannot run the job: `gpu_type`, `rule` and `message`."""
        return [record(one, "gpu_type rule message") for one in self._found.rejections]

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

    def _document(self) -> Document:
        told = (self._found, self._ranked, self._book)
        return (*sizing_document(*told, sums=self._sums, calibration=self._calibration),)


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
        read = load(scenario, catalog=catalog, rules=rules)
        return _size_in(read, str(job), faster=faster, sums=sums)
    attempts = Attempts()
    asked, facts = described_job(attempts, job, config, catalog)
    stated: dict[str, Any] = {"shared_gpus": shared_gpus, **({"mig": "same-node"} if mig else {})}
    if headroom is not None:
        stated["headroom"] = plain_data(headroom)
    policies = attempts.take(lambda: validate_values(stated, Policies, str))
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
    sizer = Sizer(facts, book, settings, policies, asked.gpu_types, calibration)
    sizing = sizer.size(asked)
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
        attempts.findings += _unknown_names(asked, facts)
        for found in contradictions(asked, facts):
            attempts.findings.append(
                Finding(found.message, path=dotted(found.path), hint=found.hint)
            )
    return asked, facts


def _stated_job(job: Mapping[str, Any] | str, model: str | None) -> dict[str, Any]:
    """The job as plain data, its model put in where a configuration gives it."""
    data = parse_document(job, "<text>").data if isinstance(job, str) else plain_data(job)
    for kind in ("tune", "serve"):
        if model is None or not isinstance(data.get(kind), dict):
            continue
        for other in ("model", "parameters_b", "family"):
            if other in data[kind]:
                message, hint = "`config` says which model already", "leave one of them out"
                raise InputError(Finding(message, path=f"{kind}.{other}", hint=hint))
        data[kind]["model"] = model
    return data


def _without_effect(job: Job, mig: bool, shared_gpus: bool, faster: bool) -> Iterator[Finding]:
    """Arguments that change nothing for this kind of job."""
    for name, given, fits, other in (
        ("mig", mig, job.serve, "serving"),
        ("shared_gpus", shared_gpus, job.serve, "serving"),
        ("faster", faster, job.tune, "tuning"),
    ):
        if given and fits is None:
            yield Finding(f"goes with {other} only", path=name)
    if job.tune is not None and faster and job.tune.dataset_tokens is None:
        yield Finding("needs the hours of a run", path="faster", hint="give `dataset_tokens`")


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
        super().__init__(f"Measured: {row['model']}, {row['method']}")
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
    cells = {
        name: str(value).lower() if value is True or value is False else str(value)
        for name, value in told.items()
    }
    return {name: cells.get(name, "") for name in COLUMNS}


class KnowledgeResult(Result):
    """Entries of the catalog, rules, or what a test of them came to."""

    _name = "knowledge"

    def __init__(
        self, title: str, rows: Sequence[Row], document: Document, *, failed: int = 0
    ) -> None:
        """Private: `planner.catalog`, `rules`, `examine_rules` and `doctor` give these."""
        super().__init__(title)
        self._rows, self._drawn, self.failed = rows, document, failed

    failed: int
    """Of a test: how many answers were wrong; else 0."""

    @property
    def summary(self) -> tuple[str, ...]:
        """How many, and how many of them failed."""
        return (f"{len(self._rows)} rows" + (f", {self.failed} failed" if self.failed else ""),)

    def rows(self) -> list[Row]:
        """A row for each entry, rule or answer."""
        return [dict(row) for row in self._rows]

    def _document(self) -> Document:
        return self._drawn


def catalog(
    *kinds: str, entry: str | None = None, catalog: FilePath | Sequence[FilePath] = ()
) -> KnowledgeResult:
    """List the catalog, or some `kinds` of it: `gpus`, `nodes`, `models`, `prices`.

    `entry` is the id of a GPU type, node type or model to show alone, each figure with its source.
    `catalog` names files or folders of your own.

    >>> import planner
    >>> [row["id"] for row in planner.catalog("gpus").rows() if row["id"].startswith("h100-")]
    ['h100-80gb-sxm', 'h100-80gb-pcie', 'h100-94gb-nvl']

    Raises InputError for an id or a kind that there is not.
    """
    facts = catalog_of(catalog)
    if entry is not None:
        require_known(entry, entry_ids(facts), "GPU type, node type or model")
        found: list[tuple[str, Any]] = [
            (kind, getattr(facts, kind)[entry])
            for kind in ("gpus", "nodes", "models")
            if entry in getattr(facts, kind)
        ]
        rows = [
            {"id": entry, "kind": kind, "figure": key, **_figure(value)}
            for kind, one in found
            for key, value in one
            if value is not None
        ]
        return KnowledgeResult(entry, rows, entry_document(facts, entry))
    for kind in kinds:
        require_known(kind, KINDS, "kind of entry")
    shown = kinds or KINDS
    listed = [
        {"kind": kind, "id": id_}
        for kind in shown
        if kind != "prices"
        for id_ in getattr(facts, kind)
    ]
    return KnowledgeResult("catalog", listed, catalog_document(facts, shown))


def _figure(value: Any) -> Row:  # noqa: ANN401 - a figure with its source, or a plain value
    told = value.model_dump(mode="json") if hasattr(value, "model_dump") else {"value": str(value)}
    return {"value": told.get("value"), "source": told.get("source"), "basis": told.get("basis")}


def rules(rule: str | None = None, *, rules: FilePath | Sequence[FilePath] = ()) -> KnowledgeResult:
    """List the rules of sizing and policy, or show one `rule` by its id.

    `rules` names files or folders of your own.

    >>> import planner
    >>> sorted({row["kind"] for row in planner.rules().rows()})
    ['baseline', 'exclusion', 'floor', 'formula', 'policy', 'warning']

    Raises InputError for an id that there is not.
    """
    book = rules_of(rules)
    if rule is None:
        chosen, document = tuple(book.rules.values()), rules_document(book.rules.values())
    else:
        require_known(rule, book.rules, "rule")
        chosen, document = (book.rules[rule],), (*rule_document(book.rules[rule]),)
    rows = [record(one, "id kind title") for one in chosen]
    return KnowledgeResult(rule or "rules", rows, document)


def examine_rules(*, rules: FilePath | Sequence[FilePath] = ()) -> KnowledgeResult:
    """Run every rule's worked examples.

    >>> import planner
    >>> planner.examine_rules().failed
    0
    """
    book = rules_of(rules)
    outcomes = run_examples(book)
    rows = [
        {"rule": one.rule, "example": one.name, "passed": one.passed, "message": one.message}
        for one in outcomes
    ]
    failed = sum(not one.passed for one in outcomes)
    return KnowledgeResult("examples of rules", rows, examples_document(outcomes), failed=failed)


def schema() -> dict[str, Any]:
    """The JSON Schema of a scenario, for editors that complete and check YAML.

    >>> import planner
    >>> "jobs" in planner.schema()["properties"]
    True
    """
    return scenario_schema()


def doctor() -> KnowledgeResult:
    """Put small programs on which released solvers have lied to the solver installed here.

    >>> import planner
    >>> planner.doctor().failed
    0
    """
    from planner.packing.doctor import examine  # noqa: PLC0415 - it loads the solvers
    from planner.reporting.knowledge import doctor_document  # noqa: PLC0415 - likewise

    examined = examine()
    rows = [
        {
            "program": one.case.name,
            "solver": one.solver,
            "decides": one.decides,
            "wrong": one.wrong,
            "said": one.said,
        }
        for one in examined
    ]
    failed = sum(bool(one.wrong) for one in examined if one.decides)
    return KnowledgeResult("solvers", rows, doctor_document(examined), failed=failed)


def require_known(word: str, known: Iterable[str], what: str) -> None:
    """Raise InputError with the nearest names if there is no such id."""
    names = sorted(known)
    if word in names:
        return
    ends = [name for name in names if name.rpartition("/")[2] == word]
    begun = [name for name in names if name.startswith(f"{word.casefold()}-")]
    near = did_you_mean(ends[0] if ends else word, names, 3)
    hint = f"did you mean {one_of([repr(name) for name in begun[:5]])}?" if begun else near
    raise InputError(
        Finding(f"there is no {what} {word!r}", hint=hint or f"`list` shows every {what}")
    )
