"""What the sites feed and hold, of all that is limited there, and what stands in each rack."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import groupby
from typing import NamedTuple

from planner.inputs.scenario.quarter import Quarter
from planner.inputs.scenario.site import (
    HEIGHT,
    PORTS,
    POWER,
    SiteLimit,
    SpareGroup,
    limits_told,
)
from planner.planning.ledger.traced import TracedFigure
from planner.planning.plan import Node, Plan
from planner.reporting.document import (
    Blank,
    Block,
    Bullets,
    Cell,
    Fields,
    Fold,
    Heading,
    Paragraph,
    Table,
    cell_text,
    columns_for,
    rest,
    table,
)
from planner.reporting.format import (
    Style,
    code,
    count_of,
    figure,
    listed,
    quarter_runs,
    quarter_span,
)
from planner.reporting.sections.placement import range_of_ids
from planner.reporting.traced import TracedPlan

_RACKS = 400
_DRAWN = ("Nodes", "kW mean", "Heat, kBTU/h", "Ports")
"""Titles of what stands in a table of its own, so that both print in the size of all others."""
_UNTOLD = ("–", "not stated")
"""Cells that leave out a column of which no site tells more."""
_KBTU_PER_WH = TracedFigure(Fraction(3412, 10**6), "0.003412")


def limits_of(plan: Plan) -> tuple[SiteLimit, ...]:
    """What is told of sites and nodes: the usual limits, and what a site limits besides."""
    return limits_told({need for site in plan.sites for need in site.allowed})


def limit_title(limit: SiteLimit, of: str = "") -> str:
    """`Power, kW`, `Rack units at frankfurt`."""
    return f"{limit.name.capitalize()}{of}{', kW' if limit.unit == 'W' else ''}"


def limit_style(limit: SiteLimit) -> Style:
    """How an amount of it is written in a document whose figures lead to their place."""
    return "kw" if limit.unit == "W" else "count"


def _estimated_figures(plan: Plan, figures: Sequence[tuple[str, str]]) -> Iterator[Block]:
    """Say which of these figures, keys with their names, nobody published."""
    concerned = {
        key: f"{name} of {listed(types)}"
        for key, name in figures
        if (types := [one.node_type for one in plan.node_types if key in one.estimated])
    }
    if concerned:
        yield Paragraph(
            f"Estimated, as nobody published them: {'; '.join(concerned.values())}. State yours at "
            f"the fleet entry or the offer ({listed([code(key) for key in concerned])}).",
            tone="faint",
        )


def sites_section(
    traced: TracedPlan, most_racks: int = _RACKS, *, full: bool = True
) -> Iterator[Block]:
    """What is taken of each site beside what it allows, alike quarters once; then the racks.

    `full` with what was taken before by what is owned, and sites that state no limit.
    """
    plan = traced.plan
    stated = {use.site: place for place, use in enumerate(plan.sites)}
    sites = traced.capacity.sites if full else [use.site for use in plan.sites]
    if not sites:
        return
    off = ""
    if any(node.off for node in plan.nodes):
        off = ", and all but power by those that are switched off"
    rows = [row for site in sites for row in _site_rows(traced, site, stated.get(site))]
    apart = _DRAWN if full else _DRAWN[1:]
    told_of = {title for *_, cells in rows for title, cell in cells.items() if cell not in _UNTOLD}
    taken = [title for title in rows[0][2] if title in told_of and title not in apart]
    if not full:
        taken = [title for title in taken if not title.endswith(" before")]

    def by_site(titles: Sequence[str], caption: str) -> Table:
        return table(
            rows,
            ("Site", "text", lambda row: row[0]),
            ("Quarter", "name", lambda row: row[1]),
            *columns_for(
                ((title if full else title.removesuffix(" after"), title) for title in titles),
                lambda row, title: row[2][title],
            ),
            caption=caption,
        )

    told = f"Taken by all nodes in service, spare ones too{off}, power by nameplate (U: rack units)"
    yield by_site(taken, f"{told}{'; before: by owned nodes' if full else ''}")
    if full:
        told = "Nodes in service, their mean draw, heat by nameplate, and network ports"
        yield by_site(_DRAWN, told)
    lacking = {name for site in sites for name in traced.capacity.without_nameplate(site)}
    if lacking:
        yield Paragraph(
            f"? where the catalog gives no nameplate power: {listed(sorted(lacking))}. The fleet "
            f"entry or the offer can state {code('max_power_kw')}.",
            tone="warning",
        )
    shown = [(limit.figure, limit.of_node) for limit in limits_of(plan)]
    yield from _estimated_figures(plan, shown + [("mean_power_kw", "mean draw")] * full)
    yield from _about(plan)
    yield from _racks(traced, most_racks)
    if full:
        yield from _comings_and_goings(traced)


def _site_rows(
    traced: TracedPlan, site: str, stated: int | None
) -> Iterator[tuple[str, str, Mapping[str, Cell]]]:
    """Name, quarters, and cells by the titles of their columns."""
    plan, capacity = traced.plan, traced.capacity
    pools = [at for at, pool in enumerate(plan.pools) if pool.site == site]
    stem = f"sites[{stated}]"
    racked = stated is not None and plan.sites[stated].racks is not None

    def shown(taken: TracedFigure | None, style: Style) -> Cell:
        return "?" if taken is None else traced.figure(taken, style, "how-site")

    def counted(place: str) -> Cell:
        return traced.at(place, "count", "how-site") if racked else "–"

    def cells(quarter: int) -> Iterator[tuple[str, Cell]]:
        for limit in limits_of(plan):
            unit, style = limit.stated_in, limit_style(limit)
            yield f"{unit} before", shown(capacity.before(site, quarter, limit.need), style)
            yield f"{unit} after", shown(capacity.after(site, quarter, limit.need), style)
            yield f"{unit} allowed", _allowed(traced, stated, quarter, limit)
        nodes = f"{sum(plan.pools[at].nodes[quarter] for at in pools):,}"
        known = stated is not None
        yield (
            "Nodes",
            traced.at(f"{stem}.nodes[{quarter}]", "count", "how-site") if known else nodes,
        )
        yield "Racks used", counted(f"{stem}.racks_used[{quarter}]")
        yield "Racks", counted(f"{stem}.racks")
        most = capacity.after(site, quarter, POWER.need)
        yield "kW mean", shown(capacity.after(site, quarter, "mean_power_w"), "kw")
        yield "Heat, kBTU/h", shown(most and most * _KBTU_PER_WH, "tenths")
        yield "Ports", shown(capacity.after(site, quarter, PORTS.need), "count")

    found = [(label, dict(cells(quarter))) for quarter, label in enumerate(plan.quarters)]
    name = site
    for _, group in groupby(found, key=lambda row: list(map(cell_text, row[1].values()))):
        alike = list(group)
        yield name, quarter_span(alike[0][0], alike[-1][0]), alike[0][1]
        name = ""


def _allowed(traced: TracedPlan, site: int | None, quarter: int, limit: SiteLimit) -> Cell:
    """Of the height, nodes may take what the site says, or all its racks, the smaller."""
    if site is None:
        return "not stated"
    use, stem = traced.plan.sites[site], f"sites[{site}]"
    stated, allowed = [], use.allowed.get(limit.need)
    if allowed is not None and allowed[quarter] is not None:
        stated.append(traced.read.at(f"{stem}.allowed[{limit.need}][{quarter}]"))
    if limit == HEIGHT and use.racks is not None:
        stated.append(traced.read.at(f"{stem}.racks") * traced.read.at(f"{stem}.units_per_rack"))
    if not stated:
        return "no limit"
    least = min(stated, key=lambda one: one.value)
    return traced.figure(least, limit_style(limit), "how-site")


def _about(plan: Plan) -> Iterator[Block]:
    sentences = []
    for site in plan.sites:
        parts = []
        if site.cooling:
            parts.append(f"{listed(site.cooling)} cooling")
        if site.racks is not None:
            fed = site.power_per_rack_w
            power = f" and {figure(fed / 1000)} kW" if fed is not None else ""
            parts.append(f"{count_of(site.racks, 'rack')} of {site.units_per_rack} U{power}")
        if site.labels:
            parts.append(f"labels {listed(site.labels)}")
        parts += _spares(site.spare_nodes)
        if parts:
            sentences.append(f"{site.site}: {'; '.join(parts)}.")
    if sentences:
        yield Paragraph(" ".join(sentences))


def _spares(stated: int | dict[str, SpareGroup]) -> Iterator[str]:
    if isinstance(stated, int):
        if stated:
            yield f"{count_of(stated, 'spare node')} in each pool that runs a job"
        return
    for name, group in stated.items():
        kept = (
            count_of(group.nodes, "spare node")
            if group.nodes
            else f"spare nodes for the loss of {count_of(group.racks or 0, 'rack')}"
        )
        shared = f", shared by {listed(group.node_types)}" if len(group.node_types) > 1 else ""
        yield f"{name}: {kept}{shared or f' of {group.node_types[0]}'}"


def _racks(traced: TracedPlan, most: int) -> Iterator[Block]:
    """What each rack holds, nodes that stand there for a time with their quarters, and its peak."""
    plan = traced.plan
    held: dict[tuple[str, int], dict[tuple[str, ...], list[Node]]] = defaultdict(dict)
    for node in plan.nodes:
        by_rack: dict[int, list[str]] = defaultdict(list)
        for label, rack in zip(node.standing, node.racks, strict=False):
            by_rack[rack].append(label)
        for rack, labels in by_rack.items():
            held[node.site, rack].setdefault(tuple(labels), []).append(node)
    peaks = {
        (use.site, rack): peak
        for use in plan.sites
        for rack, peak in (traced.capacity.rack_peaks(use.site) if use.racks else {}).items()
    }

    def content(nodes: dict[tuple[str, ...], list[Node]]) -> str:
        parts = []
        for labels, here in nodes.items():
            runs = quarter_runs(plan.quarters, labels)
            when = "" if labels == plan.quarters else f" ({runs})"
            for _, group in groupby(here, key=lambda node: node.node_type):
                parts.append(f"{range_of_ids([node.id for node in group])}{when}")
        return ", ".join(parts)

    def peak(rack: tuple[str, int]) -> Cell:
        return traced.figure(peaks[rack][1], "kw", "how-site") if rack in peaks else "?"

    if held:
        yield table(
            sorted(held)[:most],
            ("Rack", "name", lambda rack: f"{rack[0]} {rack[1]}"),
            ("Holds", "text", lambda rack: content(held[rack])),
            ("Peak kW", "number", peak),
            ("In", "name", lambda rack: plan.quarters[peaks[rack][0]] if rack in peaks else "?"),
            caption="Which nodes stand in which rack and when, and its peak by nameplates",
        )
    yield from rest(len(held) - most, "rack", f", each in {code('nodes')} of plan.json")


class _Change(NamedTuple):
    """Nodes that arrive at a site, or leave it, in one way at the start of a quarter."""

    quarter: int
    site: str
    act: str
    node_type: str
    entry: str


def _comings_and_goings(traced: TracedPlan) -> Iterator[Block]:
    """By date and site, nodes that arrive and leave, but for those by the hour, and their needs."""
    plan, changes = traced.plan, Counter[_Change]()
    place = {label: at for at, label in enumerate(plan.quarters)}
    for node in plan.nodes:
        if not node.in_service or node.hours:
            continue
        what = (node.site, node.node_type, node.entry)
        first, after = place[node.in_service[0]], place[node.in_service[-1]] + 1
        if node.origin != "owned":
            changes[_Change(first, what[0], "Arrive", *what[1:])] += 1
        if after < len(plan.quarters):
            act = "Sell" if node.sold else "Retire" if node.origin == "owned" else "Give back"
            changes[_Change(after, what[0], act, *what[1:])] += 1

    def takes(change: _Change, need: str, style: Style) -> Cell:
        each = traced.capacity.each(change.node_type, need)
        count = TracedFigure(Fraction(changes[change]), str(changes[change]))
        return traced.figure(each * count, style, "how-site") if each else "?"

    if changes:
        yield table(
            sorted(changes),
            ("At", "name", lambda one: f"{Quarter.parse(plan.quarters[one.quarter]).start}"),
            ("Site", "text", lambda one: one.site),
            ("What", "text", lambda one: f"{one.act}: {changes[one]:,} × {one.node_type}"),
            ("Entry", "text", lambda one: one.entry),
            *columns_for(
                ((limit_title(limit), limit) for limit in dict.fromkeys((*limits_of(plan), PORTS))),
                lambda one, limit: takes(one, limit.need, limit_style(limit)),
            ),
            caption="Arrivals and departures, and what these nodes take, power by nameplate",
        )


def facility_section(traced: TracedPlan) -> Iterator[Block]:
    """The sites in full, what each node takes, and what facilities must say."""
    plan, limits = traced.plan, limits_of(traced.plan)
    yield from sites_section(traced)
    yield Heading("Each node", 3)
    yield table(
        plan.node_types,
        ("Node type", "name", lambda facts: facts.node_type),
        ("Product", "text", lambda facts: f"{facts.vendor} {facts.product}"),
        ("GPUs", "text", lambda facts: f"{facts.gpus} × {facts.gpu_type}"),
        *columns_for(
            (
                ("Nameplate kW" if limit == POWER else limit.stated_in, limit)
                for limit in limits[::-1]  # both kW side by side
            ),
            lambda facts, limit: node_takes(
                traced, facts.node_type, limit.need, limit_style(limit)
            ),
        ),
        ("Mean kW", "number", lambda one: node_takes(traced, one.node_type, "mean_power_w", "kw")),
        ("Cooling", "text", lambda facts: facts.cooling or Blank("the catalog")),
    )
    listed_sites = {use.site for use in plan.sites}
    names = " and ".join(limit.name for limit in limits).capitalize()
    yield Fields(
        (
            *(
                (f"{names} that {site} allows", Blank(f"{code('sites:')} of the scenario"))
                for site in traced.capacity.sites
                if site not in listed_sites
            ),
            ("Heat that each room can carry away", Blank("facilities")),
        )
    )
    yield from _sources_of_nodes(plan)


def _sources_of_nodes(plan: Plan) -> Iterator[Block]:
    """Each source once, with the figures that are from it and their node types."""
    found: dict[str, dict[str, list[str]]] = {}
    for facts in plan.node_types:
        for told in facts.sources or ("all figures: no source is named",):
            what, _, source = told.partition(": ")
            found.setdefault(source, {}).setdefault(what, []).append(facts.node_type)
    lines = (
        f"{'; '.join(f'{what} of {listed(names)}' for what, names in figures.items())}: {source}"
        for source, figures in found.items()
    )
    if found:
        yield Fold("Sources of these figures", "node-sources", (Bullets(tuple(lines)),))


def node_takes(traced: TracedPlan, node_type: str, need: str, style: Style) -> Cell:
    """What the catalog says that one node takes."""
    known = traced.capacity.each(node_type, need)
    if known is None:
        return Blank("the catalog")
    return traced.figure(known, style, "how-site")
