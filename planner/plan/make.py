"""Plan a portfolio: size, pack, make concrete, cost, check. Nothing unchecked leaves this room."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.packing import solve, translate
from planner.packing.solver import solver_version
from planner.plan.assemble import assemble
from planner.plan.eligible import require_eligible, stuck_jobs
from planner.plan.spares import spare_prices
from planner.plan.verify import verify
from planner.sizing import Sizer

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.inputs.settled import Inputs
    from planner.plan.plan import Plan
    from planner.sizing import SizedJob

__all__ = ["make_plan"]


def make_plan(
    inputs: Inputs,
    *,
    asked_gap: float = 1e-4,
    time_limit_s: float = 60.0,
    crosscheck: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Plan:
    """Make a checked plan of least net present cost.

    `asked_gap` is the relative gap that counts as proved; with `crosscheck` other solvers are asked
    for the bound again. Raises InfeasibleError where no plan exists, LimitError where the time ends
    before one is found, CheckError where the independent check disagrees, DisagreementError where
    another solver does.
    """
    say = progress or (lambda _: None)
    say("sizing jobs")
    jobs = _sized(inputs, inputs.gpu_types_in_play)
    translation = translate(inputs, jobs)
    stuck = {job.name for job in stuck_jobs(jobs, translation)}
    if stuck:
        everywhere = _sized(inputs, None)
        require_eligible(tuple(job for job in everywhere if job.name in stuck), translation)
    solution = solve(
        translation,
        asked_gap=asked_gap,
        time_limit_s=time_limit_s,
        crosscheck=crosscheck,
        progress=progress,
    )
    say("placing units on nodes")
    plan = assemble(
        inputs, jobs, translation, solution, asked_gap=asked_gap, solver=solver_version()
    )
    say("checking the plan")
    checks = verify(inputs, plan)
    say("pricing spare nodes")
    prices = spare_prices(inputs, translation, solution, asked_gap=asked_gap)
    proof = plan.proof.model_copy(update={"checks": checks})
    return plan.model_copy(update={"proof": proof, "spare_prices": prices})


def _sized(inputs: Inputs, gpu_types: tuple[str, ...] | None) -> tuple[SizedJob, ...]:
    sizer = Sizer(
        inputs.catalog, inputs.rules, inputs.settings, inputs.scenario.policies, gpu_types
    )
    return sizer.portfolio(inputs.scenario)
