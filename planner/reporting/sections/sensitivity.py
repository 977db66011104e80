"""How far figures may move before a plan meets a limit, and how the cost responds to each."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from math import inf
from typing import NamedTuple

from planner.inputs.scenario.site import SITE_LIMITS
from planner.planning.accounts import LimitMargin
from planner.reporting.document import (
    Blank,
    Block,
    Bullets,
    Cell,
    Document,
    End,
    Fields,
    Heading,
    Paragraph,
    Table,
    Tornado,
    beneath,
    cell_text,
    columns_for,
    table,
    titled,
)
from planner.reporting.format import Style, code, count_of, listed, money_short, percent, usd
from planner.reporting.sections.capacity import limit_style, limit_title
from planner.reporting.sections.cost import SPENDS, optimism_rows
from planner.reporting.sections.options import command_for, short_text
from planner.reporting.sections.variants import NO_PLAN, acquired_short, acquired_text, moved_text
from planner.reporting.traced import TracedFile, TracedPlan
from planner.whatif.results import PlanSummary
from planner.whatif.sensitivity import Moved, Sensitivity, Swing

_NAMED = 4
"""Figures that the headline names."""
_NONE = "–"
_BIAS = Blank(f"{code('finance.optimism_bias:')} of the scenario")
_ENDS = ("low", "high")
_FILE = "sensitivity.json"


def sensitivity_section(traced: TracedPlan) -> Iterator[Block]:
    """Show what ends the plan first, then every figure, and where the plan changes."""
    found = traced.beside.sensitivity
    fields = list(optimism_rows(traced)) or [("Uplift of purchases for optimism bias", _BIAS)]
    yield from titled((("What ends this plan first", _margins(traced)),), 3)
    if found is None:
        command = code(command_for("sensitivity", traced.plan))
        turns = Blank(f"{command}, where plan.json is, and report again")
        fields.insert(0, ("At which price, growth or delay the recommendation turns", turns))
    else:
        yield Heading("One figure moved at a time", 3)
        yield from beneath(_planned_anew(found))
    yield Fields(tuple(fields))


def sensitivity_document(found: Sensitivity) -> Document:
    """Show all: what moves the cost most, then what is bought beyond each turning point."""
    return (Heading(f"Sensitivity of {found.scenario}", 1), *_planned_anew(found))


def _planned_anew(found: Sensitivity) -> tuple[Block, ...]:
    known = TracedFile(found, _FILE)
    ends = tuple(
        f"{one.name}, {moved_text(one.unit, end.by)}, {short_text(end.figures) or 'none'}"
        for one in found.swings
        for end in (one.low, one.high)
        if end.figures.cost_cents is not None and end.figures.giving_way != found.base.giving_way
    )
    others = (
        Paragraph(
            "Here other jobs give way than as the scenario stands "
            f"({short_text(found.base) or 'none'}), so that the costs are not those of the same "
            "work:",
            tone="warning",
        ),
        Bullets(ends),
    )
    plans = [found.base, *(end.figures for one in found.swings for end in (one.low, one.high))]
    plans += [turn.after.figures for one in found.swings for turn in one.turns]
    number = sum(one.result in ("not proved", "no plan in time") for one in plans)
    told = f"NOT proved within the limits: {count_of(number, 'plan')} of those shown."
    return (
        Paragraph(headline(found), tone="strong"),
        Paragraph(
            f"Each figure is moved by {percent(found.swing)} of its value either way, lead times "
            f"by {count_of(found.weeks, 'week')}, and everything is planned anew; amounts are "
            f"changes of the net present cost in USD. {_FILE} has these plans, with the "
            f"settings that {code('planner plan')} makes each with again.",
            "faint",
        ),
        *tornado(found),
        *_swings(found, known),
        *(others if ends else ()),
        Heading("Where the recommendation turns"),
        *_turns(found, known),
        *((Paragraph(told, tone="warning"),) if number else ()),
    )


def _swings(found: Sensitivity, known: TracedFile) -> Iterator[Block]:
    """Show what each figure moves, and in a sentence those that move nothing."""
    moving = [
        (place, one)
        for place, one in enumerate(found.swings)
        if one.without_plan or one.spread_cents or one.turns
    ]

    def added(row: tuple[int, Swing], end: str) -> Cell:
        place, one = row
        if getattr(one, end).figures.cost_cents is None or found.base.cost_cents is None:
            return NO_PLAN
        cost = known.read.at(f"swings[{place}].{end}.figures.cost_cents")
        return known.figure(cost - known.read.at("base.cost_cents"), "more_usd")

    def spread(row: tuple[int, Swing]) -> Cell:
        if row[1].without_plan:
            return NO_PLAN
        ends = [known.read.at(f"swings[{row[0]}].{end}.figures.cost_cents") for end in _ENDS]
        low, high = sorted(ends, key=lambda cost: cost.value)
        return known.figure(high - low, "usd")

    if moving:
        yield table(
            moving,
            ("Figure", "text", lambda row: row[1].name),
            ("As it is", "text", lambda row: row[1].stated or _NONE),
            *columns_for((("Down", "low"), ("Up", "high")), added),
            ("Spread", "number", spread),
        )
    if still := [one.name for one in found.swings if one not in [row[1] for row in moving]]:
        yield Paragraph(f"These move nothing within their ranges: {listed(still)}.")


def _turns(found: Sensitivity, known: TracedFile) -> Iterator[Block]:
    turns = [
        (f"swings[{place}].turns[{number}]", one, turn)
        for place, one in enumerate(found.swings)
        for number, turn in enumerate(one.turns)
    ]
    if not turns:
        none = "the same nodes are acquired at both ends of each"
        if found.base.cost_cents is None:
            none = "there is no plan at either end of any"
        yield Paragraph(f"Nowhere within these ranges: {none}.")
        return
    yield Paragraph(
        f"Acquired as the scenario stands: {then_acquired(found.base)}. Each turn lies "
        f"between two plans, at most {percent(found.precision)} of the value or a week apart."
    )
    yield table(
        turns,
        ("Figure", "text", lambda row: row[1].name),
        *columns_for(
            (("As before to", "before"), ("Turned from", "after")),
            lambda row, side: known.at(
                f"{row[0]}.{side}.by", "share" if row[1].unit == "share" else "weeks"
            ),
        ),
        ("At", "text", lambda row: _stated(row[1], row[2].after) or _NONE),
        ("Then acquired", "text", lambda row: then_acquired(row[2].after.figures)),
        without=() if any(_stated(one, turn.after) for _, one, turn in turns) else ("At",),
    )


def headline(found: Sensitivity) -> str:
    """State the cost, what leaves no plan, and then what moves the cost most."""
    cost = found.base.cost_cents
    if cost is None:
        known = found.base.result == "infeasible"
        told = "No plan exists" if known else "No plan was found"
        return f"{told} as it stands: {found.base.reason}."
    told = f"{usd(cost)}, {found.base.result}"
    none = [
        f"{one.name} {moved_text(one.unit, moved.by)}{stated and f' ({stated})'}"
        for one in found.swings
        for moved in one.without_plan
        for stated in [_stated(one, moved)]
        if moved.figures.result == "infeasible"
    ]
    if none:
        told += f"; {NO_PLAN} exists with {listed(none, 'or', _NAMED)}"
    # Whether there is a plan is open where the search ended before it knew.
    unknown = [
        one.name
        for one in found.swings
        if any(moved.figures.result != "infeasible" for moved in one.without_plan)
    ]
    if unknown:
        told += f"; {NO_PLAN} was found at some values of {listed(unknown, 'or', _NAMED)}"
    widest = next((one for one in found.swings if not one.without_plan and one.spread_cents), None)
    if widest is not None:
        spread = money_short(widest.spread_cents or 0)
        which = "of the others, it moves most with" if none or unknown else "it moves most with"
        told += f"; {which} {widest.name}, by {spread} from end to end"
    return f"{told}."


def _stated(one: Swing, moved: Moved) -> str:
    """Return the value a figure then has: `$323,531.25`; empty if several move together."""
    if one.unit != "share" or len(moved.settings) != 1:
        return ""
    (override,) = moved.settings
    key, value = override.path[-1], override.value
    if not isinstance(value, int | Decimal):
        return override.value_text
    priced = "price_usd" in key or key.endswith("usd_per_kwh")
    return f"{'$' * priced}{Decimal(value):,f}"


def then_acquired(figures: PlanSummary) -> str:
    """Say what is acquired beyond a turning point, or why nothing can be."""
    if figures.cost_cents is not None:
        on_apis = f"; an API for {listed(figures.on_apis)}" if figures.on_apis else ""
        return f"{acquired_text(figures.acquired)}{on_apis}"
    reason = figures.reason
    return reason if reason.startswith(NO_PLAN) else f"{NO_PLAN}: {reason}"


def tornado(found: Sensitivity) -> Iterator[Tornado]:
    """Picture what leaves no plan at the top, then what moves the cost most.

    Nothing if the scenario as it stands has no plan to measure from.
    """
    base = found.base.cost_cents
    if base is None:
        return
    gone = any(one.figures.cost_cents is None for s in found.swings for one in (s.low, s.high))
    edge = " An end without a plan reaches to the edge." if gone else ""
    yield Tornado(
        title=f"What moves the cost of {found.scenario}",
        says=f"Net present cost with one figure moved at a time, the widest first.{edge}",
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


_FLIPS, _FAR = 3, 1.0
"""The most values on page 1, and the share beyond which none is shown."""
_ROOMS: dict[str, tuple[str, Style]] = {
    **{one.need: (limit_title(one, " at {0}"), limit_style(one)) for one in SITE_LIMITS},
    "rack power": ("Power of the fullest rack at {0}, rack {1}, kW", "kw"),
    "racks": ("Racks at {0}", "count"),
    "quota": ("Quota of {0}, GPUs", "number"),
    "maximum": ("Nodes that {0} gives at a time", "count"),
}


_RENTED = "renting a node that is used in all hours is cheaper than buying it"


class _Flip(NamedTuple):
    """How far a figure may move, and what then opposes the plan."""

    by: float
    name: str
    at: Cell
    then: str


def flips_table(traced: TracedPlan) -> Iterator[Table]:
    """Show, for page 1, the three nearest switching values, and the tightest limit.

    Nothing if no price or limit opposes the plan.
    """
    found = traced.beside.sensitivity
    near = sorted((*_rented(traced), *_turned(found)), key=lambda flip: abs(flip.by))
    apart: dict[tuple[str, str], _Flip] = {}
    for flip in near:
        if abs(flip.by) <= _FAR:
            apart.setdefault((cell_text(flip.at), flip.then), flip)
    flips = list(apart.values())[:_FLIPS]
    rooms = [(room, room.one) for room in traced.capacity.limit_margins() if room.one]
    if rooms := [(room, one) for room, one in rooms if one.value]:
        room, one = min(rooms, key=lambda room: float(room[0].left.value / room[1].value))
        style, quarter = _ROOMS[room.what][1], traced.plan.quarters[room.quarter]
        left, takes = (traced.figure(of, style) for of in (room.left, one))
        then = f"is all that is left in {quarter}; one more node takes {takes.text}"
        flips.append(_Flip(0, _title(room), left, then))
    if budgets := traced.plan.budgets:
        at = min(range(len(budgets)), key=lambda at: budgets[at].left_cents)
        limit, spent = (traced.read.at(f"budgets[{at}].{of}_cents") for of in ("limit", "spent"))
        name = f"Budget for {SPENDS[budgets[at].spend]} in {budgets[at].quarter or 'all'}, USD"
        left = traced.figure(limit - spent, "usd")
        flips.append(_Flip(0, name, left, "is all that is left of it"))
    anew = "planned anew where it says so" if found else "worked out from the plan as it is"
    if flips:
        yield table(
            flips,
            ("What would flip the decision", "text", lambda flip: flip.name),
            ("How far", "number", lambda flip: flip.at),
            ("Then", "text", lambda flip: flip.then),
            caption=f"Switching values, the nearest first, {anew}; last, the tightest limit "
            "and the tightest budget",
        )


def _margins(traced: TracedPlan) -> Iterator[Block]:
    """Show prices until renting is cheaper; then what is left under limits."""
    if flips := sorted(_rented(traced), key=lambda flip: (flip.by < 0, abs(flip.by))):
        yield Paragraph(
            "How far each price may move by itself before renting a node is cheaper than buying "
            "it. Worked out from the plan as it is, with every job and every node kept; planned "
            "anew, it may turn to other nodes sooner."
        )
        yield table(
            flips,
            ("Price", "text", lambda flip: flip.name),
            ("At most", "number", lambda flip: flip.at),
            ("Then", "text", lambda flip: flip.then),
            caption="Prices, the nearest first; below zero is down",
        )
    elif traced.beside.sensitivity is None:
        yield Paragraph(
            "Nothing that is bought could be rented: only planning anew tells at which price "
            "another plan becomes the cheaper one."
        )

    def cell(room: LimitMargin, name: str) -> Cell:
        known = getattr(room, name)
        style = _ROOMS[room.what][1]
        return _NONE if known is None else traced.figure(known, style)

    amounts = {"Taken": "taken", "Allowed": "allowed", "Left": "left", "One node takes": "one"}
    if rooms := list(traced.capacity.limit_margins()):
        yield table(
            rooms,
            ("Limit", "text", _title),
            ("Tightest in", "name", lambda room: traced.plan.quarters[room.quarter]),
            *columns_for(amounts.items(), cell),
            caption="Limits other than money, in the quarter in which the least is left; power is "
            "by nameplates",
        )


def _title(room: LimitMargin) -> str:
    of = room.of if room.what != "quota" else (" on ".join(room.of),)
    return _ROOMS[room.what][0].format(*of)


def _rented(traced: TracedPlan) -> Iterator[_Flip]:
    """Yield how far prices may move until renting a node is cheaper than buying it."""
    for offer, by in traced.accounts.price_turns().items():
        yield _Flip(float(by.value), f"Price of {offer}", traced.figure(by, "margin"), _RENTED)


def _turned(found: Sensitivity | None) -> Iterator[_Flip]:
    """Yield the turning points that planning anew has found, and what is acquired beyond them."""
    if found is None:
        return
    known = TracedFile(found, _FILE)
    for place, swing in enumerate(found.swings):
        for number, turn in enumerate(swing.turns if swing.unit == "share" else ()):
            after = turn.after
            at = known.at(f"swings[{place}].turns[{number}].after.by", "margin")
            told = f"another plan ({acquired_short(after.figures.acquired)})"
            if after.figures.cost_cents is None:
                told = (
                    NO_PLAN if after.figures.result == "infeasible" else f"{NO_PLAN} found in time"
                )
            then = f"planned anew, the plan turns: {told}"
            yield _Flip(after.by, swing.name.capitalize(), at, then)
