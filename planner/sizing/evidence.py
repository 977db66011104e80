"""What a sized figure rests on: measured runs near it, a published figure, or none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from planner.inputs.catalog.catalog import Neighbours
from planner.sizing.candidate import Candidate, Evidence, EvidenceOf, Rests
from planner.sizing.engine import Reasoning

_TOKENS: Final = "tokens_on_gpu"
"""By which a figure of tuning grows, beside the model; of a replica, its requests at once."""


_STARTED: Final = "vllm"
"""The engine whose start-ups were measured."""


def evidence_of(
    candidate: Candidate, at: Reasoning, neighbours: Sequence[Neighbours]
) -> tuple[Evidence, ...]:
    """Say of the memory of a candidate, then of its hours or its rate, what they rest on."""
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
        if found.runs and unlike:
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
    """Groups of this figure and method: on such GPUs, and on any."""

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
