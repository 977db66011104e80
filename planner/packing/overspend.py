"""Why there is no plan within the budget: what is needed at the least, and which raise would do."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from planner.errors import InfeasibleError, LimitError
from planner.packing.found import Infeasible
from planner.packing.search import search

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.packing.counts import Counts
    from planner.packing.problem import Problem, SpendLimit

__all__ = ["explain_overspent", "without_budgets"]

_TIME_S = 20.0
"""For all questions together."""
_LEAST_S = 1.0
"""For a question that names what the user must know."""


@dataclass(frozen=True, slots=True)
class _Least:
    """What every plan spends of a budget, and what some plan gets along with."""

    needed_cents: int
    enough_cents: int


def without_budgets(problem: Problem) -> Counts | None:
    """The program without budgets where that has no solution either, so that they are not why."""
    try:
        search(replace(problem, budgets=()), asked_gap=1.0, time_limit_s=_TIME_S)
    except Infeasible as proved:
        return proved.counts
    except LimitError:
        return None
    return None


def explain_overspent(problem: Problem) -> InfeasibleError:
    """Every budget that no plan keeps, and the least raise of one or of several that will do."""
    asking = _Asking(problem)
    alone = [(limit, least) for limit in problem.budgets if (least := asking.least(limit, ()))]
    broken = [(limit, least) for limit, least in alone if least.needed_cents > _budget(limit)]
    reasons = tuple(_reason(limit, least) for limit, least in broken)
    raises = asking.raises_of_one() or asking.raises_together()
    first = next(iter(broken), None)
    if first is None:
        told = [f"{limit.name} ({_usd(_budget(limit))})" for limit in asking.conflict()]
        headline = f"no plan exists: no plan for all jobs keeps {' and '.join(told)} together"
    else:
        limit, least = first
        headline = (
            f"no plan exists within the budget: {limit.name} is {_usd(_budget(limit))}, "
            f"at least {_usd(least.needed_cents)} are needed"
        )
    if not reasons:
        reasons = tuple(f"budget: {limit.name} is {_usd(_budget(limit))}" for limit, _ in alone)
    return InfeasibleError(headline, reasons, raises)


class _Asking:
    """Asks the search for the plan that spends least of a budget."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._deadline = time.monotonic() + _TIME_S

    def least(self, limit: SpendLimit, kept: Sequence[SpendLimit]) -> _Least | None:
        """Least spending with some budgets kept; None where they, or the time, allow no plan."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            return None
        supplies = tuple(
            replace(
                supply,
                unit_cost_cents=tuple(
                    None if cents is None else limit.cents[number][quarter]
                    for quarter, cents in enumerate(supply.unit_cost_cents)
                ),
            )
            for number, supply in enumerate(self._problem.supplies)
        )
        asked = replace(
            self._problem,
            supplies=supplies,
            budgets=tuple(kept),
            fixed_cost_cents=limit.fixed_cents,
        )
        try:
            found = search(asked, asked_gap=0.0, time_limit_s=left)
        except (Infeasible, LimitError):
            return None
        return None if found.cost_cents is None else _Least(found.bound_cents, found.cost_cents)

    def conflict(self) -> tuple[SpendLimit, ...]:
        """Budgets that no plan keeps together, of which none can be left out."""
        kept = list(self._problem.budgets)
        for limit in self._problem.budgets:
            rest = [other for other in kept if other is not limit]
            left_s = max(_LEAST_S, self._deadline - time.monotonic())
            try:
                asked = replace(self._problem, budgets=tuple(rest))
                search(asked, asked_gap=1.0, time_limit_s=left_s)
            except Infeasible:
                kept = rest
            except LimitError:
                continue
        return tuple(kept)

    def raises_of_one(self) -> tuple[str, ...]:
        """For each budget: to what it would have to be raised if the others are kept."""
        remedies = []
        for limit in self._problem.budgets:
            others = tuple(other for other in self._problem.budgets if other is not limit)
            least = self.least(limit, others)
            if least:
                kept = " and keep the other budgets" if others else ""
                remedies.append(f"{_raise(limit, least)}{kept}")
        return tuple(remedies)

    def raises_together(self) -> tuple[str, ...]:
        """Raises that do together: each the least that the ones before it leave."""
        raised: list[SpendLimit] = []
        words = []
        for limit in self._problem.budgets:
            least = self.least(limit, raised)
            if least is None:
                return ()
            if least.enough_cents > _budget(limit):
                words.append(_raise(limit, least))
                more = least.enough_cents - limit.fixed_cents
                raised.append(replace(limit, at_most_cents=more))
            else:
                raised.append(limit)
        return (f"together: {', '.join(words)}",) if words else ()


def _raise(limit: SpendLimit, least: _Least) -> str:
    more = _usd(least.enough_cents - _budget(limit))
    return f"raise {limit.name} by {more}, to {_usd(least.enough_cents)}"


def _reason(limit: SpendLimit, least: _Least) -> str:
    owned = f", {_usd(limit.fixed_cents)} of it for owned nodes" if limit.fixed_cents else ""
    return (
        f"budget: {limit.name} is {_usd(_budget(limit))}, every plan for all jobs needs "
        f"{_usd(least.needed_cents)} or more{owned}"
    )


def _budget(limit: SpendLimit) -> int:
    """As the user stated it."""
    return limit.at_most_cents + limit.fixed_cents


def _usd(cents: int) -> str:
    whole, rest = divmod(cents, 100)
    return f"${whole:,}.{rest:02d}" if rest else f"${whole:,}"
