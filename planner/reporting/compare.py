"""Two plans side by side, what differs in the inputs first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.planning.ledger.traced import NOTHING
from planner.reporting.document import (
    Block,
    Bullets,
    Cell,
    Column,
    Document,
    Heading,
    Paragraph,
    Table,
)
from planner.reporting.elsewhere import Elsewhere
from planner.reporting.format import (
    count_of,
    listed,
    money,
    money_short,
    quarter_runs,
    shortened,
    signed_percent,
)
from planner.reporting.money import action_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.planning.ledger.traced import TracedFigure
    from planner.reporting.format import Style
    from planner.whatif.comparison.actuals import PlannedAndActual
    from planner.whatif.comparison.comparison import (
        Amount,
        Comparison,
        InputChange,
        JobMove,
        PurchaseChange,
    )

__all__ = ["TRACE", "comparison_document", "summary_of"]

TRACE = "how-since"
"""Where it is said in which file the figures stand."""

_NONE = "–"
_LONGEST = 48
_LEGEND = (
    "+ only after, - only before, ~ changed. Amounts in USD, not discounted unless said; the JSON "
    "form has them to the cent."
)


def summary_of(compared: Comparison) -> Elsewhere:
    """Figures of a comparison, by their places in compare.json."""
    return Elsewhere(compared, "compare.json", TRACE)


def comparison_document(compared: Comparison, most: int) -> Document:
    """The whole comparison; of inputs, jobs and warnings at most so many rows each."""
    known = summary_of(compared)
    delivered, demand = compared.deliveries, compared.demand
    sections: tuple[tuple[str, tuple[Block, ...]], ...] = (
        ("Inputs that differ", _inputs(compared, most)),
        ("Purchases and rents", _purchases(known, compared.purchases)),
        ("Cost", _costs(known, compared.costs)),
        ("Why the cost differs", _waterfall(known, compared)),
        ("Jobs dropped or delayed", _given_way(compared, most)),
        ("Jobs that run elsewhere", _moves(compared, most)),
        ("GPUs in service", _amounts(known, "GPU type", "gpus", compared.gpus)),
        ("Utilization", _amounts(known, "Share", "utilization", compared.utilization)),
        ("Power", _amounts(known, "Site, kW", "power", compared.power)),
        ("Warnings", _warnings(compared, most)),
        (
            "Planned and delivered",
            _outcomes(known, "Node type", "Nodes", "deliveries", delivered),
        ),
        ("Forecast and actual demand", _outcomes(known, "Job", "Units", "demand", demand)),
    )
    opening = (
        Heading(f"{compared.before.label} → {compared.after.label}", 1),
        Paragraph(_sentence(compared), tone="strong"),
        Paragraph(_LEGEND, "faint", TRACE),
    )
    body = [block for title, blocks in sections if blocks for block in (Heading(title), *blocks)]
    return (*opening, *body) if body else opening[:2]


def _sentence(compared: Comparison) -> str:
    before, after = compared.before, compared.after
    if compared.same:
        return f"Nothing differs: both cost {money(after.cost_cents)}, net present cost."
    added = after.cost_cents - before.cost_cents
    figures = f"{money(before.cost_cents)} → {money(after.cost_cents)}"
    unproved = [side.label for side in (before, after) if side.status != "proved"]
    proof = f"NOT proved: {listed(unproved)}" if unproved else "both proved"
    if before.short or after.short:
        proof += f"; jobs dropped or delayed: {before.short:,} → {after.short:,}"
    if not added:
        return f"The cost is the same, {money(after.cost_cents)} net present cost; {proof}."
    share = f" ({signed_percent(added / abs(before.cost_cents))})" if before.cost_cents else ""
    more = "more" if added > 0 else "less"
    return f"{money_short(abs(added))} {more}{share}: {figures}, net present cost; {proof}."


def _mark(before: object, after: object) -> str:
    return "+" if not before else "-" if not after else "~"


def _short(text: str | None) -> str:
    if text is None:
        return _NONE
    return shortened(text, _LONGEST)


def _rest(rows: Sequence[object], most: int) -> tuple[Block, ...]:
    if len(rows) <= most:
        return ()
    more = count_of(len(rows) - most, "more row")
    return (Paragraph(f"… {more}, all of them in compare.json", tone="faint"),)


def _inputs(compared: Comparison, most: int) -> tuple[Block, ...]:
    rows = compared.inputs
    blocks: list[Block] = []
    if rows:
        columns = (
            Column(""),
            Column("Value", wraps=True),
            Column("Before", wraps=True),
            Column("After", wraps=True),
            Column("Cause"),
        )
        blocks = [Table(columns, tuple(map(_input_row, rows[:most]))), *_rest(rows, most)]
    if compared.unread:
        blocks.append(Bullets(compared.unread, "warning"))
    return tuple(blocks)


def _input_row(change: InputChange) -> tuple[str, ...]:
    mark = _mark(change.before is not None, change.after is not None)
    return mark, change.path, _short(change.before), _short(change.after), change.cause


def _purchases(known: Elsewhere, changes: Sequence[PurchaseChange]) -> tuple[Block, ...]:
    if not changes:
        return ()
    rows = tuple(
        (
            _mark(one.before, one.after),
            one.quarter,
            action_of(one.kind, one.term_quarters),
            f"{one.node_type} @ {one.site}",
            *_sides(known, f"purchases[{place}]", "before", "after", "count"),
            *_sides(known, f"purchases[{place}]", "before_cents", "after_cents", "usd"),
            _more(known, f"purchases[{place}]", "before_cents", "after_cents", "more_usd"),
        )
        for place, one in enumerate(changes)
    )
    columns = (
        Column(""),
        Column("Quarter"),
        Column("Action"),
        Column("Node type", wraps=True),
        Column("Before", "right"),
        Column("After", "right"),
        Column("Total before", "right"),
        Column("Total after", "right"),
        Column("Adds", "right"),
    )
    read = known.read
    added = read.sum("purchases[*].after_cents") - read.sum("purchases[*].before_cents")
    whole = known.figure(added, "more_usd")
    return (Table(columns, rows, ("", "Sum", *[""] * 6, whole)),)


def _sides(known: Elsewhere, stem: str, before: str, after: str, style: Style) -> tuple[Cell, Cell]:
    return known.at(f"{stem}.{before}", style), known.at(f"{stem}.{after}", style)


def _more(known: Elsewhere, stem: str, before: str, after: str, style: Style) -> Cell:
    read = known.read
    return known.figure(read.at(f"{stem}.{after}") - read.at(f"{stem}.{before}"), style)


def _costs(known: Elsewhere, amounts: Sequence[Amount]) -> tuple[Block, ...]:
    columns = (
        Column("Present value of"),
        Column("Before", "right"),
        Column("After", "right"),
        Column("Adds", "right"),
    )
    *rows, whole = (
        (one.name, *_both(known, f"costs[{place}]", one, "usd", "more_usd"))
        for place, one in enumerate(amounts)
    )
    return (Table(columns, tuple(rows), whole),) if rows else ()


def _both(
    known: Elsewhere, stem: str, one: Amount, style: Style, more: Style
) -> tuple[Cell, Cell, Cell]:
    """Before, after, and what is added; a side that does not have it counts as nothing."""
    before, after = (
        known.read.at(f"{stem}.{side}") if value is not None else NOTHING
        for side, value in (("before", one.before), ("after", one.after))
    )

    def shown(traced: TracedFigure) -> Cell:
        return _NONE if traced is NOTHING else known.figure(traced, style)

    return shown(before), shown(after), known.figure(after - before, more)


def _waterfall(known: Elsewhere, compared: Comparison) -> tuple[Block, ...]:
    missing = compared.waterfall.missing
    if missing is not None:
        return (Paragraph(f"Not told apart by cause: {missing}.", tone="warning"),)
    steps = compared.waterfall.steps
    if not steps:
        return ()
    explained = (
        "One cause after the other is exchanged, in this order, and each step is planned by "
        "itself. A cause's share depends on the order; the sum does not."
    )
    rows: list[tuple[Cell, ...]] = [
        ("before", "", known.at("before.cost_cents", "usd"), compared.before.status)
    ]
    rows += [
        (
            " and ".join(step.causes),
            known.at(f"waterfall.steps[{place}].added_cents", "more_usd"),
            known.at(f"waterfall.steps[{place}].cost_cents", "usd"),
            step.status,
        )
        for place, step in enumerate(steps)
    ]
    columns = (
        Column("Cause", wraps=True),
        Column("Adds", "right"),
        Column("Net present cost", "right"),
        Column("Status"),
    )
    sums = (
        "after",
        known.figure(known.read.sum("waterfall.steps[*].added_cents"), "more_usd"),
        known.at("after.cost_cents", "usd"),
        compared.after.status,
    )
    return (Paragraph(explained, tone="faint"), Table(columns, tuple(rows), sums))


def _given_way(compared: Comparison, most: int) -> tuple[Block, ...]:
    """A plan that keeps fewer jobs is cheaper for that alone."""
    if not compared.short:
        return ()
    columns = (
        Column(""),
        Column("Job", wraps=True),
        Column("Before", wraps=True),
        Column("After", wraps=True),
        Column("Why it cannot be kept", wraps=True),
    )
    rows = tuple(
        (
            _mark(one.before, one.after),
            one.job,
            one.before or _NONE,
            one.after or _NONE,
            one.cause,
        )
        for one in compared.short[:most]
    )
    return (Table(columns, rows), *_rest(compared.short, most))


def _moves(compared: Comparison, most: int) -> tuple[Block, ...]:
    moves = compared.moves
    if not moves:
        return ()
    quarters = sorted({*compared.before.quarters, *compared.after.quarters})

    def row(move: JobMove) -> tuple[str, ...]:
        return (
            _mark(move.before, move.after),
            move.job,
            quarter_runs(quarters, move.quarters),
            move.before or _NONE,
            move.after or _NONE,
        )

    columns = (
        Column(""),
        Column("Job", wraps=True),
        Column("Quarters", wraps=True),
        Column("Before", wraps=True),
        Column("After", wraps=True),
    )
    return (Table(columns, tuple(map(row, moves[:most]))), *_rest(moves, most))


_STYLES: dict[str, tuple[Style, Style]] = {
    "GPUs": ("count", "more_count"),
    "share": ("share", "points"),
    "W": ("kw", "more_kw"),
}
"""How each unit is written, and how a difference is."""


def _amounts(
    known: Elsewhere, title: str, key: str, amounts: Sequence[Amount]
) -> tuple[Block, ...]:
    if not amounts:
        return ()
    rows: list[tuple[Cell, ...]] = []
    name = ""
    for place, one in enumerate(amounts):
        shown = "" if one.name == name else one.name
        name = one.name
        before, after, added = _both(known, f"{key}[{place}]", one, *_STYLES[one.unit])
        whole = None not in (one.before, one.after)
        rows.append((shown, one.quarter or "", before, after, added if whole else ""))
    columns = (
        Column(title, wraps=True),
        Column("Quarter"),
        Column("Before", "right"),
        Column("After", "right"),
        Column("Adds", "right"),
    )
    return (Table(columns, tuple(rows)),)


def _outcomes(
    known: Elsewhere, title: str, unit: str, key: str, outcomes: Sequence[PlannedAndActual]
) -> tuple[Block, ...]:
    """The plan before beside what came of it, quarter by quarter."""
    if not outcomes:
        return ()
    rows = tuple(
        (
            one.quarter,
            one.name,
            _NONE if one.planned is None else known.at(f"{key}[{place}].planned", "count"),
            "not told" if one.actual is None else known.at(f"{key}[{place}].actual", "count"),
            ""
            if None in (one.planned, one.actual)
            else _more(known, f"{key}[{place}]", "planned", "actual", "more_count"),
        )
        for place, one in enumerate(outcomes)
    )
    columns = (
        Column("Quarter"),
        Column(title, wraps=True),
        Column(f"{unit} planned", "right"),
        Column("Actual", "right"),
        Column("More", "right"),
    )
    return (Table(columns, rows),)


def _warnings(compared: Comparison, most: int) -> tuple[Block, ...]:
    lines = [f"- {text}" for text in compared.warnings_gone]
    lines += [f"+ {text}" for text in compared.warnings_new]
    if not lines:
        return ()
    return (Bullets(tuple(lines[:most]), "warning"), *_rest(lines, most))
