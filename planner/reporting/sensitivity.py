"""How the cost answers to one figure at a time: a table, a picture, and where the plan turns."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from math import inf
from typing import TYPE_CHECKING

from planner.inputs.layers.setting import split_setting
from planner.reporting.alternatives import short_text
from planner.reporting.document import (
    Block,
    Bullets,
    Column,
    Document,
    Heading,
    Paragraph,
    Table,
    Tornado,
)
from planner.reporting.format import count_of, dollars, listed, money, money_short, percent
from planner.reporting.pairs import pairs_section
from planner.reporting.variants import NO_PLAN, acquired_text, added_text, moved_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.reporting.document import End
    from planner.whatif.results import Moved, Sensitivity, Swing
    from planner.whatif.variants.plan_summary import PlanSummary

__all__ = ["headline", "other_jobs_short", "sensitivity_document", "then_acquired", "tornado"]

_NAMED = 4
"""Figures that the headline names."""


def sensitivity_document(found: Sensitivity) -> Document:
    """The whole of it: what moves the cost most, then what is bought on either side of a turn."""
    blocks: tuple[Block, ...] = (
        Heading(f"Sensitivity of {found.scenario}", 1),
        Paragraph(headline(found), tone="strong"),
        Paragraph(
            f"One figure at a time is moved by {percent(found.swing)} of its value either way, "
            f"lead times by {count_of(found.weeks, 'week')}; everything is planned anew each "
            "time. Amounts are net present cost in USD.",
            tone="faint",
        ),
        Table(_COLUMNS, tuple(_cells(one, found.base) for one in found.swings)),
        *other_jobs_short(found),
        Heading("Where the recommendation turns"),
    )
    turns = tuple(row for one in found.swings for row in _turns(one))
    if not turns:
        none = "Nowhere within these ranges: the same nodes are acquired at both ends of each."
        return (*blocks, Paragraph(none), *pairs_section(found), *_unproved(found))
    words = (
        f"Acquired as the scenario stands: {acquired_text(found.base.acquired)}. Each turn lies "
        f"between two plans, at most {percent(found.precision)} of the value or a week apart."
    )
    turning = (Paragraph(words), Table(_TURN_COLUMNS, turns))
    return (*blocks, *turning, *pairs_section(found), *_unproved(found))


_COLUMNS = (
    Column("Figure", wraps=True),
    Column("As it is", wraps=True),
    Column("Down", "right"),
    Column("Up", "right"),
    Column("Spread", "right"),
    Column("Turns", wraps=True),
)
_TURN_COLUMNS = (
    Column("Figure", wraps=True),
    Column("Between", wraps=True),
    Column("Then acquired", wraps=True),
)


def headline(found: Sensitivity) -> str:
    """The cost, what leaves no plan, and then what moves the cost most."""
    cost = found.base.cost_cents
    if cost is None:
        return "No plan exists as it stands."
    told = f"{money(cost)}, {found.base.result}"
    none = [
        f"{one.name} {_by(one, moved)}"
        for one in found.swings
        for moved in one.without_plan
        if moved.figures.result == "infeasible"
    ]
    if none:
        told += f"; {NO_PLAN} exists with {_some(none)}"
    unknown = [one.name for one in found.swings if _not_found(one)]
    if unknown:
        told += f"; {NO_PLAN} was found at some values of {_some(unknown)}"
    widest = next((one for one in found.swings if not one.without_plan and one.spread_cents), None)
    if widest is not None:
        spread = money_short(widest.spread_cents or 0)
        which = "of the others, it moves most with" if none or unknown else "it moves most with"
        told += f"; {which} {widest.name}, by {spread} from end to end"
    return f"{told}."


def _not_found(one: Swing) -> bool:
    """Whether it is open if there is a plan somewhere, as the search ended before it knew."""
    return any(moved.figures.result != "infeasible" for moved in one.without_plan)


def _some(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return listed([*names[:_NAMED], f"{more:,} more"] if more > 0 else names, "or")


def _cells(one: Swing, base: PlanSummary) -> tuple[str, ...]:
    turns = ", ".join(_turned(one, turn.after) for turn in one.turns)
    spread = NO_PLAN if one.without_plan else dollars(one.spread_cents or 0)
    ends = (added_text(one.low.figures, base), added_text(one.high.figures, base))
    return (one.name, one.stated, *ends, spread, turns or "–")


def other_jobs_short(found: Sensitivity) -> tuple[Block, ...]:
    """The ends at which the cost is that of other jobs; nothing where none gives way otherwise."""
    ends = tuple(
        f"{one.name}, {moved_text(one.unit, end.by)}, {short_text(end.figures) or 'none'}"
        for one in found.swings
        for end in (one.low, one.high)
        if end.figures.cost_cents is not None and end.figures.short != found.base.short
    )
    words = (
        "Here other jobs are dropped or delayed than as the scenario stands "
        f"({short_text(found.base) or 'none'}), so that the costs are not those of the same work:"
    )
    return (Paragraph(words, tone="warning"), Bullets(ends)) if ends else ()


def _turns(one: Swing) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (
            one.name,
            f"{_by(one, turn.before)} and {_by(one, turn.after)}",
            then_acquired(turn.after.figures),
        )
        for turn in one.turns
    )


def _turned(one: Swing, moved: Moved) -> str:
    return f"{_by(one, moved)}{f': {NO_PLAN}' if moved.figures.cost_cents is None else ''}"


def _by(one: Swing, moved: Moved) -> str:
    stated = ""
    if one.unit == "share" and len(moved.settings) == 1:
        path, value = split_setting(moved.settings[0])
        stated = f" ({_figure(path, value)})"
    return f"{moved_text(one.unit, moved.by)}{stated}"


def _figure(path: str, value: str) -> str:
    """`323531.25` as `$323,531.25` where it is a price, what is no number as it is set."""
    try:
        figure = f"{Decimal(value):,f}"
    except InvalidOperation:
        return value
    return f"${figure}" if "price_usd" in path or path.endswith("usd_per_kwh") else figure


def then_acquired(figures: PlanSummary) -> str:
    """What is acquired after a turn, or why nothing can be."""
    if figures.cost_cents is not None:
        return acquired_text(figures.acquired)
    reason = figures.reason
    return reason if reason.startswith(NO_PLAN) else f"{NO_PLAN}: {reason}"


def _unproved(found: Sensitivity) -> tuple[Block, ...]:
    plans = [found.base, *(end.figures for one in found.swings for end in (one.low, one.high))]
    plans += [end.figures for one in found.swings for turn in one.turns for end in (turn.after,)]
    plans += [corner.figures for pair in found.pairs for corner in pair.corners]
    number = sum(one.result in ("not proved", "no plan in time") for one in plans)
    if not number:
        return ()
    words = f"NOT proved within the limits: {count_of(number, 'plan')} of those shown."
    return (Paragraph(words, tone="warning"),)


def tornado(found: Sensitivity) -> Tornado | None:
    """What leaves no plan stands at the top, then what moves the cost most.

    None where the scenario as it stands has no plan to measure from.
    """
    base = found.base.cost_cents
    if base is None:
        return None
    gone = any(one.figures.cost_cents is None for s in found.swings for one in (s.low, s.high))
    edge = "An end without a plan reaches to the edge. " if gone else ""
    return Tornado(
        title=f"What moves the cost of {found.scenario}",
        says="Net present cost with one figure moved at a time, the widest first. "
        f"{edge}{headline(found)}",
        rows=tuple((one.name, _end(one.low, base), _end(one.high, base)) for one in found.swings),
        middle=(0.0, money_short(base)),
    )


def _end(moved: Moved, base: int) -> End:
    side = "up" if moved.by > 0 else "down"
    if moved.figures.cost_cents is None:
        return inf, f"{NO_PLAN}, {side}"
    added = moved.figures.cost_cents - base
    words = f"{'+' if added > 0 else ''}{money_short(added)}" if added else "0"
    return added / 100, f"{words}, {side}"
