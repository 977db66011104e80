"""How full the fleet is and what each site feeds and holds: GPUs, pools, power, racks, alarms."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import groupby

from planner.inputs.scenario.quarter import Quarter
from planner.inputs.scenario.site import HEIGHT, PORTS, POWER, SiteLimit, SpareGroup, limits_told
from planner.planning.plan import Node, NodeFacts, Plan, SiteUse
from planner.planning.traced_figures import TracedFigure, total
from planner.reporting.document import (
    Blank,
    Block,
    Bullets,
    Cell,
    Chart,
    Fields,
    Fold,
    Heading,
    Paragraph,
    Series,
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
    memory,
    percent,
    quarter_runs,
    quarter_span,
    range_of,
)
from planner.reporting.sections.jobs import some_share
from planner.reporting.sections.placement import range_of_ids
from planner.reporting.traced import TracedPlan


def _for_kept(plan: Plan) -> str:
    return " for the jobs that are kept" if plan.shortage else ""


def forecast_section(traced: TracedPlan) -> Iterator[Block]:
    """Show demand against capacity: in words, by quarter, and as a picture."""
    plan, capacity = traced.plan, traced.capacity
    yield Paragraph(_exhaustion(traced))
    counts: dict[str, Callable[[int], TracedFigure]] = {
        "GPUs needed": capacity.needed,
        "GPUs owned": capacity.owned,
        "Gap": capacity.short,
        "Gap, GPU-hours": capacity.short_hours,
        "With this plan": capacity.in_service,
        "Usable": capacity.usable,
        "Left": lambda at: capacity.usable(at) - capacity.needed(at),
    }
    yield table(
        traced.quarters,
        ("Quarter", "name", lambda at: plan.quarters[at]),
        *columns_for(counts.items(), lambda at, of: traced.figure(of(at), "count")),
        caption=f"GPUs needed{_for_kept(plan)} beside those owned. Gap: needed less owned; "
        "room below zero may be of GPU types that the jobs cannot use. Usable: without spare nodes",
    )
    bands = {"Held by jobs": counts["GPUs needed"], "Free": counts["Left"]}
    if any(any(pool.nodes_spare) for pool in plan.pools):
        bands["Kept empty as spare"] = lambda at: capacity.in_service(at) - capacity.usable(at)
    orders: dict[int, list[str]] = defaultdict(list)
    for _, line in traced.bill:
        if line.kind not in ("rent", "hourly"):
            text = f"{line.count:,} × {line.product} in service, order by {line.order_by}"
            orders[plan.quarters.index(line.quarter)].append(text)
    if not any(capacity.in_service(at).value for at in traced.quarters):
        return
    yield Chart(
        title=f"GPUs needed{_for_kept(plan)} and GPUs in service",
        says="What exceeds the line of those owned is bought, reserved or rented; the figures "
        "stand in the table.",
        categories=plan.quarters,
        series=tuple(
            Series(
                name,
                tuple(traced.figure(of(at), "count") for at in traced.quarters),
                "bar" if name in bands else "line",
            )
            for name, of in (*bands.items(), ("Owned", capacity.owned))
        ),
        unit="GPUs",
        marks=tuple((place, "; ".join(texts)) for place, texts in sorted(orders.items())),
    )


def _exhaustion(traced: TracedPlan) -> str:
    """Say when what is owned no longer suffices, by number and by GPU type."""
    plan, capacity = traced.plan, traced.capacity
    exhausted = capacity.exhausted()
    told = f"The GPUs that are owned suffice by their number in every quarter{_for_kept(plan)}."
    if exhausted is not None:
        short = f"{int(capacity.short(exhausted).value):,}"
        told = f"The owned GPUs no longer suffice in {plan.quarters[exhausted]}: "
        told += f"jobs hold {short} more."
    by_type = [
        f"{gpu_type} in {plan.quarters[place]}"
        for gpu_type in sorted({pool.gpu_type for pool in plan.pools})
        if (place := capacity.exhausted_of(gpu_type)) is not None
    ]
    if not any(node.origin == "owned" for node in plan.nodes):
        told = "No GPU is owned."
    elif by_type:
        told += f" By GPU type, spare nodes counted, they first fall short: {listed(by_type)}."
    if let_go := sum(bool(node.sold or node.off) for node in plan.nodes):
        told += f" What is sold or switched off, {count_of(let_go, 'node')}, counts as owned."
    if plan.hourly:
        apart = sum(one.gpu_hours for one in plan.hourly)
        told += f" {apart:,} GPU-hours on nodes that are had by the hour are counted apart."
    return told


def existing_section(traced: TracedPlan) -> Iterator[Block]:
    """Show what is owned, how full the plan makes it, and what only measurements can say."""
    owned = [node for node in traced.plan.nodes if node.origin == "owned"]
    if on := {(node.node_type, node.site) for node in owned if node.in_service}:
        yield pools_table(traced, on)
    else:
        yield Paragraph("No owned node is kept on." if owned else "Nothing is owned yet.")
    if owned:
        yield Fields(
            (
                ("Measured use of the GPUs owned: allocated, active, useful", Blank("monitoring")),
                ("Waiting time of jobs today", Blank("the scheduler's records")),
                ("Sharing, tuning and reclaiming tried so far, with results", Blank()),
            )
        )


def pools_table(traced: TracedPlan, among: set[tuple[str, str]] | None = None) -> Table:
    """Show nodes, GPUs, cores and memory by pool and quarter, alike quarters once, with a sum.

    Only pools `among` these node types and sites.
    """
    pools = traced.plan.pools
    chosen = [
        (f"pools[{place}]", f"{pool.node_type} @ {pool.site}", [pool])
        for place, pool in enumerate(pools)
        if among is None or (pool.node_type, pool.site) in among
    ]
    if among is None and len(pools) > 1:
        chosen.append(("pools[*]", "All pools", list(pools)))

    def read(row: tuple[str, str, int], name: str) -> TracedFigure:
        of = traced.read.sum if "[*]" in row[0] else traced.read.at
        return of(f"{row[0]}.{name}[{row[2]}]")

    def count(row: tuple[str, str, int], name: str) -> Cell:
        if name == "gpus_peak" and "[*]" in row[0]:
            return ""  # the pools of a sum need not be fullest at the same hour
        return traced.figure(read(row, name), "tenths" if name == "gpus_peak" else "count")

    def share(row: tuple[str, str, int], name: str) -> Cell:
        unit = "_mb" if name == "memory" else ""
        every = read(row, f"{name}{unit}")
        if not every.value:
            return "–"
        return traced.figure(read(row, f"{name}_used{unit}") / every, "per_cent")

    counts = (("Nodes", "nodes"), ("GPUs", "gpus"), ("Held", "gpus_used"), ("Peak", "gpus_peak"))
    every = table(
        [
            (stem, name, quarter)
            for stem, name, members in chosen
            for quarter in traced.quarters
            if any(pool.nodes[quarter] for pool in members)
        ],
        ("Pool", "text", lambda row: row[1]),
        ("Quarter", "name", lambda row: traced.plan.quarters[row[2]]),
        *columns_for(counts, count),
        *columns_for((("Hours held", "gpu_hours"), ("Cores", "cpus"), ("Memory", "memory")), share),
        caption="Pools by quarter"
        if among is None
        else "Pools with owned nodes, and how full this plan makes them",
        without=("Peak",) * (not some_share(traced.plan)),
    )
    return _alike_once(every)


def _alike_once(every: Table) -> Table:
    """Return a table of names and quarters, with rows that differ only in their quarter merged."""
    rows: list[tuple[Cell, ...]] = []
    before: Cell = ""
    for _, group in groupby(every.rows, key=lambda row: (row[0], *map(cell_text, row[2:]))):
        (name, first, *cells), *more = group
        span = quarter_span(cell_text(first), cell_text(more[-1][1] if more else first))
        rows.append(("" if name == before else name, span, *cells))
        before = name
    return Table(every.columns, tuple(rows), caption=every.caption)


def utilization_section(traced: TracedPlan) -> Iterator[Block]:
    """Show the pools, then what is kept free, what moves, and storage for tuned assets."""
    told = "Nodes and GPUs are those in service; cores and memory are those of the hosts."
    if some_share(traced.plan):
        told += (
            " Hours held is the share of GPU-hours held over the quarter, Peak the GPUs held at "
            "its fullest hour; a part of a GPU counts by its share of the memory."
        )
    yield Paragraph(told, tone="faint")
    yield pools_table(traced)
    if sentences := list(_asides(traced.plan)):
        yield Paragraph(" ".join(sentences))


def _asides(plan: Plan) -> Iterator[str]:
    spare: dict[str, list[str]] = defaultdict(list)
    for pool in plan.pools:
        if kept := {count for count in pool.nodes_spare if count}:
            nodes = f"{range_of(kept)} {'node' if kept == {1} else 'nodes'}"
            spare[nodes].append(f"{pool.node_type} @ {pool.site}")
    for nodes, pools in spare.items():
        each = "each of " if len(pools) > 1 else ""
        yield f"Kept empty as spare: {nodes} of {each}{listed(pools)}."
    counted = ", each run counted by its share of the hours" * some_share(plan)
    for gpu_type, share in plan.growth_reserve:
        free = f"{percent(share)} of the GPUs of {gpu_type}, at the least{counted}"
        yield f"Kept free for growth: {free}."
    moved = zip(plan.quarters, plan.moves, strict=True)
    if told := [f"{units:,} at the start of {quarter}" for quarter, units in moved if units]:
        yield f"Units that change node: {listed(told)}."
    stored = zip(plan.quarters, plan.storage_mb, (0, *plan.storage_mb), strict=False)
    if told := [f"{memory(now)} by the end of {label}" for label, now, was in stored if now != was]:
        yield f"Storage for tuned assets: {listed(told)}."


def alarms_section(traced: TracedPlan) -> Iterator[Block]:
    """List pools without a free GPU."""
    plan, told = traced.plan, []
    each = {facts.node_type: facts.gpus for facts in plan.node_types}
    for pool in plan.pools:
        name = f"{pool.node_type} @ {pool.site}"
        hours = enumerate(zip(pool.gpu_hours_used, pool.gpu_hours, strict=True))
        held = {at: used / every for at, (used, every) in hours if every}
        full = [
            at
            for at in held
            if pool.gpus[at] == pool.gpus_used[at] + pool.nodes_spare[at] * each[pool.node_type]
        ]
        if full:
            beside = " beside its spare nodes" if any(pool.nodes_spare) else ""
            when = quarter_runs(plan.quarters, [plan.quarters[at] for at in full])
            told.append(
                f"{name}: no GPU{beside} is free all quarter in {when}; jobs hold at least "
                f"{percent(min(held[at] for at in full), 0)} of its GPU-hours there."
            )
    if told:
        yield Bullets(tuple(told), tone="warning")
    yield Fields((("Use above which an alarm is raised, and who answers it", Blank()),))


# Sites

_DRAWN = ("Nodes", "kW mean", "Heat, kBTU/h", "Ports")
"""Titles of what stands in a table of its own, so that both print in a normal size."""
_UNTOLD = ("–", "not stated")
"""Cells of columns that are left out if no site says more."""
_KBTU_PER_WH = TracedFigure(Fraction(3412, 10**6), "0.003412")


def limits_of(plan: Plan) -> tuple[SiteLimit, ...]:
    """Return the limits to show: the usual ones, and what a site limits besides."""
    return limits_told({need for site in plan.sites for need in site.allowed})


def limit_title(limit: SiteLimit, of: str = "") -> str:
    """Title a limit: `Power, kW`, `Rack units at frankfurt`."""
    return f"{limit.name.capitalize()}{of}{', kW' if limit.unit == 'W' else ''}"


def limit_style(limit: SiteLimit) -> Style:
    """Return the style of a limit's amounts."""
    return "kw" if limit.unit == "W" else "count"


