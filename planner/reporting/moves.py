"""What moves of what runs today, and what changes its GPU type later: how, and at what cost."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING

from planner.planning.placing.moves import type_changes
from planner.reporting.document import Block, Column, Paragraph, Table
from planner.reporting.format import code, count_of, dollars, money
from planner.reporting.nodenames import range_of_ids

if TYPE_CHECKING:
    from planner.planning.parts import CurrentPlacement, Move
    from planner.planning.plan import Plan

__all__ = ["moves_section"]


def moves_section(plan: Plan, most: int) -> tuple[Block, ...]:
    """What becomes of what runs today, then who changes the GPU type, where that has a price."""
    return (*_from_today(plan, most), *_type_changes(plan, most))


def _type_changes(plan: Plan, most: int) -> tuple[Block, ...]:
    """One row for units of a job that change alike."""
    paid = next((line for line in plan.costs if line.name == "type changes"), None)
    if paid is None:
        return ()
    changes = type_changes(plan.placements, {node.id: node.gpu_type for node in plan.nodes})
    alike = Counter((one.quarter, one.job, one.before, one.after) for one in changes)
    rows = [
        (plan.quarters[quarter], job, f"{units:,}", before, after)
        for (quarter, job, before, after), units in alike.items()
    ]
    table = Table(
        (
            Column("From"),
            Column("Job", wraps=True),
            Column("Units", "right"),
            Column("GPU type before", wraps=True),
            Column("GPU type then", wraps=True),
        ),
        tuple(rows[:most]),
        ("Sum", "", f"{len(changes):,}", "", ""),
    )
    words = (
        f"{count_of(len(changes), 'change')} of GPU type from quarter to quarter, priced at "
        f"{money(paid.present_cents)} together, in net present cost."
    )
    left = len(rows) - most
    rest = f"… {count_of(left, 'more row')}" if left > 0 else ""
    return (Paragraph(words), table, *((Paragraph(rest, tone="faint"),) if rest else ()))


def _from_today(plan: Plan, most: int) -> tuple[Block, ...]:
    """A sentence on those that stay, then one row for units of a job that move alike."""
    current = plan.current
    if current is None:
        return ()
    rows = [
        _row(list(group))
        for _, group in groupby(
            current.moves, key=lambda move: (move.job, move.origin, move.nodes, move.reason)
        )
    ]
    opening = Paragraph(f"{_sentence(current)} {_pinned(current)}".strip())
    if not rows:
        return (opening,)
    table = Table(
        (
            Column("Job", wraps=True),
            Column("Units", "right"),
            Column("From", wraps=True),
            Column("To", wraps=True),
            Column("Cost, USD", "right"),
            Column("Why", wraps=True),
        ),
        tuple(rows[:most]),
        ("Sum", f"{len(current.moves):,}", "", "", dollars(current.cost_cents), ""),
    )
    left = len(rows) - most
    rest = count_of(left, "more move") if left > 0 else ""
    told = f"… {rest}, each in {code('current')} of plan.json"
    tail = (Paragraph(told, tone="faint"),) if rest else ()
    return (opening, table, *tail)


def _sentence(current: CurrentPlacement) -> str:
    leaving = sum(move.leaves_pool for move in current.moves)
    within = len(current.moves) - leaving
    running = count_of(current.units, "unit")
    if not current.moves:
        return f"{running} of this plan run today, and all stay where they are."
    parts = []
    if leaving:
        verb = "leaves its pool" if leaving == 1 else "leave their pools"
        parts.append(f"{leaving:,} {verb} for {money(current.cost_cents)}")
    if within:
        verb = "changes its node" if within == 1 else "change their nodes"
        parts.append(f"{within:,} {verb} within the pool, which has no price")
    stay = current.units - len(current.moves)
    return f"{running} of this plan run today: {stay:,} stay, {', '.join(parts)}."


def _pinned(current: CurrentPlacement) -> str:
    return f"{count_of(current.pinned, 'unit')} may not move." if current.pinned else ""


def _row(moves: list[Move]) -> tuple[str, ...]:
    first = moves[0]
    return (
        first.job,
        _units([move.unit for move in moves]),
        range_of_ids(list(first.origin)) if first.origin[1:] else first.origin[0],
        range_of_ids(list(first.nodes)),
        dollars(sum(move.cost_cents for move in moves)),
        first.reason,
    )


def _units(units: list[int]) -> str:
    """`3`, `1–4`, `1, 3`."""
    if len(units) > 1 and units[-1] - units[0] == len(units) - 1:
        return f"{units[0]}–{units[-1]}"
    return ", ".join(str(unit) for unit in units)
