"""What the sites feed and hold, of all that is limited there, and what stands in each rack."""

from __future__ import annotations

from collections import defaultdict
from itertools import groupby
from typing import TYPE_CHECKING

from planner.inputs.scenario.site import HEIGHT, SITE_LIMITS, limits_told
from planner.reporting.document import Block, Column, Paragraph, Table
from planner.reporting.format import (
    code,
    count_of,
    figure,
    listed,
    money,
    percent,
    quarter_runs,
    quarter_span,
)
from planner.reporting.nodenames import range_of_ids

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from planner.inputs.scenario.site import SiteLimit
    from planner.planning.plan import Node, Plan, SiteUse
    from planner.reporting.format import Style

__all__ = [
    "estimated_figures",
    "limit_style",
    "limit_title",
    "limits_of",
    "sites_section",
    "spare_sentences",
]

_NONE = "–"


def limits_of(plan: Plan) -> tuple[SiteLimit, ...]:
    """What is told of sites and nodes: the usual limits, and what a site limits besides."""
    return limits_told({need for site in plan.sites for need in site.allowed})


def sites_section(plan: Plan, most_racks: int) -> tuple[Block, ...]:
    """One row per site and run of alike quarters, then the racks; nothing without sites."""
    if not plan.sites:
        return ()
    limits = limits_of(plan)
    table = Table(
        (
            Column("Site", wraps=True),
            Column("Quarter"),
            Column("Nodes", "right"),
            *(Column(limit_title(limit), "right") for limit in limits),
            Column("Racks", "right"),
        ),
        tuple(row for site in plan.sites for row in _site_rows(plan, site)),
    )
    aid = "Taken / allowed, by the nameplates of all nodes in service; owned and spare ones count."
    return (
        Paragraph(aid, tone="faint"),
        table,
        *estimated_figures(plan, [limit.figure for limit in limits]),
        *_about(plan),
        *_racks(plan, most_racks),
    )


def limit_title(limit: SiteLimit, of: str = "") -> str:
    """`Power, kW`, `Rack units at frankfurt`."""
    return f"{limit.name.capitalize()}{of}{', kW' if limit.unit == 'W' else ''}"


def limit_style(limit: SiteLimit) -> Style:
    """How an amount of it is written in a document whose figures lead to their place."""
    return "kw" if limit.unit == "W" else "count"


_FIGURES = {limit.figure: limit.of_node for limit in SITE_LIMITS} | {
    "mean_power_kw": "mean draw",
    "cooling": "cooling",
}


def estimated_figures(
    plan: Plan, keys: Sequence[str], among: Collection[str] | None = None
) -> tuple[Block, ...]:
    """Say which of these figures nobody published, of all the plan's nodes or of some types."""
    shown = [one for one in plan.node_types if among is None or one.node_type in among]
    concerned = {
        key: [facts.node_type for facts in shown if key in facts.estimated] for key in keys
    }
    told = [f"{_FIGURES[key]} of {listed(names)}" for key, names in concerned.items() if names]
    if not told:
        return ()
    own = listed([code(key) for key, names in concerned.items() if names])
    text = (
        f"Estimated, as nobody published them: {'; '.join(told)}. State yours at the fleet entry "
        f"or the offer ({own})."
    )
    return (Paragraph(text, tone="faint"),)


def _site_rows(plan: Plan, site: SiteUse) -> Iterator[tuple[str, ...]]:
    limits = limits_of(plan)
    rows = [(label, _figures(site, limits, place)) for place, label in enumerate(plan.quarters)]
    name = site.site
    for figures, group in groupby(rows, key=lambda row: row[1]):
        labels = [label for label, _ in group]
        yield (name, quarter_span(labels[0], labels[-1]), *figures)
        name = ""


def _figures(site: SiteUse, limits: Sequence[SiteLimit], place: int) -> tuple[str, ...]:
    return (
        f"{site.nodes[place]:,}",
        *(_taken(site, limit, place) for limit in limits),
        _of(f"{site.racks_used[place]:,}", f"{site.racks:,}") if site.racks else _NONE,
    )


def _of(taken: str | None, allowed: str | None) -> str:
    return f"{taken or '?'} / {allowed or 'no limit'}"


