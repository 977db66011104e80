"""Sizes jobs by the rules: the ways to run each on every GPU type, and what rules out others."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import product
from operator import le
from typing import Any, Final

from planner.inputs.catalog.catalog import Catalog, Neighbours
from planner.inputs.rules.book import RuleBook
from planner.inputs.rules.expression import exact
from planner.inputs.rules.rule import Rule
from planner.inputs.scenario.job import Job
from planner.inputs.scenario.scenario import Policies
from planner.inputs.settled import Settings
from planner.sizing.calibration import Calibration
from planner.sizing.candidate import (
    Candidate,
    Evidence,
    EvidenceOf,
    Memory,
    Rejection,
    Rests,
    Sizing,
    way_of,
)
from planner.sizing.count import Counter, Placement, Tries, memory_at
from planner.sizing.endpoint import Endpoint
from planner.sizing.engine import ASSUMED, Known, Reasoning
from planner.sizing.subject import (
    gpu_facts,
    job_facts,
    left_open,
    partition_facts,
    run_facts,
    setting_facts,
    summary,
)

LENGTH_UNKNOWN = (
    "holds its GPUs all quarter: neither `tune.dataset_tokens` nor `run.hours` says how long a run "
    "takes"
)
"""A note on tuning jobs of unknown length, which a plan gives once for all of them, with the
cost."""

_PEAK_NEEDS = ("batch", "sequence")
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
    ) -> None:
        """`gpu_types` are those in play, where the others are of no interest; all if left out.

        `calibration` moves what is expected to what runs of one's own have shown.
        """
        self._catalog = catalog
        self._neighbours = tuple(catalog.neighbours.values())
        self._rules = rules
        self._policies = policies
        self.calibration = calibration
        self._settings = setting_facts(settings, rules)
        considered = sorted(catalog.gpus if gpu_types is None else set(gpu_types))
        self._gpus = {gpu_type: gpu_facts(gpu_type, catalog) for gpu_type in considered}
        self._parts = {gpu_type: dict(self._parts_of(gpu_type)) for gpu_type in considered}
        held = tuple(rule for rule in rules.exclusions if rule.id not in policies.waived_rules)
        self._counter = Counter(rules, held)
        self._sizings: dict[Hashable, Sizing] = {}

    def _parts_of(self, gpu_type: str) -> Iterator[tuple[str, Mapping[str, Known]]]:
        """Return facts of a GPU type's allowed parts, smallest first, shared ones last."""
        if self._policies.mig != "never":
            profiles = self._catalog.gpus[gpu_type].mig_profiles
            for name in sorted(
                profiles,
                key=lambda name: (
                    profiles[name].memory_slices,
                    profiles[name].compute_slices,
                    name,
                ),
            ):
                yield name, partition_facts(gpu_type, name, self._catalog)
        if self._policies.shared_gpus:
            yield "", self._gpus[gpu_type] | {"gpu_shared": Known(True, "true/false", "scenario")}

    def size(
        self,
        job: Job,
        origins: dict[str, str] | None = None,
        peaks: tuple[Fraction, ...] | None = None,
    ) -> Sizing:
        """Size one job on every GPU type that is considered.

        `origins` names the rule behind figures that were derived rather than stated; `peaks` are
        requests per second of a serving job at the peak of each quarter, by default the highest
        that the job states. Raises InputError for an unknown model, or if rules contradict each
        other.
        """
        runs = () if job.run is None else (job.run,)
        listed = None if job.gpu_types is None else tuple(sorted(set(job.gpu_types)))
        peaks = job.peaks(None) if peaks is None else peaks
        key = (_specification(job), listed, tuple(sorted((origins or {}).items())), *runs, *peaks)
        if key not in self._sizings:
            self._sizings[key] = self._size(job, origins or {}, peaks, key)
        return self._sizings[key]

    def memory(self, job: Job, gpus: int) -> Memory | None:
        """Return the peak of each of so many GPUs of any type; None if the job says too little."""
        return memory_at(Tries(self.reasoning(job)).at(gpus))

    def situation(
        self, job: Job, gpu_type: str, gpus: int, fabric_gb_per_s: Decimal | None = None
    ) -> Reasoning:
        """Return the job on so many GPUs of a type, whatever counts the rules would choose.

        `fabric_gb_per_s` joins their nodes, if it is not what the catalog has.
        """
        gpu = self._gpus.get(gpu_type) or gpu_facts(gpu_type, self._catalog)
        if fabric_gb_per_s is not None:
            gpu = gpu | {"fabric_gb_per_s": Known(exact(fabric_gb_per_s), "GB/s", "measured")}
        tried = Tries(self.reasoning(job)).on(gpu, gpus)
        return tried.within({"gpus": Known(gpus, "GPUs", "measured")})

    def reasoning(
        self,
        job: Job,
        origins: dict[str, str] | None = None,
        peaks: tuple[Fraction, ...] | None = None,
        chosen: Collection[str] = (),
    ) -> Reasoning:
        """Return what is known of a job before a GPU type and other choices are made."""
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
        for gpu_type in self._gpus:
            found: list[Placement] = []
            refused: list[Rejection] = []
            parts: list[Rejection] = []
            for variant in variants:
                placed, refused_here = self._on(gpu_type, job, variant)
                if not placed:
                    nearer = not refused or refused_here[0].short_gb < refused[0].short_gb
                    refused = refused_here if nearer or job.tune is None else refused
                    continue
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
        assumed = {text for placed in placements for text in placed.trace.assumed}
        told = () if self.calibration is None else self.calibration.told(job)
        return Sizing(
            id=hashlib.sha256(repr(key).encode()).hexdigest()[:12],
            summary=summary(job, reasoning.number("weight_bits"), peaks),
            candidates=tuple(
                placed.updated(
                    evidence=evidence_of(placed.candidate, placed.situation, self._neighbours)
                ).candidate
                for placed in placements
            ),
            rejections=tuple(rejections),
            refused_parts=tuple(refused_parts),
            assumptions=(*sorted(assumed), *told),
            warnings=(
                *self._warnings(job, variants[0].reasoning, placements),
                *self._cramped(job, peaks, placements),
            ),
        )

    def _on(
        self, gpu_type: str, job: Job, variant: _Variant
    ) -> tuple[list[Placement], list[Rejection]]:
        """Return the ways to run on one GPU type with its refused parts, or why there is none."""
        gpu = self._gpus[gpu_type]
        refused = self._barred(gpu_type, job)
        refused += self._counter.refuse(gpu_type, variant.reasoning.within(gpu))
        if refused:
            return [], refused
        outcome = variant.place(gpu_type, gpu)
        if isinstance(outcome, Rejection):
            return [], [outcome]
        first, placed = outcome[0], list(outcome)
        if job.tune is not None and (job.run is None or job.run.hours is None):
            placed += self._counter.place_faster(first, gpu, variant.tries)
        if job.serve is not None and not job.serve.whole_gpu and first.candidate.gpus == 1:
            parts, refused = self._on_parts(gpu_type, variant)
            placed += parts
        return [one.updated(**variant.told) for one in placed], refused

    def _on_parts(
        self, gpu_type: str, variant: _Variant
    ) -> tuple[list[Placement], list[Rejection]]:
        """Return candidates on parts, smallest first, and what speaks against the other parts.

        A partition is passed over if a smaller one does as well, and one of all slices if a
        whole GPU may stand beside partitioned ones.
        """
        placed: list[Placement] = []
        refused: list[Rejection] = []
        for profile, facts in self._parts[gpu_type].items():
            way = way_of(gpu_type, partition=profile or None, shared=not profile)
            barred = self._counter.refuse(way, variant.reasoning.within(facts))
            found = barred[0] if barred else variant.place(way, facts)
            if isinstance(found, Rejection):
                refused.append(found.model_copy(update={"gpu_type": gpu_type, "way": way}))
                continue
            candidate = found[0].candidate
            better = self._better(gpu_type, profile, candidate, placed) if profile else None
            if candidate.shared_mb > candidate.gpu_capacity_mb:
                message = (
                    f"needs {candidate.shared_mb:,} MB beside others, "
                    f"of {candidate.gpu_capacity_mb:,} MB"
                )
            elif better is not None:
                message = f"{better} does as well wherever this one could be"
            else:
                of_part = {"partition": profile} if profile else {}
                placed.append(found[0].updated(gpu_type=gpu_type, **of_part))
                continue
            refused.append(
                Rejection(gpu_type=gpu_type, rule="partitions", message=message, way=way)
            )
        return placed, refused

    def _better(
        self, gpu_type: str, profile: str, candidate: Candidate, smaller: Sequence[Placement]
    ) -> str | None:
        """Return what could replace this partition in every plan at no more cost."""
        gpu = self._catalog.gpus[gpu_type]
        here = gpu.mig_profiles[profile]
        if self._policies.mig == "same-node" and here.memory_slices == gpu.memory_slices:
            return "the whole GPU"
        for other in (placed.candidate for placed in smaller):
            there = gpu.mig_profiles[other.partition or ""]
            if (
                there.compute_slices <= here.compute_slices
                and there.memory_slices <= here.memory_slices
                and set(here.placement_starts) <= set(there.placement_starts)
                and other.replicas <= candidate.replicas
                and all(map(le, other.replicas_by_quarter, candidate.replicas_by_quarter))
                and other.cpus <= candidate.cpus
                and other.memory_mb <= candidate.memory_mb
            ):
                return other.partition
        return None

    def _barred(self, gpu_type: str, job: Job) -> list[Rejection]:
        """Return what the scenario itself says against a GPU type."""
        policies = self._policies
        listed, allowed = job.gpu_types, policies.allowed_gpu_types
        found = []
        if listed is not None and gpu_type not in listed:
            found.append(("job.gpu_types", "the job does not list it"))
        if allowed is not None and gpu_type not in allowed:
            found.append(("policies.allowed_gpu_types", "the scenario does not allow it"))
        if gpu_type in policies.excluded_gpu_types:
            found.append(("policies.excluded_gpu_types", "the scenario excludes it"))
        return [Rejection(gpu_type=gpu_type, rule=rule, message=why) for rule, why in found]

    def _warnings(
        self, job: Job, reasoning: Reasoning, placements: Sequence[Placement]
    ) -> Iterator[str]:
        for rule in self._rules.warnings:
            if not self._counter.hangs_on_gpu(rule):
                if reasoning.holds(rule):
                    yield _warned(rule, reasoning)
                continue
            where: dict[str, list[str]] = {}
            for placed in placements:
                if placed.situation.holds(rule):
                    said = _warned(rule, placed.situation)
                    where.setdefault(said, []).append(placed.candidate.way)
            yield from (f"on {', '.join(ways)}: {said}" for said, ways in where.items())
        if job.tune is None:
            return
        sized = [placed.candidate for placed in placements]
        missing = [key for key in _PEAK_NEEDS if getattr(job.tune, key) is None]
        if sized and len(missing) == 1 and all(one.memory is None for one in sized):
            (stated,) = set(_PEAK_NEEDS).difference(missing)
            yield (
                f"`{stated}` counts for nothing without `{missing[0]}`: the memory is that of the "
                "published average of the method"
            )
        hours_stated = job.run is not None and job.run.hours is not None
        timeless = [one.gpu_type for one in sized if one.hours is None]
        if job.tune.dataset_tokens is None:
            if not hours_stated:
                yield LENGTH_UNKNOWN
        elif timeless:
            held = "" if hours_stated else " and it holds its GPUs all quarter"
            yield (
                f"run time unknown on {', '.join(timeless)}: the catalog gives no bf16 throughput, "
                f"so the deadline is not checked there{held}"
            )

    def _cramped(
        self, job: Job, peaks: tuple[Fraction, ...], placements: Sequence[Placement]
    ) -> Iterator[str]:
        """Warn of a stated concurrency with which a load takes far more GPUs, on each GPU type."""
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


