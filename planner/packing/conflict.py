"""Finds the smallest sets of conditions that no plan satisfies together, and how to mend them.

A *correction* is a set of conditions without which a plan exists; every conflict has a member in
each correction. So the search asks about a smallest set that meets all known corrections. If no
plan satisfies it, it is the smallest conflict. If one does, conditions are added as long as some
plan satisfies them; those left over are one more correction. If no plan exists without a conflict
either, there is another one beside it, and so on: a remedy must mend them all.

Whether a plan satisfies a set is first asked of the master program: what it refutes is a
conflict. The full search confirms the sets that matter, and every raise that is reported, with a
plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import ceil, isfinite

from planner.errors import LimitError
from planner.packing.build import build_master
from planner.packing.constraints import conditions_of
from planner.packing.constraints.base import Condition
from planner.packing.incumbent import Infeasible
from planner.packing.master import MasterProgram
from planner.packing.problem import Problem
from planner.packing.search import search
from planner.packing.solver import Outcome, Program, solve_integer
from planner.packing.translation import Translation
from planner.packing.work import spent

_TIME_S = 30.0
"""Seconds of work for all questions together."""
_LEAST_S = 0.1
_QUESTIONS = 60
"""After this many questions, a conflict is shrunk by leaving out one member after another."""
_TOGETHER = 2
"""The most remedies that raise several conditions together."""
_TRIES = 8
_MOST_RAISED = 4096
_TOLERANCE = 0.5
"""How far a solver's raise may exceed what is needed; raises count in whole units."""

