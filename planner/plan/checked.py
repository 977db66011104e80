"""A solution as a plan that the independent check has passed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.packing.solvers.solver import solver_version
from planner.plan.assemble import assemble
from planner.plan.verify import verify

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.inputs.settled import Inputs
    from planner.packing import Solution, Translation
    from planner.plan.parts.shortage import Shortage
    from planner.plan.plan import Plan
    from planner.sizing import SizedJob
    from planner.sizing.sizers import Sizers

__all__ = ["checked_plan"]


def checked_plan(  # noqa: PLR0913 - a solution and the effort that it took
    inputs: Inputs,
    jobs: tuple[SizedJob, ...],
    translation: Translation,
    solution: Solution,
    *,
    asked_gap: float,
    time_limit_s: float,
    crosscheck: bool = False,
    shortage: Shortage | None = None,
    progress: Callable[[str], None] = lambda _: None,
    sizers: Sizers | None,
) -> Plan:
    """Place the units on nodes and check all of it; raises CheckError.

    `jobs` are as kept: where some give way, `shortage` says which and why. The effort is recorded.
    `sizers` are as for `verify`.
    """
    progress("placing units on nodes")
    plan = assemble(
        inputs,
        jobs,
        translation,
        solution,
        shortage=shortage,
        asked_gap=asked_gap,
        solver=solver_version(),
    )
    progress("checking the plan")
    proof = plan.proof.model_copy(update={"checks": verify(inputs, plan, sizers)})
    effort = {"time_limit_s": time_limit_s, "crosscheck": crosscheck}
    made_by = plan.provenance.model_copy(update=effort)
    return plan.model_copy(update={"proof": proof, "provenance": made_by})
