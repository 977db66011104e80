"""Plans of many variants: rows of a sweep side by side, and what many futures cost."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

from planner.inputs.text import csv_text, flow
from planner.planning.words import nodes_text
from planner.reporting.document import (
    Bands,
    Block,
    Cell,
    Document,
    Figure,
    Heading,
    Paragraph,
    columns_for,
    table,
)
from planner.reporting.format import (
    code,
    count_of,
    dollars,
    listed,
    money_short,
    percent,
    record,
    signed_percent,
    usd,
)
from planner.reporting.traced import TracedFile
from planner.whatif.results import Acquired, PlanSummary
from planner.whatif.risk import (
    WORST_PER_CENT,
    Chance,
    PurchasePlan,
    PurchasePlans,
    Risk,
    at_percentile,
)
from planner.whatif.sweep import SweepRow

_NONE = "–"
NO_PLAN = "no plan"


def acquired_text(acquired: Iterable[Acquired]) -> str:
    """`buy-h200 3 in 2027Q2; rent-l40s 2 in 2027Q1, 1 in 2027Q2`, or `nothing`.

    With the site, as `3 in 2027Q2 @ berlin`, where the offer is for several.
    """
    by_offer: dict[str, list[str]] = defaultdict(list)
    for one in acquired:
        where = f" @ {one.site}" if one.chosen else ""
        count = nodes_text(one.count, one.step_hours)
        by_offer[one.offer].append(f"{count} in {one.quarter}{where}")
    parts = (f"{offer} {', '.join(counts)}" for offer, counts in sorted(by_offer.items()))
    return "; ".join(parts) or "nothing"


def acquired_short(acquired: Iterable[Acquired]) -> str:
    """`3 buy-h200, 3 rent-l40s`: nodes that enter service over all quarters, or `nothing`."""
    nodes: Counter[tuple[str, int | None]] = Counter()
    for one in acquired:
        nodes[one.offer, one.step_hours] += one.count
    ordered = sorted(nodes.items(), key=lambda item: item[0][0])
    told = (f"{nodes_text(count, step)} {offer}" for (offer, step), count in ordered)
    return ", ".join(told) or "nothing"


def moved_text(unit: str, by: float) -> str:
    """`+20.0 %`, `4 weeks later`, or `as it is`."""
    if not by:
        return "as it is"
    if unit == "weeks":
        return f"{count_of(abs(round(by)), 'week')} {'later' if by > 0 else 'earlier'}"
    return signed_percent(by)


def sweep_document(title: str, rows: Sequence[SweepRow]) -> Document:
    """All rows of a sweep, with the cheapest and the dearest named."""
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
        """A dash where there is no plan, or no such figure."""
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
    """All rows for a spreadsheet: a column for each value that is set, and for each offer."""
    records = sweep_rows(rows)

    def cell(column: str, value: object) -> object:
        return f"{value:.2f}" if column.endswith("_usd") and isinstance(value, float) else value

    lines = (tuple(cell(*one) for one in record.items()) for record in records)
    return csv_text([tuple(records[0]), *lines])


def sweep_rows(rows: Sequence[SweepRow]) -> list[dict[str, object]]:
    """The same as records: a value that is set stays as it was written, dollars are floats."""
    titles = titles_of(rows)
    offers = sorted({one.offer for row in rows for one in row.figures.acquired})
    records: list[dict[str, object]] = []
    for row in rows:
        figures, planned = row.figures, row.figures.cost_cents is not None
        stated = {one.path: one.value_text for one in row.variant.settings}
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


def titles_of(rows: Sequence[SweepRow]) -> dict[tuple[str, ...], str]:
    """The columns of what is set: each path, as it is written where it is set first."""
    titles: dict[tuple[str, ...], str] = {}
    for row in rows:
        for one in row.variant.settings:
            titles.setdefault(one.path, one.path_text)
    return titles


PLAN_COLUMNS = "cost_usd bound_usd capex_usd nodes node_types gpus_idle power_w drawn_w moves"
"""Of a record of one plan; None where there is no plan."""


def _listed(names: Iterable[str]) -> str:
    """Names as a list in a scenario has them, without its brackets: unusual ones in quotes."""
    return flow(tuple(names))[1:-1]


def risk_document(found: Risk) -> Document:
    """Cost by percentile, the chance of each quarter, and what the futures acquire."""
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
            "future: do these nodes, with those owned, hold all jobs of the quarter?"
        ),
        table(
            found.chances,
            ("Quarter", "name", lambda one: one.quarter),
            ("Falls short", "number", _share),
            ("95 % confidence", "number", lambda one: " – ".join(map(percent, one.range))),
        ),
        *(_choices(found, found.choices) if found.choices else ()),
    )


def _choices(found: Risk, choices: PurchasePlans) -> Iterator[Block]:
    """Purchase plans side by side, and which of them is best in the bad cases."""
    best, first = choices.plans[choices.best], choices.plans[0]
    words = (
        "What is bought and reserved is chosen once, what is rented and what runs where adapts to "
        "each future, where above it was given too; a plan falls short where it cannot hold all "
        "jobs, budgets included."
    )
    if len(choices.plans) > 1:
        words += (
            f" {len(choices.plans)} purchase plans are held against each other. The first is that "
            "of the scenario as it stands; each other is searched over the futures that are the "
            "worst for those before it. The best falls short in the fewest futures; of several "
            f"such, it has the least mean cost of the worst {WORST_PER_CENT} % of futures."
        )
    told = f"Best of these in the bad cases: {acquired_text(best.purchased)}."
    if len(choices.plans) == 1:
        told = "No purchases were tried beside those of the scenario's own plan."
    elif best is first:
        told = "What the scenario's own plan buys is the best of these in the bad cases."
    elif None not in (best.worst_cents, first.worst_cents) and best.short == first.short:
        saved = (first.worst_cents or 0) - (best.worst_cents or 0)
        told += f" Its bad cases cost {money_short(saved)} less, on average."

    def named(one: PurchasePlan) -> str:
        name = "as the scenario stands"
        if one.searched is not None:
            name = f"searched over {count_of(one.searched, 'future')}"
        return f"{name} (best)" if one is best else name

    def cost(one: PurchasePlan, share: int) -> str:
        return dollars(at_percentile(one.costs_cents, share)) if one.costs_cents else _NONE

    worst = f"Worst {WORST_PER_CENT} %"
    yield Heading("What to buy for the bad cases")
    yield Paragraph(told, tone="strong")
    yield Paragraph(f"{words} {_bounded(found, choices)}")
    yield table(
        choices.plans,
        ("Bought, and reserved", "text", lambda one: acquired_text(one.purchased)),
        ("Found", "text", named),
        ("Falls short", "number", lambda one: percent(one.short / found.futures)),
        *columns_for((("50 %", 50), ("95 %", 95)), cost),
        (worst, "number", lambda one: dollars(one.worst_cents or 0) if one.costs_cents else _NONE),
    )


def _bounded(found: Risk, choices: PurchasePlans) -> str:
    """What is known of purchases that were not tried."""
    all_futures = "all futures that have a plan" if found.without_plan else "all futures"
    if choices.none_holds_all:
        return f"It is proved that no purchases hold {all_futures}."
    best, least = choices.plans[choices.best], f"${dollars(choices.bound_cents)}"
    told = f"No purchases that hold {all_futures} can have a mean of less than {least}"
    if best.worst_cents is None or best.short > found.without_plan:
        return f"{told}."
    gap = 1 - choices.bound_cents / best.worst_cents if best.worst_cents else 0.0
    return f"{told}: the best here is proved to within {percent(gap)} of the best there can be."


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
    """How often the nodes of the plan fall short, in the quarter in which they do the most."""
    known = TracedFile(found, "risk.json", "how-risk")
    place = max(range(len(found.chances)), key=lambda at: found.chances[at].short)
    stem = f"chances[{place}]"
    return known.figure(known.read.at(f"{stem}.short") / known.read.at(f"{stem}.of"), "share")


def risk_rows(found: Risk) -> Iterator[tuple[str, str, Cell, Cell, Cell]]:
    """Each risk that the futures show: what, known from, how likely, GPUs missing and USD more."""
    known = TracedFile(found, "risk.json", "how-risk")
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
    given = sum(one.not_proved for one in found.choices.plans) if found.choices else 0
    unknown = found.futures - max((one.of for one in found.chances), default=0)
    for number, told in (
        (found.not_proved, "NOT proved within the limits"),
        (found.without_plan, "Without a plan, and so in no figure of cost"),
        (found.giving_way, "With jobs that give way, so that the cost is that of the rest"),
        (given, "NOT proved within the limits, with purchases that are given"),
        (unknown, "Not known who falls short"),
    ):
        if number:
            yield f"{told}: {count_of(number, 'future')}."


def cost_bands(found: Risk) -> Bands:
    """The share of futures that cost at most so much."""
    curves = [("each future known", found.costs_cents)]
    if found.choices:
        own, best = found.choices.plans[0], found.choices.plans[found.choices.best]
        curves.append(("bought as it stands", own.costs_cents))
        if best is not own:
            curves.append(("bought for the bad cases", best.costs_cents))
    return Bands(
        title=f"Cost of {found.scenario} over {count_of(found.futures, 'future')}",
        says="Share of futures that cost at most so much, net present cost; where purchases are "
        f"given, of those that they hold. {_risk_summary(found)}",
        curves=tuple(
            (name, tuple(cents / 100 for cents in costs)) for name, costs in curves if costs
        ),
        marks=tuple(
            (cost / 100, share / 100, f"{share} %: {money_short(cost)}")
            for share, cost in zip(found.percentiles, found.cost_cents, strict=True)
        ),
    )
