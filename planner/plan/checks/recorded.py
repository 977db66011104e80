"""What holds of a plan whatever its catalog and rules said: its own sums, and its own sizings."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from planner.plan.checks.view import Check, View, differences

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.plan.plan import Plan
    from planner.sizing.candidate import SizedJob

__all__ = ["CHECKS", "sized_as_recorded"]


def sized_as_recorded(jobs: tuple[SizedJob, ...], plan: Plan) -> tuple[SizedJob, ...]:
    """The jobs of the scenario with the sizings of a plan, and deployments as the plan has them.

    What follows from the rules is thus not in question; that every job is there is.
    """
    planned = {job.name: job for job in plan.jobs}
    short = {job.deployment for job in plan.shortage.jobs} if plan.shortage else set()
    found = []
    for job in jobs:
        known = planned.get(job.name)
        if known is None or known.sizing not in plan.sizings:
            found.append(job)
            continue
        said: dict[str, object] = {"sizing": plan.sizings[known.sizing]}
        if job.derived_from is not None:
            said["derived_by"] = known.derived_by
            said |= {} if job.name in short else {"units": known.units}
        found.append(job.model_copy(update=said))
    return tuple(found)


def _sums(view: View) -> Iterator[str]:
    plan = view.plan
    for line in plan.costs:
        yield from differences(f"{line.name} in total, cents,", line.total_cents, sum(line.cents))
    total = sum(line.present_cents for line in plan.costs)
    if plan.proof.cost_cents != total:
        yield f"the net present cost is {plan.proof.cost_cents}, its lines come to {total}, cents"


def _entering(view: View) -> Iterator[str]:
    listed: Counter[tuple[str, str, str]] = Counter()
    for line in view.plan.acquisitions:
        listed[line.offer, line.site, line.quarter] += line.count
    entering = {
        (offer, site, view.labels[quarter]): nodes
        for (offer, site, quarter), nodes in view.entering_at_sites().items()
    }
    for offer, site, quarter in sorted({*listed, *entering}):
        found, enter = listed[offer, site, quarter], entering.get((offer, site, quarter), 0)
        if found != enter:
            yield (
                f"{quarter}: the number of nodes listed for offer {offer} at {site} is {found}, "
                f"in service enter {enter}"
            )


CHECKS = (
    Check(_sums, lambda _: "the costs add up"),
    Check(_entering, lambda _: "purchases and rents agree with the nodes"),
)