def _fewest_gpus(candidates: Iterable[Candidate]) -> dict[str, int]:
    """Return the fewest whole GPUs that a unit takes at its peak on each GPU type."""
    fewest: dict[str, int] = {}
    for one in candidates:
        if one.partition is None:
            gpus = one.gpus * one.replicas
            fewest[one.gpu_type] = min(gpus, fewest.get(one.gpu_type, gpus))
    return fewest


_CHOSEN: Final = {
    "weight_bits": Known(0, "bit", "job"),
    "kv_bits": Known(0, "bit", "job"),
    "gradient_accumulation": Known(0, "passes", ASSUMED),
}
"""What may be chosen, in its unit, and who says so."""


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
        self.told: dict[str, Any] = dict(chosen)
        """What a candidate says of it: passes only if there are several."""
        if chosen.get("gradient_accumulation") == 1:
            self.told = {}
        self._counter = counter
        self._endpoint = None
        if stated.serve is not None and peaks:
            self._endpoint = Endpoint(counter, self.reasoning, stated.serve, peaks)

    def place(self, way: str, facts: Mapping[str, Known]) -> tuple[Placement, ...] | Rejection:
        """Return candidates on whole GPUs of a type, or on a part of one."""
        if self._endpoint is not None:
            return self._endpoint.place(way, facts)
        found = self._counter.place(way, facts, self.tries)
        return found if isinstance(found, Rejection) else (found,)


