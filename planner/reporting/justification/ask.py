"""Sections 1 to 3: the ask, the need behind it, and what there is already."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.reporting.ask import ask_sentence
from planner.reporting.document import (
    Blank,
    Block,
    Chart,
    Column,
    Fields,
    Figure,
    Heading,
    Link,
    Meters,
    Paragraph,
    Series,
    Table,
)
from planner.reporting.format import count_of, listed, quarter_span
from planner.reporting.justification.desk import Desk, figure
from planner.reporting.justification.within import cheaper_warnings, weighty_rows
from planner.reporting.shortage import shortage_section

if TYPE_CHECKING:
    from planner.reporting.document import Cell
    from planner.reporting.justification.beside import Beside

__all__ = [
    "ask_section",
    "capacity_chart",
    "existing_section",
    "hours_held",
    "need_section",
    "use_picture",
]

_JOBS_SHOWN = 1000


def ask_section(desk: Desk, beside: Beside) -> tuple[Block, ...]:
    """What is to be approved, in one sentence and a few figures; what would cost less."""
    plan, accounts = desk.plan, desk.accounts
    rows: list[tuple[str, Cell]] = []
    for kind, title in _ASKED:
        asked = accounts.acquired(kind)
        if asked.value:
            rows.append((title, figure(asked, "usd", "how-bill")))
    rows += desk.committed
    first_year = accounts.first_year
    span = quarter_span(plan.quarters[0], plan.quarters[first_year[-1]])
    rows += [
        (
            f"Running cost of the first year ({span}), rents included, USD",
            figure(accounts.opex(first_year), "usd", "how-cost"),
        ),
        ("Paid over the horizon, not discounted, USD", figure(accounts.paid(), "usd", "how-cost")),
        (
            "Net present cost, less what the servers are still worth at its end, USD",
            figure(accounts.net_present, "usd", "how-proof"),
        ),
        *weighty_rows(desk, beside),
    ]
    decided = "nothing is ordered, so no order sets a day"
    if desk.bill:
        decided = "no later than the first order"
        place, line = min(desk.bill, key=lambda entry: entry[1].order_by)
        first_order = desk.day(line.order_by, f"acquisitions[{place}].order_by", "how-bill")
        rows.append(("First order by", first_order))
    running = [job for job in plan.jobs if job.ways]
    teams = {job.team for job in running if job.team}
    of_teams = f" of {count_of(len(teams), 'team')}" if teams else ""
    rows += [
        ("In support of", desk.link(f"{count_of(len(running), 'job')}{of_teams}", "need")),
        ("Requested by", Blank()),
        ("Decision needed by", Blank(decided)),
    ]
    illustrative = [line.offer for _, line in desk.bill if line.illustrative]
    told: list[Block] = [
        Paragraph(ask_sentence(plan), tone="strong"),
        *cheaper_warnings(desk, beside),
        Fields(tuple(rows)),
    ]
    if illustrative:
        names = listed(list(dict.fromkeys(illustrative)))
        told.append(
            Paragraph(
                f"Prices of {names} are illustrative and no quotes: put quotes into the scenario "
                "and plan again before this is approved.",
                tone="warning",
            )
        )
    return tuple(told)


_ASKED = (
    ("buy", "Capital for purchases, USD"),
    ("rent", "Rents within the horizon, USD"),
    ("reserve", "Reservations within the horizon, USD"),
)


def need_section(desk: Desk) -> tuple[Block, ...]:
    """Who needs what, how far it goes beyond what is owned, and what is not known."""
    return (
        Paragraph(
            "Each job and the units of it that must run; a unit is one model served, or one "
            f"tuning run. Its sizing, sum by sum, is told in {desk.section('jobs')}.",
            tone="faint",
        ),
        _services(desk),
        _gap(desk),
        capacity_chart(desk),
        *_short(desk),
        Fields(
            (
                ("Business served, and what drives its growth", Blank("the scenario states jobs")),
                ("What happens if the need is not met", Blank("by the owners of the jobs")),
            )
        ),
    )


def _short(desk: Desk) -> tuple[Block, ...]:
    blocks = shortage_section(desk.plan)
    return (Heading("What does not fit", 3), *blocks) if blocks else ()


def _for_kept(desk: Desk) -> str:
    return " for the jobs that are kept" if desk.plan.shortage else ""


def _services(desk: Desk) -> Table:
    plan = desk.plan
    jobs = plan.jobs[:_JOBS_SHOWN]
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            Link(job.name, desk.job_anchor[job.name]),
            plan.sizings[job.sizing].summary,
            job.team or "–",
            *(figure(desk.asked(place, quarter), "count", "how-need") for quarter in desk.columns),
        )
        for place, job in enumerate(jobs)
    )
    caption = "Units that each job asks for, by quarter"
    if len(plan.jobs) > len(jobs):
        caption += f", the first {len(jobs):,} of {len(plan.jobs):,} jobs"
    return Table(
        (
            Column("Job", wraps=True),
            Column("What it is", wraps=True),
            Column("Team", wraps=True),
            *(Column(plan.quarters[quarter], "right") for quarter in desk.columns),
        ),
        rows,
        caption=caption,
    )


def _gap(desk: Desk) -> Table:
    capacity = desk.capacity
    rows = []
    for place, label in enumerate(desk.plan.quarters):
        rows.append(
            (
                label,
                figure(capacity.needed(place), "count", "how-use"),
                figure(capacity.owned(place), "count", "how-use"),
                figure(capacity.in_service(place), "count", "how-use"),
                figure(capacity.short(place), "count", "how-use"),
                figure(capacity.short_hours(place), "hours", "how-use"),
            )
        )
    return Table(
        (
            Column("Quarter"),
            Column("GPUs needed", "right"),
            Column("GPUs owned", "right"),
            Column("With this plan", "right"),
            Column("Gap, GPUs", "right"),
            Column("Gap, GPU-hours", "right"),
        ),
        tuple(rows),
        caption=f"GPUs needed{_for_kept(desk)} against those owned; a gap below zero is room to "
        "spare, though perhaps of a GPU type that the jobs cannot use",
    )


def capacity_chart(desk: Desk) -> Chart:
    """GPUs in service by where they come from, and GPUs needed, quarter by quarter."""
    plan, capacity = desk.plan, desk.capacity
    places = range(len(plan.quarters))
    names = {"owned": "Owned", "buy": "Bought", "reserve": "Reserved", "rent": "Rented"}
    present = {node.origin for node in plan.nodes}
    stacks = tuple(
        Series(
            name,
            tuple(figure(capacity.added(place, origin), "count", "how-use") for place in places),
        )
        for origin, name in names.items()
        if origin in present
    )
    needed = tuple(figure(capacity.needed(place), "count", "how-use") for place in places)
    orders: dict[int, list[str]] = {}
    for _, line in desk.bill:
        if line.kind not in ("rent", "hourly"):
            text = f"{line.count:,} × {line.product} in service, order by {line.order_by}"
            orders.setdefault(plan.quarters.index(line.quarter), []).append(text)
    says = "; ".join(
        f"{label}: {figure(capacity.needed(place), 'count', '').text} needed of "
        f"{figure(capacity.in_service(place), 'count', '').text} in service"
        for place, label in enumerate(plan.quarters)
    )
    return Chart(
        title=f"GPUs needed{_for_kept(desk)} and GPUs in service",
        says=f"{says}.",
        categories=plan.quarters,
        series=(*stacks, Series("Needed", needed, "line")),
        unit="GPUs",
        marks=tuple((place, "; ".join(texts)) for place, texts in sorted(orders.items())),
    )


def existing_section(desk: Desk) -> tuple[Block, ...]:
    """What is owned, how full the plan makes it, and what only measurements can say."""
    owned = {(node.node_type, node.site) for node in desk.plan.nodes if node.origin == "owned"}
    pools = [
        (place, pool)
        for place, pool in enumerate(desk.plan.pools)
        if (pool.node_type, pool.site) in owned
    ]
    last = len(desk.plan.quarters) - 1
    first_label, last_label = desk.plan.quarters[0], desk.plan.quarters[last]
    rows = tuple(
        (
            f"{pool.node_type} @ {pool.site}",
            desk.at(f"pools[{place}].nodes[0]", "count", "how-use"),
            desk.at(f"pools[{place}].gpus[0]", "count", "how-use"),
            *(
                desk.at(f"pools[{place}].gpus_used[{quarter}]", "count", "how-use")
                for quarter in (0, last)
            ),
            _share(desk, place, 0),
            _share(desk, place, last),
            desk.at(f"pools[{place}].nodes_spare[0]", "count", "how-use"),
            desk.at(f"pools[{place}].gpus_stranded[0]", "count", "how-use"),
        )
        for place, pool in pools
    )
    table = Table(
        (
            Column("Pool", wraps=True),
            Column(f"Nodes {first_label}", "right"),
            Column(f"GPUs {first_label}", "right"),
            Column(f"Held {first_label}", "right"),
            Column(f"Held {last_label}", "right"),
            Column(f"Hours held {first_label}", "right"),
            Column(f"Hours held {last_label}", "right"),
            Column(f"Spare nodes {first_label}", "right"),
            Column(f"Stranded GPUs {first_label}", "right"),
        ),
        rows,
        caption="Pools with owned nodes, and how full this plan makes them",
    )
    told: list[Block] = [table] if rows else [Paragraph("Nothing is owned yet.")]
    return (
        *told,
        use_picture(desk),
        Fields(
            (
                ("Measured use of the GPUs owned: allocated, active, useful", Blank("monitoring")),
                ("Waiting time of jobs today", Blank("the scheduler's records")),
                ("Sharing, tuning and reclaiming tried so far, with results", Blank()),
            )
        ),
    )


def use_picture(desk: Desk) -> Meters:
    """How full each pool is, quarter by quarter."""
    quarters = desk.columns
    rows = tuple(
        (
            f"{pool.node_type} @ {pool.site}",
            tuple(hours_held(desk, place, quarter) for quarter in quarters),
        )
        for place, pool in enumerate(desk.plan.pools)
    )
    return Meters(
        title="GPU-hours held in each pool",
        says="The share of the GPU-hours of the nodes in service that jobs hold under this plan; "
        "no bar where no node is in service. What jobs hold they need not keep busy.",
        columns=tuple(desk.plan.quarters[quarter] for quarter in quarters),
        rows=rows,
    )


def _share(desk: Desk, pool: int, quarter: int) -> Cell:
    return hours_held(desk, pool, quarter) or "–"


def hours_held(desk: Desk, pool: int, quarter: int) -> Figure | None:
    """The share of a pool's GPU-hours that jobs hold; None where no node is in service."""
    hours = desk.read.at(f"pools[{pool}].gpu_hours[{quarter}]")
    if not hours.value:
        return None
    held = desk.read.at(f"pools[{pool}].gpu_hours_used[{quarter}]")
    return figure(held / hours, "share", "how-use")
