"""The bound as a bill: what each job adds to it, in whole cents that add up exactly."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from planner.packing.solution import RUNNING_COST, WHOLE_NODES
from planner.plan.figures.rounding import largest_remainder

if TYPE_CHECKING:
    from planner.packing import Translation
    from planner.packing.solution import Solution

__all__ = ["JOB_TAGS", "Bill", "bill", "most_saved"]

JOB_TAGS = "job price tags"
"""Name of the first bound term: the tags of all jobs in sum."""

_UNATTRIBUTED = "not attributed"

Bill = tuple[dict[str, int], tuple[tuple[str, int], ...]]
"""Cents by job, and the terms of the bound, the jobs' sum first."""


def bill(translation: Translation, solution: Solution) -> Bill:
    """Tag each job and state the other terms, so that all of them add up to the bound."""
    exact: dict[str, float] = {}
    for members, tag in zip(translation.members, solution.tags, strict=True):
        for job, units in Counter(job for job, _ in members).items():
            exact[job] = exact.get(job, 0.0) + units * tag.cents
    jobs = sorted(exact)
    amounts = [exact[job] for job in jobs] + [cents for _, cents in solution.bound_terms]
    cents = [*largest_remainder(dict(enumerate(amounts)), solution.bound_cents).values()]
    tags = dict(zip(jobs, cents, strict=False))
    terms = [(JOB_TAGS, sum(tags.values()))]
    terms += zip((name for name, _ in solution.bound_terms), cents[len(jobs) :], strict=True)
    if rest := solution.bound_cents - sum(cents):
        terms.append((_UNATTRIBUTED, rest))
    return tags, tuple(terms)


def most_saved(solution: Solution, tags_cents: int) -> int:
    """Cents by which the cost could fall at most if jobs with these tags in sum took less.

    Without them the duals of the relaxation still bound what is left, by the tags less. Beyond the
    relaxation, the cost holds what whole nodes add and what is not proved. What owned nodes cost in
    any case stays.
    """
    terms = dict(solution.bound_terms)
    beyond = solution.cost_cents - solution.bound_cents + terms[WHOLE_NODES]
    decided = solution.cost_cents - terms[RUNNING_COST]
    return max(0, round(min(tags_cents + beyond, decided)))