def sites_section(traced: TracedPlan) -> Iterator[Block]:
    """Show what is taken of each site and what it allows, alike quarters once; then the racks."""
    plan, sites = traced.plan, traced.capacity.sites
    stated = {use.site: place for place, use in enumerate(plan.sites)}
    if not sites:
        return
    rows = [
        (site, plan.quarters[quarter], dict(_site_cells(traced, site, stated.get(site), quarter)))
        for site in sites
        for quarter in traced.quarters
    ]
    told_of = {title for *_, cells in rows for title, cell in cells.items() if cell not in _UNTOLD}
    taken = [title for title in rows[0][2] if title in told_of and title not in _DRAWN]

    def by_site(titles: Sequence[str], caption: str) -> Table:
        return _alike_once(
            table(
                rows,
                ("Site", "text", lambda row: row[0]),
                ("Quarter", "name", lambda row: row[1]),
                *columns_for(zip(titles, titles, strict=True), lambda row, title: row[2][title]),
                caption=caption,
            )
        )

    off = ", and all but power by those that are switched off"
    told = "Taken by all nodes in service, spare ones too"
    told += f"{off * any(node.off for node in plan.nodes)}, power by nameplate (U: rack units)"
    kept = ", none sold or off" * any(node.off or node.sold for node in plan.nodes)
    yield by_site(taken, f"{told}; before: by owned nodes{kept}")
    yield by_site(_DRAWN, "Nodes in service, their mean draw, heat by nameplate, and network ports")
    if lacking := {name for site in sites for name in traced.capacity.without_nameplate(site)}:
        yield Paragraph(
            f"? where the catalog gives no nameplate power: {listed(sorted(lacking))}. The fleet "
            f"entry or the offer can state {code('max_power_kw')}.",
            tone="warning",
        )
    if sentences := list(filter(None, map(_about, plan.sites))):
        yield Paragraph(" ".join(sentences))
    yield from _racks(traced)
    yield from _comings_and_goings(traced)


