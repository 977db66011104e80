"""Plans held against plans: two compared, rows of a sweep side by side, and many futures."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

from planner.inputs.override import Override
from planner.inputs.scenario.quarter import nodes_text
from planner.inputs.text import csv_text, flow
from planner.planning.traced_figures import NOTHING, TracedFigure
from planner.reporting.document import (
    Block,
    Bullets,
    Cell,
    ColumnKind,
    Document,
    Fields,
    Figure,
    Getter,
    Heading,
    Paragraph,
    beneath,
    columns_for,
    rest,
    table,
    titled,
)
from planner.reporting.format import (
    Style,
    code,
    count_of,
    dollars,
    listed,
    money_short,
    percent,
    quarter_runs,
    record,
    shortened,
    signed_percent,
    usd,
    with_code,
)
from planner.reporting.sections.purchases import action_of
from planner.reporting.traced import TracedFile
from planner.whatif.actuals import PlannedAndActual
from planner.whatif.compare import Amount, ChangedOrigin, Comparison, Replay
from planner.whatif.results import Acquired, PlanSummary
from planner.whatif.risk import (
    Chance,
    Risk,
)
from planner.whatif.sweep import SweepRow

_NONE = "–"
NO_PLAN = "no plan"


def acquired_text(acquired: Iterable[Acquired]) -> str:
    """Format `buy-h200 3 in 2027Q2; rent-l40s 2 in 2027Q1, 1 in 2027Q2`, or `nothing`.

    With the site, as `3 in 2027Q2 @ berlin`, if the offer is for several.
    """
    by_offer: dict[str, list[str]] = defaultdict(list)
    for one in acquired:
        where = f" @ {one.site}" if one.chosen else ""
        count = nodes_text(one.count, one.step_hours)
        by_offer[one.offer].append(f"{count} in {one.quarter}{where}")
    parts = (f"{offer} {', '.join(counts)}" for offer, counts in sorted(by_offer.items()))
    return "; ".join(parts) or "nothing"


def acquired_short(acquired: Iterable[Acquired]) -> str:
    """Format all nodes that enter service: `3 buy-h200, 3 rent-l40s`, or `nothing`."""
    nodes: Counter[tuple[str, int | None]] = Counter()
    for one in acquired:
        nodes[one.offer, one.step_hours] += one.count
    ordered = sorted(nodes.items(), key=lambda item: item[0][0])
    told = (f"{nodes_text(count, step)} {offer}" for (offer, step), count in ordered)
    return ", ".join(told) or "nothing"


def moved_text(unit: str, by: float) -> str:
    """Format a change: `+20.0 %`, `4 weeks later`, or `as it is`."""
    if not by:
        return "as it is"
    if unit == "weeks":
        return f"{count_of(abs(round(by)), 'week')} {'later' if by > 0 else 'earlier'}"
    return signed_percent(by)


def sweep_document(title: str, rows: Sequence[SweepRow]) -> Document:
    """Show all rows of a sweep, with the cheapest and the dearest named."""
    every = [(*row.variant.apply, *map(str, row.variant.settings)) for row in rows]
    shared = [one for one in every[0] if all(one in row for row in every)] if len(rows) > 1 else []
    costs = [row.figures.cost_cents for row in rows if row.figures.cost_cents is not None]
    proved = sum(row.figures.result == "proved" for row in rows)
    told = f"{count_of(len(rows), 'variant')}, {proved} of them proved"
    if costs:
        told += f"; from {money_short(min(costs))} to {money_short(max(costs))}"
    if len(costs) < len(rows):
        told += f"; {len(rows) - len(costs)} without a plan"

    def planned(cell: Callable[[PlanSummary], str | None]) -> Callable[[int], str]:
        """A dash if there is no plan, or no such figure."""
        return lambda at: _NONE if figures[at].cost_cents is None else cell(figures[at]) or _NONE

    def status(at: int) -> str:
        one = figures[at]
        if one.cost_cents is None:
            return f"{one.result}: {one.reason}"
        return f"{one.result}; short: {', '.join(one.short)}" if one.short else one.result

    figures = [row.figures for row in rows]
    return (
        Heading(f"Sweep of {title}", 1),
        Paragraph(f"{told}.", tone="strong"),
        *([Paragraph(f"In all of them: {listed(shared)}.")] * bool(shared)),
        Paragraph(
            "Cost is net present cost in USD. Acquired: nodes that enter service, a rented one "
            "anew in each quarter. Nodes: in service where most are, owned ones included. Idle: "
            "GPU-hours in service that no job holds. kW: drawn by the servers in service, mean "
            "over the quarters.",
            tone="faint",
        ),
        table(
            range(len(rows)),
            (
                "Variant",
                "text",
                lambda at: ", ".join(one for one in every[at] if one not in shared) or "as it is",
            ),
            ("Cost", "number", planned(lambda one: dollars(one.cost_cents or 0))),
            ("Acquired", "text", planned(lambda one: acquired_short(one.acquired))),
            ("Nodes", "number", planned(lambda one: f"{one.nodes or 0:,}")),
            (
                "Idle",
                "number",
                planned(lambda one: None if one.gpus_idle is None else percent(one.gpus_idle)),
            ),
            (
                "kW",
                "number",
                planned(lambda one: None if one.drawn_w is None else f"{one.drawn_w / 1000:,.1f}"),
            ),
            ("Status", "text", status),
        ),
    )


def sweep_csv(rows: Sequence[SweepRow]) -> str:
    """Return all rows as CSV: a column for each value that is set, and for each offer."""
    records, figures = sweep_rows(rows), PLAN_COLUMNS.split()

    def cell(column: str, value: object) -> object:
        cents = column.endswith("_usd") and column in figures and value is not None
        return f"{value:.2f}" if cents else value

    lines = (tuple(cell(*one) for one in record.items()) for record in records)
    return csv_text([tuple(records[0]), *lines])


def sweep_rows(rows: Sequence[SweepRow]) -> list[dict[str, object]]:
    """Return the rows as records: a column for each value that is set, and for each offer.

    Columns of values are called as the path is written where it is set first.
    """
    titles: dict[tuple[str, ...], str] = {}
    for setting in (setting for row in rows for setting in row.variant.settings):
        titles.setdefault(setting.path, setting.path_text)
    offers = sorted({one.offer for row in rows for one in row.figures.acquired})
    records: list[dict[str, object]] = []
    for row in rows:
        figures, planned = row.figures, row.figures.cost_cents is not None
        stated = {one.path: _number(one) for one in row.variant.settings}
        acquired = Counter[str]()
        for one in figures.acquired:
            acquired[one.offer] += one.count
        records.append(
            {
                "apply": _listed(row.variant.apply),
                **{title: stated.get(path) for path, title in titles.items()},
                "result": figures.result,
                **record(figures, PLAN_COLUMNS),
                **{f"acquired {offer}": acquired[offer] if planned else None for offer in offers},
                "short": _listed(figures.short),
                "reason": figures.reason,
            }
        )
    return records


def _number(override: Override) -> object:
    """A value that is set: a number where it is one, else as it was written."""
    found, text = override.value, override.value_text
    if not isinstance(found, int | Decimal) or text.startswith(("+", "-")):
        return text
    return float(found) if isinstance(found, Decimal) else found


PLAN_COLUMNS = "cost_usd bound_usd capex_usd nodes node_types gpus_idle power_w drawn_w moves"
"""Columns of a record of one plan; None if there is no plan."""


def _listed(names: Iterable[str]) -> str:
    """Format names as a scenario's list without its brackets: unusual ones in quotes."""
    return flow(tuple(names))[1:-1]


