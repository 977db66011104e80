"""How many GPUs of one type a job takes, and what else it needs there."""

from __future__ import annotations

from math import ceil, floor
from typing import TYPE_CHECKING, Final

from planner.sizing.candidate import Candidate, Rejection
from planner.sizing.engine import Known
from planner.sizing.trace import Recorder, walk

if TYPE_CHECKING:
    from fractions import Fraction

    from planner.inputs.rule import Rule
    from planner.inputs.rules import RuleBook
    from planner.sizing.engine import Derivation, Reasoning

__all__ = ["NEEDED", "Counter"]

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

_COUNT: Final = frozenset({"gpus_needed", "gpus"})
_MB_PER_GB: Final = 1000


class Counter:
    """Finds the smallest GPU count that every rule allows."""

    def __init__(self, rules: RuleBook, exclusions: tuple[Rule, ...]) -> None:
        """`exclusions` are those that hold in this scenario, the waived ones left out."""
        counted = rules.depending_on(_COUNT)
        timed = rules.depending_on(frozenset({"hours"}))
        limits = [rule for rule in exclusions if counted & _names(rule)]
        self.eligibility = tuple(rule for rule in exclusions if rule not in limits)
        self._late = tuple(rule for rule in limits if timed & _names(rule))
        self._limits = tuple(rule for rule in limits if rule not in self._late)
        self._recorder = Recorder()

    def place(
        self, gpu_type: str, situation: Reasoning
    ) -> tuple[Candidate | Rejection, tuple[Derivation, ...]]:
        """Size a job on one GPU type; also gives what the answer was derived from.

        A run that is too slow gets the next larger count, as long as the other limits allow it.
        """
        late: Rejection | None = None
        tried = situation
        while True:
            missing = next((name for name in NEEDED if tried.derive(name) is None), None)
            if missing is not None:
                return _unknown(gpu_type, missing, tried), ()
            for rule in self._limits:
                if tried.holds(rule):
                    return late or _rejection(gpu_type, rule, tried), ()
            slow = next((rule for rule in self._late if tried.holds(rule)), None)
            if slow is None:
                return self._candidate(gpu_type, tried, raised=late is not None)
            late = _rejection(gpu_type, slow, tried)
            more = _with_more_gpus(tried, situation, slow)
            if more is None:
                return late, ()
            tried = more

    def refuse(self, gpu_type: str, situation: Reasoning) -> list[Rejection]:
        """Every rule that keeps the job off this GPU type, whatever the count."""
        return [
            _rejection(gpu_type, rule, situation)
            for rule in self.eligibility
            if situation.holds(rule)
        ]

    def _candidate(
        self, gpu_type: str, at: Reasoning, *, raised: bool
    ) -> tuple[Candidate, tuple[Derivation, ...]]:
        gpus = _number(at, "gpus")
        hours = at.number("hours")
        shown = _SHOWN if hours is None else (*_SHOWN, *_SHOWN_WITH_HOURS)
        derived = tuple(walk(at.derive(name) for name in shown))
        candidate = Candidate(
            gpu_type=gpu_type,
            gpus=ceil(gpus),
            gpu_memory_mb=ceil(_number(at, "planned_memory_gb") * _MB_PER_GB),
            gpu_capacity_mb=floor(gpus * _number(at, "usable_gb_per_gpu") * _MB_PER_GB),
            cpus=ceil(_number(at, "cpus")),
            memory_mb=ceil(_number(at, "host_memory_gb") * _MB_PER_GB),
            storage_mb=ceil((at.number("storage_gb") or 0) * _MB_PER_GB),
            hours=None if hours is None else float(hours),
            may_span=_number(at, "nodes_at_most") > 1,
            decided_by="deadline" if raised else _decided_by(at),
            trace=self._recorder.steps(derived),
        )
        return candidate, derived


def _names(rule: Rule) -> set[str]:
    return {*rule.applies, *rule.inputs}


def _with_more_gpus(tried: Reasoning, situation: Reasoning, slow: Rule) -> Reasoning | None:
    """The same job on the next larger count; None where its count is stated."""
    gpus = _number(tried, "gpus")
    more = Known(gpus + 1, "GPUs", f"rule {slow.id}")
    wider = situation.within({"gpus_needed": more}, frozenset({"gpus_needed"}))
    return wider if (wider.number("gpus") or 0) > gpus else None


def _decided_by(at: Reasoning) -> str:
    """Which layer set the count."""
    needed = at.number("gpus_needed")
    derivation = at.derive("gpus")
    if derivation is None or derivation.rule is None or needed is None:
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


def _number(at: Reasoning, name: str) -> Fraction:
    value = at.number(name)
    if value is None:
        raise LookupError(name)
    return value


def _rejection(gpu_type: str, rule: Rule, situation: Reasoning) -> Rejection:
    return Rejection(
        gpu_type=gpu_type,
        rule=rule.id,
        message=situation.fill(rule.message or rule.title),
        sources=tuple(source.text for source in rule.sources),
    )


def _unknown(gpu_type: str, missing: str, situation: Reasoning) -> Rejection:
    cause = situation.why_unknown(missing)
    reason = "no rule gives it" if cause == missing else f"nothing is known of {cause}"
    return Rejection(
        gpu_type=gpu_type, rule="rules", message=f"{missing} cannot be sized here: {reason}"
    )
