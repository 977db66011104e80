"""Section 6: what the cost hangs on, and at which values another plan is the best."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from planner.planning.ledger.traced import TracedFigure, total
from planner.reporting.again import command_for
from planner.reporting.document import (
    Blank,
    Block,
    Cell,
    Column,
    Fields,
    Heading,
    Paragraph,
    Table,
)
from planner.reporting.elsewhere import Elsewhere
from planner.reporting.format import code, count_of, percent
from planner.reporting.justification.desk import Desk, figure
from planner.reporting.justification.margins import margin_blocks
from planner.reporting.sensitivity import headline, other_jobs_short, then_acquired, tornado

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.planning.plan import Plan
    from planner.whatif.results import Sensitivity, Swing
    from planner.whatif.variants.plan_summary import PlanSummary

__all__ = ["sensitivity_section"]

_FILE, _TRACE = "sensitivity.json", "how-sensitivity"
_DOWN, _UP = TracedFigure(Fraction(-1, 5), "-0.2"), TracedFigure(Fraction(1, 5), "0.2")
_MOVED = (
    ("Servers bought, with support; the residual value as it is", ("purchase", "support")),
    ("Residual value of these servers alone", ("residual value",)),
    (
        "Servers bought, with support; the residual value moves with the price",
        ("purchase", "residual value", "support"),
    ),
    ("Rents", ("rent",)),
    ("Reservations", ("reservation",)),
    ("Energy", ("energy",)),
    ("Licences", ("licence",)),
    ("Colocation", ("colocation",)),
)
"""Costs that move together. The residual value follows the price by the useful life, as it is
planned; what servers will fetch is a guess of its own, and moves by itself as well."""


def sensitivity_section(desk: Desk, found: Sensitivity | None) -> tuple[Block, ...]:
    """Prices with this plan as it is; then every figure, planned anew, and where the plan turns."""
    known: tuple[tuple[str, Cell], ...] = ()
    held = (*margin_blocks(desk, found), _as_it_is(desk))
    if desk.plan.break_evens:
        link = desk.link("buying against renting", "cost")
        known = (("From which use on buying is cheaper than renting", link),)
    if found is None:
        return (*held, Fields((*known, _open(desk.plan), *_JOINT)))
    return (*held, *((Fields(known),) if known else ()), *_anew(found), Fields(_JOINT))


_JOINT = (
    ("Two or three changes at once", Blank(f"{code('planner risk')}, or named scenarios")),
    ("Contingency, or uplift for optimism, with its reference class", Blank()),
)


def _open(plan: Plan) -> tuple[str, Cell]:
    command = command_for("sensitivity", plan)
    return (
        "At which price, growth or delay the recommendation turns",
        Blank(f"{code(command)}, where plan.json is, and report again"),
    )


def _as_it_is(desk: Desk) -> Table:
    rows = tuple(_held(desk))
    allowed = ", where the budgets still allow this plan then" if desk.plan.budgets else ""
    return Table(
        (
            Column("What moves", wraps=True),
            Column("Now in the cost, USD", "right"),
            Column("20 % lower, USD", "right"),
            Column("20 % higher, USD", "right"),
        ),
        rows,
        caption="What a price, or the residual value, changes in the net present cost while this "
        f"plan stays as it is; planned anew, the cost would be at most that{allowed}",
    )


def _held(desk: Desk) -> Iterator[tuple[Cell, ...]]:
    names = [line.name for line in desk.plan.costs]
    for title, moved in _MOVED:
        places = [place for place, name in enumerate(names) if name in moved]
        if not places:
            continue
        cost = total(desk.read.at(f"costs[{place}].present_cents") for place in places)
        trace = f"how-cost-{places[0]}"
        yield (
            title,
            figure(cost, "usd", trace),
            figure(cost * _DOWN, "usd", trace),
            figure(cost * _UP, "usd", trace),
        )


def _anew(found: Sensitivity) -> Iterator[Block]:
    known = Elsewhere(found, _FILE, _TRACE)
    yield Heading("One figure moved at a time, everything planned anew", 3)
    yield Paragraph(headline(found))
    picture = tornado(found)
    if picture is not None:
        yield picture
    yield Table(
        (
            Column("Figure", wraps=True),
            Column("As it is", wraps=True),
            Column("Down, USD", "right"),
            Column("Up, USD", "right"),
            Column("Turns from", "right"),
            Column("or from", "right"),
        ),
        tuple(_swing(known, place, one, found.base) for place, one in enumerate(found.swings)),
        caption=f"What the net present cost changes by: each figure {percent(found.swing)} of its "
        f"value down and up, lead times {count_of(found.weeks, 'week')}",
    )
    yield from other_jobs_short(found)
    turns = tuple(
        row for place, one in enumerate(found.swings) for row in _turns(known, place, one)
    )
    yield Heading("Where the recommendation turns", 3)
    if turns:
        yield Table(
            (
                Column("Figure", wraps=True),
                Column("As before to", "right"),
                Column("Turned from", "right"),
                Column("Then acquired", wraps=True),
            ),
            turns,
            caption="Switching values: shares of the value as it is, or weeks; below zero is down",
        )
    else:
        yield Paragraph("Nowhere within these ranges: the same nodes are acquired at all ends.")
    yield Paragraph(
        "Figures of these plans stand in sensitivity.json, each with the settings that "
        f"{code('planner plan')} makes it with again.",
        "faint",
        _TRACE,
    )


def _swing(known: Elsewhere, place: int, one: Swing, base: PlanSummary) -> tuple[Cell, ...]:
    turns = [_by(known, one, f"swings[{place}].turns[{number}].after") for number in _each(one)]
    ends = (
        _added(known, f"swings[{place}].low", one.low.figures, base),
        _added(known, f"swings[{place}].high", one.high.figures, base),
    )
    return (one.name, one.stated or "–", *ends, *turns, *["–"] * (2 - len(turns)))


def _added(known: Elsewhere, stem: str, figures: PlanSummary, base: PlanSummary) -> Cell:
    if figures.cost_cents is None or base.cost_cents is None:
        return "no plan"
    read = known.read
    return known.figure(read.at(f"{stem}.figures.cost_cents") - read.at("base.cost_cents"), "usd")


def _turns(known: Elsewhere, place: int, one: Swing) -> Iterator[tuple[Cell, ...]]:
    for number in _each(one):
        stem, after = f"swings[{place}].turns[{number}]", one.turns[number].after.figures
        yield (
            one.name,
            _by(known, one, f"{stem}.before"),
            _by(known, one, f"{stem}.after"),
            then_acquired(after),
        )


def _each(one: Swing) -> range:
    return range(len(one.turns))


def _by(known: Elsewhere, one: Swing, stem: str) -> Cell:
    return known.at(f"{stem}.by", "share" if one.unit == "share" else "weeks")
