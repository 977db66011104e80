"""Why there is no plan within the quotas: what a team must hold at the least, and which raise do.

Asked only where there is a plan without any quota, so that the quotas alone are in the way.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from math import ceil, isfinite
from typing import TYPE_CHECKING

from planner.errors import InfeasibleError, LimitError
from planner.packing.found import Infeasible
from planner.packing.program import Program
from planner.packing.quotas import held_gpus
from planner.packing.remedy import without_costs
from planner.packing.search import search
from planner.packing.solver import Outcome, solve_integer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from planner.packing.counts import Counts
    from planner.packing.problem import Problem, Quota
    from planner.packing.translate import Translation

__all__ = ["explain_overquota"]

_TIME_S = 20.0
"""For all questions together."""
_TRIES = 8
_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class _Least:
    """What every plan holds of a quota in a hard quarter, and a raise that is enough."""

    quarter: int
    needed: int
    raised: int


def explain_overquota(translation: Translation) -> InfeasibleError | None:
    """Every quota that no plan keeps, and the raises of one or several that will do.

    None where there is no plan without quotas either, or the time does not suffice to tell.
    """
    problem = translation.problem
    asking = _Asking(problem)
    if not problem.quotas or not asking.feasible(replace(problem, quotas=())):
        return None
    alone = [asking.least((quota,), 0) for quota in problem.quotas]
    broken = {number: least for number, least in enumerate(alone) if least and least.raised}
    told = tuple(
        _told(translation, problem.quotas[number], least) for number, least in broken.items()
    )
    if told:
        headline, reasons = f"no plan exists within the quotas: {told[0]}", told[1:]
    else:
        headline = "no plan exists: the quotas of the teams cannot all be kept together"
        reasons = tuple(f"{quota.name}: {_figures(translation, quota)}" for quota in problem.quotas)
    return InfeasibleError(headline, reasons, asking.raises(broken))


class _Asking:
    """Asks the search which quotas a plan can keep."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._deadline = time.monotonic() + _TIME_S

    def feasible(self, problem: Problem) -> bool:
        """Whether the search finds a plan in the time that is left."""
        try:
            search(without_costs(problem), asked_gap=1.0, time_limit_s=self._left_s())
        except (Infeasible, LimitError):
            return False
        return True

    def least(self, quotas: Sequence[Quota], asked: int) -> _Least | None:
        """The least raise of one of these quotas that does; None where none does, or time ends.

        The counting program says how much is needed at the least, the search whether that is
        enough.
        """
        found = _Least(0, 0, 0)
        for _ in range(_TRIES):
            now = [*quotas]
            now[asked] = _raised(quotas[asked], found.raised)
            try:
                problem = without_costs(replace(self._problem, quotas=tuple(now)))
                search(problem, asked_gap=1.0, time_limit_s=self._left_s())
            except LimitError:
                return None
            except Infeasible as proved:
                more = _more(proved.counts, asked, self._left_s())
            else:
                return found
            if more is None:
                return None
            found = _Least(
                more.quarter, found.needed or more.needed, found.raised + max(1, more.raised)
            )
        return None

    def raises(self, broken: Mapping[int, _Least]) -> tuple[str, ...]:
        """What would do: a raise of one quota with the others kept, else of several together.

        `broken` are the quotas that no plan keeps by themselves: each must rise by so much.
        """
        quotas = self._problem.quotas
        words = []
        if len(broken) > 1:
            return self._raises_of(broken) or self._raises_in_turn()
        for number in broken or range(len(quotas)):
            least = self.least(quotas, number)
            if least:
                kept = " and keep the other quotas" if len(quotas) > 1 else ""
                words.append(f"{_raise(quotas[number], least)}{kept}")
        return tuple(words) or self._raises_in_turn()

    def _raises_of(self, broken: Mapping[int, _Least]) -> tuple[str, ...]:
        """Just these raises, if they do together: no lower ones can."""
        quotas = [*self._problem.quotas]
        for number, least in broken.items():
            quotas[number] = _raised(quotas[number], least.raised)
        if not self.feasible(replace(self._problem, quotas=tuple(quotas))):
            return ()
        return _together(
            _raise(self._problem.quotas[number], least) for number, least in broken.items()
        )

    def _raises_in_turn(self) -> tuple[str, ...]:
        """Raises that do together: each the least that the ones before it leave."""
        kept: list[Quota] = []
        words = []
        for quota in self._problem.quotas:
            least = self.least((*kept, quota), len(kept))
            if least is None:
                return ()
            if least.raised:
                words.append(_raise(quota, least))
            kept.append(_raised(quota, least.raised))
        return _together(words)

    def _left_s(self) -> float:
        return max(0.1, self._deadline - time.monotonic())


