"""Price tags: what each job adds to the bound, in whole cents, and what jobs could save at most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import floor
from typing import TypeVar

from planner.packing import Translation
from planner.packing.solution import RUNNING_COST, TOKENS, WHOLE_NODES, Solution
from planner.planning.plan import ApiUse

Key = TypeVar("Key")


def largest_remainder(
    amounts: Mapping[Key, Fraction] | Mapping[Key, float], total: int
) -> dict[Key, int]:
    """Round each amount down, and those cut most up again until all add up to the total.

    Of two cut alike the first is rounded up. A total that no rounding of these amounts has
    leaves all of them rounded down.
    """
    whole = {key: floor(amount) for key, amount in amounts.items()}
    missing = total - sum(whole.values())
    if not 0 <= missing <= len(whole):
        return whole
    for key in sorted(whole, key=lambda key: whole[key] - amounts[key])[:missing]:
        whole[key] += 1
    return whole


JOB_TAGS = "job price tags"
"""Name of the first bound term: the tags of all jobs in sum."""

_UNATTRIBUTED = "not attributed"


def price_tags(
    translation: Translation, solution: Solution, apis: Iterable[ApiUse]
) -> tuple[dict[str, int], tuple[tuple[str, int], ...]]:
    """Cents by job, and the terms of the bound, the jobs' sum first, which add up to it.

    The tag of a job on an API is, or holds, what its tokens cost there.
    """
    exact: dict[str, float] = {}
    terms_of = dict(solution.bound_terms)
    for use in apis:
        exact[use.job] = exact.get(use.job, 0.0) + use.present_cents
        terms_of[TOKENS] -= use.present_cents
    if not round(terms_of.get(TOKENS, 1.0)):
        del terms_of[TOKENS]
    for members, tag in zip(translation.members, solution.tags, strict=True):
        for job, units in Counter(job for job, _ in members).items():
            exact[job] = exact.get(job, 0.0) + units * tag.cents
    jobs = sorted(exact)
    amounts = [exact[job] for job in jobs] + [*terms_of.values()]
    cents = [*largest_remainder(dict(enumerate(amounts)), solution.bound_cents).values()]
    tags = dict(zip(jobs, cents, strict=False))
    terms = [(JOB_TAGS, sum(tags.values()))]
    terms += zip(terms_of, cents[len(jobs) :], strict=True)
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
