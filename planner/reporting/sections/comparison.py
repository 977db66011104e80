"""Two plans side by side, what differs in the inputs first; and what a replay gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from planner.planning.ledger.traced import NOTHING, TracedFigure
from planner.reporting.document import (
    Block,
    Bullets,
    Cell,
    Chart,
    ColumnKind,
    Document,
    Fields,
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
    quarters = sorted({*compared.before.quarters, *compared.after.quarters})
    before_and_after = columns_for(
        (("Before", "before"), ("After", "after")),
        lambda one, side: shortened(_or_none(getattr(one, side)), _LONGEST),
        "text",
    )
    inputs = _changes(
        compared.inputs,
        most,
        ("Value", "text", lambda one: one.path),
        *before_and_after,
        ("Cause", "name", lambda one: one.cause),
    )
    given_way = _changes(
        compared.short,
        most,
        ("Job", "text", lambda one: one.job),
        *before_and_after,
        ("Why it cannot be kept", "text", lambda one: one.cause),
    )
    moves = _changes(
        compared.moves,
        most,
        ("Job", "text", lambda one: one.job),
        ("Quarters", "text", lambda one: quarter_runs(quarters, one.quarters)),
        *before_and_after,
    )
    unread = [Bullets(compared.unread, "warning")] * bool(compared.unread)
    body = titled(
        (
            ("Inputs that differ", (*inputs, *unread)),
            ("Purchases, rents and releases", _purchases(known, compared)),
            ("Cost", _amounts(known, "Present value of", "costs", compared.costs)),
            ("Why the cost differs", _waterfall(known, compared)),
            ("Jobs that give way", given_way),
            ("Jobs that run elsewhere", moves),
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


def changes_since(compared: Comparison) -> Iterator[Block]:
    """What changed since an earlier plan, as a part of a document, with the cost by cause drawn."""
    _, *blocks = comparison_document(compared, _ROWS)
    yield from beneath(tuple(blocks))
    known = TracedFile(compared, "compare.json", _TRACE)
    # How far the forecast was off: the sum of all differences over the sum of what came.
    off, came = NOTHING, NOTHING
    for place, one in enumerate(compared.demand):
        if one.planned is not None and one.actual is not None:
            planned, actual = (
                known.read.at(f"demand[{place}].{name}") for name in ("planned", "actual")
            )
            off += planned - actual if one.planned > one.actual else actual - planned
            came += actual
    if came.value:
        yield Fields((("Forecast error of the demand", known.figure(off / came, "share")),))
    chart = waterfall_chart(compared, _TRACE)
    yield from (chart,) if chart else ()


def _sentence(compared: Comparison) -> str:
    before, after = compared.before, compared.after
    if compared.same:
        return f"Nothing differs: both cost {usd(after.cost_cents)}, net present cost."
    added = after.cost_cents - before.cost_cents
    unproved = [side.label for side in (before, after) if side.status != "proved"]
    proof = f"NOT proved: {listed(unproved)}" if unproved else "both proved"
    if before.short or after.short:
        proof += f"; jobs that give way: {before.short:,} → {after.short:,}"
    if not added:
        return f"The cost is the same, {usd(after.cost_cents)} net present cost; {proof}."
    share = f" ({signed_percent(added / abs(before.cost_cents))})" if before.cost_cents else ""
    return (
        f"{money_short(abs(added))} {'more' if added > 0 else 'less'}{share}: "
        f"{usd(before.cost_cents)} → {usd(after.cost_cents)}, net present cost; {proof}."
    )


def _or_none(value: str | None) -> str:
    return _NONE if value is None or value == "" else value


def _mark(before: object, after: object) -> str:
    """Whether it is there only after, only before, or has changed."""
    return "+" if before in (None, "", 0) else "-" if after in (None, "", 0) else "~"


def _changes(
    rows: Sequence[Any], most: int, *columns: tuple[str, ColumnKind, Getter[Any]]
) -> Iterator[Block]:
    """At most so many rows, each with its mark first, and how many more there are."""
    if rows:
        yield table(rows[:most], ("", "name", lambda one: _mark(one.before, one.after)), *columns)
    yield from rest(len(rows) - most, "row", _IN_FILE)


def _purchases(known: TracedFile, compared: Comparison) -> Iterator[Block]:
    changes, read = compared.purchases, known.read

    def added(row: object) -> Cell:
        before, after = (f"purchases[{row}].{side}_cents" for side in ("before", "after"))
        return known.figure(sums(after) - sums(before), "more_usd")

    def sums(place: str) -> TracedFigure:
        return read.sum(place) if "*" in place else read.at(place)

    if changes:
        yield table(
            range(len(changes)),
            ("", "name", lambda at: _mark(changes[at].before, changes[at].after)),
            ("Quarter", "name", lambda at: changes[at].quarter),
            ("Action", "text", lambda at: action_of(changes[at].kind, changes[at].term_quarters)),
            ("Node type", "text", lambda at: f"{changes[at].node_type} @ {changes[at].site}"),
            *known.figures(
                "purchases[{}]",
                ("Before", "before"),
                ("After", "after"),
                ("Total before", "before_cents"),
                ("Total after", "after_cents"),
            ),
            ("Adds", "number", added),
            sums={"Quarter": "Sum", "Adds": added("*")},
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
        stem, before, after = "waterfall.steps[{}]", compared.before, compared.after
        rows: list[tuple[str, Cell, Cell, str]] = [
            ("before", "", known.at("before.cost_cents"), before.status)
        ]
        for place, step in enumerate(steps):
            added = known.at(f"{stem.format(place)}.added_cents", "more_usd")
            cost = known.at(f"{stem.format(place)}.cost_cents")
            rows.append((" and ".join(step.causes), added, cost, step.status))
        all_added = known.at("waterfall.steps[*].added_cents", "more_usd")
        yield table(
            rows,
            ("Cause", "text", lambda row: row[0]),
            ("Adds", "number", lambda row: row[1]),
            ("Net present cost", "number", lambda row: row[2]),
            ("Status", "name", lambda row: row[3]),
            whole=("after", all_added, known.at("after.cost_cents"), after.status),
        )


def waterfall_chart(compared: Comparison, trace: str = "") -> Chart | None:
    """From the cost before, cause by cause, to the cost after; None where no causes are told.

    `trace` is the anchor of the paragraph that says where the figures stand.
    """
    steps = compared.waterfall.steps
    if not steps:
        return None
    known = TracedFile(compared, "compare.json", trace)
    bars = {"before": "before.cost_cents"}
    for place, step in enumerate(steps):
        bars[" and ".join(step.causes)] = f"waterfall.steps[{place}].added_cents"
    bars["after"] = "after.cost_cents"
    figures = tuple(known.at(place, "usd") for place in bars.values())
    says = "; ".join(f"{name}: {one.text} USD" for name, one in zip(bars, figures, strict=True))
    return Chart(
        title="Net present cost, from the plan before to the one after",
        says=f"{says}.",
        categories=tuple(bars),
        series=(Series("Net present cost", figures),),
        unit="USD",
        marks=((0, "before"), (len(bars) - 1, "after")),
        waterfall=True,
    )


def _amounts(known: TracedFile, title: str, key: str, amounts: Sequence[Amount]) -> Iterator[Block]:
    """Before, after, and what is added; of money a side that does not have it counts as nothing."""
    costs = key == "costs"

    def side(at: int, name: str) -> TracedFigure:
        has = getattr(amounts[at], name) is not None
        return known.read.at(f"{key}[{at}].{name}") if has else NOTHING

    def shown(at: int, name: str) -> Cell:
        has = getattr(amounts[at], name) is not None
        return known.at(f"{key}[{at}].{name}", _STYLES[amounts[at].unit][0]) if has else _NONE

    def added(at: int) -> Cell:
        if not costs and None in (amounts[at].before, amounts[at].after):
            return ""
        return known.figure(side(at, "after") - side(at, "before"), _STYLES[amounts[at].unit][1])

    def named(at: int) -> str:
        return "" if at and amounts[at - 1].name == amounts[at].name else amounts[at].name

    rows = range(len(amounts) - costs)
    if rows:
        yield table(
            rows,
            (title, "text", named),
            ("Quarter", "name", lambda at: amounts[at].quarter or ""),
            *columns_for((("Before", "before"), ("After", "after")), shown),
            ("Adds", "number", added),
            whole=len(rows) if costs else None,
            without=("Quarter",) if costs else (),
        )


def _outcomes(known: TracedFile, title: str, key: str, compared: Comparison) -> Iterator[Block]:
    """The plan before beside what came of it, quarter by quarter."""
    outcomes: Sequence[PlannedAndActual] = getattr(compared, key)
    unit = "Nodes" if key == "deliveries" else "Units"

    def cell(at: int, name: str) -> Cell:
        if getattr(outcomes[at], name) is None:
            return _NONE if name == "planned" else "not told"
        return known.at(f"{key}[{at}].{name}", "count")

    def more(at: int) -> Cell:
        if None in (outcomes[at].planned, outcomes[at].actual):
            return ""
        actual, planned = (known.read.at(f"{key}[{at}].{of}") for of in ("actual", "planned"))
        return known.figure(actual - planned, "more_count")

    if outcomes:
        yield table(
            range(len(outcomes)),
            ("Quarter", "name", lambda at: outcomes[at].quarter),
            (title, "text", lambda at: outcomes[at].name),
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
    causes: Block = table(
        replayed.origins,
        ("What differs", "name", lambda one: one.what),
        ("Name", "text", lambda one: one.name),
        *columns_for((("Recorded", "recorded"), ("Present", "present")), _recorded, "text"),
    )
    if not replayed.origins:
        told = "All input files and versions are as recorded."
        if not replayed.proved:
            told += " The saved plan is not proved: its search ended at a limit, and may end "
            told += "elsewhere."
        causes = Bullets((told,), "warning")
    return (*opening, causes, *comparison_document(replayed.comparison, most)[1:])


def _recorded(one: ChangedOrigin, side: str) -> str:
    value: str | None = getattr(one, side)
    if value is None:
        return "not there"
    return f"sha256 {value[:_DIGITS]}…" if one.what == "file" else value
