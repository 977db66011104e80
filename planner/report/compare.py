"""Two plans side by side, what differs in the inputs first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.report.document import Block, Bullets, Column, Document, Heading, Paragraph, Table
from planner.report.format import (
    count_of,
    dollars,
    figure,
    listed,
    money,
    money_short,
    percent,
    quarter_runs,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.whatif.actuals import Outcome
    from planner.whatif.comparison import (
        Amount,
        Comparison,
        InputChange,
        JobMove,
        PurchaseChange,
    )

__all__ = ["comparison_document"]

_NONE = "–"
_LONGEST = 48
_LEGEND = "+ only after, - only before, ~ changed. Amounts in USD, not discounted unless said."


def comparison_document(compared: Comparison, most: int) -> Document:
    """The whole comparison; of inputs, jobs and warnings at most so many rows each."""
    sections: tuple[tuple[str, tuple[Block, ...]], ...] = (
        ("Inputs that differ", _inputs(compared, most)),
        ("Purchases and rents", _purchases(compared.purchases)),
        ("Cost", _costs(compared.costs)),
        ("Why the cost differs", _waterfall(compared)),
        ("Jobs dropped or delayed", _given_way(compared, most)),
        ("Jobs that run elsewhere", _moves(compared, most)),
        ("GPUs in service", _amounts("GPU type", compared.gpus)),
        ("Utilization", _amounts("Share", compared.utilization)),
        ("Power", _amounts("Site", compared.power)),
        ("Warnings", _warnings(compared, most)),
        ("Planned and delivered", _outcomes("Node type", "Nodes", compared.deliveries)),
        ("Forecast and actual demand", _outcomes("Job", "Units", compared.demand)),
    )
    opening = (
        Heading(f"{compared.before.label} → {compared.after.label}", 1),
        Paragraph(_sentence(compared), tone="strong"),
        Paragraph(_LEGEND, tone="faint"),
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
    share = f" ({_signed_percent(added, before.cost_cents)})" if before.cost_cents else ""
    more = "more" if added > 0 else "less"
    return f"{money_short(abs(added))} {more}{share}: {figures}, net present cost; {proof}."


def _signed_percent(added: int, of: int) -> str:
    return f"{'+' if added > 0 else '-'}{percent(abs(added) / of)}"


def _signed(cents: int) -> str:
    return f"+{dollars(cents)}" if cents > 0 else dollars(cents)


def _mark(before: object, after: object) -> str:
    return "+" if not before else "-" if not after else "~"


def _short(text: str | None) -> str:
    if text is None:
        return _NONE
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


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


def _purchases(changes: Sequence[PurchaseChange]) -> tuple[Block, ...]:
    if not changes:
        return ()
    rows = tuple(
        (
            _mark(one.before, one.after),
            one.quarter,
            one.kind,
            f"{one.node_type} @ {one.site}",
            f"{one.before:,} → {one.after:,}",
            f"{dollars(one.before_cents)} → {dollars(one.after_cents)}",
            _signed(one.after_cents - one.before_cents),
        )
        for one in changes
    )
    columns = (
        Column(""),
        Column("Quarter"),
        Column("Action"),
        Column("Node type", wraps=True),
        Column("Nodes", "right"),
        Column("Total", "right", wraps=True),
        Column("Adds", "right"),
    )
    added = sum(one.after_cents - one.before_cents for one in changes)
    return (Table(columns, rows, ("", "Sum", "", "", "", "", _signed(added))),)


def _costs(amounts: Sequence[Amount]) -> tuple[Block, ...]:
    columns = (
        Column("Present value of"),
        Column("Before", "right"),
        Column("After", "right"),
        Column("Adds", "right"),
    )
    *rows, whole = (
        (
            one.name,
            *(_NONE if cents is None else dollars(int(cents)) for cents in (one.before, one.after)),
            _signed(int(one.after or 0) - int(one.before or 0)),
        )
        for one in amounts
    )
    return (Table(columns, tuple(rows), whole),) if rows else ()


def _waterfall(compared: Comparison) -> tuple[Block, ...]:
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
    rows = [("before", "", dollars(compared.before.cost_cents), compared.before.status)]
    rows += [
        (
            " and ".join(step.causes),
            _signed(step.added_cents),
            dollars(step.cost_cents),
            step.status,
        )
        for step in steps
    ]
    added = sum(step.added_cents for step in steps)
    columns = (
        Column("Cause", wraps=True),
        Column("Adds", "right"),
        Column("Net present cost", "right"),
        Column("Status"),
    )
    sums = ("after", _signed(added), dollars(compared.after.cost_cents), compared.after.status)
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


def _amounts(title: str, amounts: Sequence[Amount]) -> tuple[Block, ...]:
    if not amounts:
        return ()
    rows = []
    name = ""
    for one in amounts:
        shown = "" if one.name == name else one.name
        name = one.name
        before, after = (_amount(value, one.unit) for value in (one.before, one.after))
        rows.append((shown, one.quarter or "", before, after, _delta(one)))
    columns = (
        Column(title, wraps=True),
        Column("Quarter"),
        Column("Before", "right"),
        Column("After", "right"),
        Column("Adds", "right"),
    )
    return (Table(columns, tuple(rows)),)


def _amount(value: float | None, unit: str) -> str:
    if value is None:
        return _NONE
    if unit == "share":
        return percent(value)
    return f"{figure(value / 1000)} kW" if unit == "W" else figure(value)


def _delta(one: Amount) -> str:
    if one.before is None or one.after is None:
        return ""
    added = one.after - one.before
    if one.unit == "share":
        return f"{'+' if added > 0 else '-'}{abs(added) * 100:.1f} points"
    shown = _amount(abs(added), one.unit)
    return f"{'+' if added > 0 else '-'}{shown}"


def _outcomes(title: str, unit: str, outcomes: Sequence[Outcome]) -> tuple[Block, ...]:
    """The plan before beside what came of it, quarter by quarter."""
    if not outcomes:
        return ()
    rows = tuple(
        (
            one.quarter,
            one.name,
            _NONE if one.planned is None else f"{one.planned:,}",
            "not told" if one.actual is None else f"{one.actual:,}",
            "" if None in (one.planned, one.actual) else _count(one),
        )
        for one in outcomes
    )
    columns = (
        Column("Quarter"),
        Column(title, wraps=True),
        Column(f"{unit} planned", "right"),
        Column("Actual", "right"),
        Column("More", "right"),
    )
    return (Table(columns, rows),)


def _count(one: Outcome) -> str:
    added = (one.actual or 0) - (one.planned or 0)
    return f"{added:+,}" if added else "0"


def _warnings(compared: Comparison, most: int) -> tuple[Block, ...]:
    lines = [f"- {text}" for text in compared.warnings_gone]
    lines += [f"+ {text}" for text in compared.warnings_new]
    if not lines:
        return ()
    return (Bullets(tuple(lines[:most]), "warning"), *_rest(lines, most))
