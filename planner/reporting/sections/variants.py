"""Plans of many variants in a table: what each one buys and costs."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from planner.costs import in_usd
from planner.inputs.text.scalars import csv_text, flow
from planner.planning.words import nodes_text
from planner.reporting.document import Document, Frontier, Heading, Paragraph, Table, table
from planner.reporting.format import (
    count_of,
    dollars,
    listed,
    money_short,
    percent,
    signed_percent,
    usd,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from planner.reporting.document import End
    from planner.whatif.sweep import SweepRow
    from planner.whatif.variants.plan_summary import Acquired, PlanSummary

__all__ = [
    "NO_PLAN",
    "acquired_short",
    "acquired_text",
    "added_text",
    "frontiers",
    "moved_text",
    "plan_record",
    "sweep_csv",
    "sweep_document",
    "sweep_rows",
    "titles_of",
]

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


def added_text(figures: PlanSummary, base: PlanSummary) -> str:
    """What a plan costs beyond another, whole dollars; its cost where that is none."""
    if figures.cost_cents is None or base.cost_cents is None:
        return NO_PLAN if figures.cost_cents is None else dollars(figures.cost_cents)
    added = figures.cost_cents - base.cost_cents
    return f"+{dollars(added)}" if added > 0 else dollars(added)


def moved_text(unit: str, by: float) -> str:
    """`+20.0 %`, `4 weeks later`, or `as it is`."""
    if not by:
        return "as it is"
    if unit == "weeks":
        return f"{count_of(abs(round(by)), 'week')} {'later' if by > 0 else 'earlier'}"
    return signed_percent(by)


def sweep_document(title: str, rows: Sequence[SweepRow]) -> Document:
    """All rows of a sweep, with the cheapest and the dearest named."""
    every = [_changes(row) for row in rows]
    shared = [one for one in every[0] if all(one in row for row in every)] if len(rows) > 1 else []
    told = [Paragraph(f"In all of them: {listed(shared)}.")] if shared else []
    return (
        Heading(f"Sweep of {title}", 1),
        Paragraph(_summary(rows), tone="strong"),
        *told,
        Paragraph(
            "Cost is net present cost in USD. Acquired: nodes that enter service, a rented one "
            "anew in each quarter. Nodes: in service where most are, owned ones included. Idle: "
            "GPU-hours in service that no job holds. kW: drawn by the servers in service, mean "
            "over the quarters.",
            tone="faint",
        ),
        _table(rows, shared),
    )


def _changes(row: SweepRow) -> tuple[str, ...]:
    return (*row.variant.apply, *map(str, row.variant.settings))


def _table(rows: Sequence[SweepRow], shared: Sequence[str]) -> Table:
    def label(row: SweepRow) -> str:
        own = (one for one in _changes(row) if one not in shared)
        return ", ".join(own) or "as it is"

    def planned(cell: Callable[[PlanSummary], str]) -> Callable[[SweepRow], str]:
        return lambda row: _NONE if row.figures.cost_cents is None else cell(row.figures)

    def status(row: SweepRow) -> str:
        one = row.figures
        if one.cost_cents is None:
            return f"{one.result}: {one.reason}"
        return f"{one.result}; short: {', '.join(one.short)}" if one.short else one.result

    return table(
        rows,
        ("Variant", "text", label),
        ("Cost", "number", planned(lambda one: dollars(one.cost_cents or 0))),
        ("Acquired", "text", planned(lambda one: acquired_short(one.acquired))),
        ("Nodes", "number", planned(lambda one: _or_none(one.nodes, "{:,}".format))),
        ("Idle", "number", planned(lambda one: _or_none(one.gpus_idle, percent))),
        (
            "kW",
            "number",
            planned(lambda one: _or_none(one.drawn_w, lambda watts: f"{watts / 1000:,.1f}")),
        ),
        ("Status", "text", status),
    )


def _or_none(value: float | None, words: Callable[[float], str]) -> str:
    return _NONE if value is None else words(value)


def _summary(rows: Sequence[SweepRow]) -> str:
    costs = [row.figures.cost_cents for row in rows if row.figures.cost_cents is not None]
    proved = sum(row.figures.result == "proved" for row in rows)
    without = len(rows) - len(costs)
    parts = [f"{count_of(len(rows), 'variant')}, {proved} of them proved"]
    if costs:
        parts.append(f"from {money_short(min(costs))} to {money_short(max(costs))}")
    if without:
        parts.append(f"{without} without a plan")
    return "; ".join(parts) + "."


def frontiers(
    title: str,
    plans: Sequence[tuple[str, PlanSummary]],
    anchors: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Frontier]:
    """Cost against headroom and against power, by file name; a point for each plan.

    One where there is no plan, or no two differ in what they cost or in what they give, is left
    out; so is power where the catalog does not say what a node type draws.
    """
    found = {}
    for file, what, axis, least in _AXES:
        known = [
            (one.cost_cents, gain, name)
            for name, one in plans
            if one.cost_cents is not None and (gain := _gain(one, what)) is not None
        ]
        costs = _ends([cost for cost, _, _ in known], _COSTS)
        gains = _ends([gain for _, gain, _ in known], _GAINS[what])
        points = tuple(
            (cost, gain, name) for cost, gain, (_, _, name) in zip(costs, gains, known, strict=True)
        )
        if len(set(gains)) > 1 and len(set(costs)) > 1:
            says = f"A point for each of {count_of(len(points), 'plan')}; those that nothing "
            says += f"cheaper {'undercuts' if least else 'exceeds'} are joined."
            head = f"{title}: cost against {what}"
            found[file] = Frontier(head, says, points, ("net present cost", axis), least, anchors)
    return found


_AXES = (
    ("headroom.svg", "headroom", "GPU-hours in service that no job holds", False),
    ("power.svg", "power", "drawn by the servers in service, mean over the quarters", True),
)


_COSTS: tuple[Callable[[float], str], ...] = (
    lambda cents: money_short(round(cents)),
    lambda cents: usd(round(cents)),
)
_GAINS: dict[str, tuple[Callable[[float], str], ...]] = {
    "headroom": (percent, partial(percent, digits=3)),
    "power": (lambda watts: f"{watts / 1000:,.1f} kW", lambda watts: f"{watts / 1000:,.3f} kW"),
}
"""Ways to write a value, the shortest first."""


def _gain(figures: PlanSummary, what: str) -> float | None:
    return figures.gpus_idle if what == "headroom" else figures.drawn_w


def _ends(values: Sequence[float], ways: Sequence[Callable[[float], str]]) -> list[End]:
    """Values with their words: the shortest that tell the least from the greatest."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    said = next((way for way in ways if low == high or way(low) != way(high)), ways[-1])
    return [(float(value), said(value)) for value in values]


