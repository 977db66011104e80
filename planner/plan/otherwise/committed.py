"""Plans in which what is bought is given: what it comes to in a future that turns out otherwise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from planner.errors import InfeasibleError
from planner.packing import translate
from planner.packing.found import Infeasible
from planner.packing.pack import attempt
from planner.packing.statement.hold import Order, holding
from planner.plan.checked import checked_plan
from planner.plan.eligible import stuck_jobs

if TYPE_CHECKING:
    from planner.inputs.settled import Inputs
    from planner.plan.plan import Plan
    from planner.sizing.sizers import Sizers

__all__ = ["Purchase", "committed_plan"]

_SHORT = "what is bought, and what can be rented, does not hold all jobs"


@dataclass(frozen=True, slots=True, order=True)
class Purchase:
    """Nodes of an offer, to buy or to reserve, that enter service at a site in a quarter."""

    offer: str
    site: str
    quarter: str
    nodes: int


def committed_plan(
    inputs: Inputs,
    purchases: tuple[Purchase, ...],
    *,
    asked_gap: float,
    time_limit_s: float,
    sizers: Sizers,
) -> Plan:
    """The cheapest checked plan with these purchases and no others; all jobs are kept.

    What is delivered late enters service as early as it can. Raises InfeasibleError where these do
    not do, LimitError where time ends before a plan is found, CheckError where the check disagrees.
    """
    jobs = sizers.portfolio(inputs)
    translation = translate(inputs, jobs)
    place = {label: number for number, label in enumerate(translation.quarters)}
    orders = [Order(one.offer, one.site, place[one.quarter], one.nodes) for one in purchases]
    held = replace(translation, problem=holding(translation.problem, orders))
    if stuck_jobs(jobs, held):
        raise InfeasibleError(_SHORT, ())
    try:
        solution = attempt(held, asked_gap=asked_gap, time_limit_s=time_limit_s)
    except Infeasible:
        raise InfeasibleError(_SHORT, ()) from None
    return checked_plan(
        inputs,
        jobs,
        held,
        solution,
        asked_gap=asked_gap,
        time_limit_s=time_limit_s,
        sizers=sizers,
    )
