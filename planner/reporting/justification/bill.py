"""Sections 9, 10 and 13: from requirement to bill, the bill itself, and the facts to buy by."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from planner.reporting.document import (
    Blank,
    Block,
    Bullets,
    Cell,
    Column,
    Fields,
    Link,
    Paragraph,
    Table,
)
from planner.reporting.format import copies_of, count_of, listed, quarter_runs
from planner.reporting.jobs import rejections_section
from planner.reporting.justification.desk import Desk, figure
from planner.reporting.justification.facility import node_takes
from planner.reporting.justification.map import placement_blocks
from planner.reporting.money import action_of, orders_for_several_sites, price_source
from planner.reporting.parts import taken
from planner.reporting.sites import estimated_figures, limit_style, limits_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from planner.planning.plan import Acquisition, PlannedJob

__all__ = ["bill_section", "procurement_section", "trace_section"]

_DECIDING = {
    "memory_gb",
    "needed_gb_per_gpu",
    "baseline_gpus_of_80gb",
    "floor_gpus_of_80gb",
    "gpus_needed",
    "gpus",
    "replicas_for_load",
}
"""Results on which the count of GPUs rests, in the words of the rules."""
_JOBS_SHOWN = 1000


def trace_section(desk: Desk) -> tuple[Block, ...]:
    """Each job: what it asks for, the rule that decided, what it takes, where it is, who pays."""
    entries = {node.id: node.entry for node in desk.plan.nodes}
    bought = {line.offer for _, line in desk.bill}
    where: dict[tuple[str, str], set[str]] = defaultdict(set)
    for uses in desk.plan.placements:
        for use in uses:
            for held in use.occupants:
                where[held.job, held.way].add(entries[use.node])
    rows = tuple(
        row for job in desk.plan.jobs[:_JOBS_SHOWN] for row in _trace_rows(desk, job, where, bought)
    )
    return (
        Paragraph(
            "The sums of each job, every formula with its figures, its rule and its source, are "
            f"told in {desk.section('jobs')}. Entries of the bill are offers; all others are "
            "owned.",
            tone="faint",
        ),
        Table(
            (
                Column("Requirement", wraps=True),
                Column("GPUs a unit"),
                Column("GPU memory GB", "right"),
                Column("Decided by", wraps=True),
                Column("Placed on", wraps=True),
                Column("In the bill", wraps=True),
            ),
            rows,
            caption="From requirement to bill",
        ),
        *placement_blocks(desk),
    )


def _trace_rows(
    desk: Desk, job: PlannedJob, where: Mapping[tuple[str, str], set[str]], bought: set[str]
) -> Iterator[tuple[Cell, ...]]:
    name = Link(job.name, desk.job_anchor[job.name])
    if not job.ways:
        yield (name, "no unit in any quarter", "", "", "", "")
        return
    sized = desk.plan.sizings[job.sizing].candidates
    candidates = {one.way: (place, one) for place, one in enumerate(sized)}
    for way, _ in job.ways:
        place, one = candidates[way]
        rules = list(
            dict.fromkeys(step.rule for step in one.trace if step.result.name in _DECIDING)
        )
        need: Cell = "–"
        if one.gpu_memory_mb:
            at = f"sizings[{job.sizing}].candidates[{place}].gpu_memory_mb"
            need = desk.at(at, "gb", desk.job_anchor[job.name])
        yield (
            name,
            f"{copies_of(one.replicas, one.gpus)} × {taken(one)}",
            need,
            f"{one.decided_by}: {', '.join(rules)}" if rules else one.decided_by,
            listed(sorted(where[job.name, way] - bought)) or "–",
            listed(sorted(where[job.name, way] & bought)) or "–",
        )


def bill_section(desk: Desk) -> tuple[Block, ...]:
    """Every line to buy, rent or reserve, with its price, its source and its dates."""
    if not desk.bill:
        return (Paragraph("Nothing to buy, to rent or to reserve."),)
    total = figure(desk.read.sum("acquisitions[*].total_cents"), "usd", "how-bill")
    limits = limits_of(desk.plan)
    table = Table(
        (
            Column("Line"),
            Column("Offer", wraps=True),
            Column("Item", wraps=True),
            Column("Action"),
            Column("Quarter"),
            Column("Nodes", "right"),
            Column("Each, USD", "right"),
            Column("Total, USD", "right"),
            Column("Price of"),
            Column("Quote or price source", wraps=True),
            Column("Weeks", "right"),
            Column("Order by"),
            *(Column(f"{limit.stated_in} each", "right") for limit in limits),
        ),
        tuple(_bill_row(desk, number, *line) for number, line in enumerate(desk.bill, 1)),
        ("Sum", "", "", "", "", "", "", total, "", "", "", "", *("" for _ in limits)),
        caption="Bill of materials",
    )
    together = orders_for_several_sites(line for _, line in desk.bill)
    return (
        table,
        *((Bullets(together),) if together else ()),
        Paragraph(
            "Weeks are the lead time; kW is the nameplate, U the height in the rack. Rents and "
            "reservations are priced for each node and quarter.",
            tone="faint",
        ),
        *estimated_figures(
            desk.plan,
            [limit.figure for limit in limits],
            {line.node_type for _, line in desk.bill},
        ),
        Fields(
            (
                ("Part numbers of the vendor", Blank("from the quote")),
                ("Software licences over the horizon, USD", _licences(desk)),
                ("Terms of the licences", Blank("from the quote")),
                ("Warranty and support terms", Blank("from the quote")),
                ("Switches, cables, optics", Blank("often the longest lead time")),
            )
        ),
    )


def _licences(desk: Desk) -> Cell:
    for place, line in enumerate(desk.plan.costs):
        if line.name == "licence":
            return desk.at(f"costs[{place}].total_cents", "usd", f"how-cost-{place}")
    return Blank("the scenario states none")


def _bill_row(desk: Desk, number: int, place: int, line: Acquisition) -> tuple[Cell, ...]:
    stem = f"acquisitions[{place}]"
    origin = price_source(line)
    return (
        str(number),
        Link(line.offer, f"how-price-{place}"),
        f"{line.product}, {line.gpus_per_node}× {line.gpu_type} ({line.node_type} @ {line.site})",
        action_of(line.kind, line.term_quarters, line.step_hours),
        line.quarter,
        desk.at(f"{stem}.count", "count", "how-bill"),
        desk.at(f"{stem}.unit_price_cents", "usd", f"how-price-{place}"),
        desk.at(f"{stem}.total_cents", "usd", "how-bill"),
        desk.day(line.price_date, f"{stem}.price_date", f"how-price-{place}")
        if line.price_date
        else Blank("date of the price"),
        f"{origin}, illustrative" if line.illustrative else origin,
        desk.at(f"{stem}.lead_time_weeks", "count", f"how-price-{place}"),
        desk.day(line.order_by, f"{stem}.order_by", "how-bill"),
        *(
            node_takes(desk, line.node_type, limit.need, limit_style(limit))
            for limit in limits_of(desk.plan)
        ),
    )


def procurement_section(desk: Desk) -> tuple[Block, ...]:
    """What the plan knows for the buyer's file; what is a legal conclusion stays open."""
    asked = [
        _asked(desk, kind) for kind in _KINDS if desk.read.count(f"acquisitions[kind={kind}]").value
    ]
    value: Cell = "none"
    if desk.bill:
        within, after = (
            desk.read.sum(f"acquisitions[*].{cents}")
            for cents in ("total_cents", "committed_cents")
        )
        value = figure(within + after if after.value else within, "usd", "how-bill")
    terms = ", whole terms of reservations counted" if desk.committed else ""
    quoted = sorted({line.price_origin for _, line in desk.bill if not line.illustrative})
    return (
        Paragraph(
            "Facts are filled in from the plan. Conclusions of law, statements about the market "
            "and signatures are for people to make.",
            tone="faint",
        ),
        Fields(
            (
                ("Agency or company, and contracting activity", Blank()),
                ("Action", listed(asked) or "none"),
                (
                    "Description",
                    desk.link("the bill of materials", "bill") if desk.bill else "none",
                ),
                (f"Estimated value{terms}, USD", value),
                ("Quotes at hand", listed(quoted) or Blank("no price of this plan is a quote")),
                ("Route: competition, framework, single source", Blank()),
                ("Statutory authority, if not competed", Blank("legal")),
                ("Why only this source can supply it", Blank("facts, not adjectives")),
                ("Efforts to obtain other offers", Blank()),
                ("Why the price is fair and reasonable", Blank("contracting officer")),
                ("Market research", Blank()),
                ("Other facts in support", _why_these(desk)),
                ("Who else showed interest", Blank()),
                ("What removes the barrier to competition next time", Blank()),
                ("Certified by the technical officer (name, date, signature)", Blank()),
                ("Certified by the contracting officer (name, date, signature)", Blank()),
            )
        ),
    )


def _why_these(desk: Desk) -> Link:
    """Where it is told why jobs do not run on other GPU types."""
    if rejections_section(desk.plan):
        return desk.link("rejected GPU types with their rules", "options")
    return desk.link("what other GPU types would add, job by job", "jobs")


_KINDS = ("buy", "rent", "reserve", "hourly")


def _asked(desk: Desk, kind: str) -> str:
    """`buy 8 nodes (2027Q2–Q4)`, `rent by the hour (2027Q2)`."""
    lines = [line for _, line in desk.bill if line.kind == kind]
    whole = [line for line in lines if not line.step_hours]
    nodes = " " + count_of(sum(line.count for line in whole), "node") if whole else ""
    when = quarter_runs(desk.plan.quarters, {line.quarter for line in lines})
    return f"{action_of(kind, None)}{nodes} ({when})"
