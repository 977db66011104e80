"""How full the fleet is: GPUs needed, owned and in service, pools by quarter, and what runs out."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from planner.planning.ledger.traced import TracedFigure
from planner.planning.plan import Plan
from planner.reporting.document import (
    Blank,
    Block,
    Bullets,
    Cell,
    Chart,
    Fields,
    Figure,
    Paragraph,
    Series,
    Table,
    cell_text,
    columns_for,
    table,
)
from planner.reporting.format import (
    Style,
    count_of,
    listed,
    memory,
    percent,
    quarter_runs,
    quarter_span,
    range_of,
)
from planner.reporting.sections.cost import spare_rows
from planner.reporting.sections.jobs import some_share
from planner.reporting.traced import TracedPlan


def _for_kept(plan: Plan) -> str:
    return " for the jobs that are kept" if plan.shortage else ""


def gpus_table(traced: TracedPlan) -> Table:
    """GPUs needed beside those owned, in service and usable, quarter by quarter."""
    capacity = traced.capacity

    def count(of: TracedFigure, style: Style = "count") -> Figure:
        return traced.figure(of, style, "how-use")

    return table(
        traced.quarters,
        ("Quarter", "name", lambda at: traced.plan.quarters[at]),
        ("GPUs needed", "number", lambda at: count(capacity.needed(at))),
        ("GPUs owned", "number", lambda at: count(capacity.owned(at))),
        ("Gap", "number", lambda at: count(capacity.short(at))),
        ("Gap, GPU-hours", "number", lambda at: count(capacity.short_hours(at), "hours")),
        ("With this plan", "number", lambda at: count(capacity.in_service(at))),
        ("Usable", "number", lambda at: count(capacity.usable(at))),
        ("Left", "number", lambda at: count(capacity.usable(at) - capacity.needed(at))),
        caption=f"GPUs needed{_for_kept(traced.plan)} beside those owned. Gap: needed less owned; "
        "room below zero may be of GPU types that the jobs cannot use. Usable: without spare nodes",
    )


def capacity_chart(traced: TracedPlan) -> Chart:
    """GPUs in service by what they do, and GPUs owned, quarter by quarter."""
    plan, capacity, places = traced.plan, traced.capacity, traced.quarters

    def spare(at: int) -> TracedFigure:
        return capacity.in_service(at) - capacity.usable(at)

    bands = [
        ("Held by jobs", capacity.needed),
        ("Free", lambda at: capacity.usable(at) - capacity.needed(at)),
    ]
    if any(any(pool.nodes_spare) for pool in plan.pools):
        bands.append(("Kept empty as spare", spare))
    stacks = tuple(
        Series(name, tuple(traced.figure(of(at), "count", "how-use") for at in places))
        for name, of in bands
    )
    owned = tuple(traced.figure(capacity.owned(at), "count", "how-use") for at in places)
    orders: dict[int, list[str]] = {}
    for _, line in traced.bill:
        if line.kind not in ("rent", "hourly"):
            text = f"{line.count:,} × {line.product} in service, order by {line.order_by}"
            orders.setdefault(plan.quarters.index(line.quarter), []).append(text)
    return Chart(
        title=f"GPUs needed{_for_kept(plan)} and GPUs in service",
        says="What exceeds the line of those owned is bought, reserved or rented; the figures "
        "stand in the table.",
        categories=plan.quarters,
        series=(*stacks, Series("Owned", owned, "line")),
        unit="GPUs",
        marks=tuple((place, "; ".join(texts)) for place, texts in sorted(orders.items())),
    )


def existing_section(traced: TracedPlan) -> Iterator[Block]:
    """What is owned, how full the plan makes it, and what only measurements can say."""
    owned = [node for node in traced.plan.nodes if node.origin == "owned"]
    if on := {(node.node_type, node.site) for node in owned if node.in_service}:
        yield pools_table(traced, on)
    else:
        yield Paragraph("No owned node is kept on." if owned else "Nothing is owned yet.")
    if not owned:
        return
    yield Fields(
        (
            ("Measured use of the GPUs owned: allocated, active, useful", Blank("monitoring")),
            ("Waiting time of jobs today", Blank("the scheduler's records")),
            ("Sharing, tuning and reclaiming tried so far, with results", Blank()),
        )
    )


def _share(
    traced: TracedPlan, stem: str, quarter: int, part: str, whole: str, style: Style = "share"
) -> Figure | None:
    """Of one pool, or of several together; None where there is nothing to share."""
    of = traced.read.sum if "[*]" in stem else traced.read.at
    every = of(f"{stem}.{whole}[{quarter}]")
    if not every.value:
        return None
    return traced.figure(of(f"{stem}.{part}[{quarter}]") / every, style, "how-use")


def pools_table(traced: TracedPlan, among: set[tuple[str, str]] | None = None) -> Table:
    """Nodes, GPUs, cores and memory by pool and quarter, alike quarters once, with a sum.

    Pools `among` these node types and sites alone.
    """
    pools = traced.plan.pools
    chosen = [
        (f"pools[{place}]", f"{pool.node_type} @ {pool.site}", [pool])
        for place, pool in enumerate(pools)
        if among is None or (pool.node_type, pool.site) in among
    ]
    if among is None and len(pools) > 1:
        chosen.append(("pools[*]", "All pools", list(pools)))

    def count(row: tuple[str, str, int], name: str) -> Figure:
        of = traced.read.sum if "[*]" in row[0] else traced.read.at
        style: Style = "tenths" if name == "gpus_peak" else "count"
        return traced.figure(of(f"{row[0]}.{name}[{row[2]}]"), style, "how-use")

    def share(row: tuple[str, str, int], name: str) -> Cell:
        unit = "_mb" if name == "memory" else ""
        names = f"{name}_used{unit}", f"{name}{unit}"
        return _share(traced, row[0], row[2], *names, "per_cent") or "–"

    every = table(
        [
            (stem, name, quarter)
            for stem, name, members in chosen
            for quarter in traced.quarters
            if any(pool.nodes[quarter] for pool in members)
        ],
        ("Pool", "text", lambda row: row[1]),
        ("Quarter", "name", lambda row: traced.plan.quarters[row[2]]),
        *columns_for((("Nodes", "nodes"), ("GPUs", "gpus"), ("Held", "gpus_used")), count),
        # The pools of a sum need not be fullest at the same hour.
        ("Peak", "number", lambda row: "" if "[*]" in row[0] else count(row, "gpus_peak")),
        ("Hours held", "number", lambda row: share(row, "gpu_hours")),
        ("Cores", "number", lambda row: share(row, "cpus")),
        ("Memory", "number", lambda row: share(row, "memory")),
        caption="Pools by quarter"
        if among is None
        else "Pools with owned nodes, and how full this plan makes them",
        without=("Peak",) * (not some_share(traced.plan)),
    )
    rows: list[tuple[Cell, ...]] = []
    before: Cell = ""
    for _, group in groupby(
        every.rows, key=lambda row: (row[0], *(cell_text(cell) for cell in row[2:]))
    ):
        (name, first, *cells), *more = group
        span = quarter_span(cell_text(first), cell_text(more[-1][1] if more else first))
        rows.append(("" if name == before else name, span, *cells))
        before = name
    return Table(every.columns, tuple(rows), caption=every.caption)


def utilization_section(traced: TracedPlan) -> Iterator[Block]:
    """The pools, then what is kept free, what moves, and storage for tuned assets."""
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
    if rows := tuple(spare_rows(traced)):
        yield Fields(rows)


def _asides(plan: Plan) -> Iterator[str]:
    spare: dict[str, list[str]] = {}
    for pool in plan.pools:
        if kept := {count for count in pool.nodes_spare if count}:
            nodes = f"{range_of(kept)} {'node' if kept == {1} else 'nodes'}"
            spare.setdefault(nodes, []).append(f"{pool.node_type} @ {pool.site}")
    for nodes, pools in spare.items():
        each = "each of " if len(pools) > 1 else ""
        yield f"Kept empty as spare: {nodes} of {each}{listed(pools)}."
    held = (one for uses in plan.placements for use in uses for one in use.occupants)
    runs = plan.growth_reserve and any(one.hours for one in held)
    counted = ", each run counted by its share of the hours" if runs else ""
    for gpu_type, share in plan.growth_reserve:
        yield (
            f"Kept free for growth: {percent(share)} of the GPUs of {gpu_type}, at the "
            f"least{counted}."
        )
    moved = [
        f"{units:,} at the start of {quarter}"
        for quarter, units in zip(plan.quarters, plan.moves, strict=True)
        if units
    ]
    if moved:
        yield f"Units that change node: {listed(moved)}."
    grown = [
        f"{memory(stored)} by the end of {quarter}"
        for quarter, stored, before in zip(
            plan.quarters, plan.storage_mb, (0, *plan.storage_mb), strict=False
        )
        if stored != before
    ]
    if grown:
        yield f"Storage for tuned assets: {listed(grown)}."


def exhaustion(traced: TracedPlan) -> str:
    """When what is owned no longer suffices, by number and by GPU type."""
    plan, capacity = traced.plan, traced.capacity
    exhausted = capacity.exhausted()
    if exhausted is None:
        told = f"The GPUs that are owned suffice by their number in every quarter{_for_kept(plan)}."
    else:
        label = plan.quarters[exhausted]
        short = traced.figure(capacity.short(exhausted), "count").text
        told = f"The owned GPUs no longer suffice in {label}: jobs hold {short} more."
    by_type = [
        f"{gpu_type} in {plan.quarters[place]}"
        for gpu_type in sorted({pool.gpu_type for pool in plan.pools})
        if (place := capacity.exhausted_of(gpu_type)) is not None
    ]
    if not any(node.origin == "owned" for node in plan.nodes):
        told = "No GPU is owned."
    elif by_type:
        told += f" By GPU type, spare nodes counted, they first fall short: {listed(by_type)}."
    sold = sum(node.origin == "owned" and node.sold is not None for node in plan.nodes)
    if sold:
        told += f" What the plan sells ({count_of(sold, 'node')}) counts as owned until then."
    if plan.hourly:
        apart = traced.figure(traced.read.sum("hourly[*].gpu_hours"), "count").text
        told += f" {apart} GPU-hours on nodes that are had by the hour are counted apart."
    return told


def forecast_section(traced: TracedPlan) -> Iterator[Block]:
    """Demand against capacity: in words, by quarter, and as a picture."""
    yield Paragraph(exhaustion(traced))
    yield gpus_table(traced)
    yield capacity_chart(traced)


def alarms_section(traced: TracedPlan) -> Iterator[Block]:
    """Pools without a free GPU, orders that are due, and the pool that is used the least."""
    plan, told = traced.plan, []
    each = {facts.node_type: facts.gpus for facts in plan.node_types}
    shares: list[tuple[float, str]] = []
    for pool in plan.pools:
        name = f"{pool.node_type} @ {pool.site}"
        held = {
            at: used / hours
            for at, (used, hours) in enumerate(
                zip(pool.gpu_hours_used, pool.gpu_hours, strict=True)
            )
            if hours
        }
        shares += [(share, f"{name} in {plan.quarters[at]}") for at, share in held.items()]
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
    told += [
        f"{line.offer} for {line.quarter} must be ordered by {line.order_by}, before or on the day "
        "of this plan."
        for _, line in traced.bill
        if line.order_by <= plan.as_of
    ]
    if told:
        yield Bullets(tuple(told), tone="warning")
    if shares:
        least, where = min(shares)
        yield Paragraph(f"Used the least: {where}, {percent(least, 0)} of its GPU-hours.")
    yield Fields((("Use above which an alarm is raised, and who answers it", Blank()),))
