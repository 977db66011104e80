"""What each team holds, delivers and pays, and how far it is within its quota."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from planner.reporting.document import Block, Bullets, Column, Paragraph, Table
from planner.reporting.format import dollars, quarter_span, range_of
from planner.reporting.parts import some_share

if TYPE_CHECKING:
    from planner.planning.parts import Chargeback, QuotaUse, TeamUse
    from planner.planning.plan import Plan

__all__ = ["quota_blocks", "teams_section"]

_NONE = "–"
_NO_TEAM = "no team"


def teams_section(plan: Plan) -> tuple[Block, ...]:
    """One row per team, what is idle, and a sum that is the plan's cost; nothing without teams."""
    charged = plan.chargeback
    if charged is None:
        return ()
    idle_cents = sum(charged.idle_cents)
    hours = sum(use.gpu_hours for use in charged.teams) + charged.idle_gpu_hours
    delivered = sum(use.delivered_gpu_hours for use in charged.teams)
    cents = idle_cents + sum(use.cost_cents for use in charged.teams)
    table = Table(
        (
            Column("Team", wraps=True),
            Column("GPUs", "right"),
            Column("GPU-hours", "right"),
            Column("Delivered", "right"),
            Column("Cost, USD", "right"),
            Column("USD/GPU-h", "right"),
            Column("USD/delivered", "right"),
        ),
        (*(_row(use) for use in charged.teams), *_idle_row(charged, idle_cents)),
        (
            "Sum",
            "",
            _hours(hours),
            _NONE if _some_open(charged) else _hours(delivered),
            dollars(cents),
            _rate(cents, hours),
            _NONE if _some_open(charged) else _rate(cents, delivered),
        ),
    )
    return (Paragraph(_how(plan, charged), tone="faint"), table, *quota_blocks(plan, charged))


def _row(use: TeamUse) -> tuple[str, ...]:
    return (
        use.team or _NO_TEAM,
        range_of(use.gpus),
        _hours(use.gpu_hours),
        _hours(use.delivered_gpu_hours) if not use.open_gpu_hours else _NONE,
        dollars(use.cost_cents),
        _usd(use.usd_per_gpu_hour),
        _usd(use.usd_per_delivered_gpu_hour),
    )


def _some_open(charged: Chargeback) -> bool:
    return any(use.open_gpu_hours for use in charged.teams)


def _idle_row(charged: Chargeback, cents: int) -> tuple[tuple[str, ...], ...]:
    if not charged.idle_gpu_hours:
        return ()
    hours = _hours(charged.idle_gpu_hours)
    return (("idle", "", hours, "", dollars(cents), _rate(cents, charged.idle_gpu_hours), ""),)


def _how(plan: Plan, charged: Chargeback) -> str:
    idle = "stand in a line of their own"
    if charged.idle == "spread":
        idle = "are charged to those who use the pool"
    sentences = [
        "The net present cost of each pool and quarter is shared by the GPUs held there; those "
        f"that no job holds {idle}. Delivered GPU-hours are the runs of tuning jobs and all "
        "hours of other jobs."
    ]
    if some_share(plan):
        sentences.append(
            "A run is charged for its hours, a part of a GPU for its share of the memory; under "
            "GPUs stands what is held at the hour at which most are, each part as a GPU, as for "
            "quotas."
        )
    if _some_open(charged):
        sentences.append(f"Where the time of some run is not known, none are given ({_NONE}).")
    return " ".join(sentences)


def quota_blocks(plan: Plan, charged: Chargeback) -> tuple[Block, ...]:
    """Each quota with what is held of it; nothing where no team has one."""
    lines = tuple(
        f"{use.team}: {_quota_line(plan, quota)}" for use in charged.teams for quota in use.quotas
    )
    if not lines:
        return ()
    runs = any(one.hours for uses in plan.placements for use in uses for one in use.occupants)
    when = ", at their fullest hour," if runs else ""
    told = f"Quotas, as GPUs held{when} of GPUs allowed:"
    return (Paragraph(told, tone="faint"), Bullets(lines))


def _quota_line(plan: Plan, quota: QuotaUse) -> str:
    """`6 of 8 (2027Q1), 16 of 16 (2027Q2–Q4), on h100-80gb-sxm`."""
    entries = list(zip(plan.quarters, quota.gpus, quota.limit_gpus, strict=True))
    told = []
    for (gpus, limit), group in groupby(entries, key=lambda entry: entry[1:]):
        labels = [label for label, _, _ in group]
        allowed = "any number" if limit is None else f"{limit:,}"
        told.append(f"{gpus:,} of {allowed} ({quarter_span(labels[0], labels[-1])})")
    on = f", on {quota.gpu_type}" if quota.gpu_type else ""
    return f"{', '.join(told)}{on}"


def _hours(value: float) -> str:
    return f"{value:,.0f}"


def _rate(cents: int, hours: float) -> str:
    return _usd(cents / 100 / hours) if hours else _NONE


def _usd(value: float | None) -> str:
    return _NONE if value is None else f"{value:,.2f}"
