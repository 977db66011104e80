"""How far figures may move before a plan meets a limit, and what the cost answers to each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from math import inf

from planner.inputs.scenario.site import SITE_LIMITS
from planner.planning.ledger.accounts import LimitMargin, Meets, Price
from planner.planning.ledger.traced import TracedFigure
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
from planner.reporting.format import (
    Style,
    code,
    count_of,
    listed,
    money_short,
    percent,
    usd,
)
from planner.reporting.sections.cost import optimism_rows
from planner.reporting.sections.options import command_for, short_text
from planner.reporting.sections.sites import limit_style, limit_title
from planner.reporting.sections.variants import (
    NO_PLAN,
    acquired_short,
    acquired_text,
    moved_text,
)
from planner.reporting.traced import TracedFile, TracedPlan
from planner.whatif.results import PlanSummary
from planner.whatif.sensitivity import Moved, Sensitivity, Swing, SwitchingPoint

_OF_PICTURE = "Net present cost with one figure moved at a time, the widest first."
_NAMED = 4
"""Figures that the headline names."""
_NONE = "–"
_BIAS = Blank(f"{code('finance.optimism_bias:')} of the scenario")
_ENDS = ("low", "high")
_TRACE = "how-sensitivity"


def sensitivity_section(traced: TracedPlan) -> Iterator[Block]:
    """What ends the plan first; then every figure, planned anew, and where the plan turns."""
    found = traced.beside.sensitivity
    yield from titled((("What ends this plan first", margins_section(traced)),), 3)
    rows: tuple[tuple[str, Cell], ...] = ()
    if found is None:
        command = code(command_for("sensitivity", traced.plan))
        turns = Blank(f"{command}, where plan.json is, and report again")
        rows = (("At which price, growth or delay the recommendation turns", turns),)
    else:
        picture = tornado(found)
        picture = picture and replace(picture, says=_OF_PICTURE)  # the headline stands below
        yield Heading("One figure moved at a time", 3)
        yield from (picture,) if picture else ()
        yield from beneath(_planned_anew(found))
    yield Fields(
        (
            *rows,
            *(tuple(optimism_rows(traced)) or (("Uplift of purchases for optimism bias", _BIAS),)),
        )
    )


def sensitivity_document(found: Sensitivity) -> Document:
    """The whole of it: what moves the cost most, then what is bought on either side of a turn."""
    return (Heading(f"Sensitivity of {found.scenario}", 1), *_planned_anew(found))


def _planned_anew(found: Sensitivity) -> tuple[Block, ...]:
    known = TracedFile(found, "sensitivity.json", _TRACE)
    return (
        Paragraph(headline(found), tone="strong"),
        Paragraph(
            f"Each figure is moved by {percent(found.swing)} of its value either way, lead times "
            f"by {count_of(found.weeks, 'week')}, and everything is planned anew; amounts are "
            "changes of the net present cost in USD. sensitivity.json has these plans, with the "
            f"settings that {code('planner plan')} makes each with again.",
            "faint",
            _TRACE,
        ),
        *_swings(found, known),
        *_other_jobs_short(found),
        Heading("Where the recommendation turns"),
        *_turns(found, known),
        *_unproved(found),
    )


def _swings(found: Sensitivity, known: TracedFile) -> Iterator[Block]:
    """What each figure moves, and in a sentence those that move nothing."""
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
        f"Acquired as the scenario stands: {acquired_text(found.base.acquired)}. Each turn lies "
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
    """The cost, what leaves no plan, and then what moves the cost most."""
    cost = found.base.cost_cents
    if cost is None:
        known = found.base.result == "infeasible"
        told = "No plan exists" if known else "No plan was found"
        return f"{told} as it stands: {found.base.reason}."
    told = f"{usd(cost)}, {found.base.result}"
    none = [
        f"{one.name} {moved_text(one.unit, moved.by)}{_in_brackets(_stated(one, moved))}"
        for one in found.swings
        for moved in one.without_plan
        if moved.figures.result == "infeasible"
    ]
    if none:
        told += f"; {NO_PLAN} exists with {_some(none)}"
    # Whether there is a plan is open where the search ended before it knew.
    unknown = [
        one.name
        for one in found.swings
        if any(moved.figures.result != "infeasible" for moved in one.without_plan)
    ]
    if unknown:
        told += f"; {NO_PLAN} was found at some values of {_some(unknown)}"
    widest = next((one for one in found.swings if not one.without_plan and one.spread_cents), None)
    if widest is not None:
        spread = money_short(widest.spread_cents or 0)
        which = "of the others, it moves most with" if none or unknown else "it moves most with"
        told += f"; {which} {widest.name}, by {spread} from end to end"
    return f"{told}."


def _in_brackets(stated: str) -> str:
    return f" ({stated})" if stated else ""


def _some(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return listed([*names[:_NAMED], f"{more:,} more"] if more > 0 else names, "or")


def _other_jobs_short(found: Sensitivity) -> Iterator[Block]:
    """The ends at which the cost is that of other jobs; nothing where none gives way otherwise."""
    ends = tuple(
        f"{one.name}, {moved_text(one.unit, end.by)}, {short_text(end.figures) or 'none'}"
        for one in found.swings
        for end in (one.low, one.high)
        if end.figures.cost_cents is not None and end.figures.giving_way != found.base.giving_way
    )
    if ends:
        yield Paragraph(
            "Here other jobs give way than as the scenario stands "
            f"({short_text(found.base) or 'none'}), so that the costs are not those of the same "
            "work:",
            tone="warning",
        )
        yield Bullets(ends)


def _stated(one: Swing, moved: Moved) -> str:
    """What a figure then is: `$323,531.25`, or empty where several are moved together."""
    if one.unit != "share" or len(moved.settings) != 1:
        return ""
    (override,) = moved.settings
    key, value = override.path[-1], override.value
    if not isinstance(value, int | Decimal):
        return override.value_text
    priced = "price_usd" in key or key.endswith("usd_per_kwh")
    return f"{'$' * priced}{Decimal(value):,f}"


def then_acquired(figures: PlanSummary) -> str:
    """What is acquired after a turn, or why nothing can be."""
    if figures.cost_cents is not None:
        return acquired_text(figures.acquired)
    reason = figures.reason
    return reason if reason.startswith(NO_PLAN) else f"{NO_PLAN}: {reason}"


def _unproved(found: Sensitivity) -> Iterator[Block]:
    plans = [found.base, *(end.figures for one in found.swings for end in (one.low, one.high))]
    plans += [turn.after.figures for one in found.swings for turn in one.turns]
    if number := sum(one.result in ("not proved", "no plan in time") for one in plans):
        words = f"NOT proved within the limits: {count_of(number, 'plan')} of those shown."
        yield Paragraph(words, tone="warning")


def tornado(found: Sensitivity) -> Tornado | None:
    """What leaves no plan stands at the top, then what moves the cost most.

    None where the scenario as it stands has no plan to measure from.
    """
    base = found.base.cost_cents
    if base is None:
        return None
    gone = any(one.figures.cost_cents is None for s in found.swings for one in (s.low, s.high))
    edge = " An end without a plan reaches to the edge." if gone else ""
    return Tornado(
        title=f"What moves the cost of {found.scenario}",
        says=f"{_OF_PICTURE}{edge} {headline(found)}",
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


_FILE = "sensitivity.json"
_KINDS = {"buy": "bought", "rent": "rented", "reserve": "reserved", "hourly": "rented by the hour"}
_LEVERS = {"energy": "price of energy", "support": "support"}
"""Costs whose price the sensitivity moves, by its name there."""
_SPENDS = {
    "capex": "capital",
    "opex": "running cost",
    "spending": "capital and running cost together",
}
_FLIPS, _FAR = 3, 1.0
"""Values that page 1 has at the most, and the share by which none of them is further away."""
_ROOMS: dict[str, tuple[str, Style]] = {
    **{one.need: (limit_title(one, " at {0}"), limit_style(one)) for one in SITE_LIMITS},
    "rack power": ("Power of the fullest rack at {0}, rack {1}, kW", "kw"),
    "racks": ("Racks at {0}", "count"),
    "quota": ("Quota of {0}, GPUs", "number"),
    "maximum": ("Nodes that {0} gives at a time", "count"),
}


def flips_table(traced: TracedPlan) -> Iterator[Table]:
    """For page 1: the three nearest switching values, and the tightest limit.

    Nothing where no price or limit stands against the plan.
    """
    found = traced.beside.sensitivity
    near = (row for row in (*_prices(traced, found), *_levers(found)) if abs(row[0]) <= _FAR)
    rows = sorted(near, key=lambda row: abs(row[0]))
    nearest = {(cell_text(row[1]), row[2]): row for _, row in reversed(rows)}
    flips = [(row[0], row[1], row[2]) for row in list(nearest.values())[: -_FLIPS - 1 : -1]]
    rooms = [room for room in traced.capacity.limit_margins() if room.one and room.one.value]
    if rooms:
        room = min(rooms, key=lambda room: float(room.left.value / _one(room).value))
        style, quarter = _ROOMS[room.what][1], traced.plan.quarters[room.quarter]
        left = traced.figure(room.left, style, "how-margins")
        takes = traced.figure(_one(room), style, "how-margins").text
        flips.append(
            (_title(room), left, f"is all that is left in {quarter}; one more node takes {takes}")
        )
    anew = "planned anew where it says so" if found else "worked out from the plan as it is"
    yield from [
        table(
            flips,
            ("What would flip the decision", "text", lambda row: row[0]),
            ("How far", "number", lambda row: row[1]),
            ("Then", "text", lambda row: row[2]),
            caption=f"Switching values, the nearest first, {anew}; last, the tightest limit other "
            "than money",
        )
    ][: len(flips)]


def _one(room: LimitMargin) -> TracedFigure:
    return room.one or room.allowed


def _levers(found: Sensitivity | None) -> Iterator[tuple[float, tuple[Cell, ...]]]:
    """Where the plan turns with what is no price of its own, such as growth."""
    for place, swing in enumerate(found.swings if found else ()):
        if swing.unit == "share" and not swing.name.startswith("price of "):
            for number, turn in enumerate(swing.turns):
                known = TracedFile(found, _FILE, _TRACE)  # type: ignore[arg-type]
                at = known.at(f"swings[{place}].turns[{number}].after.by", "margin")
                then = f"planned anew, the plan turns: {_after(turn)}"
                yield turn.after.by, (swing.name.capitalize(), at, then)


def margins_section(traced: TracedPlan) -> Iterator[Block]:
    """Prices until a budget is exhausted; then what is left under limits."""
    found = traced.beside.sensitivity
    rows = sorted(_prices(traced, found), key=lambda row: (row[0] < 0, abs(row[0])))
    if rows:
        yield Paragraph(
            "How far each price may move by itself, at most, before this plan exceeds a budget or "
            "is no longer the cheaper way. Worked out from the plan as it is, with every job and "
            "every node kept; planned anew, it may turn to other nodes sooner."
        )
        yield table(
            (cells for _, cells in rows),
            ("Price", "text", lambda row: row[0]),
            ("At most", "number", lambda row: row[1]),
            ("Then", "text", lambda row: row[2]),
            ("Left until then, USD", "number", lambda row: row[3]),
            caption="Prices, the nearest limit first; below zero is down",
        )
    elif found is None:
        yield Paragraph(
            "No budget limits a price, and nothing that is bought could be rented: only planning "
            "anew tells at which price another plan becomes the cheaper one."
        )
    yield from _rooms(traced)


def _prices(
    traced: TracedPlan, found: Sensitivity | None
) -> Iterator[tuple[float, tuple[Cell, ...]]]:
    """What each price meets first either way: a limit, or a turn that planning anew has found."""
    accounts = traced.accounts
    for price in accounts.prices():
        swing, name = _swing(traced, price, found), _name(traced, price)
        for meets, sign in ((accounts.met_by_rise(price), 1), (accounts.met_by_fall(price), -1)):
            turn = _turn(swing, sign)
            if turn and swing and found:
                number, one = turn
                by = one.after.by
                if meets is None or abs(by) < abs(meets.by.value):
                    known = TracedFile(found, _FILE, _TRACE)
                    at = known.at(f"swings[{swing[0]}].turns[{number}].after.by", "margin")
                    yield by, (name, at, f"planned anew, the plan turns: {_after(one)}", "–")
                    continue
            if meets is None:
                continue
            at = traced.figure(meets.by, "margin", "how-margins")
            left = "–" if meets.left is None else traced.figure(meets.left, "usd", "how-margins")
            yield float(meets.by.value), (name, at, _then(traced, meets), left)


def _then(traced: TracedPlan, meets: Meets) -> str:
    if meets.budget is not None:
        return f"exceeds the budget for {_budget(traced, meets.budget)}"
    return "renting a node that is used in all hours is cheaper than buying it"


def _after(turn: SwitchingPoint) -> str:
    figures = turn.after.figures
    if figures.cost_cents is None:
        return NO_PLAN if figures.result == "infeasible" else f"{NO_PLAN} found in time"
    return f"another plan ({acquired_short(figures.acquired)})"


def _budget(traced: TracedPlan, place: int) -> str:
    """`capital in 2027Q3`, `running cost over the horizon`."""
    budget = traced.plan.budgets[place]
    return f"{_SPENDS[budget.spend]} {f'in {budget.quarter}' if budget.quarter else 'in all'}"


def _name(traced: TracedPlan, price: Price) -> str:
    """`Price of xe9680-h200, bought (buy-h200-dublin)`."""
    if price.cost is not None:
        return f"Price of {price.kind}"
    how = _KINDS[price.kind]
    if price.node_type is None:
        return f"All prices of what is {how}, together"
    offers = sorted({traced.plan.acquisitions[place].offer for place in price.lines})
    return f"Price of {price.node_type}, {how} ({listed(offers)})"


def _swing(traced: TracedPlan, price: Price, found: Sensitivity | None) -> tuple[int, Swing] | None:
    """Where the sensitivity moves this price and nothing else."""
    offers = {traced.plan.acquisitions[place].offer for place in price.lines}
    name = _LEVERS.get(price.kind)
    if len(offers) == 1 and price.node_type is not None:
        name = f"price of {offers.pop()}"
    swings = enumerate(found.swings if found else ())
    return next(((place, one) for place, one in swings if one.name == name), None)


def _turn(swing: tuple[int, Swing] | None, sign: int) -> tuple[int, SwitchingPoint] | None:
    turns = enumerate(swing[1].turns if swing else ())
    return next(((place, one) for place, one in turns if one.after.by * sign > 0), None)


def _title(room: LimitMargin) -> str:
    of = room.of if room.what != "quota" else (" on ".join(room.of),)
    return _ROOMS[room.what][0].format(*of)


def _rooms(traced: TracedPlan) -> Iterator[Table]:
    def cell(room: LimitMargin, name: str) -> Cell:
        known = getattr(room, name)
        style = _ROOMS[room.what][1]
        return "–" if known is None else traced.figure(known, style, "how-margins")

    if rooms := list(traced.capacity.limit_margins()):
        yield table(
            rooms,
            ("Limit", "text", _title),
            ("Tightest in", "name", lambda room: traced.plan.quarters[room.quarter]),
            *columns_for(
                (
                    ("Taken", "taken"),
                    ("Allowed", "allowed"),
                    ("Left", "left"),
                    ("One node takes", "one"),
                ),
                cell,
            ),
            caption="Limits other than money, in the quarter in which the least is left; power is "
            "by nameplates",
        )