def risk_document(found: Risk) -> Document:
    """Show cost by percentile, the chance of each quarter, and what the futures acquire."""
    base = found.base.cost_cents or 0
    return (
        Heading(f"Risk of {found.scenario}", 1),
        Paragraph(_risk_summary(found), tone="strong"),
        Paragraph(
            f"{count_of(found.futures, 'future')}, drawn with seed {found.seed}. Each is planned "
            "as if it were known; amounts are net present cost in USD.",
            tone="faint",
        ),
        *(Paragraph(told, tone="warning") for told in _caveats(found)),
        Heading("Cost"),
        table(
            zip(found.percentiles, found.cost_cents, strict=True),
            ("Futures at or below", "name", lambda row: f"{row[0]} %"),
            ("Cost", "number", lambda row: dollars(row[1])),
            (
                "More",
                "number",
                lambda row: f"{'+' if row[1] > base else ''}{dollars(row[1] - base)}",
            ),
        ),
        Heading("How often what is bought now falls short"),
        Paragraph(
            f"Acquired as the scenario stands: {acquired_text(found.base.acquired)}. Asked of each "
            "future: do these nodes, with those owned and not sold, hold all jobs of the quarter?"
        ),
        table(
            found.chances,
            ("Quarter", "name", lambda one: one.quarter),
            ("Falls short", "number", _share),
            ("95 % confidence", "number", lambda one: " – ".join(map(percent, one.range))),
        ),
    )


def _risk_summary(found: Risk) -> str:
    low, high = found.cost_cents[0], found.cost_cents[-1]
    worst = max(found.chances, key=lambda one: one.short, default=None)
    most = "nine futures in ten cost"
    if found.without_plan:
        most = f"of the {len(found.costs_cents):,} futures with a plan, nine in ten cost"
    text = (
        f"{usd(found.base.cost_cents or 0)} as the scenario stands; {most} "
        f"{money_short(low)} to {money_short(high)}"
    )
    if worst is None or not worst.short:
        return f"{text}; what is bought now never falls short."
    share = f"{_share(worst)} of all futures"
    return f"{text}; in {worst.quarter} what is bought now falls short in {share}."


