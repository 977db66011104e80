"""The cheapest plan and those beside it, with what each costs, takes and leaves undone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.report.document import Block, Bullets, Column, Document, Heading, Paragraph, Table
from planner.report.format import dollars, money, percent
from planner.report.variants import acquired_short

if TYPE_CHECKING:
    from planner.whatif.alternatives import Alternatives
    from planner.whatif.figures import Figures

__all__ = ["alternatives_document"]

_COLUMNS = (
    Column("Plan", wraps=True),
    Column("Cost", "right"),
    Column("More", "right"),
    Column("Acquired", wraps=True),
    Column("Nodes", "right"),
    Column("Idle", "right"),
    Column("Short", "right"),
    Column("Status", wraps=True),
)


def alternatives_document(found: Alternatives) -> Document:
    """Side by side, then what each is best in, who is short, and what is left out and why."""
    cheapest = found.cheapest
    rows = [_cells("cheapest", cheapest, cheapest)]
    rows += [_cells(one.name, one.figures, cheapest) for one in found.others if one.figures]
    opening: tuple[Block, ...] = (
        Heading(f"Alternatives for {found.scenario}", 1),
        Paragraph(
            f"The cheapest plan costs {money(cheapest.cost_cents or 0)}, {cheapest.result}; near "
            f"it are plans that cost at most {percent(found.within or 0)} more.",
            tone="strong",
        ),
        Paragraph(
            "Cost is net present cost in USD. Acquired: nodes that enter service, over all "
            "quarters. Idle: GPU-hours in service that no job holds. Short: jobs dropped or "
            "delayed.",
            tone="faint",
        ),
        Table(_COLUMNS, tuple(rows)),
        Heading("What each is"),
        Bullets(tuple(f"{one.name}: {one.objective}" for one in found.others if one.figures)),
    )
    return (*opening, *_short(found), *_left_out(found))


def _cells(name: str, figures: Figures, cheapest: Figures) -> tuple[str, ...]:
    if figures.cost_cents is None:
        return (name, *["–"] * 6, f"{figures.result}: {figures.reason}")
    return (
        name,
        dollars(figures.cost_cents),
        _more(figures.cost_cents, cheapest.cost_cents or 0),
        acquired_short(figures.acquired),
        f"{figures.nodes or 0:,}",
        percent(figures.gpus_idle or 0.0),
        f"{len(figures.short):,}",
        figures.result,
    )


def _more(cost: int, cheapest: int) -> str:
    if cost == cheapest or not cheapest:
        return "0 %" if cost == cheapest else "–"
    share = percent(abs(cost - cheapest) / abs(cheapest))
    return f"{'+' if cost > cheapest else '-'}{share}"


def _short(found: Alternatives) -> tuple[Block, ...]:
    lines = tuple(
        f"{one.name}: {', '.join(one.figures.short)}"
        for one in found.others
        if one.figures and one.figures.short
    )
    return (Heading("Jobs dropped or delayed"), Bullets(lines, "warning")) if lines else ()


def _left_out(found: Alternatives) -> tuple[Block, ...]:
    lines = tuple(f"{one.name}: {one.left_out}" for one in found.others if one.left_out)
    return (Heading("Left out"), Bullets(lines)) if lines else ()
