"""The quarterly capacity plan: what changed, demand against capacity, what to do by when."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.planning.ledger.traced import where
from planner.planning.words import nodes_text
from planner.reporting.ask import ask_sentence
from planner.reporting.document import (
    Blank,
    Block,
    Bullets,
    Cell,
    Column,
    Document,
    Fields,
    Heading,
    Paragraph,
    Table,
)
from planner.reporting.drivers import drivers_section
from planner.reporting.format import code, count_of, listed, quarter_span
from planner.reporting.justification.ask import capacity_chart, hours_held, use_picture
from planner.reporting.justification.beside import Beside
from planner.reporting.justification.bill import bill_section
from planner.reporting.justification.desk import Desk, anchor_of, figure
from planner.reporting.justification.facility import facility_section
from planner.reporting.justification.map import placement_blocks
from planner.reporting.justification.money import cost_by_quarter, team_charges
from planner.reporting.justification.options import options_blocks
from planner.reporting.justification.registers import assumptions_section, risks_section
from planner.reporting.justification.sources import how_section, jobs_section, provenance_section
from planner.reporting.justification.within import cheaper_warnings, weighty_rows
from planner.reporting.money import action_of
from planner.reporting.shortage import shortage_section
from planner.reporting.since import since_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.planning.plan import Acquisition, Plan
    from planner.whatif.comparison.comparison import Comparison

__all__ = ["quarterly_document"]

_JOBS_SHOWN = 1000
_ALONE = Beside()
_TITLES = {
    "ask": "1. Summary and calls to action",
    "since": "2. What changed since the last plan",
    "scope": "3. Scope",
    "capacity": "4. Capacity",
    "demand": "5. What drives demand",
    "need": "6. Services",
    "facility": "7. Resources",
    "forecast": "8. Demand against capacity",
    "options": "9. Options, and doing nothing",
    "recommendations": "10. Recommendations",
    "alarms": "11. Thresholds and alarms",
    "assumptions": "12. Assumptions and risks",
    "bill": "13. Bill of materials",
    "provenance": "14. Provenance",
    "jobs": "A. Jobs, sum by sum",
    "how": "B. How figures come about",
}
_EXCLUDED = (
    "Network, storage beyond tuned assets, staff, space, taxes and freight.",
    "Measured use: the plan knows what jobs hold, not how busy they keep it.",
    "Demand other than that of the scenario: seasons and surprises within a quarter.",
)


def quarterly_document(plan: Plan, beside: Beside = _ALONE) -> Document:
    """The whole plan for a quarter; against the last one, where that is known."""
    desk = Desk(plan, _TITLES)
    resources = (*_resources(desk), *placement_blocks(desk), *facility_section(desk))
    sections: dict[str, tuple[Block, ...]] = {
        "ask": _summary(desk, beside),
        "since": _changes(beside.since),
        "scope": _scope(desk),
        "capacity": _capacity(desk),
        "demand": drivers_section(desk, _JOBS_SHOWN),
        "need": _services(desk),
        "facility": resources,
        "forecast": _forecast(desk),
        "options": _options(desk, beside),
        "recommendations": _recommendations(desk),
        "alarms": _alarms(desk),
        "assumptions": (*assumptions_section(desk), *risks_section(desk)),
        "bill": bill_section(desk),
        "provenance": provenance_section(desk, beside.changed),
        "jobs": jobs_section(desk),
        "how": how_section(desk),
    }
    span = quarter_span(plan.quarters[0], plan.quarters[-1])
    opening = (
        Heading(f"Capacity plan {span}: {plan.scenario}", 1),
        Paragraph(f"As of {plan.as_of}.", tone="faint"),
    )
    body = [
        block
        for place, (key, title) in enumerate(_TITLES.items())
        for block in (Heading(title, 2, anchor_of(place)), *sections[key])
    ]
    return (*opening, *body)


def _summary(desk: Desk, beside: Beside) -> tuple[Block, ...]:
    return (
        Paragraph(ask_sentence(desk.plan), tone="strong"),
        *cheaper_warnings(desk, beside),
        Fields(
            (
                ("Net present cost, USD", figure(desk.accounts.net_present, "usd", "how-proof")),
                *weighty_rows(desk, beside),
            )
        ),
        Paragraph(_exhaustion(desk)),
        *_calls(desk),
    )


def _exhaustion(desk: Desk) -> str:
    exhausted = desk.capacity.exhausted()
    if exhausted is None:
        kept = " for the jobs that are kept" if desk.plan.shortage else ""
        told = f"The GPUs that are owned suffice by their number in every quarter{kept}."
    else:
        label = desk.plan.quarters[exhausted]
        short = figure(desk.capacity.short(exhausted), "count", "").text
        told = f"What is owned is exhausted in {label}: {short} more GPUs are held than are owned."
    by_type = [
        f"in {desk.plan.quarters[place]} ({gpu_type})"
        for gpu_type in sorted({pool.gpu_type for pool in desk.plan.pools})
        if (place := desk.capacity.exhausted_of(gpu_type)) is not None
    ]
    if by_type:
        told += f" By GPU type, spare nodes counted, what is owned is exhausted {listed(by_type)}."
    return told


def _calls(desk: Desk) -> tuple[Block, ...]:
    """Orders by the day on which each must be placed."""
    lines = sorted(desk.bill, key=lambda entry: (entry[1].order_by, entry[1].offer))
    if not lines:
        return (Paragraph("There is nothing to order."),)
    rows = tuple(
        (
            desk.day(line.order_by, f"acquisitions[{place}].order_by", "how-bill"),
            f"{action_of(line.kind, None, line.step_hours)} {line.product}, "
            f"{line.gpus_per_node}× {line.gpu_type}, by {line.offer}"
            f"{f' for {line.site}' if line.sites else ''}",
            desk.at(f"acquisitions[{place}].count", "count", "how-bill"),
            line.quarter,
            desk.at(f"acquisitions[{place}].total_cents", "usd", "how-bill"),
            Blank(),
        )
        for place, line in lines
    )
    columns = (
        Column("Order by"),
        Column("What", wraps=True),
        Column("Nodes", "right"),
        Column("For"),
        Column("USD", "right"),
        Column("Owner"),
    )
    return (Table(columns, rows, caption="Orders, the most urgent first"),)


def _changes(since: Comparison | None) -> tuple[Block, ...]:
    if since is None:
        rows = (
            ("What changed, and why", Blank(code("--since LAST.json"))),
            (
                "Delivered against planned",
                Blank(f"{code('--actuals FILE')} with {code('--since')}"),
            ),
            ("Forecast error", Blank("likewise")),
        )
        return (Fields(rows),)
    told = since_blocks(since)
    if since.demand or since.deliveries:
        return told
    return (*told, Fields((("Delivered against planned", Blank(code("--actuals FILE"))),)))


def _scope(desk: Desk) -> tuple[Block, ...]:
    plan = desk.plan
    teams = sorted({job.team for job in plan.jobs if job.team})
    rows: tuple[tuple[str, Cell], ...] = (
        ("Quarters", quarter_span(plan.quarters[0], plan.quarters[-1])),
        ("Jobs", figure(desk.read.count("jobs[*]"), "count", "how-need")),
        ("Teams", listed(teams) or "none named"),
        ("Sites", listed(desk.capacity.sites)),
        ("Node types", listed([facts.node_type for facts in plan.node_types])),
    )
    return (Fields(rows), Paragraph("Not covered:"), Bullets(_EXCLUDED))


def _capacity(desk: Desk) -> tuple[Block, ...]:
    capacity = desk.capacity
    rows = tuple(
        (
            label,
            figure(capacity.in_service(place), "count", "how-use"),
            figure(capacity.usable(place), "count", "how-use"),
            figure(capacity.needed(place), "count", "how-use"),
            figure(capacity.usable(place) - capacity.needed(place), "count", "how-use"),
        )
        for place, label in enumerate(desk.plan.quarters)
    )
    columns = (
        Column("Quarter"),
        Column("GPUs in service", "right"),
        Column("Usable", "right"),
        Column("Held", "right"),
        Column("Left", "right"),
    )
    caption = "Usable is without the nodes that are kept empty as spare"
    return (Table(columns, rows, caption=caption),)


def _services(desk: Desk) -> tuple[Block, ...]:
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            job.name,
            desk.plan.sizings[job.sizing].summary,
            *(
                figure(desk.capacity.held(job.name, quarter), "count", "how-use")
                for quarter in desk.columns
            ),
        )
        for job in desk.plan.jobs[:_JOBS_SHOWN]
    )
    columns = (
        Column("Service", wraps=True),
        Column("What it is", wraps=True),
        *(Column(desk.plan.quarters[quarter], "right") for quarter in desk.columns),
    )
    return (
        Table(columns, rows, caption="GPUs that each holds, wholly or in part"),
        Fields(
            (
                ("Service levels agreed, and how they are met", Blank("by the owners")),
                ("Waiting and turnaround time of jobs", Blank("the scheduler's records")),
            )
        ),
        *team_charges(desk),
    )


def _resources(desk: Desk) -> tuple[Block, ...]:
    rows = tuple(row for place in range(len(desk.plan.pools)) for row in _pool_rows(desk, place))
    columns = (
        Column("Pool", wraps=True),
        Column("Quarter"),
        Column("Nodes", "right"),
        Column("In use", "right"),
        Column("Spare", "right"),
        Column("GPUs", "right"),
        Column("Held", "right"),
        Column("Peak", "right"),
        Column("Hours held", "right"),
        Column("Stranded", "right"),
    )
    caption = "Pools by quarter: peak is the fullest hour, stranded are free GPUs nobody can take"
    measured = (
        ("Measured use of the GPUs: active, useful", Blank("monitoring")),
        ("Nodes that failed, and open orders that slipped", Blank()),
    )
    return (use_picture(desk), Table(columns, rows, caption=caption), Fields(measured))


def _pool_rows(desk: Desk, pool: int) -> Iterator[tuple[Cell, ...]]:
    use = desk.plan.pools[pool]
    for quarter, label in enumerate(desk.plan.quarters):
        if not use.nodes[quarter]:
            continue
        yield (
            f"{use.node_type} @ {use.site}",
            label,
            *(
                desk.at(f"pools[{pool}].{name}[{quarter}]", "count", "how-use")
                for name in ("nodes", "nodes_used", "nodes_spare", "gpus", "gpus_used")
            ),
            desk.at(f"pools[{pool}].gpus_peak[{quarter}]", "tenths", "how-use"),
            hours_held(desk, pool, quarter) or "–",
            desk.at(f"pools[{pool}].gpus_stranded[{quarter}]", "count", "how-use"),
        )


def _forecast(desk: Desk) -> tuple[Block, ...]:
    quarters = range(len(desk.plan.quarters))
    types = sorted({pool.gpu_type for pool in desk.plan.pools})
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            gpu_type,
            what,
            *(
                figure(
                    desk.read.sum(f"pools{where(gpu_type=gpu_type)}.{name}[{quarter}]"),
                    "count",
                    "how-use",
                )
                for quarter in quarters
            ),
        )
        for gpu_type in types
        for what, name in (("held", "gpus_used"), ("in service", "gpus"))
    )
    columns = (
        Column("GPU type"),
        Column("GPUs"),
        *(Column(label, "right") for label in desk.plan.quarters),
    )
    return (
        Paragraph(_exhaustion(desk)),
        capacity_chart(desk),
        Table(columns, rows, caption="GPUs held and in service by type"),
    )


def _options(desk: Desk, beside: Beside) -> tuple[Block, ...]:
    short = shortage_section(desk.plan)
    told = (Heading("What does not fit", 3), *short) if short else ()
    return (*options_blocks(desk, beside), *told, *cost_by_quarter(desk))


def _action(line: Acquisition) -> str:
    """`buy 3 nodes`, `rent by the hour 70 h of`."""
    if line.step_hours is None:
        return f"{line.kind} {count_of(line.count, 'node')}"
    action = action_of(line.kind, None, line.step_hours)
    return f"{action} {nodes_text(line.count, line.step_hours)} of"


def _recommendations(desk: Desk) -> tuple[Block, ...]:
    lines = sorted(desk.bill, key=lambda entry: (entry[1].order_by, entry[1].offer))
    rows = tuple(
        (
            str(number),
            f"{_action(line)} {line.node_type} @ {line.site} by "
            f"{line.offer}, to run in {line.quarter}",
            desk.day(line.order_by, f"acquisitions[{place}].order_by", "how-bill"),
            Blank(),
            Blank(),
        )
        for number, (place, line) in enumerate(lines, 1)
    )
    columns = (
        Column("Priority"),
        Column("Recommendation", wraps=True),
        Column("By"),
        Column("Owner"),
        Column("Decision and date"),
    )
    if not rows:
        return (Paragraph("Buy and rent nothing."),)
    return (Table(columns, rows, caption="By the day on which an order must be placed"),)


def _alarms(desk: Desk) -> tuple[Block, ...]:
    full = [
        f"{pool.node_type} @ {pool.site} has no free GPU in "
        f"{listed([label for label, gpus, used in _use(desk, place) if gpus and gpus == used])}."
        for place, pool in enumerate(desk.plan.pools)
        if any(gpus and gpus == used for _, gpus, used in _use(desk, place))
    ]
    late = [
        f"{line.offer} for {line.quarter} must be ordered by {line.order_by}, before or on the day "
        "of this plan."
        for _, line in desk.bill
        if line.order_by <= desk.plan.as_of
    ]
    told = (Bullets((*full, *late), tone="warning"),) if full or late else ()
    return (
        *told,
        Fields((("Use above which an alarm is raised, and who answers it", Blank()),)),
    )


def _use(desk: Desk, pool: int) -> Iterator[tuple[str, int, int]]:
    use = desk.plan.pools[pool]
    return zip(desk.plan.quarters, use.gpus, use.gpus_used, strict=True)
