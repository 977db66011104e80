"""One job at any number of GPUs, on any GPU type, and the steps that a reader sees of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from functools import cached_property
from math import ceil
from typing import Final

from planner.inputs.rules.rule import Rule, Value
from planner.sizing.candidate import DerivationStep, Quantity
from planner.sizing.engine import Derivation, Known, Reasoning


class Recorder:
    """Writes the steps of one job; what its GPU types have in common is written once and shared."""

    def __init__(self) -> None:
        self._steps: dict[Derivation, DerivationStep] = {}
        self._quantities: dict[tuple[str, int], tuple[Known, Quantity]] = {}

    def steps(self, walked: Iterable[Derivation]) -> tuple[DerivationStep, ...]:
        """One step per rule that spoke, in the order of the walk."""
        return tuple(
            self._steps.get(derivation) or self._write(derivation.rule, derivation)
            for derivation in walked
            if derivation.rule is not None
        )

    def _write(self, rule: Rule, derivation: Derivation) -> DerivationStep:
        step = DerivationStep(
            rule=rule.id,
            title=rule.title,
            formula=rule.stated,
            inputs=tuple(self._quantity(name, known) for name, known in derivation.inputs),
            result=self._quantity(rule.gives or rule.id, derivation.known),
            sources=rule.source_texts,
        )
        self._steps[derivation] = step
        return step

    def _quantity(self, name: str, known: Known) -> Quantity:
        """The figure under its name; the same object for the same `known`, which is kept alive."""
        key = (name, id(known))
        if key not in self._quantities:
            quantity = Quantity(
                name=name, value=_plain(known.value), unit=known.unit, origin=known.origin
            )
            self._quantities[key] = (known, quantity)
        return self._quantities[key][1]


def rules_of(walked: Iterable[Derivation]) -> frozenset[str]:
    """Ids of the rules of the steps that would be written."""
    return frozenset(one.rule.id for one in walked if one.rule is not None)


def walk(roots: Iterable[Derivation | None]) -> tuple[Derivation, ...]:
    """Every derivation below these, once, what is needed before what needs it.

    A situation derives each name once, so identity tells whether one was seen.
    """
    seen: set[Derivation] = set()
    found: list[Derivation] = []

    def visit(derivation: Derivation) -> None:
        if derivation not in seen:
            seen.add(derivation)
            for needed in derivation.needs:
                visit(needed)
            found.append(derivation)

    for root in roots:
        if root is not None and root.rule is not None:
            visit(root)
    return tuple(found)


def _plain(value: Value) -> float | str | bool:
    return value if isinstance(value, str | bool) else float(value)


COUNT_FACTS: Final = frozenset({"gpus_tried"})
"""What is known once a number of GPUs is being tried."""

TRIED: Final = "tried"
"""Origin of a count that is being tried."""


class Tries:
    """Situations of one job by GPU count and GPU type.

    A peak of memory depends on the count and rarely on the GPU type, so the count comes first.
    """

    def __init__(self, job: Reasoning) -> None:
        """`job` is what is known before a count or a GPU type is chosen."""
        self.job = job
        self.recorder = Recorder()
        """Writes the traces of this job."""
        self._open = job
        self._chosen: Mapping[str, Known] = {}
        self._needing: dict[int, Reasoning] = {}
        self._by_count: dict[tuple[int, int | None, int | None], Reasoning] = {}
        self._by_type: dict[tuple[int, int], tuple[Reasoning, Mapping[str, Known], Reasoning]] = {}
        self._here: dict[Reasoning, Reasoning] = {}

    def choosing(self, facts: Mapping[str, Known]) -> Tries:
        """The same where these facts are known last of all; what they do not change is shared.

        Whether there is a peak of memory is taken from here.
        """
        made = copy(self)
        made.job, made._chosen, made._here = self._open.within(facts), facts, {}
        return made

    @cached_property
    def by_peak(self) -> bool:
        """Whether the job says enough to tell the peak of memory per GPU, which then decides."""
        return self._choose(self._counting(1, 1, None)).derive("peak_gb_per_gpu") is not None

    def at(self, gpus: int, enough: int | None = None) -> Reasoning:
        """The job on this many GPUs of no particular type.

        `enough` is the smaller count that would do, were it not for a deadline and the like.
        """
        return self._choose(self._at(gpus, enough))

    def on(self, gpu: Mapping[str, Known], gpus: int, enough: int | None = None) -> Reasoning:
        """The job on this many GPUs of a type."""
        at = self._at(gpus, enough)
        key = (id(at), id(gpu))
        if key not in self._by_type:
            self._by_type[key] = (at, gpu, at.within(gpu))  # keeps both alive
        return self._choose(self._by_type[key][2])

    def _at(self, gpus: int, enough: int | None) -> Reasoning:
        return self._counting(gpus, (enough or gpus) if self.by_peak else None, enough)

    def _counting(self, gpus: int, for_memory: int | None, enough: int | None) -> Reasoning:
        key = (gpus, for_memory, enough)
        if key not in self._by_count:
            settled = {"gpus_tried": _gpus(gpus)}
            if for_memory is not None:
                settled["gpus_for_memory"] = _gpus(for_memory)
            if enough is not None:
                settled["gpus_needed"] = _gpus(gpus)
            self._by_count[key] = self._open.within(settled)
        return self._by_count[key]

    def _choose(self, situation: Reasoning) -> Reasoning:
        if not self._chosen:
            return situation
        if situation not in self._here:
            self._here[situation] = situation.within(self._chosen)
        return self._here[situation]

    def counted(self, needed: int) -> int:
        """The number of GPUs that a job takes which needs so many, as the rules allow it."""
        if needed not in self._needing:
            self._needing[needed] = self._open.within({"gpus_needed": _gpus(needed)})
        allowed = self._choose(self._needing[needed]).number("gpus")
        return ceil(allowed) if allowed else needed


def _gpus(count: int) -> Known:
    return Known(count, "GPUs", TRIED)
