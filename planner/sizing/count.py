"""How many GPUs of one type a job takes, and what else it needs there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import ceil, floor
from typing import Final, NamedTuple

from planner.inputs.rules.book import PLACEHOLDER, RuleBook
from planner.inputs.rules.expression import Exact
from planner.inputs.rules.rule import Rule, needs
from planner.inputs.scenario.quarter import RUN_HOURS, WEEK_HOURS
from planner.sizing.candidate import Candidate, Rejection, Trace
from planner.sizing.engine import Derivation, Known, Reasoning
from planner.sizing.memory import MEMORY_RESULTS, memory_at
from planner.sizing.subject import GPU_FACTS
from planner.sizing.tries import COUNT_FACTS, Tries, rules_of, walk

NEEDED: Final = (
    "gpus",
    "nodes_at_most",
    "planned_memory_gb",
    "usable_gb_per_gpu",
    "cpus",
    "host_memory_gb",
)
"""Results without which there is no candidate."""

_SHOWN: Final = (
    *MEMORY_RESULTS,
    "free_gb_per_gpu",
    "memory_gb",
    "baseline_gpus",
    "floor_gpus",
    "gpus_for_memory",
    "gpus_needed",
    *NEEDED,
    "storage_gb",
)
"""What a trace explains, in this order."""

_SHOWN_WITH_HOURS: Final = ("hours", "hours_allowed")

_LOAD: Final = "requests_per_second"
"""What a job states for which the replicas follow from throughput."""
_REPLICAS: Final = "replicas_for_load"
_LATENCY: Final = ("in_flight_high", "ttft_ms", "tpot_ms", "e2e_ms")
"""Of a replica that takes the most that it may."""
_PLANNED: Final = "planned_hours"
_SHARED: Final = "shared_memory_gb"

_FREE: Final = "free_gb_per_gpu"
_COUNT: Final = frozenset({"gpus_needed", "gpus"}) | COUNT_FACTS
_MB_PER_GB: Final = 1000


class Placement(NamedTuple):
    """A candidate, the situation it was settled in, and what was asked for there."""

    candidate: Candidate
    situation: Reasoning
    roots: tuple[Derivation | None, ...]


class Counter:
    """Finds the smallest GPU count that every rule allows."""

    def __init__(self, rules: RuleBook, exclusions: tuple[Rule, ...]) -> None:
        """`exclusions` are those that hold in this scenario, the waived ones left out."""
        counted = rules.depending_on(_COUNT)
        limits = [rule for rule in exclusions if counted & needs(rule)]
        self.eligibility = tuple(rule for rule in exclusions if rule not in limits)
        timed = rules.depending_on(frozenset({"hours"}))
        self._late = tuple(rule for rule in limits if timed & needs(rule))
        self._splits = tuple(
            rule for rule in limits if COUNT_FACTS & needs(rule) and rule not in self._late
        )
        passing = (*self._late, *self._splits)
        self._limits = tuple(rule for rule in limits if rule not in passing)
        self._local = rules.depending_on(GPU_FACTS | _COUNT)

    def refuse(self, gpu_type: str, situation: Reasoning) -> list[Rejection]:
        """Every rule that keeps the job off this GPU type, whatever the count."""
        return [
            _rejection(gpu_type, rule, situation)
            for rule in self.eligibility
            if situation.holds(rule)
        ]

    def place(self, gpu_type: str, gpu: Mapping[str, Known], job: Tries) -> Placement | Rejection:
        """Size a job on one GPU type.

        Where the peak of memory is known, one count after another is tried until it fits; else the
        rules give the count. One that a rule refuses, or that is too slow, gives way to the next.
        """
        search = _Search(gpu_type, gpu, job)
        search.pass_over_what_cannot_fit(self._limits)
        return self._found(search)

    def fewest(self, gpu: Mapping[str, Known], job: Tries) -> int | None:
        """GPUs of the smallest count of one type on which a job may run; None if on none."""
        search = _Search("", gpu, job)
        search.pass_over_what_cannot_fit(self._limits)
        found = self._settled(search)
        return None if isinstance(found, Rejection) else ceil(_number(found, "gpus"))

    def place_on(
        self, gpu_type: str, gpu: Mapping[str, Known], job: Tries, gpus: int
    ) -> Placement | Rejection | None:
        """Size a job on exactly so many GPUs of a type; None where it takes another count."""
        search = _Search(gpu_type, gpu, job, gpus)
        at = self._tried(search)
        if not isinstance(at, Reasoning):
            return at
        return self._placement(search, at) if at.number("gpus") == gpus else None

    def place_faster(
        self, placed: Placement, gpu: Mapping[str, Known], job: Tries
    ) -> Iterator[Placement]:
        """Twice as many GPUs, and so on, as far as the rules allow and the run gets shorter.

        Of a run within a week nobody gains by that: others have the GPUs after it.
        """
        gpus, hours = placed.candidate.gpus, placed.candidate.planned_hours
        while hours is not None and hours > WEEK_HOURS:
            search = _Search(placed.candidate.gpu_type, gpu, job)
            search.start_at(2 * gpus, placed.candidate.gpus)
            found = self._found(search)
            if isinstance(found, Rejection) or (found.candidate.planned_hours or hours) >= hours:
                return
            gpus, hours = found.candidate.gpus, found.candidate.planned_hours
            sooner = found.candidate.model_copy(update={"decided_by": "time"})
            yield found._replace(candidate=sooner)

    def _found(self, search: _Search) -> Placement | Rejection:
        at = self._settled(search)
        return at if isinstance(at, Rejection) else self._placement(search, at)

    def _settled(self, search: _Search) -> Reasoning | Rejection:
        """Try one count after another, from where the search stands."""
        while True:
            found = self._tried(search) or search.widen()
            if found is not None:
                return found

    def _tried(self, search: _Search) -> Reasoning | Rejection | None:
        """The job on the count that is being tried; None where it gives way to the next."""
        at = search.situation()
        if at.number("gpus") is None:
            return _unknown(search.gpu_type, "gpus", at)
        limit = next((rule for rule in self._limits if at.holds(rule)), None)
        if limit is not None:
            return search.objection or _rejection(search.gpu_type, limit, at)
        objection = self._objection(search, at)
        if objection is not None:
            search.objection = objection
            return None
        missing = next((name for name in _asked(search.job) if at.derive(name) is None), None)
        return at if missing is None else _unknown(search.gpu_type, missing, at)

    def hangs_on_gpu(self, rule: Rule) -> bool:
        """Whether a rule says one thing on one GPU type and another on the next."""
        return bool(self._local & (needs(rule) | {*PLACEHOLDER.findall(rule.message or "")}))

    def _objection(self, search: _Search, at: Reasoning) -> Rejection | None:
        """What speaks against the count being tried."""
        free = at.derive(_FREE)
        if free is not None and _number(at, _FREE) < 0:
            search.too_small = free
            search.raised_by = ""
            return _too_small(search.gpu_type, free, at)
        splits = next((rule for rule in self._splits if at.holds(rule)), None)
        if splits is not None:
            search.raised_by = "parallelism"
            return _rejection(search.gpu_type, splits, at)
        search.settle()
        slow = next((rule for rule in self._late if at.holds(rule)), None)
        if slow is None:
            return None
        search.raised_by = "deadline"
        return _rejection(search.gpu_type, slow, at)

    def _placement(self, search: _Search, at: Reasoning) -> Placement:
        gpus = _number(at, "gpus")
        hours, replicas, planned, shared_gb = (
            at.number(name) for name in ("hours", _REPLICAS, _PLANNED, _SHARED)
        )
        shown = (
            *_SHOWN,
            *(() if hours is None else _SHOWN_WITH_HOURS),
            *(() if planned is None else (_PLANNED,)),
            *(() if shared_gb is None else (_SHARED,)),
            *(() if replicas is None else (*_LATENCY, _REPLICAS)),
        )
        too_few, roots = search.too_few(), tuple(at.derive(name) for name in shown)
        recorder = search.job.recorder
        candidate = Candidate(
            gpu_type=search.gpu_type,
            gpus=ceil(gpus),
            gpu_memory_mb=ceil(_number(at, "planned_memory_gb") * _MB_PER_GB),
            gpu_capacity_mb=floor(gpus * _number(at, "usable_gb_per_gpu") * _MB_PER_GB),
            memory=memory_at(at),
            cpus=ceil(_number(at, "cpus")),
            memory_mb=ceil(_number(at, "host_memory_gb") * _MB_PER_GB),
            storage_mb=ceil((at.number("storage_gb") or 0) * _MB_PER_GB),
            hours=None if hours is None else float(hours),
            planned_hours=None if planned is None else ceil(planned),
            shared_mb=ceil((shared_gb or 0) * _MB_PER_GB),
            replicas=1 if replicas is None else ceil(replicas),
            may_span=_number(at, "nodes_at_most") > 1,
            decided_by=search.raised_by or _decided_by(at),
            trace=Trace(
                lambda: rules_of((*too_few, *walk(roots))),
                lambda: recorder.steps((*too_few, *walk(roots))),
            ),
        )
        return Placement(candidate, at, roots)


class _Search:
    """The counts that are tried for one job on one GPU type, and what was said of them."""

    def __init__(
        self, gpu_type: str, gpu: Mapping[str, Known], job: Tries, at_least: int = 1
    ) -> None:
        self.gpu_type = gpu_type
        self.objection: Rejection | None = None
        """The last one that was raised."""
        self.too_small: Derivation | None = None
        """What was missing at the largest count on which the peak did not fit."""
        self.raised_by = ""
        """What a count above the need for memory is owed to."""
        self.job = job
        self._gpu = gpu
        self._gpus: int | None = job.counted(at_least) if job.by_peak else None
        self._situations: dict[tuple[int, int | None], Reasoning] = {}
        self._passed_over: int | None = None
        self._enough: int | None = None
        """The smallest count that fits; larger ones are owed to something else."""

    def situation(self) -> Reasoning:
        """The job on the count that is being tried."""
        if self._gpus is None:
            alone = self.job.job.within(self._gpu)
            stated = alone.number("gpus")
            if stated is None:
                return alone
            self._gpus = ceil(stated)
        raised = self._enough if self._enough != self._gpus else None
        return self._at(self._gpus, raised)

    def _at(self, gpus: int, enough: int | None = None) -> Reasoning:
        key = (gpus, enough)
        if key not in self._situations:
            self._situations[key] = self.job.on(self._gpu, gpus, enough)
        return self._situations[key]

    def pass_over_what_cannot_fit(self, limits: tuple[Rule, ...]) -> None:
        """Go past the counts whose need, alike on every GPU type, is more than this one offers."""
        if self._gpus is None:
            return
        offered = self.situation().number("usable_gb_per_gpu")
        while offered is not None:
            need = self.job.at(self._gpus).number("needed_gb_per_gpu")
            if need is None or need <= offered:
                return
            larger = self.job.counted(self._gpus + 1)
            last = any(self.job.at(larger).holds(rule) for rule in limits)
            if last or larger <= self._gpus:
                return
            self._passed_over, self._gpus = self._gpus, larger

    def too_few(self) -> tuple[Derivation, ...]:
        """What was missing at the next smaller count, if the peak did not fit there."""
        if self.too_small is None and self._passed_over is not None:
            self.too_small = self._at(self._passed_over).derive(_FREE)
        return () if self.too_small is None else (self.too_small,)

    def start_at(self, gpus: int, enough: int) -> None:
        """Begin at the first count from here on, where `enough` would do."""
        self._enough = enough
        self._gpus = self.job.counted(gpus)

    def settle(self) -> None:
        """Take the count as enough for memory."""
        self._enough = self._enough or self._gpus

    def widen(self) -> Rejection | None:
        """Go on to the next count; what was said of this one where the rules allow no other."""
        before = self._gpus or 0
        if not self.job.by_peak:
            self.settle()
        self._gpus = self.job.counted(before + 1)
        return None if self._gpus > before else self.objection


def _asked(job: Tries) -> tuple[str, ...]:
    """Results without which there is no candidate for this job."""
    by_peak = (_FREE,) if job.by_peak else ()
    by_load = () if job.job.derive(_LOAD) is None else (_REPLICAS,)
    allowed = job.job.number("window_hours")
    in_time = () if allowed is None or allowed == RUN_HOURS else (_PLANNED,)
    return (*NEEDED, *by_peak, *by_load, *in_time)


def _too_small(gpu_type: str, free: Derivation, at: Reasoning) -> Rejection:
    """What one GPU of the count tried last would have to hold."""
    rule = free.rule
    need, offer = (float(_number(at, name)) for name in ("needed_gb_per_gpu", "usable_gb_per_gpu"))
    gpus = ceil(_number(at, "gpus"))
    return Rejection(
        gpu_type=gpu_type,
        rule=rule.id if rule else _FREE,
        message=f"at {gpus} GPUs each still needs {need:,.1f} GB, of {offer:,.1f} GB on {gpu_type}",
        sources=rule.source_texts if rule else (),
        short_gb=need - offer,
    )


def _decided_by(at: Reasoning) -> str:
    """Which layer set the count."""
    needed = at.number("gpus_needed")
    derivation = at.derive("gpus")
    if derivation is None or derivation.rule is None or needed is None or at.number("stated_gpus"):
        return "stated"
    if _number(at, "gpus") > needed:
        return "parallelism"
    layers = (
        ("memory", "gpus_for_memory"),
        ("floor", "floor_gpus"),
        ("baseline", "baseline_gpus"),
    )
    for layer, name in layers:
        if at.number(name) == needed:
            return layer
    return "memory"


def _number(at: Reasoning, name: str) -> Exact:
    value = at.number(name)
    if value is None:
        raise LookupError(name)
    return value


def _rejection(gpu_type: str, rule: Rule, situation: Reasoning) -> Rejection:
    return Rejection(
        gpu_type=gpu_type,
        rule=rule.id,
        message=situation.fill(rule.message or rule.title),
        sources=rule.source_texts,
    )


def _unknown(gpu_type: str, missing: str, situation: Reasoning) -> Rejection:
    cause = situation.why_unknown(missing)
    reason = "no rule gives it" if cause == missing else f"nothing is known of {cause}"
    return Rejection(
        gpu_type=gpu_type, rule="rules", message=f"{missing} cannot be sized here: {reason}"
    )
