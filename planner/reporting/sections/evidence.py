"""What figures rest on: measured runs near them, published figures, or neither."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from planner.reporting.document import Heading, Paragraph, table
from planner.reporting.format import count_of, listed, percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from planner.planning.plan import Plan
    from planner.reporting.document import Block
    from planner.sizing.candidate import Candidate, Evidence

__all__ = ["evidence_blocks", "evidence_section"]

_FIGURES: Final = {
    "memory": "memory, so the count of GPUs",
    "hours": "hours of a run",
    "rate": "requests a replica answers",
}
_RESTS: Final = {
    "measured": "measured runs of this size and method",
    "interpolated": "measured runs of smaller and larger models",
    "extrapolated": "measured runs of the method, not around it",
    "published": "a published figure",
    "estimated": "rules that no such run was held against",
    "stated": "the job's own statement",
}
_NONE: Final = "–"


def evidence_blocks(candidates: Sequence[Candidate]) -> Iterator[Block]:
    """One job: each figure with what it rests on, and on which GPU types."""
    found: dict[Evidence, list[str]] = defaultdict(list)
    for candidate in candidates:
        for told in candidate.evidence:
            found[told].append(candidate.way)
    if not found:
        return
    yield Heading("What these figures rest on")
    yield table(
        sorted(found.items(), key=lambda row: (*_order(row[0]), row[1])),
        ("Figure", "text", lambda row: _FIGURES[row[0].figure]),
        ("Rests on", "text", lambda row: _RESTS[row[0].rests]),
        ("Runs", "number", lambda row: str(row[0].runs or _NONE)),
        ("Mean error", "number", lambda row: _error([row[0]])),
        (
            "On",
            "text",
            lambda row: "all" if len(row[1]) == len(candidates) else ", ".join(row[1]),
        ),
    )


def evidence_section(plan: Plan) -> Iterator[Block]:
    """All jobs: how many GPUs of their units rest on what, with the errors of the runs near."""
    found: dict[tuple[str, str], list[tuple[Evidence, int, str]]] = defaultdict(list)
    for job in plan.jobs:
        by_way = {one.way: one for one in plan.sizings[job.sizing].candidates}
        for way, units in job.ways:
            candidate = by_way[way]
            gpus = units * candidate.replicas * candidate.gpus
            for told in candidate.evidence:
                found[told.figure, told.rests].append((told, gpus, job.name))
    if not found:
        return
    of_memory = {rests: rows for (figure, rests), rows in found.items() if figure == "memory"}
    total = sum(gpus for rows in of_memory.values() for _, gpus, _ in rows)

    def resting(*rests: str) -> int:
        return sum(gpus for one in rests for _, gpus, _ in of_memory.get(one, ()))

    yield Paragraph(
        f"Of {count_of(total, 'GPU')} that units take, each unit counted for itself, the need "
        f"rests for {resting('measured'):,} on measured runs of a model of the same size, method "
        f"and load, for {resting('interpolated', 'extrapolated'):,} on runs of the method with "
        f"other sizes or loads, for {resting('published'):,} on published figures. The mean error "
        "is that of the runs near a figure (docs/accuracy.md)."
    )
    yield table(
        sorted(found.items(), key=lambda row: _order(row[1][0][0])),
        ("Figure", "text", lambda row: _FIGURES[row[0][0]]),
        ("Rests on", "text", lambda row: _RESTS[row[0][1]]),
        ("Jobs", "number", lambda row: str(len({name for _, _, name in row[1]}))),
        ("GPUs", "number", lambda row: f"{sum(gpus for _, gpus, _ in row[1]):,}"),
        ("Mean error", "number", lambda row: _error([told for told, _, _ in row[1]])),
        ("For example", "text", lambda row: listed(sorted({name for *_, name in row[1]})[:2])),
    )


def _order(told: Evidence) -> tuple[int, int]:
    return list(_FIGURES).index(told.figure), list(_RESTS).index(told.rests)


def _error(told: Sequence[Evidence]) -> str:
    """The least and the largest, as the runs near each figure have it."""
    errors = [one.error for one in told if one.error is not None]
    if not errors:
        return _NONE
    least, most = percent(min(errors), 1), percent(max(errors), 1)
    return least if least == most else f"{least.removesuffix(' %')}–{most}"