def _together(words: Iterable[str]) -> tuple[str, ...]:
    told = ", ".join(words)
    return (f"together: {told}",) if told else ()


def _more(counts: Counts, asked: int, time_limit_s: float) -> _Least | None:
    """The least raise of a quota in every quarter with which the counting program is solvable.

    None where no raise of it does that.
    """
    program = Program(list(counts.program.variables), list(counts.program.rows))
    more = program.variable("more", integer=True)
    for row, most in counts.quota_rows[asked].items():
        stated = program.rows[row]
        program.rows[row] = replace(stated, terms=(*stated.terms, (more, -1.0)), right=most)
    answer = solve_integer(program.priced({more: 1.0}), time_limit_s=time_limit_s)
    if not answer.values:
        return None
    raised = ceil(answer.values[more] - _TOLERANCE)
    quota = counts.problem.quotas[asked]
    over = {
        quarter: held_gpus(counts, asked, quarter, answer.values) - most
        for quarter, most in enumerate(quota.at_most)
        if most is not None
    }
    quarter = max(over, key=lambda quarter: (over[quarter], -quarter))
    return _Least(quarter, _needed(counts, asked, quarter, time_limit_s), raised)


def _needed(counts: Counts, asked: int, quarter: int, time_limit_s: float) -> int:
    """GPUs that every plan holds of a quota in a quarter, whatever it is."""
    program = Program(list(counts.program.variables), list(counts.program.rows))
    for row in counts.quota_rows[asked]:
        program.rows[row] = replace(program.rows[row], terms=(), right=0.0)
    costs = {index: float(gpus) for index, gpus in counts.quota_terms[asked][quarter]}
    answer = solve_integer(program.priced(costs), time_limit_s=time_limit_s)
    least = answer.objective if answer.outcome is Outcome.OPTIMAL else answer.bound
    return max(0, ceil(least - _TOLERANCE)) if isfinite(least) else 0


def _raised(quota: Quota, more: int) -> Quota:
    at_most = tuple(None if most is None else most + more for most in quota.at_most)
    return replace(quota, at_most=at_most)


def _told(translation: Translation, quota: Quota, least: _Least) -> str:
    most = quota.at_most[least.quarter] or 0
    if least.needed <= most:
        return f"{quota.name} ({_figures(translation, quota)}) cannot be kept in every quarter"
    return (
        f"{quota.name} is {_gpus(most)} in {translation.quarters[least.quarter]}, "
        f"its jobs need {least.needed:,} or more"
    )


def _raise(quota: Quota, least: _Least) -> str:
    known = {most for most in quota.at_most if most is not None}
    to = f", to {min(known) + least.raised:,}" if len(known) == 1 else " in every quarter"
    return f"raise the {quota.name} by {_gpus(least.raised)}{to}"


def _figures(translation: Translation, quota: Quota) -> str:
    """`16 GPUs`, or the figures with the quarters from which they hold."""
    if len(set(quota.at_most)) == 1:
        return _gpus(quota.at_most[0] or 0)
    told = [
        f"{'no limit' if most is None else _gpus(most)} from {translation.quarters[quarter]} on"
        for quarter, most in enumerate(quota.at_most)
        if quarter == 0 or most != quota.at_most[quarter - 1]
    ]
    return ", ".join(told)


def _gpus(number: int) -> str:
    return f"{number:,} GPU{'' if number == 1 else 's'}"