def _choices(job: Job) -> list[dict[str, int]]:
    """Return what may be chosen for a job, the usual first; one empty choice if nothing is open.

    For serving, the widths that it lists. For tuning, the passes of an optimizer step, if
    neither these nor the sequences of one are stated.
    """
    tune, serve = job.tune, job.serve
    passes = {"micro_batch", "gradient_accumulation"}
    if tune is not None and tune.batch is not None and not passes & tune.model_fields_set:
        divisors = (count for count in range(1, tune.batch + 1) if tune.batch % count == 0)
        return [{"gradient_accumulation": count} for count in divisors]
    stated = {} if serve is None else {"weight_bits": serve.bits, "kv_bits": serve.kv_bits}
    listed = {name: bits for name, bits in stated.items() if isinstance(bits, tuple)}
    return [dict(zip(listed, chosen, strict=True)) for chosen in product(*listed.values())]


def _any_as_good(found: Sequence[Placement], placed: Placement, *, mixed: bool) -> bool:
    """Return whether a wider width takes no more whole GPUs, in pieces that are no larger.

    Replicas that share traffic with others must each take as much.
    """
    candidate = placed.candidate
    return _is_whole(candidate) and any(
        _is_whole(wider)
        and wider.widths != candidate.widths
        and wider.gpus <= candidate.gpus
        and not (mixed and wider.rate < candidate.rate)
        and wider.takes_no_more(candidate, "gpus")
        for wider in (one.candidate for one in found)
    )


