"""Sizes jobs: per GPU type one candidate, or the rules and figures that speak against it."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from planner.sizing.candidate import Rejection, Sizing
from planner.sizing.count import Counter
from planner.sizing.engine import Known, Reasoning
from planner.sizing.memory import memory_at
from planner.sizing.parts import Parts
from planner.sizing.subject import GPU_FACTS, gpu_facts, job_facts, run_facts, setting_facts
from planner.sizing.trace import walk
from planner.sizing.tries import Tries
from planner.sizing.words import summary

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

    from planner.inputs.catalog.catalog import Catalog
    from planner.inputs.rules.book import Rule, RuleBook
    from planner.inputs.scenario.job import Job
    from planner.inputs.scenario.scenario import Policies
    from planner.inputs.settled import Settings
    from planner.sizing.calibration import Calibration
    from planner.sizing.count import Placement
    from planner.sizing.memory import Memory

__all__ = ["LENGTH_UNKNOWN", "Sizer"]

LENGTH_UNKNOWN = (
    "holds its GPUs all quarter: neither `tune.dataset_tokens` nor `run.weeks` says how long a run "
    "takes"
)
"""Of a tuning job: what a plan says of all such jobs at once, with what that may cost."""

_SERVE_APART = ("replicas", "whole_gpu")
"""Keys of a serving job on which its needs do not depend."""


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

        `calibration` moves the peaks of tuning jobs to what runs of one's own have shown. `known`
        differs at most in how GPUs may be divided: what does not depend on that is not sized again.
        """
        self._catalog = catalog
        self._rules = rules
        self._policies = policies
        self._by_weeks = policies.time == "weeks"
        self._calibration = calibration
        self._settings = setting_facts(settings, rules)
        considered = sorted(catalog.gpus if gpu_types is None else set(gpu_types))
        self._gpus = {gpu_type: gpu_facts(gpu_type, catalog) for gpu_type in considered}
        self._parts = {gpu_type: Parts(gpu_type, catalog, policies) for gpu_type in considered}
        held = tuple(rule for rule in rules.exclusions if rule.id not in policies.waived_rules)
        self._counter = Counter(rules, held)
        self._divided = (policies.mig, policies.shared_gpus)
        self._sizings: dict[Hashable, Sizing] = {} if known is None else known._sizings

    def size(self, job: Job, origins: dict[str, str] | None = None) -> Sizing:
        """Size one job on every GPU type that is considered.

        `origins` names the rule behind figures that were derived rather than stated.
        Raises InputError for an unknown model, or where rules contradict each other.
        """
        runs = () if job.run is None else (job.run,)
        listed = None if job.gpu_types is None else tuple(sorted(set(job.gpu_types)))
        key = (_specification(job), listed, tuple(sorted((origins or {}).items())), *runs)
        kept_as = (key, self._divided if job.serve is not None else None)
        if kept_as not in self._sizings:
            self._sizings[kept_as] = self._size(job, origins or {}, key)
        return self._sizings[kept_as]

    def memory(self, job: Job, gpus: int) -> Memory | None:
        """Peak of each GPU on so many of any type; None where the job says too little for it."""
        return memory_at(Tries(self.reasoning(job)).at(gpus))

    def reasoning(self, job: Job, origins: dict[str, str] | None = None) -> Reasoning:
        """What is known of a job before a GPU type is chosen."""
        facts = self._settings | job_facts(job, self._catalog)
        if self._by_weeks:
            facts |= run_facts(job)
        for name, origin in (origins or {}).items():
            facts[name] = facts[name]._replace(origin=origin)
        if self._calibration is not None and job.tune is not None:
            factor = self._calibration.factor(job.tune.method)
            facts["memory_calibration"] = Known(factor, "ratio", "measured runs")
        return Reasoning(self._rules, facts)

    def _size(self, job: Job, origins: dict[str, str], key: Hashable) -> Sizing:
        reasoning = self.reasoning(job, origins)
        placements: list[Placement] = []
        rejections: list[Rejection] = []
        refused_parts: list[Rejection] = []
        tries = Tries(reasoning)
        for gpu_type, facts in self._gpus.items():
            here = reasoning.within(facts, GPU_FACTS)
            refused = self._barred(gpu_type, job) + self._counter.refuse(gpu_type, here)
            if refused:
                rejections += refused
                continue
            outcome = self._counter.place(gpu_type, facts, tries)
            if isinstance(outcome, Rejection):
                rejections.append(outcome)
                continue
            placements.append(outcome)
            if job.tune is not None and (job.run is None or job.run.weeks is None):
                placements += self._counter.place_faster(outcome, facts, tries)
            if job.serve is not None and not job.serve.whole_gpu and outcome.candidate.gpus == 1:
                parts, refusals = self._parts[gpu_type].place(self._counter, tries)
                placements += parts
                refused_parts += refusals
        return Sizing(
            id=hashlib.sha256(repr(key).encode()).hexdigest()[:12],
            summary=summary(job, reasoning.number("weight_bits")),
            candidates=tuple(placed.candidate for placed in placements),
            rejections=tuple(rejections),
            refused_parts=tuple(refused_parts),
            assumptions=_assumptions(placements),
            warnings=self._warnings(job, reasoning, placements),
        )

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
        return (*found, *self._of_time(job, placements))

    def _of_time(self, job: Job, placements: Sequence[Placement]) -> Iterator[str]:
        """What is not known of the time that a run takes, or set aside."""
        if job.run is not None and not self._by_weeks:
            yield "`run` says nothing here: policies.time is quarters, not weeks"
        if job.tune is None:
            return
        stated = job.run is not None and job.run.weeks is not None
        if job.tune.dataset_tokens is None and self._by_weeks and not stated:
            yield LENGTH_UNKNOWN
        sized = (placed.candidate for placed in placements)
        timeless = [one.gpu_type for one in sized if one.hours is None]
        if job.tune.dataset_tokens is not None and timeless:
            held = " and it holds its GPUs all quarter" if self._by_weeks and not stated else ""
            yield (
                f"run time unknown on {', '.join(timeless)}: the catalog gives no bf16 throughput, "
                f"so the deadline is not checked there{held}"
            )


def _warned(rule: Rule, situation: Reasoning) -> str:
    return f"{situation.fill(rule.message or rule.title)} ({rule.id})"


def _assumptions(placements: Iterable[Placement]) -> tuple[str, ...]:
    roots = (root for placed in placements for root in placed.roots)
    return tuple(sorted({text for one in walk(roots) for text in one.assumed}))


def _specification(job: Job) -> tuple[object, ...]:
    """What sizing depends on: neither how many, nor when, nor whose."""
    if job.tune is not None:
        tune = job.tune
        return (
            "tune",
            *(getattr(tune, name) for name in type(tune).model_fields if name != "deploy"),
        )
    if job.serve is not None:
        serve = job.serve
        names = (name for name in type(serve).model_fields if name not in _SERVE_APART)
        apart = ("whole GPU",) if serve.whole_gpu else ()
        return ("serve", *(getattr(serve, name) for name in names), *apart)
    fixed = job.fixed
    return (
        "fixed",
        *((fixed.gpus, fixed.gpu_memory_gb, fixed.cpus, fixed.memory_gb) if fixed else ()),
    )
