"""Whether the nodes of one plan hold the jobs of another future, quarter by quarter."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.inputs.scenario.scenario import Budget, FleetEntry
from planner.packing import translate
from planner.packing.found import Infeasible
from planner.packing.pack import attempt
from planner.packing.statement.offers import entry_quarters
from planner.plan.eligible import stuck_jobs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.inputs.settled import Inputs
    from planner.plan.plan import Plan
    from planner.sizing import SizedJob
    from planner.sizing.sizers import Sizers

__all__ = ["Commitment", "commitments", "short_quarters"]


@dataclass(frozen=True, slots=True)
class Commitment:
    """Nodes that a plan acquires, and when they were to be in service."""

    offer: str
    node_type: str
    site: str
    quarters: tuple[str, ...]
    count: int


def commitments(plan: Plan) -> tuple[Commitment, ...]:
    """All that a plan acquires."""
    nodes = Counter(
        (node.entry, node.node_type, node.site, node.in_service)
        for node in plan.nodes
        if node.origin != "owned"
    )
    return tuple(
        Commitment(offer, node_type, site, quarters, count)
        for (offer, node_type, site, quarters), count in sorted(nodes.items())
    )


def short_quarters(
    inputs: Inputs, committed: Sequence[Commitment], sizers: Sizers, time_limit_s: float
) -> tuple[str, ...]:
    """Quarters in which owned and committed nodes alone do not hold all jobs, policies kept.

    Each quarter is looked at by itself: a unit may change its GPU type between them. Nodes are
    ordered as early as need be, and miss the quarters for which not even that is early enough.
    Raises LimitError where the time ends before it is known.
    """
    jobs = sizers.portfolio(inputs)
    labels = inputs.scenario.horizon.labels
    entries = {offer.name: entry_quarters(inputs, offer) for offer in inputs.offers}
    earliest = {name: labels[quarters[0]] for name, quarters in entries.items() if quarters}
    return tuple(
        label
        for place, label in enumerate(labels)
        if not _holds(inputs, jobs, _fleet(inputs, committed, earliest, label), place, time_limit_s)
    )


def _fleet(
    inputs: Inputs, committed: Sequence[Commitment], earliest: dict[str, str], quarter: str
) -> dict[str, FleetEntry]:
    """Everything in service in a quarter."""
    fleet = {
        name: entry.model_copy(update={"retires": None})
        for name, entry in inputs.scenario.fleet.items()
        if entry.retires is None or quarter < str(entry.retires)
    }
    for number, one in enumerate(committed):
        if quarter in one.quarters and one.offer in earliest and quarter >= earliest[one.offer]:
            entry = FleetEntry(node_type=one.node_type, site=one.site, count=one.count)
            fleet[f"committed {number}"] = entry
    return fleet


def _holds(
    inputs: Inputs,
    jobs: tuple[SizedJob, ...],
    fleet: dict[str, FleetEntry],
    place: int,
    time_limit_s: float,
) -> bool:
    active = tuple(
        job.model_copy(update={"units": (job.units[place],)}) for job in jobs if job.units[place]
    )
    if not active or not fleet:
        return not active
    scenario = inputs.scenario
    horizon = scenario.horizon
    now = horizon.model_copy(update={"first_quarter": horizon.first_quarter + place, "quarters": 1})
    only = {"horizon": now, "fleet": fleet, "offers": {}, "running": (), "budget": Budget()}
    asked = inputs.model_copy(update={"scenario": scenario.model_copy(update=only), "offers": ()})
    translation = translate(asked, active)
    if stuck_jobs(active, translation):
        return False
    try:
        attempt(translation, asked_gap=1.0, time_limit_s=time_limit_s)
    except Infeasible:
        return False
    return True