def traced_chance(found: Risk) -> Figure:
    """Return how often the plan's nodes fall short, in the quarter in which they do most."""
    known = TracedFile(found, "risk.json")
    place = max(range(len(found.chances)), key=lambda at: found.chances[at].short)
    stem = f"chances[{place}]"
    return known.figure(known.read.at(f"{stem}.short") / known.read.at(f"{stem}.of"), "share")


def risk_rows(found: Risk) -> Iterator[tuple[str, str, Cell, Cell, Cell]]:
    """Yield each risk that the futures show: what, evidence, likelihood, GPUs missing, USD more."""
    known = TracedFile(found, "risk.json")
    source = f"{count_of(found.futures, 'future')} of {code('planner risk')}"
    most = len(found.cost_cents) - 1
    more = known.read.at(f"cost_cents[{most}]") - known.read.at("base.cost_cents")
    dearer = sum(cents > (found.base.cost_cents or 0) for cents in found.costs_cents)
    share = percent(dearer / len(found.costs_cents))
    told = f"The future costs more than the plan; {found.percentiles[most]} % of them cost at most "
    yield f"{told}so much more", source, share, "–", known.figure(more, "more_usd")
    for at, one in enumerate(found.chances):
        if one.short:
            likely = known.read.at(f"chances[{at}].short") / known.read.at(f"chances[{at}].of")
            told = f"What is bought now does not hold all jobs of {one.quarter}"
            yield told, source, known.figure(likely, "share"), "open", "–"


def _share(chance: Chance) -> str:
    return percent(chance.short / chance.of)


def _caveats(found: Risk) -> Iterator[str]:
    if found.base.result != "proved":
        yield "The plan of the scenario as it stands is NOT proved."
    unknown = found.futures - max((one.of for one in found.chances), default=0)
    for number, told in (
        (found.not_proved, "NOT proved within the limits"),
        (found.without_plan, "Without a plan, and so in no figure of cost"),
        (found.giving_way, "With jobs that give way, so that the cost is that of the rest"),
        (unknown, "Not known who falls short"),
    ):
        if number:
            yield f"{told}: {count_of(number, 'future')}."


# Two plans, what differs in the inputs first; and what a replay gives

OPEN = ("Purchases, rents and releases", "Cost", "Jobs that give way")
"""Titles of the sections that a reader of a pull request sees at once."""

_IN_FILE = ", all of them in compare.json"
_LONGEST = 48
_ROWS = 500
_DIGITS = 12
"""Digits of a sha256 that tell two files apart."""
_STYLES: dict[str, tuple[Style, Style]] = {
    "cents": ("usd", "more_usd"),
    "GPUs": ("count", "more_count"),
}
"""How each unit is written, and how a difference is."""


def comparison_document(compared: Comparison, most: int) -> Document:
    """Show the whole comparison; inputs, jobs and warnings up to so many rows each."""
    known = TracedFile(compared, "compare.json")
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
        *columns_for(
            (("Before", "before"), ("After", "after")),
            lambda one, side: _or_none(getattr(one, side)),
            "text",
        ),
    )
    nodes, units = ("Nodes planned", "Actual"), ("Units planned", "Actual")
    unread = [Bullets(compared.unread, "warning")] * bool(compared.unread)
    body = titled(
        (
            ("Inputs that differ", (*inputs, *unread)),
            ("Purchases, rents and releases", _purchases(known, compared)),
            ("Cost", _amounts(known, "Present value of", "costs", compared)),
            ("Why the cost differs", _waterfall(known, compared)),
            ("Jobs that give way", given_way),
            ("Jobs that run elsewhere", moves),
            ("GPUs in service", _amounts(known, "GPU type", "gpus", compared)),
            ("Warnings", _warnings(compared, most)),
            ("Planned and delivered", _amounts(known, "Node type", "deliveries", compared, nodes)),
            ("Forecast and actual demand", _amounts(known, "Job", "demand", compared, units)),
        )
    )
    legend = (
        "+ only after, - only before, ~ changed. Amounts in USD, not discounted unless said; the "
        "JSON form has them to the cent."
    )
    return (
        Heading(f"{compared.before.label} → {compared.after.label}", 1),
        Paragraph(_sentence(compared), tone="strong"),
        *((Paragraph(legend, "faint"),) if body else ()),
        *body,
    )


def changes_since(compared: Comparison) -> Iterator[Block]:
    """Show what changed since an earlier plan, and how far its forecast was off."""
    _, *blocks = comparison_document(compared, _ROWS)
    yield from beneath(tuple(blocks))
    known = TracedFile(compared, "compare.json")
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


