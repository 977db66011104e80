"""How the cost answers to one figure at a time: a table, a picture, and where the plan turns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from math import inf

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
    columns_for,
    table,
)
from planner.reporting.format import code, count_of, listed, money_short, percent, usd
from planner.reporting.sections.cost import optimism_rows
from planner.reporting.sections.margins import margins_section
from planner.reporting.sections.options import command_for, short_text
from planner.reporting.sections.variants import (
    NO_PLAN,
    acquired_text,
    moved_text,
)
from planner.reporting.traced import TracedFile, TracedPlan
from planner.whatif.results import Moved, PlanSummary, Sensitivity, Swing

_NAMED = 4
"""Figures that the headline names."""
_NONE = "–"
_BIAS = Blank(f"{code('finance.optimism_bias:')} of the scenario")
_ENDS = ("low", "high")
_TRACE = "how-sensitivity"


def sensitivity_section(traced: TracedPlan) -> Iterator[Block]:
    """What ends the plan first; then every figure, planned anew, and where the plan turns."""
    found = traced.beside.sensitivity
    yield from margins_section(traced)
    rows: list[tuple[str, Cell]] = []
    if traced.plan.break_evens:
        link = traced.link("buying against renting", "cost")
        rows.append(("From which use on buying is cheaper than renting", link))
    if found is None:
        command = code(command_for("sensitivity", traced.plan))
        turns = Blank(f"{command}, where plan.json is, and report again")
        rows.append(("At which price, growth or delay the recommendation turns", turns))
    else:
        picture = tornado(found)
        yield Heading("One figure moved at a time, everything planned anew", 3)
        yield from (picture,) if picture else ()
        yield from beneath(_planned_anew(found))
    yield Fields(
        (
            *rows,
            ("Two or three changes at once", Blank(f"{code('planner risk')}, or named scenarios")),
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
            f"One figure at a time is moved by {percent(found.swing)} of its value either way, "
            f"lead times by {count_of(found.weeks, 'week')}; everything is planned anew each "
            "time. Amounts are what the net present cost changes by, in USD. Figures of these "
            "plans stand in sensitivity.json, each with the settings that "
            f"{code('planner plan')} makes it with again.",
            "faint",
            _TRACE,
        ),
        _swings(found, known),
        *_other_jobs_short(found),
        Heading("Where the recommendation turns"),
        *_turns(found, known),
        *_unproved(found),
    )


def _swings(found: Sensitivity, known: TracedFile) -> Table:
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

    return table(
        enumerate(found.swings),
        ("Figure", "text", lambda row: row[1].name),
        ("As it is", "text", lambda row: row[1].stated or _NONE),
        *columns_for((("Down", "low"), ("Up", "high")), added),
        ("Spread", "number", spread),
        (
            "Turns",
            "text",
            lambda row: (
                ", ".join(
                    f"{_by(row[1], turn.after)}"
                    f"{f': {NO_PLAN}' if turn.after.figures.cost_cents is None else ''}"
                    for turn in row[1].turns
                )
                or _NONE
            ),
        ),
    )


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
        (
            "Between",
            "text",
            lambda row: f"{_by(row[1], row[2].before)} and {_by(row[1], row[2].after)}",
        ),
        ("Then acquired", "text", lambda row: then_acquired(row[2].after.figures)),
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
        f"{one.name} {_by(one, moved)}"
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


def _by(one: Swing, moved: Moved) -> str:
    """`+20.0 % ($323,531.25)`: how far, and what it then is."""
    stated = ""
    if one.unit == "share" and len(moved.settings) == 1:
        (override,) = moved.settings
        key, value = override.path[-1], override.value
        stated = f" ({override.value_text})"
        if isinstance(value, int | Decimal):
            priced = "price_usd" in key or key.endswith("usd_per_kwh")
            stated = f" ({'$' * priced}{Decimal(value):,f})"
    return f"{moved_text(one.unit, moved.by)}{stated}"


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
