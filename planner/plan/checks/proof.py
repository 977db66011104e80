"""What the plan claims to be proved hangs together."""

from __future__ import annotations

from math import isclose
from typing import TYPE_CHECKING

from planner.plan.checks.view import Check, View, differences

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["CHECKS"]


def _bound(view: View) -> Iterator[str]:
    proof = view.plan.proof
    if proof.bound_cents > proof.cost_cents:
        yield f"the bound {proof.bound_cents} is above the cost {proof.cost_cents}, cents"
    short = proof.cost_cents - proof.bound_cents
    gap = short / proof.cost_cents if proof.cost_cents else 0.0
    if not isclose(proof.gap, gap, rel_tol=1e-12, abs_tol=1e-15):
        yield f"the gap is stated as {proof.gap}, cost and bound give {gap}"
    if proof.status == "proved" and short > proof.asked_gap * abs(proof.cost_cents):
        yield f"the status is proved, but the gap {gap} is above the asked {proof.asked_gap}"


def _terms(view: View) -> Iterator[str]:
    proof = view.plan.proof
    total = sum(cents for _, cents in proof.bound_terms)
    if total != proof.bound_cents:
        yield f"the terms of the bound add up to {total}, the bound is {proof.bound_cents}, cents"
    if not proof.bound_terms:
        yield "the bound has no terms"
        return
    tags = sum(job.tag_cents for job in view.plan.jobs)
    yield from differences("the sum of the jobs' price tags, cents,", proof.bound_terms[0][1], tags)


def _confirm_bound(view: View) -> str:
    return (
        "the bound does not exceed the cost, the gap is stated rightly, and the status is "
        f"'{view.plan.proof.status}' accordingly"
    )


CHECKS = (
    Check(_bound, _confirm_bound),
    Check(_terms, lambda _: "the jobs' price tags and the other terms add up to the bound"),
)