def _kw(watts: int | None) -> str | None:
    return None if watts is None else figure(watts / 1000)


def _taken(site: SiteUse, limit: SiteLimit, place: int) -> str:
    """Of the height, nodes may take what the site says, or all its racks, the smaller."""
    taken, allowed = site.taken[limit.need], site.allowed.get(limit.need)
    most = [allowed[place]] if allowed else []
    if limit == HEIGHT and site.racks is not None:
        most.append(site.racks * (site.units_per_rack or 0))
    told = _kw if limit.unit == "W" else _count
    known = min((amount for amount in most if amount is not None), default=None)
    return _of(told(taken[place] if taken else None), told(known))


def _count(number: int | None) -> str | None:
    return None if number is None else f"{number:,}"


def _about(plan: Plan) -> Iterator[Block]:
    sentences = []
    for site in plan.sites:
        parts = []
        if site.cooling:
            parts.append(f"{listed(site.cooling)} cooling")
        if site.racks is not None:
            fed = _kw(site.power_per_rack_w)
            power = f" and {fed} kW" if fed else ""
            parts.append(f"{count_of(site.racks, 'rack')} of {site.units_per_rack} U{power}")
        if site.labels:
            parts.append(f"labels {listed(site.labels)}")
        if site.spare_nodes:
            spare = count_of(site.spare_nodes, "spare node")
            parts.append(f"{spare} in each pool that runs a job")
        if parts:
            sentences.append(f"{site.site}: {'; '.join(parts)}.")
    if sentences:
        yield Paragraph(" ".join(sentences))


def _racks(plan: Plan, most: int) -> Iterator[Block]:
    """What each rack holds; nodes that stand there for a time, with their quarters."""
    held: dict[tuple[str, int], dict[tuple[str, ...], list[Node]]] = defaultdict(dict)
    for node in plan.nodes:
        by_rack: dict[int, list[str]] = defaultdict(list)
        for label, rack in zip(node.in_service, node.racks, strict=False):
            by_rack[rack].append(label)
        for rack, labels in by_rack.items():
            held[node.site, rack].setdefault(tuple(labels), []).append(node)
    rows = tuple(
        (f"{site} {rack}", _content(plan, nodes)) for (site, rack), nodes in sorted(held.items())
    )
    if rows:
        yield Table((Column("Rack"), Column("Holds", wraps=True)), rows[:most])
    if len(rows) > most:
        more = count_of(len(rows) - most, "more rack")
        yield Paragraph(f"… {more}, each in {code('nodes')} of plan.json", tone="faint")


def _content(plan: Plan, nodes: dict[tuple[str, ...], list[Node]]) -> str:
    parts = []
    for labels, here in nodes.items():
        when = "" if labels == plan.quarters else f" ({quarter_runs(plan.quarters, labels)})"
        parts += [f"{name}{when}" for name in _names(here)]
    return ", ".join(parts)


def _names(nodes: Sequence[Node]) -> Iterator[str]:
    for _, group in groupby(nodes, key=lambda node: node.node_type):
        yield range_of_ids([node.id for node in group])


def spare_sentences(plan: Plan) -> list[str]:
    """What all spare nodes cost together, then the last one of each place."""
    if plan.spare_cost is None:
        return []
    told, prices = [_together(plan, plan.spare_cost.cents)], plan.spare_prices
    if len(prices) > 1 or any(price.kept > 1 for price in prices):
        told += [_spare_price(price.place, price.kept, price.cents) for price in prices]
    return told


def _together(plan: Plan, cents: int | None) -> str:
    if cents is None:
        return "What the spare nodes cost is open: a plan without any was not proved."
    cost = plan.proof.cost_cents
    share = f", {percent(cents / cost)} of it" if cost > 0 else ""
    return f"All spare nodes together add {money(cents)} to the net present cost{share}."


def _spare_price(place: str, kept: int, cents: int | None) -> str:
    what = "the spare node" if kept == 1 else f"the last of {kept} spare nodes"
    each = " in each pool" if place.startswith("site ") else ""
    if cents is None:
        return f"What is saved without {what}{each} of {place} is open: it was not proved."
    return f"Without {what}{each} of {place} alone, the others kept, it is {money(cents)} less."