def _is_whole(candidate: Candidate) -> bool:
    return candidate.partition is None and not candidate.shared_mb


def _warned(rule: Rule, situation: Reasoning) -> str:
    return f"{situation.fill(rule.message or rule.title)} ({rule.id})"


def _specification(job: Job) -> tuple[object, ...]:
    """Return what sizing depends on: neither how many, nor when, nor whose.

    A default that a job states is no assumption, so it is told apart from one that is left open.
    """
    if job.tune is not None:
        tune = job.tune
        asked = (getattr(tune, name) for name in type(tune).model_fields if name != "deploy")
        return ("tune", *asked, *sorted(left_open(job)))
    if job.serve is not None:
        serve, load = job.serve, job.serve.load
        names = (name for name in type(serve).model_fields if name not in _SERVE_APART)
        apart = ("whole GPU",) if serve.whole_gpu else ()
        stated = (getattr(serve, name) for name in names)
        of_load = () if load is None else (getattr(load, name) for name in _OF_LOAD)
        return ("serve", *stated, *of_load, *apart, *sorted(left_open(job)))
    return ("fixed", *(figure for _, figure in job.fixed or ()))


_TOKENS: Final = "tokens_on_gpu"
"""What a tuning figure grows with, beside the model; for a replica, its requests at once."""


