"""Which jobs give way, in whose favour, and what would keep each as asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.reporting.document import Block, Bullets, Heading, Paragraph, Table, table
from planner.reporting.format import listed, range_of, usd
from planner.reporting.sections.proof import VERDICTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from planner.planning.plan import Plan, ProvedStep, Shortage, ShortJob

_NAMED = 3
_OF_UNITS = ("Short", "Units short × quarters")
_ORDER = (
    "Not everything fits. As few jobs as can be are dropped, and then as few as can be delayed, "
    "the highest priority first; among equals, what costs the least is kept. A job is kept whole "
    "or not at all, with the deployment derived from it."
)
_UNITS = (
    " Where a job may be short of units, these count after dropped jobs of the same priority, each "
    "once for each quarter in which it does not run."
)


def shortage_section(plan: Plan) -> tuple[Block, ...]:
    """By priority, then job by job; nothing where every job is kept as asked."""
    shortage = plan.shortage
    if shortage is None:
        return ()
    units = _UNITS if any(use.units_short for use in shortage.priorities) else ""
    return (
        Paragraph(f"{_ORDER}{units}", tone="faint"),
        _by_priority(shortage),
        *_unproved(plan, shortage),
        *_confirmed(shortage),
        *(
            block
            for job in shortage.jobs
            for block in _job(job, plan.quarters, shortage.ahead_of(job))
        ),
    )


def _by_priority(shortage: Shortage) -> Table:
    return table(
        shortage.priorities,
        ("Priority", "number", lambda use: str(use.priority)),
        ("Jobs", "number", lambda use: f"{use.jobs:,}"),
        (
            "Kept as asked",
            "number",
            lambda use: f"{use.jobs - use.delayed - use.dropped - use.short:,}",
        ),
        ("Short", "number", lambda use: f"{use.short:,}"),
        ("Units short × quarters", "number", lambda use: f"{use.units_short:,}"),
        ("Delayed", "number", lambda use: f"{use.delayed:,}"),
        ("Dropped", "number", lambda use: f"{use.dropped:,}"),
        ("Proved", "name", lambda use: "yes" if use.proved else "NO"),
        without=() if any(use.units_short for use in shortage.priorities) else _OF_UNITS,
    )


def _unproved(plan: Plan, shortage: Shortage) -> Iterator[Block]:
    if not all(use.proved for use in shortage.priorities):
        yield Paragraph(
            "Where it says NO, a limit of time was hit: fewer jobs might have to give way.",
            tone="warning",
        )
    elif not shortage.proves(plan.proof.cost_cents, plan.proof.asked_gap):
        off = usd(plan.proof.cost_cents - shortage.bound_cents)
        yield Paragraph(
            f"Dropping others of the same priorities might be cheaper, by at most {off}.",
            tone="warning",
        )


def _confirmed(shortage: Shortage) -> Iterator[Block]:
    if shortage.steps:
        yield Paragraph("Other solvers were asked for each step again that is proved:")
        yield Bullets(tuple(f"{_claim(step)}: {_opinions(step)}" for step in shortage.steps))


def _claim(step: ProvedStep) -> str:
    if step.counted:
        return f"{step.counted}: no fewer than {step.least:,}"
    return f"cost of whatever keeps as much: no less than {usd(step.least)}"


def _opinions(step: ProvedStep) -> str:
    return "; ".join(f"{one.solver}: {VERDICTS[one.verdict]}" for one in step.second_opinions)


def _job(job: ShortJob, quarters: Sequence[str], ahead: Sequence[str]) -> Iterator[Block]:
    yield Heading(f"{job.name}: {job.how(quarters)}", 3)
    also = f" {job.deployment}, derived from it, with it." if job.deployment else ""
    asked = range_of(job.asked)
    yield Paragraph(
        f"Priority {job.priority}, {asked} {'unit' if asked == '1' else 'units'} a quarter.{also}"
    )
    yield from why_short(job, ahead)


def why_short(job: ShortJob, ahead: Sequence[str]) -> Iterator[Block]:
    """What stands in the way of a job that gives way, and what would keep it as asked.

    `ahead` are the jobs to which room that is made for it goes first.
    """
    yield Paragraph(f"As asked, beside all that is kept: {job.cause}.")
    if job.remedies:
        each = ", each by itself" if len(job.remedies) > 1 else ""
        more = len(ahead) - _NAMED
        first = listed([*ahead[:_NAMED], f"{more:,} more"] if more > 0 else ahead)
        but = f", if {first} did not take the room first" if ahead else ""
        yield Paragraph(f"What would keep it as asked{each}{but}:")
        yield Bullets(job.remedies)


def outcome_of(job: ShortJob, name: str, quarters: Sequence[str]) -> str:
    """What became of a job, or of the deployment derived from it, in a sentence."""
    whose = "It is" if name == job.name else f"With {job.name}, from which it is derived, it is"
    return f"{whose} {job.how(quarters)}: not everything fits, and its priority is {job.priority}."