def _sentence(compared: Comparison) -> str:
    before, after = compared.before, compared.after
    if compared.same:
        return f"Nothing differs: both cost {usd(after.cost_cents)}, net present cost."
    added = after.cost_cents - before.cost_cents
    unproved = [side.label for side in (before, after) if side.status != "proved"]
    proof = f"NOT proved: {listed(unproved)}" if unproved else "both proved"
    if before.short or after.short:
        proof += f"; jobs that give way: {before.short:,} → {after.short:,}"
    if before.quarters != after.quarters:
        spans = [
            " to ".join(dict.fromkeys((side.quarters[0], side.quarters[-1])))
            for side in (before, after)
        ]
        proof += f"; of different quarters: {' → '.join(spans)}"
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
    """Say whether it is there only after, only before, or has changed."""
    return "+" if before in (None, "", 0) else "-" if after in (None, "", 0) else "~"


def _changes(
    rows: Sequence[Any], most: int, *columns: tuple[str, ColumnKind, Getter[Any]]
) -> Iterator[Block]:
    """Show at most so many rows, each with its mark first, and how many more there are."""
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


def _steps(compared: Comparison) -> list[tuple[str, str, str]]:
    """Return both plans and the steps between them: a name, a place in compare.json, a status."""
    before, after, steps = compared.before, compared.after, compared.waterfall.steps
    return [
        ("before", "before", before.status),
        *(
            (listed(step.causes), f"waterfall.steps[{place}]", step.status)
            for place, step in enumerate(steps)
        ),
        ("after", "after", after.status),
    ]


def _waterfall(known: TracedFile, compared: Comparison) -> Iterator[Block]:
    missing, (*rows, after) = compared.waterfall.missing, _steps(compared)

    def adds(row: tuple[str, str, str]) -> Cell:
        stem = "waterfall.steps[*]" if row == after else row[1]
        return "" if stem == "before" else known.at(f"{stem}.added_cents", "more_usd")

    if missing is not None:
        yield Paragraph(f"Not told apart by cause: {missing}.", tone="warning")
    elif compared.waterfall.steps:
        yield Paragraph(
            "One cause after the other is exchanged, in this order, and each step is planned by "
            "itself. A cause's share depends on the order; the sum does not.",
            tone="faint",
        )
        yield table(
            rows,
            ("Cause", "text", lambda row: row[0]),
            ("Adds", "number", adds),
            ("Net present cost", "number", lambda row: known.at(f"{row[1]}.cost_cents")),
            ("Status", "name", lambda row: row[2]),
            whole=after,
        )


def _amounts(
    known: TracedFile,
    title: str,
    key: str,
    compared: Comparison,
    ends: tuple[str, str] = ("Before", "After"),
) -> Iterator[Block]:
    """Show two figures side by side and their difference; a cost that a side lacks is nothing."""
    amounts: Sequence[Amount | PlannedAndActual] = getattr(compared, key)
    costs, told = key == "costs", key in ("deliveries", "demand")
    sides = ("planned", "actual") if told else ("before", "after")

    def style(at: int) -> tuple[Style, Style]:
        return _STYLES[getattr(amounts[at], "unit", "GPUs")]

    def has(at: int, side: str) -> bool:
        return getattr(amounts[at], side) is not None

    def shown(at: int, side: str) -> Cell:
        if has(at, side):
            return known.at(f"{key}[{at}].{side}", style(at)[0])
        return "not told" if side == "actual" else _NONE

    def added(at: int) -> Cell:
        if not (costs or all(has(at, side) for side in sides)):
            return ""
        before, after = (
            known.read.at(f"{key}[{at}].{side}") if has(at, side) else NOTHING for side in sides
        )
        return known.figure(after - before, style(at)[1])

    def named(at: int) -> str:
        return "" if at and amounts[at - 1].name == amounts[at].name else amounts[at].name

    rows = range(len(amounts) - costs)
    if rows:
        yield table(
            rows,
            (title, "text", named),
            ("Quarter", "name", lambda at: amounts[at].quarter or ""),
            *columns_for(zip(ends, sides, strict=True), shown),
            ("More" if told else "Adds", "number", added),
            whole=len(rows) if costs else None,
            without=("Quarter",) if costs else (),
        )


def _warnings(compared: Comparison, most: int) -> Iterator[Block]:
    lines = [f"- {with_code(text)}" for text in compared.warnings_gone]
    lines += [f"+ {with_code(text)}" for text in compared.warnings_new]
    if lines:
        yield Bullets(tuple(lines[:most]), "warning")
        yield from rest(len(lines) - most, "row", _IN_FILE)


def replay_document(replayed: Replay, most: int) -> Document:
    """Say that it is identical, or list each origin and figure that differs."""
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