def _site_cells(
    traced: TracedPlan, site: str, stated: int | None, quarter: int
) -> Iterator[tuple[str, Cell]]:
    """Return cells by the titles of their columns."""
    plan, capacity, stem = traced.plan, traced.capacity, f"sites[{stated}]"

    def shown(taken: TracedFigure | None, style: Style) -> Cell:
        return "?" if taken is None else traced.figure(taken, style)

    for limit in limits_of(plan):
        unit, style = limit.stated_in, limit_style(limit)
        yield f"{unit} before", shown(capacity.taken(site, quarter, limit.need, owned=True), style)
        yield f"{unit} after", shown(capacity.taken(site, quarter, limit.need), style)
        yield f"{unit} allowed", _allowed(traced, stated, quarter, limit)
    pools = [at for at, pool in enumerate(plan.pools) if pool.site == site]
    nodes = total(traced.read.at(f"pools[{at}].nodes[{quarter}]") for at in pools)
    yield "Nodes", traced.figure(nodes, "count")
    racked = stated is not None and plan.sites[stated].racks is not None
    for title, place in (("Racks used", f"racks_used[{quarter}]"), ("Racks", "racks")):
        yield title, traced.at(f"{stem}.{place}", "count") if racked else "–"
    most = capacity.taken(site, quarter, POWER.need)
    yield "kW mean", shown(capacity.taken(site, quarter, "mean_power_w"), "kw")
    yield "Heat, kBTU/h", shown(most and most * _KBTU_PER_WH, "tenths")
    yield "Ports", shown(capacity.taken(site, quarter, PORTS.need), "count")