_STARTED: Final = "vllm"
"""The engine whose start-ups were measured."""


def evidence_of(
    candidate: Candidate, at: Reasoning, neighbours: Sequence[Neighbours]
) -> tuple[Evidence, ...]:
    """Say what the memory of a candidate rests on, and then its hours or its rate."""
    kind = at.value("kind")
    if kind == "fixed" or (candidate.decided_by == "stated" and candidate.memory is None):
        return (Evidence(figure="memory", rests="stated"),)
    method = "serve" if kind == "serve" else at.value("method")
    if at.value("encoder"):
        neighbours = ()
    size = at.number("parameters_b")
    vendor, family = at.value("gpu_vendor"), at.value("gpu_family")
    alike = [
        one
        for one in neighbours
        if one.method == method
        and one.mixture == (at.number("experts") is not None)
        and one.several_gpus == (candidate.gpus > 1)
    ]

    load = candidate.serving.concurrency if candidate.serving else at.number(_TOKENS)

    figures: list[EvidenceOf] = [] if candidate.memory is None else ["memory"]
    figures += () if candidate.hours is None else ("hours",)
    figures += () if candidate.serving is None else ("rate",)
    told = [] if figures[:1] == ["memory"] else [Evidence(figure="memory", rests="published")]
    for figure in figures:
        of_figure = [one for one in alike if one.figure == figure]
        here = [
            one
            for one in of_figure
            if one.gpu_vendor == vendor and one.gpu_family in (None, family)
        ]
        by = None if load is None or (method == "serve" and figure == "memory") else float(load)
        found = _from(figure, here, of_figure, float(size or 0), by)
        unlike = at.value("objective") in ("dpo", "grpo", "ppo")
        if figure == "rate":
            unlike = any(at.number(name) for name in ("draft_tokens", "decode_engines"))
        elif kind == "serve":
            unlike = at.value("engine") != _STARTED
        here = [one for one in neighbours if one.figure == figure and one.gpu_vendor == vendor]
        if found.runs and not any(one.gpu_family in (None, family) for one in here):
            found = found.model_copy(update={"rests": "elsewhere"})
        elif found.runs and unlike:
            found = found.model_copy(update={"rests": "extrapolated"})
        told.append(found)
    return tuple(told)


def _from(
    figure: EvidenceOf,
    here: Sequence[Neighbours],
    elsewhere: Sequence[Neighbours],
    size: float,
    load: float | None,
) -> Evidence:
    """Return groups of this figure and method: on such GPUs, and on any."""

    def says(rests: Rests, groups: Iterable[Neighbours]) -> Evidence:
        weighed = [(one.runs, float(one.error)) for one in groups]
        runs = sum(count for count, _ in weighed)
        error = sum(count * each for count, each in weighed) / runs
        return Evidence(figure=figure, rests=rests, runs=runs, error=error)

    def within(groups: Sequence[Neighbours]) -> bool:
        least = min(float(one.least) for one in groups)
        return load is None or least <= load <= max(float(one.most) for one in groups)

    if not (here or elsewhere) or size <= 0:
        return Evidence(figure=figure, rests="estimated")
    same = [one for one in here if float(one.parameters_b) == size]
    if same and within(same):
        return says("measured", same)
    sizes = sorted({float(one.parameters_b) for one in here or elsewhere})
    nearest = {
        max((one for one in sizes if one <= size), default=sizes[0]),
        min((one for one in sizes if one >= size), default=sizes[-1]),
    }
    around = [one for one in here or elsewhere if float(one.parameters_b) in nearest]
    inside = bool(here) and sizes[0] <= size <= sizes[-1] and within(here)
    return says("interpolated" if inside else "extrapolated", around)
