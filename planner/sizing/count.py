"""How many GPUs of one type a job takes, and what else it needs there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cached_property
from math import ceil, floor
from typing import Final, NamedTuple

from planner.inputs.rules.book import PLACEHOLDER, RuleBook
from planner.inputs.rules.expression import Exact
from planner.inputs.rules.facts import FACTS
from planner.inputs.rules.rule import Rule
from planner.inputs.scenario.quarter import RUN_HOURS, WEEK_HOURS
from planner.inputs.text import count_of
from planner.sizing.candidate import Candidate, Memory, MemoryPart, Rejection
from planner.sizing.engine import Derivation, Known, Reasoning, Trace
from planner.sizing.subject import GPU_FACTS

_PHASES: Final = {
    "load": "load_gb_per_gpu",
    "forward": "forward_gb_per_gpu",
    "backward": "backward_gb_per_gpu",
    "step": "step_gb_per_gpu",
    "save": "save_gb_per_gpu",
}
"""Tuning: what is live at once in each phase; the peak is the largest, plus what is always live."""

_PARTS: Final = {
    "paged states": "paged_on_gpu_gb",
    "weights": "weights_gb_per_gpu",
    "adapters": "adapters_gb_per_gpu",
    "draft": "draft_gb_per_gpu",
    "KV cache": "kv_gb_per_gpu",
    "activations": "activation_gb_per_gpu",
    "CUDA graphs": "graphs_gb_per_gpu",
}
"""Tuning: what is live in every phase. Serving: what is live all the time; the peak is the sum."""

_PEAKS: Final = {
    "peak_mb": "peak_gb_per_gpu",
    "allocator_peak_mb": "allocator_peak_gb_per_gpu",
    "context_mb": "context_gb_per_gpu",
    "low_mb": "peak_low_gb_per_gpu",
    "high_mb": "peak_high_gb_per_gpu",
    "needed_mb": "needed_gb_per_gpu",
    "reserved_mb": "reserved_gb_per_gpu",
    "nvidia_smi_mb": "nvidia_smi_gb_per_gpu",
}
"""Figures of `Memory`, per GPU, by the results of rules that give them."""

_NEEDED: Final = (
    "gpus",
    "nodes_at_most",
    "planned_memory_gb",
    "usable_gb_per_gpu",
    "cpus",
    "host_memory_gb",
)
"""Results without which there is no candidate."""

_FREE: Final = "free_gb_per_gpu"
_SHOWN: Final = (
    *_PHASES.values(),
    *_PARTS.values(),
    *_PEAKS.values(),
    _FREE,
    "memory_gb",
    "baseline_gpus",
    "floor_gpus",
    "gpus_for_memory",
    "gpus_needed",
    *_NEEDED,
    "storage_gb",
)
"""What a trace explains, in this order; then what depends on the job:"""
_PLANNED: Final = "planned_hours"
_SHARED: Final = "shared_memory_gb"
_REPLICAS: Final = "replicas_for_load"
_SHOWN_WITH: Final = {
    "hours": ("hours", "hours_allowed"),
    _PLANNED: (_PLANNED,),
    _SHARED: (_SHARED,),
    _REPLICAS: ("in_flight_high", "ttft_ms", "tpot_ms", "e2e_ms", _REPLICAS),
}
"""What else it explains where one of these is known; of a replica, when it takes all it may."""

_TRIED: Final = "gpus_tried"
"""What is known once a number of GPUs is being tried."""
_COUNT: Final = frozenset({"gpus_needed", "gpus", _TRIED})
_MB_PER_GB: Final = 1000


class Tries:
    """Situations of one job by GPU count and GPU type.

    A peak of memory depends on the count and rarely on the GPU type, so the count comes first.
    """

    def __init__(
        self, job: Reasoning, chosen: Mapping[str, Known] | None = None, like: Tries | None = None
    ) -> None:
        """`job` is what is known before a count or a GPU type is chosen; `chosen` comes after both.

        What `chosen` does not change is shared with `like`, which differs in nothing else.
        """
        self._open, self._chosen = job, chosen or {}
        self.job = job.within(self._chosen) if chosen else job
        """The job before a count or a GPU type is chosen."""
        self._like = like
        self._known: dict[object, Reasoning] = like._known if like else {}
        self._here: dict[Reasoning, Reasoning] = {}

    @cached_property
    def by_peak(self) -> bool:
        """Return whether the job says enough for the peak of memory per GPU, which then decides."""
        if self._like is not None:
            return self._like.by_peak
        return self._situation(None, 1, 1, None).derive("peak_gb_per_gpu") is not None

    def at(self, gpus: int) -> Reasoning:
        """The job on this many GPUs of no particular type."""
        return self.on(None, gpus)

    def on(
        self, gpu: Mapping[str, Known] | None, gpus: int, enough: int | None = None
    ) -> Reasoning:
        """The job on this many GPUs of a type.

        `enough` is the smaller count that would do, were it not for a deadline and the like.
        """
        return self._situation(gpu, gpus, (enough or gpus) if self.by_peak else None, enough)

    def counted(self, needed: int) -> int:
        """Return the number of GPUs that rules allow a job which needs so many."""
        if self._like is not None:
            return self._like.counted(needed)
        if needed not in self._known:
            self._known[needed] = self._open.within({"gpus_needed": _gpus(needed)})
        allowed = self._choose(self._known[needed]).number("gpus")
        return ceil(allowed) if allowed else needed

    def _situation(
        self,
        gpu: Mapping[str, Known] | None,
        gpus: int,
        for_memory: int | None,
        enough: int | None,
    ) -> Reasoning:
        at = (gpus, for_memory, enough)
        if at not in self._known:
            counts = {_TRIED: gpus, "gpus_for_memory": for_memory}
            counts["gpus_needed"] = None if enough is None else gpus
            self._known[at] = self._open.within(
                {name: _gpus(count) for name, count in counts.items() if count is not None}
            )
        if gpu is None:
            return self._choose(self._known[at])
        on = (at, id(gpu))  # the situation keeps it alive
        if on not in self._known:
            self._known[on] = self._known[at].within(gpu)
        return self._choose(self._known[on])

    def _choose(self, situation: Reasoning) -> Reasoning:
        if not self._chosen:
            return situation
        if situation not in self._here:
            self._here[situation] = situation.within(self._chosen)
        return self._here[situation]


def _gpus(count: int) -> Known:
    return Known(count, "GPUs", "tried")


class Placement(NamedTuple):
    """A candidate, the situation it was settled in, and how its figures came about."""

    candidate: Candidate
    situation: Reasoning
    trace: Trace

    def updated(self, **told: object) -> Placement:
        """Return the placement with other figures of its candidate."""
        return self._replace(candidate=self.candidate.model_copy(update=told))


class _Settled(NamedTuple):
    """A count that every rule allows."""

    at: Reasoning
    too_small: Derivation | None
    """What was missing at the largest count on which the peak did not fit."""
    raised_by: str
    """What requires a count above the need for memory; empty: nothing."""


class Counter:
    """Finds the smallest GPU count that every rule allows."""

    def __init__(self, rules: RuleBook, exclusions: tuple[Rule, ...]) -> None:
        """`exclusions` are those that hold in this scenario, without the waived ones."""
        counted = rules.depending_on(_COUNT)
        limits = [rule for rule in exclusions if counted & rule.asks]
        self._eligibility = tuple(rule for rule in exclusions if rule not in limits)
        timed = rules.depending_on(frozenset({"hours"}))
        self._late = tuple(rule for rule in limits if timed & rule.asks)
        self._splits = tuple(
            rule for rule in limits if _TRIED in rule.asks and rule not in self._late
        )
        passing = (*self._late, *self._splits)
        self._limits = tuple(rule for rule in limits if rule not in passing)
        self._local = rules.depending_on(GPU_FACTS | _COUNT)

    def refuse(self, gpu_type: str, situation: Reasoning) -> list[Rejection]:
        """Return every rule that keeps the job off this GPU type, whatever the count."""
        return [
            _rejection(gpu_type, rule, situation)
            for rule in self._eligibility
            if situation.holds(rule)
        ]

    def hangs_on_gpu(self, rule: Rule) -> bool:
        """Return whether a rule says one thing on one GPU type and another on the next."""
        return bool(self._local & (rule.asks | {*PLACEHOLDER.findall(rule.message or "")}))

    def place(self, gpu_type: str, gpu: Mapping[str, Known], job: Tries) -> Placement | Rejection:
        """Size a job on one GPU type.

        If the peak of memory is known, one count after another is tried until it fits; otherwise
        the rules give the count. A count that a rule refuses, or that is too slow, gives way to
        the next.
        """
        first, passed_over = self._first(gpu, job)
        found = self._settled(gpu_type, gpu, job, first)
        if isinstance(found, Rejection):
            return found
        if found.too_small is None and passed_over is not None:
            found = found._replace(too_small=job.on(gpu, passed_over).derive(_FREE))
        return _placed(gpu_type, job, found)

    def fewest(self, gpu: Mapping[str, Known], job: Tries) -> int | None:
        """Return the smallest count of one type on which a job may run; None if there is none."""
        found = self._settled("", gpu, job, self._first(gpu, job)[0])
        return None if isinstance(found, Rejection) else ceil(_number(found.at, "gpus"))

    def place_on(
        self, gpu_type: str, gpu: Mapping[str, Known], job: Tries, gpus: int
    ) -> Placement | Rejection | None:
        """Size a job on exactly so many GPUs of a type; None if it takes another count."""
        first = job.counted(gpus) if job.by_peak else None
        found, is_last = next(self._attempts(gpu_type, gpu, job, first))
        if isinstance(found, Rejection):
            return found if is_last else None
        return _placed(gpu_type, job, found) if found.at.number("gpus") == gpus else None

    def place_faster(
        self, placed: Placement, gpu: Mapping[str, Known], job: Tries
    ) -> Iterator[Placement]:
        """Yield twice as many GPUs, and so on, while rules allow it and the run gets shorter.

        For a run within a week this gains nothing: others have the GPUs after it.
        """
        one = placed.candidate
        while one.planned_hours is not None and one.planned_hours > WEEK_HOURS:
            found = self._settled(one.gpu_type, gpu, job, job.counted(2 * one.gpus), one.gpus)
            if isinstance(found, Rejection):
                return
            faster = _placed(one.gpu_type, job, found._replace(raised_by="time"))
            if isinstance(faster, Rejection):
                return
            if (faster.candidate.planned_hours or one.planned_hours) >= one.planned_hours:
                return
            one = faster.candidate
            yield faster

    def _first(self, gpu: Mapping[str, Known], job: Tries) -> tuple[int | None, int | None]:
        """Return the first count and the one before it; None if rules give the count.

        Counts whose need, alike on every GPU type, is more than this one offers are passed over.
        """
        if not job.by_peak:
            return None, None
        gpus, passed_over = job.counted(1), None
        offered = job.on(gpu, gpus).number("usable_gb_per_gpu")
        while offered is not None:
            need = job.at(gpus).number("needed_gb_per_gpu")
            if need is None or need <= offered:
                break
            larger = job.counted(gpus + 1)
            if larger <= gpus or any(job.at(larger).holds(rule) for rule in self._limits):
                break
            passed_over, gpus = gpus, larger
        return gpus, passed_over

    def _settled(
        self,
        gpu_type: str,
        gpu: Mapping[str, Known],
        job: Tries,
        gpus: int | None,
        enough: int | None = None,
    ) -> _Settled | Rejection:
        *_, (found, _) = self._attempts(gpu_type, gpu, job, gpus, enough)
        return found

    def _attempts(
        self,
        gpu_type: str,
        gpu: Mapping[str, Known],
        job: Tries,
        gpus: int | None,
        enough: int | None = None,
    ) -> Iterator[tuple[_Settled | Rejection, bool]]:
        """Yield the outcome of one count after another, and whether it is final for the job.

        `gpus` is the first of them; None: the one that rules give. `enough` is the smallest
        count that fits; larger ones have another cause.
        """
        objection: Rejection | None = None
        too_small: Derivation | None = None
        raised_by = ""
        tried: Fraction | int | None = None
        if gpus is None:
            at = job.job.within(gpu)
            given = at.number("gpus")
            if given is None:
                yield _unknown(gpu_type, "gpus", at), True
                return
            gpus = ceil(given)
        while True:
            at = job.on(gpu, gpus, None if enough == gpus else enough)
            if at.number("gpus") is None:
                yield _unknown(gpu_type, "gpus", at), True
                return
            limit = next((rule for rule in self._limits if at.holds(rule)), None)
            if limit is not None:
                yield objection or _rejection(gpu_type, limit, at), True
                return
            free = at.derive(_FREE)
            if free is not None and _number(at, _FREE) < 0:
                too_small, raised_by, objection = free, "", _too_small(gpu_type, free, at)
            elif splits := next((rule for rule in self._splits if at.holds(rule)), None):
                raised_by, objection = "parallelism", _rejection(gpu_type, splits, at)
            else:
                enough = enough or gpus
                late = next((rule for rule in self._late if at.holds(rule)), None)
                if late is None:
                    yield _Settled(at, too_small, raised_by), True
                    return
                hours = at.number(_PLANNED)
                if objection is None or hours != tried:  # else more GPUs take no hour off
                    raised_by, objection = "deadline", _rejection(gpu_type, late, at)
                tried = hours
            yield objection, False
            if not job.by_peak:
                enough = enough or gpus
            larger = job.counted(gpus + 1)
            if larger <= gpus:
                return
            gpus = larger


def _placed(gpu_type: str, job: Tries, found: _Settled) -> Placement | Rejection:
    """Return the candidate on a count that rules allow, unless they lack a figure of it."""
    at = found.at
    lacking = next((name for name in _asked(job) if at.derive(name) is None), None)
    if lacking is not None:
        return _unknown(gpu_type, lacking, at)
    extra = {name: at.number(name) for name in _SHOWN_WITH}
    shown = [*_SHOWN]
    for name, value in extra.items():
        shown += () if value is None else _SHOWN_WITH[name]
    before = () if found.too_small is None else (found.too_small,)
    trace = Trace(before, tuple(map(at.derive, shown)))
    hours, planned, replicas = extra["hours"], extra[_PLANNED], extra[_REPLICAS]
    gpus = _number(at, "gpus")
    candidate = Candidate(
        gpu_type=gpu_type,
        gpus=ceil(gpus),
        gpu_memory_mb=ceil(_number(at, "planned_memory_gb") * _MB_PER_GB),
        gpu_capacity_mb=floor(gpus * _number(at, "usable_gb_per_gpu") * _MB_PER_GB),
        memory=memory_at(at),
        cpus=ceil(_number(at, "cpus")),
        memory_mb=ceil(_number(at, "host_memory_gb") * _MB_PER_GB),
        storage_mb=_mb(at, "storage_gb") or 0,
        hours=None if hours is None else float(hours),
        planned_hours=None if planned is None else ceil(planned),
        shared_mb=_mb(at, _SHARED) or 0,
        replicas=1 if replicas is None else ceil(replicas),
        may_span=_number(at, "nodes_at_most") > 1,
        decided_by=found.raised_by or _decided_by(at),
        trace=trace,
    )
    return Placement(candidate, at, trace)


def memory_at(situation: Reasoning) -> Memory | None:
    """Gather what the rules say at a number of GPUs; None if they cannot tell the peak."""
    peaks = {name: _mb(situation, result) for name, result in _PEAKS.items()}
    if peaks["peak_mb"] is None:
        return None

    def named(results: Mapping[str, str]) -> tuple[MemoryPart, ...]:
        found = ((name, _mb(situation, result)) for name, result in results.items())
        return tuple(MemoryPart(name=name, mb=mb) for name, mb in found if mb is not None)

    return Memory.model_validate({"phases": named(_PHASES), "parts": named(_PARTS), **peaks})


def _mb(situation: Reasoning, result: str) -> int | None:
    gb = situation.number(result)
    return None if gb is None else ceil(gb * _MB_PER_GB)


def _asked(job: Tries) -> tuple[str, ...]:
    """Return the results without which there is no candidate for this job."""
    by_peak = (_FREE,) if job.by_peak else ()
    by_load = () if job.job.derive("requests_per_second") is None else (_REPLICAS,)
    allowed = job.job.number("window_hours")
    in_time = () if allowed is None or allowed == RUN_HOURS else (_PLANNED,)
    return (*_NEEDED, *by_peak, *by_load, *in_time)


def _too_small(gpu_type: str, free: Derivation, at: Reasoning) -> Rejection:
    """Say what one GPU of the last count would have to hold."""
    rule = free.rule
    need, offer = (float(_number(at, name)) for name in ("needed_gb_per_gpu", "usable_gb_per_gpu"))
    gpus = ceil(_number(at, "gpus"))
    most = f"{offer:,.1f} GB on {gpu_type}"
    return Rejection(
        gpu_type=gpu_type,
        rule=rule.id if rule else _FREE,
        message=f"at {count_of(gpus, 'GPU')} each still needs {need:,.1f} GB, of {most}",
        sources=rule.source_texts if rule else (),
        short_gb=need - offer,
    )


def _decided_by(at: Reasoning) -> str:
    """Return which layer set the count."""
    needed = at.number("gpus_needed")
    derivation = at.derive("gpus")
    if derivation is None or derivation.rule is None or needed is None or at.number("stated_gpus"):
        return "stated"
    if _number(at, "gpus") > needed:
        return "parallelism"
    for layer in ("floor", "baseline"):
        if at.number("gpus_for_memory") != needed and at.number(f"{layer}_gpus") == needed:
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
    if (fact := FACTS.get(cause)) and fact.origin == "model":
        reason += f" ({fact.meaning}), which a `model` states, or a `family` beside `parameters_b`"
    return Rejection(
        gpu_type=gpu_type, rule="rules", message=f"{missing} cannot be sized here: {reason}"
    )
