"""Two plans side by side, what differs in the inputs first; and what a replay gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

from planner.planning.ledger.traced import NOTHING, TracedFigure, total
from planner.reporting.document import (
    AnyRow,
    Block,
    Bullets,
    Cell,
    Chart,
    ColumnKind,
    Document,
    Fields,
    Figure,
    Getter,
    Heading,
    Paragraph,
    Series,
    beneath,
    columns_for,
    rest,
    table,
    titled,
)
from planner.reporting.format import (
    Style,
    count_of,
    listed,
    money_short,
    quarter_runs,
    shortened,
    signed_percent,
    usd,
    with_code,
)
from planner.reporting.sections.purchases import action_of
from planner.reporting.traced import TracedFile
from planner.whatif.actuals import PlannedAndActual
from planner.whatif.compare import Amount, ChangedOrigin, Comparison, Replay

OPEN = ("Purchases, rents and releases", "Cost", "Jobs that give way")
"""Titles of the sections that a reader of a pull request sees at once."""

_TRACE = "how-since"
"""Where it is said in which file the figures stand."""
_NONE = "–"
_IN_FILE = ", all of them in compare.json"
_LONGEST = 48
_ROWS = 500
_DIGITS = 12
"""Of a sha256, enough to tell two files apart."""
_STYLES: dict[str, tuple[Style, Style]] = {
    "cents": ("usd", "more_usd"),
    "GPUs": ("count", "more_count"),
    "share": ("share", "points"),
    "W": ("kw", "more_kw"),
}
"""How each unit is written, and how a difference is."""


def comparison_document(compared: Comparison, most: int) -> Document:
    """The whole comparison; of inputs, jobs and warnings at most so many rows each."""
    known = TracedFile(compared, "compare.json", _TRACE)
    body = titled(
        (
            ("Inputs that differ", _inputs(compared, most)),
            ("Purchases, rents and releases", _purchases(known, compared)),
            ("Cost", _amounts(known, "Present value of", "costs", compared.costs)),
            ("Why the cost differs", _waterfall(known, compared)),
            ("Jobs that give way", _given_way(compared, most)),
            ("Jobs that run elsewhere", _moves(compared, most)),
            ("GPUs in service", _amounts(known, "GPU type", "gpus", compared.gpus)),
            ("Utilization", _amounts(known, "Share", "utilization", compared.utilization)),
            ("Power", _amounts(known, "Site, kW", "power", compared.power)),
            ("Warnings", _warnings(compared, most)),
            ("Planned and delivered", _outcomes(known, "Node type", "deliveries", compared)),
            ("Forecast and actual demand", _outcomes(known, "Job", "demand", compared)),
        )
    )
    legend = (
        "+ only after, - only before, ~ changed. Amounts in USD, not discounted unless said; the "
        "JSON form has them to the cent."
    )
    return (
        Heading(f"{compared.before.label} → {compared.after.label}", 1),
        Paragraph(_sentence(compared), tone="strong"),
        *((Paragraph(legend, "faint", _TRACE),) if body else ()),
        *body,
    )


def changes_since(compared: Comparison) -> tuple[Block, ...]:
    """What changed since an earlier plan, as a part of a document, with the cost by cause drawn."""
    _, *blocks = comparison_document(compared, _ROWS)
    chart = waterfall_chart(compared, _TRACE)
    return (*beneath(tuple(blocks)), *_forecast(compared), *((chart,) if chart else ()))


def _forecast(compared: Comparison) -> Iterator[Block]:
    """How far the forecast was off: the sum of all differences over the sum of what came."""
    known = TracedFile(compared, "compare.json", _TRACE)
    off: list[TracedFigure] = []
    came: list[TracedFigure] = []
    for place, one in enumerate(compared.demand):
        if one.planned is None or one.actual is None:
            continue
        planned, actual = (
            known.read.at(f"demand[{place}].{name}") for name in ("planned", "actual")
        )
        off.append(planned - actual if one.planned > one.actual else actual - planned)
        came.append(actual)
    if total(came).value:
        error = known.figure(total(off) / total(came), "share")
        yield Fields((("Forecast error of the demand", error),))


def _sentence(compared: Comparison) -> str:
    before, after = compared.before, compared.after
    if compared.same:
        return f"Nothing differs: both cost {usd(after.cost_cents)}, net present cost."
    added = after.cost_cents - before.cost_cents
    figures = f"{usd(before.cost_cents)} → {usd(after.cost_cents)}"
    unproved = [side.label for side in (before, after) if side.status != "proved"]
    proof = f"NOT proved: {listed(unproved)}" if unproved else "both proved"
    if before.short or after.short:
        proof += f"; jobs that give way: {before.short:,} → {after.short:,}"
    if not added:
        return f"The cost is the same, {usd(after.cost_cents)} net present cost; {proof}."
    share = f" ({signed_percent(added / abs(before.cost_cents))})" if before.cost_cents else ""
    more = "more" if added > 0 else "less"
    return f"{money_short(abs(added))} {more}{share}: {figures}, net present cost; {proof}."


def _mark(before: object, after: object) -> str:
    return "+" if not before else "-" if not after else "~"


def _short(text: str | None) -> str:
    return _NONE if text is None else shortened(text, _LONGEST)


def _changes(
    rows: Sequence[AnyRow],
    most: int,
    mark: Callable[[AnyRow], str],
    *columns: tuple[str, ColumnKind, Getter[AnyRow]],
) -> Iterator[Block]:
    """At most so many rows, each with its mark first, and how many more there are."""
    if rows:
        yield table(rows[:most], ("", "name", mark), *columns)
    yield from rest(len(rows) - most, "row", _IN_FILE)


def _inputs(compared: Comparison, most: int) -> Iterator[Block]:
    yield from _changes(
        compared.inputs,
        most,
        lambda one: _mark(one.before is not None, one.after is not None),
        ("Value", "text", lambda one: one.path),
        ("Before", "text", lambda one: _short(one.before)),
        ("After", "text", lambda one: _short(one.after)),
        ("Cause", "name", lambda one: one.cause),
    )
    if compared.unread:
        yield Bullets(compared.unread, "warning")


def _purchases(known: TracedFile, compared: Comparison) -> Iterator[Block]:
    changes, read = compared.purchases, known.read
    if not changes:
        return

    def added(stem: str) -> Cell:
        more = read.at(f"{stem}.after_cents") - read.at(f"{stem}.before_cents")
        return known.figure(more, "more_usd")

    whole = read.sum("purchases[*].after_cents") - read.sum("purchases[*].before_cents")
    yield table(
        [(one, f"purchases[{place}]") for place, one in enumerate(changes)],
        ("", "name", lambda row: _mark(row[0].before, row[0].after)),
        ("Quarter", "name", lambda row: row[0].quarter),
        ("Action", "text", lambda row: action_of(row[0].kind, row[0].term_quarters)),
        ("Node type", "text", lambda row: f"{row[0].node_type} @ {row[0].site}"),
        ("Before", "number", lambda row: known.at(f"{row[1]}.before", "count")),
        ("After", "number", lambda row: known.at(f"{row[1]}.after", "count")),
        ("Total before", "number", lambda row: known.at(f"{row[1]}.before_cents", "usd")),
        ("Total after", "number", lambda row: known.at(f"{row[1]}.after_cents", "usd")),
        ("Adds", "number", lambda row: added(row[1])),
        sums={"Quarter": "Sum", "Adds": known.figure(whole, "more_usd")},
    )


def _waterfall(known: TracedFile, compared: Comparison) -> Iterator[Block]:
    missing, steps = compared.waterfall.missing, compared.waterfall.steps
    if missing is not None:
        yield Paragraph(f"Not told apart by cause: {missing}.", tone="warning")
    elif steps:
        yield Paragraph(
            "One cause after the other is exchanged, in this order, and each step is planned by "
            "itself. A cause's share depends on the order; the sum does not.",
            tone="faint",
        )
        stem = "waterfall.steps[{}].{}"
        rows: list[tuple[str, Cell, Cell, str]] = [
            ("before", "", known.at("before.cost_cents", "usd"), compared.before.status)
        ]
        rows += [
            (
                " and ".join(step.causes),
                known.at(stem.format(place, "added_cents"), "more_usd"),
                known.at(stem.format(place, "cost_cents"), "usd"),
                step.status,
            )
            for place, step in enumerate(steps)
        ]
        all_added = known.read.sum("waterfall.steps[*].added_cents")
        yield table(
            rows,
            ("Cause", "text", lambda row: row[0]),
            ("Adds", "number", lambda row: row[1]),
            ("Net present cost", "number", lambda row: row[2]),
            ("Status", "name", lambda row: row[3]),
            sums={
                "Cause": "after",
                "Adds": known.figure(all_added, "more_usd"),
                "Net present cost": known.at("after.cost_cents", "usd"),
                "Status": compared.after.status,
            },
        )


def waterfall_chart(compared: Comparison, trace: str = "") -> Chart | None:
    """From the cost before, cause by cause, to the cost after; None where no causes are told.

    `trace` is the anchor of the paragraph that says where the figures stand.
    """
    steps = compared.waterfall.steps
    if not steps:
        return None
    bars = [("before", compared.before.cost_cents, "before.cost_cents")]
    bars += [
        (" and ".join(step.causes), step.added_cents, f"waterfall.steps[{place}].added_cents")
        for place, step in enumerate(steps)
    ]
    bars.append(("after", compared.after.cost_cents, "after.cost_cents"))
    figures = tuple(
        Figure(Fraction(cents), "usd", f"compare.json: {place}", trace) for _, cents, place in bars
    )
    says = "; ".join(
        f"{name}: {one.text} USD" for (name, _, _), one in zip(bars, figures, strict=True)
    )
    return Chart(
        title="Net present cost, from the plan before to the one after",
        says=f"{says}.",
        categories=tuple(name for name, _, _ in bars),
        series=(Series("Net present cost", figures),),
        unit="USD",
        marks=((0, "before"), (len(bars) - 1, "after")),
        waterfall=True,
    )


def _given_way(compared: Comparison, most: int) -> Iterator[Block]:
    """A plan that keeps fewer jobs is cheaper for that alone."""
    return _changes(
        compared.short,
        most,
        lambda one: _mark(one.before, one.after),
        ("Job", "text", lambda one: one.job),
        ("Before", "text", lambda one: one.before or _NONE),
        ("After", "text", lambda one: one.after or _NONE),
        ("Why it cannot be kept", "text", lambda one: one.cause),
    )


def _moves(compared: Comparison, most: int) -> Iterator[Block]:
    quarters = sorted({*compared.before.quarters, *compared.after.quarters})
    return _changes(
        compared.moves,
        most,
        lambda one: _mark(one.before, one.after),
        ("Job", "text", lambda one: one.job),
        ("Quarters", "text", lambda one: quarter_runs(quarters, one.quarters)),
        ("Before", "text", lambda one: one.before or _NONE),
        ("After", "text", lambda one: one.after or _NONE),
    )


def _amounts(known: TracedFile, title: str, key: str, amounts: Sequence[Amount]) -> Iterator[Block]:
    """Before, after, and what is added; of money a side that does not have it counts as nothing."""
    costs = key == "costs"
    rows = list(enumerate(amounts))

    def side(row: tuple[int, Amount], name: str) -> TracedFigure:
        has = getattr(row[1], name) is not None
        return known.read.at(f"{key}[{row[0]}].{name}") if has else NOTHING

    def shown(row: tuple[int, Amount], name: str) -> Cell:
        traced = side(row, name)
        return _NONE if traced is NOTHING else known.figure(traced, _STYLES[row[1].unit][0])

    def added(row: tuple[int, Amount]) -> Cell:
        if not costs and None in (row[1].before, row[1].after):
            return ""
        return known.figure(side(row, "after") - side(row, "before"), _STYLES[row[1].unit][1])

    def named(row: tuple[int, Amount]) -> str:
        place, one = row
        return "" if place and amounts[place - 1].name == one.name else one.name

    whole = rows.pop() if costs and rows else None
    if rows:
        yield table(
            rows,
            (title, "text", named),
            ("Quarter", "name", lambda row: row[1].quarter or ""),
            *columns_for((("Before", "before"), ("After", "after")), shown),
            ("Adds", "number", added),
            sums={}
            if whole is None
            else {
                title: named(whole),
                "Before": shown(whole, "before"),
                "After": shown(whole, "after"),
                "Adds": added(whole),
            },
            without=("Quarter",) if costs else (),
        )


def _outcomes(known: TracedFile, title: str, key: str, compared: Comparison) -> Iterator[Block]:
    """The plan before beside what came of it, quarter by quarter."""
    outcomes: Sequence[PlannedAndActual] = getattr(compared, key)
    unit = "Nodes" if key == "deliveries" else "Units"

    def cell(row: tuple[int, PlannedAndActual], name: str) -> Cell:
        if getattr(row[1], name) is None:
            return _NONE if name == "planned" else "not told"
        return known.at(f"{key}[{row[0]}].{name}", "count")

    def more(row: tuple[int, PlannedAndActual]) -> Cell:
        if None in (row[1].planned, row[1].actual):
            return ""
        stem = f"{key}[{row[0]}]"
        came = known.read.at(f"{stem}.actual") - known.read.at(f"{stem}.planned")
        return known.figure(came, "more_count")

    if outcomes:
        yield table(
            enumerate(outcomes),
            ("Quarter", "name", lambda row: row[1].quarter),
            (title, "text", lambda row: row[1].name),
            *columns_for(((f"{unit} planned", "planned"), ("Actual", "actual")), cell),
            ("More", "number", more),
        )


def _warnings(compared: Comparison, most: int) -> Iterator[Block]:
    lines = [f"- {with_code(text)}" for text in compared.warnings_gone]
    lines += [f"+ {with_code(text)}" for text in compared.warnings_new]
    if lines:
        yield Bullets(tuple(lines[:most]), "warning")
        yield from rest(len(lines) - most, "row", _IN_FILE)


def replay_document(replayed: Replay, most: int) -> Document:
    """Identical, or each origin and figure that differs; at most so many rows of a long table."""
    said = f"Not identical: these parts of the plan differ: {listed(list(replayed.parts))}."
    if replayed.identical:
        said = (
            f"Identical: {count_of(replayed.files, 'input file')}, options and versions are as "
            "recorded, and the plan made from them is the saved one, byte for byte."
        )
    opening = (Heading(f"Replay of {replayed.plan}", 1), Paragraph(said, tone="strong"))
    if replayed.comparison is None:
        return opening
    return (*opening, _causes(replayed), *comparison_document(replayed.comparison, most)[1:])


def _causes(replayed: Replay) -> Block:
    def said(one: ChangedOrigin, value: str | None) -> str:
        if value is None:
            return "not there"
        return f"sha256 {value[:_DIGITS]}…" if one.what == "file" else value

    if replayed.origins:
        return table(
            replayed.origins,
            ("What differs", "name", lambda one: one.what),
            ("Name", "text", lambda one: one.name),
            ("Recorded", "text", lambda one: said(one, one.recorded)),
            ("Present", "text", lambda one: said(one, one.present)),
        )
    told = "All input files and versions are as recorded."
    if not replayed.proved:
        told += " The saved plan is not proved: its search ended at a limit, and may end elsewhere."
    return Bullets((told,), "warning")
