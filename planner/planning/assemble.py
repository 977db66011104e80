"""Assembles a plan from a solution, adds its costs and notes, and has it checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from planner import version
from planner.costs import api_costs
from planner.inputs.base import SourcedFigure
from planner.inputs.scenario.offer import OWN_FIGURES
from planner.inputs.scenario.site import POWER, SITE_LIMITS
from planner.inputs.settled import Inputs, Setting
from planner.packing import Solution, Translation, solve
from planner.packing.incumbent import Incumbent
from planner.packing.pack import attempt
from planner.packing.solution import Status, Verdict
from planner.packing.solver import solver_version
from planner.planning.checks import verify
from planner.planning.fleet import build_fleet, with_racks
from planner.planning.jobs import planned_jobs, stages_by_job, stored_assets
from planner.planning.notes import assumption_notes, warning_notes
from planner.planning.place import current_placement, place
from planner.planning.plan import (
    FORMAT,
    NodeFacts,
    Plan,
    Proof,
    Provenance,
    RuleUse,
    SecondOpinion,
    SettingUse,
    Shortage,
)
from planner.planning.plan_costs import (
    acquisitions,
    break_evens,
    budget_uses,
    cost_lines,
    entering_nodes,
    node_releases,
    price_tags,
    released_nodes,
)
from planner.planning.shares import (
    Occupancy,
    api_comparisons,
    api_uses,
    chargeback,
    endpoint_uses,
    pool_uses,
    site_uses,
)
from planner.sizing.candidate import SizedJob
from planner.sizing.sizers import Sizers


@dataclass(frozen=True, slots=True)
class Request:
    """What to plan: the inputs, the gap that is asked for, and how long to search."""

    inputs: Inputs
    sizers: Sizers
    asked_gap: float
    """The relative gap at or below which the plan counts as proved."""
    time_limit_s: float
    """Seconds of work (not of the clock)."""
    crosscheck: bool = False
    """Whether to ask other solvers for the bound as well."""
    progress: Callable[[str], None] = lambda _: None
    watch: Callable[[Translation, Incumbent], None] | None = None
    """Called with the search whose answer is kept."""

    def attempt(self, translation: Translation) -> Solution:
        """Solve the portfolio without looking for reasons if no plan exists.

        Raises Infeasible in that case.
        """
        return attempt(translation, **self._how)

    def solve(self, translation: Translation) -> Solution:
        """Solve the portfolio.

        Raises InfeasibleError with the reasons if no plan exists.
        """
        return solve(translation, **self._how)

    @property
    def _how(self) -> dict[str, Any]:
        names = ("asked_gap", "time_limit_s", "crosscheck", "progress", "watch")
        return {name: getattr(self, name) for name in names}


class SolvedPortfolio(NamedTuple):
    """A solution together with the jobs and the translation that it solves."""

    inputs: Inputs
    jobs: tuple[SizedJob, ...]
    """The jobs as they are kept: without the units that give way."""
    translation: Translation
    solution: Solution
    shortage: Shortage | None = None
    """Which jobs give way, and why; None if every job is kept as asked."""


def assemble(solved: SolvedPortfolio, *, asked_gap: float, solver: str) -> Plan:
    """Turn a solution into a plan.

    `solver` is the name and version of the solver, for the plan's provenance.
    """
    inputs, jobs, translation, solution, shortage = solved
    scenario = inputs.scenario
    fleet = with_racks(translation, solution, build_fleet(inputs, translation, solution))
    placement = place(inputs, translation, solution, fleet)
    current = current_placement(inputs, jobs, translation, fleet, placement)
    stages = stages_by_job(translation, placement.kept)
    apis = tuple(api_uses(inputs, jobs))
    tags, bound_terms = price_tags(translation, solution, apis)
    bias = scenario.finance.optimism_bias
    entering = tuple(entering_nodes(inputs, translation, solution))
    released = tuple(released_nodes(inputs, translation, solution))
    bought = acquisitions(inputs, entering)
    costs = cost_lines(inputs, entering, released, current, api_costs(inputs, jobs))
    placed = Occupancy(inputs, jobs, fleet.nodes, placement.uses)
    endpoints = endpoint_uses(placed)
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
        releases=node_releases(inputs, released),
        nodes=fleet.nodes,
        placements=placement.uses,
        moves=placement.moves,
        current=current,
        jobs=planned_jobs(jobs, scenario, translation, solution, stages, tags),
        shortage=shortage,
        sizings=dict(sorted({job.sizing.id: job.sizing for job in jobs}.items())),
        pools=pool_uses(placed, translation.problem.pools, solution.spare),
        sites=site_uses(inputs, fleet.nodes),
        growth_reserve=tuple(
            (name, float(share)) for name, share in sorted(scenario.policies.growth_reserve.items())
        ),
        costs=costs,
        budgets=budget_uses(inputs, costs),
        break_evens=break_evens(inputs, bought),
        chargeback=chargeback(placed, current),
        endpoints=endpoints,
        apis=apis,
        api_comparisons=tuple(api_comparisons(inputs, jobs, endpoints)),
        storage_mb=stored_assets(jobs, stages, scenario.horizon.quarters),
        warnings=(),
        assumptions=assumption_notes(inputs, jobs),
        rules=_rules_used(inputs, jobs),
        settings=tuple(_setting_use(name, setting) for name, setting in inputs.settings),
        node_types=tuple(
            _node_facts(inputs, name) for name in sorted({one.node_type for one in fleet.nodes})
        ),
        provenance=Provenance(
            planner_version=version.__version__,
            solver=solver,
            files=tuple((file.role, file.path, file.sha256) for file in inputs.files),
            options=inputs.options,
        ),
        question=inputs.question,
    )
    warnings = warning_notes(inputs, jobs, solution, plan)
    return plan.model_copy(update={"warnings": warnings})


def _setting_use(name: str, setting: Setting) -> SettingUse:
    return SettingUse(
        name=name,
        value=float(setting.value),
        unit=setting.unit,
        origin=setting.origin,
        assumed=setting.assumed,
    )


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
        second_opinions=tuple(
            SecondOpinion.model_validate(
                {
                    "solver": one.solver,
                    "verdict": one.verdict.value,
                    "bound_cents": one.reached_cents if one.verdict is Verdict.CONFIRMED else None,
                }
            )
            for one in solution.opinions
        ),
    )


def checked_plan(request: Request, solved: SolvedPortfolio) -> Plan:
    """Place the units on nodes, assemble the plan and check all of it.

    The plan records the effort of the search. Raises CheckError if a check fails.
    """
    request.progress("placing units on nodes")
    plan = assemble(solved, asked_gap=request.asked_gap, solver=solver_version())
    request.progress("checking the plan")
    checks = verify(solved.inputs, plan, request.sizers)
    effort = {"time_limit_s": request.time_limit_s, "crosscheck": request.crosscheck}
    made_by = plan.provenance.model_copy(update=effort)
    proof = plan.proof.model_copy(update={"checks": checks})
    return plan.model_copy(update={"proof": proof, "provenance": made_by})


def _rules_used(inputs: Inputs, jobs: tuple[SizedJob, ...]) -> tuple[RuleUse, ...]:
    """List every rule that sized, rejected or derived a job or gave a setting, by id.

    A rule that gives a setting counts as used by all jobs.
    """
    counts = Counter(job.derived_by for job in jobs if job.derived_by)
    sizings = {job.sizing.id: job.sizing for job in jobs}
    for key, times in Counter(job.sizing.id for job in jobs).items():
        spoke = [one.rules for one in sizings[key].candidates]
        refused = {rejection.rule for rejection in sizings[key].rejections}
        counts.update(dict.fromkeys(refused.union(*spoke), times))
    for _, setting in inputs.settings:
        kind, _, rule_id = setting.origin.partition(" ")
        if kind == "rule":
            counts[rule_id] = len(jobs)
    return tuple(
        RuleUse(
            id=rule.id,
            title=rule.title,
            kind=rule.kind,
            sources=rule.source_texts,
            errata=tuple(f"{one.says}; {one.arithmetic}; {one.decision}" for one in rule.errata),
            used=used,
        )
        for rule_id, used in sorted(counts.items())
        if (rule := inputs.rules.rules.get(rule_id))
    )


_MEAN = POWER._replace(need="mean_power_w", figure="mean_power_kw")
"""The mean power, which decides the energy cost; no site limits it."""


def _node_facts(inputs: Inputs, name: str) -> NodeFacts:
    """List the catalog facts of a planned node type that a facility team asks for."""
    node = inputs.catalog.nodes[name]
    known: dict[str, SourcedFigure[Any]] = {
        key: figure for key in OWN_FIGURES if (figure := getattr(node, key)) is not None
    }
    return NodeFacts(
        node_type=name,
        vendor=node.vendor,
        product=node.product,
        gpu_type=node.gpu_type,
        gpus=node.gpus.value,
        takes={
            limit.need: taken
            for limit in (*SITE_LIMITS, _MEAN)
            if (taken := limit.taken_by(node)) is not None
        },
        cooling=node.cooling.value if node.cooling else None,
        sources=tuple(
            f"{key} ({figure.basis}): {inputs.catalog.source_text(figure.source)}"
            for key, figure in known.items()
        ),
        kubernetes_resource=inputs.catalog.gpus[node.gpu_type].kubernetes_resource,
    )