def sweep_csv(rows: Sequence[SweepRow]) -> str:
    """All rows for a spreadsheet: a column for each value that is set, and for each offer."""
    records = sweep_rows(rows)
    return csv_text(
        [
            tuple(records[0]),
            *(tuple(_csv_cell(*cell) for cell in one.items()) for one in records),
        ]
    )


def _csv_cell(column: str, value: object) -> object:
    return f"{value:.2f}" if column.endswith("_usd") and isinstance(value, float) else value


def sweep_rows(rows: Sequence[SweepRow]) -> list[dict[str, object]]:
    """The same as records: a value that is set stays as it was written, dollars are floats."""
    titles = titles_of(rows)
    offers = sorted({one.offer for row in rows for one in row.figures.acquired})
    return [_record(row, titles, offers) for row in rows]


def titles_of(rows: Sequence[SweepRow]) -> dict[tuple[str, ...], str]:
    """The columns of what is set: each path, as it is written where it is set first."""
    titles: dict[tuple[str, ...], str] = {}
    for row in rows:
        for one in row.variant.settings:
            titles.setdefault(one.path, one.path_text)
    return titles


def _record(
    row: SweepRow, titles: Mapping[tuple[str, ...], str], offers: Sequence[str]
) -> dict[str, object]:
    figures = row.figures
    stated = {one.path: one.value_text for one in row.variant.settings}
    bought = Counter[str]()
    for one in figures.acquired:
        bought[one.offer] += one.count
    planned = figures.cost_cents is not None
    return {
        "apply": _listed(row.variant.apply),
        **{title: stated.get(path) for path, title in titles.items()},
        "result": figures.result,
        **plan_record(figures),
        **{f"acquired {offer}": bought[offer] if planned else None for offer in offers},
        "short": _listed(figures.short),
        "reason": figures.reason,
    }


def plan_record(figures: PlanSummary) -> dict[str, object]:
    """The figures of one plan; None where there is no plan."""
    return {
        "cost_usd": in_usd(figures.cost_cents),
        "bound_usd": in_usd(figures.bound_cents),
        "capex_usd": in_usd(figures.capex_cents),
        "nodes": figures.nodes,
        "node_types": figures.node_types,
        "gpus_idle": figures.gpus_idle,
        "power_w": figures.power_w,
        "drawn_w": figures.drawn_w,
        "moves": figures.moves,
    }


def _listed(names: Iterable[str]) -> str:
    """Names as a list in a scenario has them, without its brackets: unusual ones in quotes."""
    return flow(tuple(names))[1:-1]
