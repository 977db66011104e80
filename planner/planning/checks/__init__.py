"""The independent check: whether a plan is feasible and its cost right, from the inputs alone.

It shares no code with the search, and computes in integers and exact fractions only.
`docs/verification.md` says what is checked, and what is not.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isclose

from planner.errors import CheckError
from planner.inputs.settled import Inputs
from planner.planning.checks import (
    demand,
    gpus,
    money,
    nodes,
    placement,
    sites,
    teams,
)
from planner.planning.checks.case import Findings, PlanCase, differences
from planner.planning.plan import Plan
from planner.sizing.candidate import SizedJob
from planner.sizing.sizers import Sizers


def verify(inputs: Inputs, plan: Plan, sizers: Sizers | None = None) -> tuple[str, ...]:
    """Check a plan against its inputs, and return one sentence for each thing confirmed.

    The jobs are sized again, except for those that `sizers` have sized already: whoever makes a
    plan passes the sizers that it was made with.

    Raises CheckError with the violations found.
    """
    return check(inputs, (sizers or Sizers()).portfolio(inputs), plan)


def check(inputs: Inputs, jobs: tuple[SizedJob, ...], plan: Plan) -> tuple[str, ...]:
    """Check a plan, given all jobs as they are sized.

    Raises CheckError with every violation of the first stage that has any.
    """
    case, confirmed = PlanCase(inputs, jobs, plan), list[str]()
    for stage in _STAGES:
        violations: list[str] = []
        confirmed += [_result(check(case), violations) for check in stage]
        if violations:
            raise CheckError(tuple(violations))
    return tuple(confirmed)


def _result(findings: Findings, violations: list[str]) -> str:
    """Return what a check confirms, and add what it finds wrong to `violations`."""
    while True:
        try:
            violations.append(next(findings))
        except StopIteration as end:
            return str(end.value)


def _bound(case: PlanCase) -> Findings:
    proof = case.plan.proof
    if proof.bound_cents > proof.cost_cents:
        yield f"the bound {proof.bound_cents} is above the cost {proof.cost_cents}, cents"
    short = proof.cost_cents - proof.bound_cents
    gap = short / abs(proof.cost_cents) if proof.cost_cents else 0.0
    if not isclose(proof.gap, gap, rel_tol=1e-12, abs_tol=1e-15):
        yield f"the gap is stated as {proof.gap}, cost and bound give {gap}"
    if proof.status == "proved" and short > proof.asked_gap * abs(proof.cost_cents):
        yield f"the status is proved, but the gap {gap} is above the asked {proof.asked_gap}"
    return (
        "the bound does not exceed the cost, the gap is stated rightly, and the status is "
        f"'{proof.status}' accordingly"
    )


def _terms(case: PlanCase) -> Findings:
    proof = case.plan.proof
    told = "the jobs' price tags and the other terms add up to the bound"
    total = sum(cents for _, cents in proof.bound_terms)
    if total != proof.bound_cents:
        yield f"the terms of the bound add up to {total}, the bound is {proof.bound_cents}, cents"
    if not proof.bound_terms:
        yield "the bound has no terms"
        return told
    tags = sum(job.tag_cents for job in case.plan.jobs)
    yield from differences("the sum of the jobs' price tags, cents,", proof.bound_terms[0][1], tags)
    return told


_STAGES: tuple[tuple[Callable[[PlanCase], Findings], ...], ...] = (
    (*money.FIRST, *nodes.FIRST, *demand.FIRST),
    (*nodes.CHECKS, *gpus.FIRST),
    (
        *placement.CHECKS,
        *sites.SPARES,
        *gpus.CHECKS,
        *placement.TODAY,
        *sites.CHECKS,
        *placement.FIGURES,
        *money.CHECKS,
        *demand.CHECKS,
        *teams.CHECKS,
        *(_bound, _terms),
    ),
)
"""Later stages rely on what earlier ones have confirmed."""