def _allowed(traced: TracedPlan, site: int | None, quarter: int, limit: SiteLimit) -> Cell:
    """Return the height that nodes may take: the site's limit or all its racks, the smaller."""
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
    return traced.figure(least, limit_style(limit))


def _about(site: SiteUse) -> str:
    """Say what a site is and keeps spare, in a sentence; empty if it states nothing."""
    parts = []
    if site.cooling:
        parts.append(f"{listed(site.cooling)} cooling")
    if site.racks is not None:
        fed = site.power_per_rack_w
        power = f" and {figure(fed / 1000)} kW" if fed is not None else ""
        parts.append(f"{count_of(site.racks, 'rack')} of {site.units_per_rack} U{power}")
    if site.labels:
        parts.append(f"labels {listed(site.labels)}")
    spare = site.spare_nodes
    if isinstance(spare, int):
        told = f"{count_of(spare, 'spare node')} in each pool that runs a job"
        parts += [told] * bool(spare)
    else:
        parts += [_spares(name, group) for name, group in spare.items()]
    return f"{site.site}: {'; '.join(parts)}." if parts else ""


def _spares(name: str, group: SpareGroup) -> str:
    kept = f"spare nodes for the loss of {count_of(group.racks or 0, 'rack')}"
    if group.nodes:
        kept = count_of(group.nodes, "spare node")
    shared = f", shared by {listed(group.node_types)}"
    return f"{name}: {kept}{shared if len(group.node_types) > 1 else f' of {group.node_types[0]}'}"


