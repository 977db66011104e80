"""From a solution to a plan: concrete, costed, annotated, and passed by the independent check."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from planner.costs import api_costs
from planner.packing.solution import Opinion, Status, Verdict
from planner.packing.solvers.solver import solver_version
from planner.planning.annotations.assumptions import assumption_notes
from planner.planning.annotations.jobs import planned_jobs, stored_assets
from planner.planning.annotations.provenance import (
    node_facts,
    provenance,
    rules_used,
    settings_used,
)
from planner.planning.annotations.warnings import warning_notes
from planner.planning.figures.costs import (
    acquisitions,
    break_evens,
    budget_uses,
    cost_lines,
    node_releases,
    paid_changes,
)
from planner.planning.figures.shares import (
    api_comparisons,
    api_uses,
    bill,
    chargeback,
    endpoint_uses,
)
from planner.planning.figures.use import pool_uses, site_uses
from planner.planning.placing.fleet import build_fleet, racks_by_node, with_racks
from planner.planning.placing.moves import current_placement, nodes_today, type_changes
from planner.planning.placing.place import place
from planner.planning.plan import FORMAT, Plan, Proof, SecondOpinion
from planner.planning.verify import verify

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.inputs.settled import Inputs
    from planner.packing import Solution, Translation
    from planner.planning.plan import Shortage
    from planner.sizing.candidate import SizedJob
    from planner.sizing.sizers import Sizers

__all__ = ["SolvedPortfolio", "assemble", "checked_plan", "second_opinion"]


class SolvedPortfolio(NamedTuple):
    """A solution, and what it solves."""

    inputs: Inputs
    jobs: tuple[SizedJob, ...]
    """As kept."""
    translation: Translation
    solution: Solution
    shortage: Shortage | None = None
    """Which jobs give way, and why; None where all are kept as asked."""


def assemble(solved: SolvedPortfolio, *, asked_gap: float, solver: str) -> Plan:
    """Turn a solution into a plan; `solver` names program and version for its provenance."""
    inputs, jobs, translation, solution, shortage = solved
    fleet = build_fleet(inputs, translation, solution)
    fleet = with_racks(fleet, racks_by_node(translation, solution, fleet))
    today = nodes_today(inputs, fleet)
    placement = place(translation, solution, fleet, inputs.catalog.gpus, today)
    current = current_placement(inputs, jobs, translation, fleet, placement)
    tags, bound_terms = bill(translation, solution)
    scenario = inputs.scenario
    bias = scenario.finance.optimism_bias
    bought = acquisitions(inputs, translation, solution)
    gpu_types = {node.id: node.gpu_type for node in fleet.nodes}
    changed = type_changes(placement.uses, gpu_types)
    changes = tuple(paid_changes(inputs, jobs, changed))
    others = (*((1, stream) for _, stream in changes), *api_costs(inputs, jobs))
    costs = cost_lines(inputs, translation, solution, current, others)
    endpoints = endpoint_uses(inputs, jobs, fleet.nodes, placement.uses)
    plan = Plan(
        format=FORMAT,
        scenario=scenario.name,
        description=scenario.description,
        owner=scenario.owner,
        objective=scenario.objective,
        benefit=scenario.benefit,
        if_not_met=scenario.if_not_met,
        optimism_bias=None if bias is None else float(bias),
        as_of=scenario.horizon.earliest_order.isoformat(),
        quarters=scenario.horizon.labels,
        changes=inputs.changes,
        proof=_proof(solution, shortage, bound_terms, asked_gap),
        acquisitions=bought,
        releases=node_releases(inputs, translation, solution),
        nodes=fleet.nodes,
        placements=placement.uses,
        moves=placement.moves,
        current=current,
        jobs=planned_jobs(jobs, scenario, translation, solution, placement.kept, tags),
        shortage=shortage,
        sizings={
            sizing.id: sizing
            for sizing in sorted(
                {job.sizing.id: job.sizing for job in jobs}.values(), key=lambda sizing: sizing.id
            )
        },
        pools=pool_uses(
            translation,
            fleet,
            placement,
            Fraction(inputs.settings.hours_per_quarter.value),
            solution.spare,
        ),
        sites=site_uses(inputs, fleet.nodes),
        growth_reserve=tuple(
            (gpu_type, float(share))
            for gpu_type, share in sorted(scenario.policies.growth_reserve.items())
        ),
        costs=costs,
        budgets=budget_uses(inputs, costs),
        break_evens=break_evens(inputs, bought),
        chargeback=chargeback(inputs, jobs, fleet.nodes, placement.uses, current, changes),
        endpoints=endpoints,
        apis=tuple(api_uses(inputs, jobs)),
        api_comparisons=tuple(api_comparisons(inputs, jobs, endpoints)),
        storage_mb=stored_assets(jobs, translation, placement.kept),
        warnings=(),
        assumptions=assumption_notes(inputs, jobs),
        rules=rules_used(inputs, jobs),
        settings=settings_used(inputs),
        node_types=node_facts(inputs, fleet.nodes),
        provenance=provenance(inputs, solver),
        question=inputs.question,
    )
    warnings = warning_notes(inputs, jobs, solution, plan)
    return plan.model_copy(update={"warnings": warnings})


def _proof(
    solution: Solution,
    shortage: Shortage | None,
    bound_terms: tuple[tuple[str, int], ...],
    asked_gap: float,
) -> Proof:
    status = solution.status
    if shortage is not None and not shortage.proves(solution.cost_cents, asked_gap):
        status = Status.NOT_PROVED
    return Proof(
        status=status.value,
        cost_cents=solution.cost_cents,
        bound_cents=solution.bound_cents,
        gap=solution.gap,
        asked_gap=asked_gap,
        method=solution.method,
        checks=(),
        bound_terms=bound_terms,
        second_opinions=tuple(second_opinion(one) for one in solution.opinions),
    )


def second_opinion(opinion: Opinion, *, of_cost: bool = True) -> SecondOpinion:
    """An opinion as a plan records it."""
    told = of_cost and opinion.verdict is Verdict.CONFIRMED
    bound_cents = opinion.reached_cents if told else None
    said = {"solver": opinion.solver, "verdict": opinion.verdict.value, "bound_cents": bound_cents}
    return SecondOpinion.model_validate(said)


def checked_plan(
    solved: SolvedPortfolio,
    *,
    asked_gap: float,
    time_limit_s: float,
    crosscheck: bool = False,
    progress: Callable[[str], None] = lambda _: None,
    sizers: Sizers | None,
) -> Plan:
    """Place the units on nodes and check all of it; raises CheckError.

    The effort that the search took is recorded. `sizers` are as for `verify`.
    """
    progress("placing units on nodes")
    plan = assemble(solved, asked_gap=asked_gap, solver=solver_version())
    progress("checking the plan")
    proof = plan.proof.model_copy(update={"checks": verify(solved.inputs, plan, sizers)})
    effort = {"time_limit_s": time_limit_s, "crosscheck": crosscheck}
    made_by = plan.provenance.model_copy(update=effort)
    return plan.model_copy(update={"proof": proof, "provenance": made_by})
