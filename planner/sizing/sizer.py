"""Sizes jobs by the rules: the ways to run each on every GPU type, and why on no other."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Final

from planner.inputs.catalog.catalog import Catalog
from planner.inputs.rules.book import RuleBook
from planner.inputs.rules.expression import Exact, exact, figure_text
from planner.inputs.rules.rule import Rule
from planner.inputs.scenario.job import Fixed, Job, Serve, Tune
from planner.inputs.scenario.scenario import Policies
from planner.inputs.settled import Settings
from planner.sizing.calibration import Calibration
from planner.sizing.candidate import Candidate, Rejection, Sizing
from planner.sizing.count import Counter, Placement
from planner.sizing.endpoint import Endpoint
from planner.sizing.engine import ASSUMED, Known, Reasoning
from planner.sizing.evidence import evidence_of
from planner.sizing.memory import Memory, memory_at
from planner.sizing.parts import Parts
from planner.sizing.subject import (
    gpu_facts,
    job_facts,
    left_open,
    run_facts,
    setting_facts,
)
from planner.sizing.tries import Tries, walk

_METHODS = {
    "full": "full fine-tuning",
    "lora": "LoRA tuning",
    "qlora": "QLoRA tuning",
    "p-tuning": "p-tuning",
}

_ENGINES = {"vllm": "vLLM", "sglang": "SGLang", "tensorrt-llm": "TensorRT-LLM"}

_STATED = {
    "micro_batch": "micro-batch {}",
    "gradient_accumulation": "gradient accumulation {}",
    "gradient_checkpointing": "checkpointing {}",
    "attention_kernel": "{} attention",
    "loss_kernel": "{} loss",
    "layer_kernels": "{} layer kernels",
    "value_parameters_b": "value model of {} B",
    "sharding": "sharding {}",
    "offload": "offload {}",
}
"""How a run is described further, as far as the job says so."""


def summary(
    job: Job, weight_bits: Exact | None = None, peaks: tuple[Fraction, ...] | None = None
) -> str:
    """One readable line: `LoRA tuning of llama-3.1-8b, sequence 4,096, batch 8`.

    `weight_bits` is the width that is served, where the job leaves it to the model; `peaks` are
    requests per second by quarter, as the job states them if left out.
    """
    if job.tune is not None:
        return _tune(job.tune)
    if job.serve is not None:
        arriving = job.peaks(None) if peaks is None else peaks
        return _serve(job.serve, weight_bits, arriving)
    return _fixed(job.fixed) if job.fixed is not None else ""


def _tune(tune: Tune) -> str:
    by = "" if tune.objective == "sft" else f" by {tune.objective.upper()}"
    parts = [f"{_METHODS[tune.method]} of {_subject(tune)}{by}"]
    if tune.base_bits is not None:
        parts.append(f"base at {tune.base_bits} bit")
    if tune.precision not in (None, tune.usual_precision):
        parts.append(tune.precision)
    if tune.optimizer != "adamw":
        parts.append(tune.optimizer)
    if tune.sequence is not None:
        parts.append(f"sequence {tune.sequence:,}")
    if tune.batch is not None:
        parts.append(f"batch {tune.batch:,}")
    if tune.reward_parameters_b is not None:
        size = tune.reward_parameters_b
        parts.append(f"reward model of {size} B" if size else "no reward model")
    parts += [told.format(getattr(tune, key)) for key, told in _STATED.items() if _says(tune, key)]
    ways = [(name.replace("_", " "), count) for name, count in tune.parallelism or () if count > 1]
    if ways:
        parts.append("parallelism " + " × ".join(f"{name} {count}" for name, count in ways))
    return ", ".join(parts)


def _says(tune: Tune, key: str) -> bool:
    return key in tune.model_fields_set and getattr(tune, key) is not None


def _serve(serve: Serve, weight_bits: Exact | None, peaks: tuple[Fraction, ...]) -> str:
    if isinstance(serve.bits, tuple):
        widths = " or ".join(map(str, serve.bits))
    else:
        widths = figure_text(weight_bits or serve.bits)
    text = f"serving of {_subject(serve)} at {widths} bit"
    if serve.adapters is not None:
        count, size = serve.adapters.count, format(serve.adapters.size_gb, ".3g")
        text += f" with {count} adapter{'s' if count > 1 else ''} of {size} GB"
    if serve.engine is not None:
        text += f" on {' '.join(filter(None, (_ENGINES[serve.engine], serve.engine_version)))}"
    if serve.disaggregated is not None:
        text += ", prefill on GPUs of its own"
    if serve.speculative is not None:
        text += f", {serve.speculative.draft_tokens:,} tokens drafted"
    if serve.context is not None and serve.concurrency is not None:
        text += f", {serve.concurrency:,} × {serve.context:,} tokens"
    if serve.load is not None:
        text += f", {_arriving(peaks)}{' shared by GPU types' if serve.mixed else ''}"
    if serve.latency is not None:
        asked = (
            f"{name} {float(figure):,.10g} ms"
            for name, figure in (
                ("TTFT", serve.latency.ttft_ms),
                ("TPOT", serve.latency.tpot_ms),
                ("end to end", serve.latency.e2e_ms),
            )
            if figure is not None
        )
        text += f", {', '.join(asked)} at p{serve.latency.percentile}"
    return text


def _arriving(peaks: tuple[Fraction, ...]) -> str:
    """`12 requests a second`, `up to 12 requests a second` where quarters differ."""
    most = "up to " if len(set(peaks)) > 1 else ""
    requests = "request" if max(peaks) == 1 else "requests"
    return f"{most}{float(max(peaks)):,.4g} {requests} a second"


def _fixed(fixed: Fixed) -> str:
    if fixed.gpus is not None:
        need = f"{fixed.gpus} GPU{'s' if fixed.gpus > 1 else ''}"
    else:
        need = f"{figure_text(fixed.gpu_memory_gb or 0)} GB of GPU memory"
    return f"fixed need of {need}, {fixed.cpus} CPUs, {figure_text(fixed.memory_gb)} GB host memory"


def _subject(about: Tune | Serve) -> str:
    return about.model or f"{figure_text(about.parameters_b or 0)} B parameters"


LENGTH_UNKNOWN = (
    "holds its GPUs all quarter: neither `tune.dataset_tokens` nor `run.hours` says how long a run "
    "takes"
)
"""Of a tuning job: what a plan says of all such jobs at once, with what that may cost."""

_PEAK_NEEDS = ("batch", "sequence")


def _half_stated(job: Job, placements: Sequence[Placement]) -> Iterator[str]:
    """Of what the peak of a tuning job needs, one figure that counts for nothing alone."""
    if job.tune is None or any(placed.candidate.memory is not None for placed in placements):
        return
    stated = [key for key in _PEAK_NEEDS if getattr(job.tune, key) is not None]
    if placements and len(stated) == 1:
        (missing,) = set(_PEAK_NEEDS).difference(stated)
        yield (
            f"`{stated[0]}` counts for nothing without `{missing}`: the memory is that of the "
            "published average of the method"
        )


_SERVE_APART = ("replicas", "whole_gpu", "load")
"""Keys of a serving job on which its needs do not depend; of a load they depend on these:"""
_OF_LOAD = (
    "arrivals_cv",
    "input_tokens",
    "input_percentiles",
    "input_cv",
    "image_tokens",
    "output_tokens",
    "output_percentiles",
    "cached_input",
)


class Sizer:
    """Applies one rule book, catalog and set of policies to any number of jobs.

    Jobs that are specified alike share one `Sizing`; nothing is sized twice.
    """

    def __init__(
        self,
        catalog: Catalog,
        rules: RuleBook,
        settings: Settings,
        policies: Policies,
        gpu_types: Iterable[str] | None = None,
        calibration: Calibration | None = None,
        known: Sizer | None = None,
    ) -> None:
        """`gpu_types` are those in play, where the others are of no interest; all if left out.

        `calibration` moves what is expected to what runs of one's own have shown. `known`
        differs at most in how GPUs may be divided: what does not depend on that is not sized again.
        """
        self._catalog = catalog
        self._neighbours = tuple(catalog.neighbours.values())
        self._rules = rules
        self._policies = policies
        self.calibration = calibration
        self._settings = setting_facts(settings, rules)
        considered = sorted(catalog.gpus if gpu_types is None else set(gpu_types))
        self._gpus = {gpu_type: gpu_facts(gpu_type, catalog) for gpu_type in considered}
        self._parts = {gpu_type: Parts(gpu_type, catalog, policies) for gpu_type in considered}
        held = tuple(rule for rule in rules.exclusions if rule.id not in policies.waived_rules)
        self._counter = Counter(rules, held)
        self._divided = (policies.mig, policies.shared_gpus)
        self._sizings: dict[Hashable, Sizing] = {} if known is None else known._sizings

    def size(
        self,
        job: Job,
        origins: dict[str, str] | None = None,
        peaks: tuple[Fraction, ...] | None = None,
    ) -> Sizing:
        """Size one job on every GPU type that is considered.

        `origins` names the rule behind figures that were derived rather than stated; `peaks` are
        requests per second of a serving job at the peak of each quarter, the highest that the job
        states if left out.
        Raises InputError for an unknown model, or where rules contradict each other.
        """
        runs = () if job.run is None else (job.run,)
        listed = None if job.gpu_types is None else tuple(sorted(set(job.gpu_types)))
        peaks = job.peaks(None) if peaks is None else peaks
        key = (_specification(job), listed, tuple(sorted((origins or {}).items())), *runs, *peaks)
        kept_as = (key, self._divided if job.serve is not None else None)
        if kept_as not in self._sizings:
            self._sizings[kept_as] = self._size(job, origins or {}, peaks, key)
        return self._sizings[kept_as]

    def memory(self, job: Job, gpus: int) -> Memory | None:
        """Peak of each GPU on so many of any type; None where the job says too little for it."""
        return memory_at(Tries(self.reasoning(job)).at(gpus))

    def situation(
        self, job: Job, gpu_type: str, gpus: int, fabric_gb_per_s: Decimal | None = None
    ) -> Reasoning:
        """The job on so many GPUs of a type, whatever counts the rules would choose.

        `fabric_gb_per_s`: what joins their nodes, if it is not what the catalog has.
        """
        gpu = self._gpus.get(gpu_type) or gpu_facts(gpu_type, self._catalog)
        if fabric_gb_per_s is not None:
            gpu = gpu | {"fabric_gb_per_s": Known(exact(fabric_gb_per_s), "GB/s", "measured")}
        tried = Tries(self.reasoning(job)).at(gpus).within(gpu)
        return tried.within({"gpus": Known(gpus, "GPUs", "measured")})

    def reasoning(
        self,
        job: Job,
        origins: dict[str, str] | None = None,
        peaks: tuple[Fraction, ...] | None = None,
        chosen: Collection[str] = (),
    ) -> Reasoning:
        """What is known of a job before a GPU type is chosen, without what is `chosen` then."""
        facts = self._settings | job_facts(job, self._catalog)
        facts |= run_facts(job)
        if busiest := max(job.peaks(None) if peaks is None else peaks, default=None):
            facts["requests_per_second"] = Known(exact(busiest), "requests/s", "job")
        for name, origin in (origins or {}).items():
            facts[name] = facts[name]._replace(origin=origin)
        if self.calibration is not None:
            facts |= self.calibration.facts(job)
        return Reasoning(self._rules, {n: fact for n, fact in facts.items() if n not in chosen})

    def _size(
        self, job: Job, origins: dict[str, str], peaks: tuple[Fraction, ...], key: Hashable
    ) -> Sizing:
        choices = _choices(job)
        reasoning = self.reasoning(job, origins, peaks, choices[0])
        variants = [_Variant(self._counter, reasoning, job, peaks, chosen) for chosen in choices]
        placements: list[Placement] = []
        rejections: list[Rejection] = []
        refused_parts: list[Rejection] = []
        for gpu_type, facts in self._gpus.items():
            found: list[Placement] = []
            refused: list[Rejection] = []
            parts: list[Rejection] = []
            for variant in variants:
                outcome = self._on(gpu_type, facts, job, variant)
                if isinstance(outcome, list):
                    nearer = not refused or outcome[0].short_gb < refused[0].short_gb
                    refused = outcome if nearer or job.tune is None else refused
                    continue
                placed, refused_here = outcome
                parts += refused_here
                if job.tune is None:
                    mixed = job.serve is not None and job.serve.mixed
                    found += (one for one in placed if not _any_as_good(found, one, mixed=mixed))
                elif not found or placed[0].candidate.gpus < found[0].candidate.gpus:
                    found = placed
            placements += found
            rejections += () if found else refused
            held = {placed.candidate.part for placed in found}
            refused_parts += (one for one in parts if one.way not in held)
        return Sizing(
            id=hashlib.sha256(repr(key).encode()).hexdigest()[:12],
            summary=summary(job, reasoning.number("weight_bits"), peaks),
            candidates=tuple(self._with_evidence(placed) for placed in placements),
            rejections=tuple(rejections),
            refused_parts=tuple(refused_parts),
            assumptions=(
                *_assumptions(placements),
                *(self.calibration.told(job) if self.calibration is not None else ()),
            ),
            warnings=(
                *self._warnings(job, variants[0].reasoning, placements),
                *self._cramped(job, peaks, placements),
            ),
        )

    def _with_evidence(self, placed: Placement) -> Candidate:
        told = evidence_of(placed.candidate, placed.situation, self._neighbours)
        return placed.candidate.model_copy(update={"evidence": told})

    def _on(
        self, gpu_type: str, facts: Mapping[str, Known], job: Job, variant: _Variant
    ) -> tuple[list[Placement], tuple[Rejection, ...]] | list[Rejection]:
        """Ways to run on one GPU type with the parts that are refused, or why there is none."""
        here = variant.reasoning.within(facts)
        if refused := self._barred(gpu_type, job) + self._counter.refuse(gpu_type, here):
            return refused
        outcome = variant.place(gpu_type, facts)
        if isinstance(outcome, Rejection):
            return [outcome]
        refused_parts: tuple[Rejection, ...] = ()
        first, placed = outcome[0], list(outcome)
        if job.tune is not None and (job.run is None or job.run.hours is None):
            placed += self._counter.place_faster(first, facts, variant.tries)
        if job.serve is not None and not job.serve.whole_gpu and first.candidate.gpus == 1:
            parts, refused_parts = self._parts[gpu_type].place(
                self._counter, variant.tries, variant.place_one
            )
            placed += parts
        return [variant.marked(one) for one in placed], refused_parts

    def _barred(self, gpu_type: str, job: Job) -> list[Rejection]:
        """What the scenario itself says against a GPU type."""
        allowed = self._policies.allowed_gpu_types
        says = (
            (
                job.gpu_types is not None and gpu_type not in job.gpu_types,
                "job.gpu_types",
                "the job does not list it",
            ),
            (
                allowed is not None and gpu_type not in allowed,
                "policies.allowed_gpu_types",
                "the scenario does not allow it",
            ),
            (
                gpu_type in self._policies.excluded_gpu_types,
                "policies.excluded_gpu_types",
                "the scenario excludes it",
            ),
        )
        return [
            Rejection(gpu_type=gpu_type, rule=rule, message=message)
            for applies, rule, message in says
            if applies
        ]

    def _warnings(
        self, job: Job, reasoning: Reasoning, placements: Sequence[Placement]
    ) -> tuple[str, ...]:
        found = []
        for rule in self._rules.warnings:
            if not self._counter.hangs_on_gpu(rule):
                if reasoning.holds(rule):
                    found.append(_warned(rule, reasoning))
                continue
            where: dict[str, list[str]] = {}
            for placed in placements:
                if placed.situation.holds(rule):
                    said = _warned(rule, placed.situation)
                    where.setdefault(said, []).append(placed.candidate.way)
            found += (f"on {', '.join(gpu_types)}: {said}" for said, gpu_types in where.items())
        return (*found, *_half_stated(job, placements), *self._of_time(job, placements))

    def _cramped(
        self, job: Job, peaks: tuple[Fraction, ...], placements: Sequence[Placement]
    ) -> Iterator[str]:
        """A stated concurrency with which a load takes far more GPUs, on each GPU type."""
        serve = job.serve
        if serve is None or not peaks or serve.concurrency is None or not placements:
            return
        if serve.mixed:  # a replica by itself says nothing
            return
        left_open = job.model_copy(update={"serve": serve.model_copy(update={"concurrency": None})})
        stated = _fewest_gpus(placed.candidate for placed in placements)
        chosen = _fewest_gpus(self.size(left_open, peaks=peaks).candidates)
        factor = self._rules.figure("cramped_concurrency_factor")
        if all(stated[one] >= factor * chosen.get(one, stated[one]) for one in stated):
            gpu_type = min(chosen.keys() & stated.keys(), key=lambda one: (chosen[one], one))
            yield (
                f"a concurrency of {serve.concurrency:,} takes {stated[gpu_type]:,} × "
                f"{gpu_type}, where {chosen[gpu_type]:,} would do: leave it out, and the planner "
                "chooses it"
            )

    def _of_time(self, job: Job, placements: Sequence[Placement]) -> Iterator[str]:
        """What is not known of the time that a run takes, or set aside."""
        if job.tune is None:
            return
        stated = job.run is not None and job.run.hours is not None
        if job.tune.dataset_tokens is None and not stated:
            yield LENGTH_UNKNOWN
        sized = (placed.candidate for placed in placements)
        timeless = [one.gpu_type for one in sized if one.hours is None]
        if job.tune.dataset_tokens is not None and timeless:
            held = "" if stated else " and it holds its GPUs all quarter"
            yield (
                f"run time unknown on {', '.join(timeless)}: the catalog gives no bf16 throughput, "
                f"so the deadline is not checked there{held}"
            )


def _fewest_gpus(candidates: Iterable[Candidate]) -> dict[str, int]:
    """GPUs that a unit takes at its peak on each GPU type, whole ones, at the least."""
    fewest: dict[str, int] = {}
    for one in candidates:
        if one.partition is None:
            gpus = one.gpus * one.replicas
            fewest[one.gpu_type] = min(gpus, fewest.get(one.gpu_type, gpus))
    return fewest


class _Variant:
    """A job with what it leaves open chosen in one way."""

    def __init__(
        self,
        counter: Counter,
        job: Reasoning,
        stated: Job,
        peaks: tuple[Fraction, ...],
        chosen: Mapping[str, int],
    ) -> None:
        facts = {name: _CHOSEN[name]._replace(value=value) for name, value in chosen.items()}
        self.reasoning = job.within(facts) if facts else job
        self.tries = Tries(self.reasoning)
        self._counter, self._chosen = counter, chosen
        self._endpoint = None
        if stated.serve is not None and peaks:
            self._endpoint = Endpoint(counter, self.reasoning, stated.serve, peaks)

    def place(self, way: str, facts: Mapping[str, Known]) -> tuple[Placement, ...] | Rejection:
        """Candidates on whole GPUs of a type, or on a part of one."""
        if self._endpoint is not None:
            return self._endpoint.place(way, facts)
        found = self._counter.place(way, facts, self.tries)
        return found if isinstance(found, Rejection) else (found,)

    def place_one(self, way: str, facts: Mapping[str, Known]) -> Placement | Rejection:
        """The first of them."""
        found = self.place(way, facts)
        return found if isinstance(found, Rejection) else found[0]

    def marked(self, placed: Placement) -> Placement:
        """The same with what was chosen."""
        told = {name: value for name, value in self._chosen.items() if (name, value) != _ONE_PASS}
        return placed._replace(candidate=placed.candidate.model_copy(update=told))


_CHOSEN: Final = {
    "weight_bits": Known(0, "bit", "job"),
    "kv_bits": Known(0, "bit", "job"),
    "gradient_accumulation": Known(0, "passes", ASSUMED),
}
"""What may be chosen, in its unit, and who says so."""
_ONE_PASS: Final = ("gradient_accumulation", 1)


def _choices(job: Job) -> list[dict[str, int]]:
    """What may be chosen for a job, the usual first; one that is empty where nothing is.

    Of serving, the widths that it lists. Of tuning, in how many passes an optimizer step takes its
    batch, where neither these nor the sequences of one are stated.
    """
    tune, serve = job.tune, job.serve
    if tune is not None and tune.batch is not None and _leaves_passes_open(job):
        divisors = (count for count in range(1, tune.batch + 1) if tune.batch % count == 0)
        return [{"gradient_accumulation": count} for count in divisors]
    stated = {} if serve is None else {"weight_bits": serve.bits, "kv_bits": serve.kv_bits}
    listed = {name: bits for name, bits in stated.items() if isinstance(bits, tuple)}
    return [dict(zip(listed, chosen, strict=True)) for chosen in product(*listed.values())]


def _leaves_passes_open(job: Job) -> bool:
    return job.tune is not None and not (
        {"micro_batch", "gradient_accumulation"} & job.tune.model_fields_set
    )


def _any_as_good(found: Sequence[Placement], placed: Placement, *, mixed: bool) -> bool:
    """Whether a wider width takes no more whole GPUs, in pieces that are no larger.

    Of replicas that share traffic with others, each has to take as much.
    """
    candidate = placed.candidate
    return _is_whole(candidate) and any(
        _is_whole(wider)
        and wider.widths != candidate.widths
        and wider.gpus <= candidate.gpus
        and not (mixed and _rate(wider) < _rate(candidate))
        and all(
            wider.gpus * wider.replicas_in(quarter)
            <= candidate.gpus * candidate.replicas_in(quarter)
            for quarter in range(
                len(candidate.replicas_by_quarter or wider.replicas_by_quarter) or 1
            )
        )
        for wider in (one.candidate for one in found)
    )


def _rate(candidate: Candidate) -> float:
    return candidate.serving.planned_requests_per_second if candidate.serving else 0.0


def _is_whole(candidate: Candidate) -> bool:
    return candidate.partition is None and not candidate.shared_mb


def _warned(rule: Rule, situation: Reasoning) -> str:
    return f"{situation.fill(rule.message or rule.title)} ({rule.id})"


def _assumptions(placements: Iterable[Placement]) -> tuple[str, ...]:
    roots = (root for placed in placements for root in placed.roots)
    return tuple(sorted({text for one in walk(roots) for text in one.assumed}))


def _specification(job: Job) -> tuple[object, ...]:
    """What sizing depends on: neither how many, nor when, nor whose.

    A default that a job states is no assumption, so that it is told from one that is left open.
    """
    if job.tune is not None:
        tune = job.tune
        asked = (getattr(tune, name) for name in type(tune).model_fields if name != "deploy")
        return ("tune", *asked, *sorted(left_open(job)))
    if job.serve is not None:
        serve = job.serve
        names = (name for name in type(serve).model_fields if name not in _SERVE_APART)
        apart = ("whole GPU",) if serve.whole_gpu else ()
        stated = (getattr(serve, name) for name in names)
        load = serve.load
        of_load = () if load is None else tuple(getattr(load, name) for name in _OF_LOAD)
        return ("serve", *stated, *of_load, *apart, *sorted(left_open(job)))
    fixed = job.fixed
    return (
        "fixed",
        *((fixed.gpus, fixed.gpu_memory_gb, fixed.cpus, fixed.memory_gb) if fixed else ()),
    )