def _racks(traced: TracedPlan) -> Iterator[Block]:
    """Show what each rack holds, temporary nodes with their quarters, and its peak."""
    plan, most = traced.plan, traced.detail.lines
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

    def content(rack: tuple[str, int]) -> str:
        parts = []
        for labels, here in held[rack].items():
            runs = quarter_runs(plan.quarters, labels)
            when = "" if labels == plan.quarters else f" ({runs})"
            for _, group in groupby(here, key=lambda node: node.node_type):
                parts.append(f"{range_of_ids([node.id for node in group])}{when}")
        return ", ".join(parts)

    def peak(rack: tuple[str, int]) -> Cell:
        return traced.figure(peaks[rack][1], "kw") if rack in peaks else "?"

    if held:
        yield table(
            sorted(held)[:most],
            ("Rack", "name", lambda rack: f"{rack[0]} {rack[1]}"),
            ("Holds", "text", content),
            ("Peak kW", "number", peak),
            ("In", "name", lambda rack: plan.quarters[peaks[rack][0]] if rack in peaks else "?"),
            caption="Which nodes stand in which rack and when, and its peak by nameplates",
        )
    yield from rest(len(held) - most, "rack", f", each in {code('nodes')} of plan.json")


def _comings_and_goings(traced: TracedPlan) -> Iterator[Block]:
    """Show arriving and leaving nodes by date and site, and their needs.

    Without those by the hour.
    """
    plan, changes = traced.plan, Counter[tuple[int, str, str, str, str]]()
    for node in plan.nodes:
        owned, stood = node.origin == "owned", [plan.quarters.index(at) for at in node.standing]
        sold = plan.quarters.index(node.sold) if node.sold else len(plan.quarters)
        acts = [(stood[0], "Arrive")] if stood and not owned else []
        if stood and stood[-1] + 1 < sold:
            acts.append((stood[-1] + 1, "Retire" if owned else "Give back"))
        acts += [(sold, "Sell")] if node.sold else []
        for place, act in acts if not node.hours else ():
            changes[place, node.site, act, node.node_type, node.entry] += 1

    def takes(change: tuple[int, str, str, str, str], limit: SiteLimit) -> Cell:
        each = traced.capacity.each(change[3], limit.need)
        count = TracedFigure(Fraction(changes[change]), str(changes[change]))
        return traced.figure(each * count, limit_style(limit)) if each else "?"

    if changes:
        yield table(
            sorted(changes),
            ("At", "name", lambda one: f"{Quarter.parse(plan.quarters[one[0]]).start}"),
            ("Site", "text", lambda one: one[1]),
            ("What", "text", lambda one: f"{one[2]}: {changes[one]:,} × {one[3]}"),
            ("Entry", "text", lambda one: one[4]),
            *columns_for(
                ((limit_title(limit), limit) for limit in dict.fromkeys((*limits_of(plan), PORTS))),
                takes,
            ),
            caption="Arrivals and departures, and what these nodes take, power by nameplate",
        )


def facility_section(traced: TracedPlan) -> Iterator[Block]:
    """Show what each node takes, and what facilities must say."""
    plan, limits = traced.plan, limits_of(traced.plan)

    def takes(facts: NodeFacts, need: str) -> Cell:
        """Return what the catalog says that one node takes."""
        known = traced.capacity.each(facts.node_type, need)
        style: Style = "kw" if need.endswith("_w") else "count"
        return Blank("the catalog") if known is None else traced.figure(known, style)

    yield Heading("Each node", 3)
    needs = [
        ("Nameplate kW" if limit == POWER else limit.name.capitalize(), limit.need)
        for limit in limits[::-1]  # both kW side by side
    ]
    yield table(
        plan.node_types,
        ("Node type", "name", lambda facts: facts.node_type),
        ("Product", "text", lambda facts: f"{facts.vendor} {facts.product}"),
        ("GPUs", "text", lambda facts: f"{facts.gpus} × {facts.gpu_type}"),
        *columns_for((*needs, ("Mean kW", "mean_power_w")), takes),
        ("Cooling", "text", lambda facts: facts.cooling or Blank("the catalog")),
    )
    stated = {use.site for use in plan.sites}
    names = " and ".join(limit.name for limit in limits).capitalize()
    yield Fields(
        (
            *(
                (f"{names} that {site} allows", Blank(f"{code('sites:')} of the scenario"))
                for site in traced.capacity.sites
                if site not in stated
            ),
            ("Heat that each room can carry away", Blank("facilities")),
        )
    )
    sources: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for facts in plan.node_types:
        for told in facts.sources or ("all figures: no source is named",):
            what, _, source = told.partition(": ")
            sources[source][what].append(facts.node_type)
    lines = (
        f"{'; '.join(f'{what} of {listed(names)}' for what, names in figures.items())}: {source}"
        for source, figures in sources.items()
    )
    if sources:
        yield Fold("Sources of these figures", "node-sources", (Bullets(tuple(lines)),))