Set = frozenset[int]
"""Conditions by their numbers."""
Raises = tuple[tuple["Condition", int], ...]
"""The conditions to raise, and by how much."""
_Asked = Callable[["Problem"], "MasterProgram | None"]
"""The program that has no solution; None if a plan seems to exist."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """The fewest conditions that no plan satisfies together."""

    members: tuple[Condition, ...]
    """None if no plan exists whatever is asked for."""
    needed: int
    """How much a single member must rise: with all the rest kept, if that can mend it alone,
    otherwise even if nothing else were asked for."""


@dataclass(frozen=True, slots=True)
class Conflicts:
    """What no plan satisfies, and what would mend it."""

    every: tuple[Conflict, ...]
    """Conflicts without a common member; a plan exists without their members."""
    remedies: tuple[Raises, ...]
    """Conditions to raise, and by how much: each leaves a plan that satisfies all the rest."""
    in_time: bool = True
    """Whether all conflicts and raises were computed before time ended."""


def conflicts_of(translation: Translation) -> Conflicts | None:
    """Return the conflicts of an infeasible portfolio; None if time does not suffice for one."""
    return _Asking(translation).conflicts()


def without_costs(problem: Problem) -> Problem:
    """Return the problem in which nothing costs anything, so that any plan will do."""
    return problem.repriced(lambda _supply, _quarter: 0)


class _Asking:
    """Asks the search which conditions a plan can satisfy."""

    def __init__(self, translation: Translation) -> None:
        self._problem = translation.problem
        self._conditions = conditions_of(translation)
        self._every = frozenset(range(len(self._conditions)))
        self._deadline = spent() + _TIME_S
        self._possible: list[Set] = []
        self._impossible: list[Set] = [self._every]
        """Sets for which it is known whether some plan satisfies them."""
        self._counting = self._miscounted(self._problem) is not None
        """Whether the master program decides, which is far quicker than the search."""

    def conflicts(self) -> Conflicts | None:
        """Return the smallest conflict and those beside it, with what would mend them."""
        corrections: list[Set] = []
        while len(self._possible) + len(self._impossible) < _QUESTIONS:
            asked = _least_meeting(corrections)
            if not self._kept(asked):
                return self._told(asked, corrections)
            grown = self._grown(asked, sorted(self._every - asked))
            if self._refuted(grown):
                corrections.clear()
            elif grown == self._every:
                break
            else:
                corrections.append(self._every - grown)
        return self._told(self._shrunk(min(self._impossible, key=len)), corrections)

    def _refuted(self, asked: Set) -> bool:
        """Return whether the search refutes what the master program did not.

        From then on the search is asked.
        """
        if not self._counting or self._plannable(self._lifted(self._every - asked)):
            return False
        self._counting = False
        self._possible.clear()
        self._impossible.append(asked)
        return True

    def _shrunk(self, conflict: Set) -> Set | None:
        """Return a conflict of which no member can be left out; None if time ends first."""
        for one in sorted(conflict):
            if not self._kept(conflict - {one}):
                conflict -= {one}
        return conflict if self._left_s() > _LEAST_S else None

    def _told(self, members: Set | None, corrections: Sequence[Set]) -> Conflicts | None:
        if members is None:
            return None
        every = [members, *self._beside(members)]
        alone = [{one} for one in sorted(members) if self._kept(self._every - {one})]
        several = sorted((one for one in corrections if len(one) > 1), key=len)
        if len(every) > 1 and not several:
            several = [self._every - self._grown(frozenset(), sorted(self._every))]
        problem = self._problem
        mended = [self._mended(problem, sorted(some)) for some in (*alone, *several[:_TOGETHER])]
        remedies = tuple(raises for raises in mended if raises)
        return Conflicts(
            tuple(self._conflict(one, remedies) for one in sorted(every, key=sorted)),
            remedies,
            spent() < self._deadline,
        )

    def _beside(self, conflict: Set) -> Iterator[Set]:
        """Yield conflicts that share no member with this one or each other, until a plan exists."""
        left = self._every - conflict
        while conflict and not self._kept(left):
            beside = self._shrunk(left)
            if not beside:
                break
            yield beside
            left -= beside

    def _conflict(self, members: Set, remedies: Sequence[Raises]) -> Conflict:
        conditions = tuple(self._conditions[one] for one in sorted(members))
        needed = next((one for one in remedies if [of for of, _ in one] == [*conditions]), ())
        if len(members) == 1 and not needed:
            needed = self._mended(self._lifted(self._every - members), sorted(members))
        return Conflict(conditions, needed[0][1] if len(members) == 1 and needed else 0)

    def _kept(self, asked: Set) -> bool:
        """Return whether some plan satisfies these, unless the program or the search refutes it."""
        if any(asked <= known for known in self._possible):
            return True
        if any(asked >= known for known in self._impossible):
            return False
        problem = self._lifted(self._every - asked)
        kept = self._miscounted(problem) is None if self._counting else self._plannable(problem)
        (self._possible if kept else self._impossible).append(asked)
        return kept

    def _miscounted(self, problem: Problem) -> MasterProgram | None:
        """Return the infeasible master program as it is stated; None if it has a solution."""
        master = build_master(problem)
        program = master.program.priced({})
        limit_s, relaxed = self._left_s(), master.unit_variables
        answer = solve_integer(program, time_limit_s=limit_s, relaxed=relaxed)
        return master if answer.outcome is Outcome.INFEASIBLE else None

    def _plannable(self, problem: Problem) -> bool:
        try:
            return self._proof(problem) is None
        except LimitError:
            return True

    def _grown(self, kept: Set, more: Sequence[int]) -> Set:
        """Return the set with as many more conditions as some plan satisfies, in order."""
        if not more or self._kept(kept.union(more)):
            return kept.union(more)
        if len(more) == 1:
            return kept
        half = len(more) // 2
        return self._grown(self._grown(kept, more[:half]), more[half:])

    def _lifted(self, which: Set) -> Problem:
        problem = self._problem
        for one in sorted(which):
            problem = self._conditions[one].raised(problem, None)
        return problem

    def _mended(self, problem: Problem, which: Sequence[int]) -> Raises:
        """Return raises that suffice together, each the least given those before it.

        The master program gives the least of each in a fraction of the search's time. No raise
        can be less, so one plan with all of them, found by the search, confirms every one. Empty
        if unknown.
        """
        try:
            if self._counting and len(which) > 1:
                raises = self._least_of(problem, which, self._miscounted)
                if raises and self._proof(_raised(problem, raises)) is None:
                    return raises
            return self._least_of(problem, which, self._proof)
        except LimitError:
            return ()

    def _least_of(self, problem: Problem, which: Sequence[int], refuted: _Asked) -> Raises:
        raises: Raises = ()
        for position, one in enumerate(which):
            condition = self._conditions[one]
            open_to = _raised(problem, raises)
            for later in which[position + 1 :]:
                open_to = self._conditions[later].raised(open_to, None)
            more = self._by_rows(open_to, condition, refuted)
            if more is None:
                return ()
            if more:
                raises = (*raises, (condition, more))
        return raises

    def _by_rows(self, problem: Problem, condition: Condition, refuted: _Asked) -> int | None:
        """Return the least raise by the rows of what is refuted; None: no raise suffices."""
        raised = 0
        for _ in range(_TRIES):
            proof = refuted(condition.raised(problem, raised))
            if proof is None:
                return raised
            if condition.name not in proof.elastic:
                return _by_halving(problem, condition, refuted)
            more = _needed(proof, condition, self._left_s())
            if more is None:
                return None
            raised += max(1, more)
        return None

    def _proof(self, problem: Problem) -> MasterProgram | None:
        """Return the infeasible program; None if a plan exists."""
        try:
            search(without_costs(problem), asked_gap=1.0, time_limit_s=self._left_s())
        except Infeasible as proved:
            return proved.master
        return None

    def _left_s(self) -> float:
        return max(_LEAST_S, self._deadline - spent())


def _raised(problem: Problem, raises: Raises) -> Problem:
    for condition, more in raises:
        problem = condition.raised(problem, more)
    return problem


def _by_halving(problem: Problem, condition: Condition, refuted: _Asked) -> int | None:
    most = _MOST_RAISED if condition.most is None else condition.most
    short, enough = 0, 1
    while refuted(condition.raised(problem, min(enough, most))) is not None:
        if enough >= most:
            return None
        short, enough = enough, 2 * enough
    enough = min(enough, most)
    while enough - short > 1:
        middle = (short + enough) // 2
        if refuted(condition.raised(problem, middle)) is None:
            enough = middle
        else:
            short = middle
    return enough


def _least_meeting(corrections: Sequence[Set]) -> Set:
    """Return a smallest set that has a member of each correction."""
    concerned = sorted(frozenset[int]().union(*corrections))
    return next(
        frozenset(picked)
        for size in range(len(concerned) + 1)
        for picked in combinations(concerned, size)
        if all(one.intersection(picked) for one in corrections)
    )


def _needed(master: MasterProgram, condition: Condition, time_limit_s: float) -> int | None:
    """Return the least raise that makes the master program solvable; None if none does."""
    program = Program(list(master.program.variables), list(master.program.rows))
    more = program.variable("more", cost=1.0)
    for row, (right, one) in master.elastic[condition.name].items():
        stated = program.rows[row]
        terms = (*stated.terms, (more, -one))
        program.rows[row] = replace(stated, terms=terms, right=right)
    answer = solve_integer(program.priced({more: 1.0}), time_limit_s=time_limit_s)
    if answer.outcome is Outcome.INFEASIBLE:
        return None
    least = answer.objective if answer.outcome is Outcome.OPTIMAL else answer.bound
    return ceil(least - _TOLERANCE) if isfinite(least) else 0
