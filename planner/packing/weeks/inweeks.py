"""Plans for runs of some weeks: few nodes more than the bound counts, and units seated on them.

Counted nodes are full in every week, or nearly so, as no timetable may be. So more and more of
every pool is kept free on paper, until what is counted finds seats; then less again, as long as
there is time.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle, islice
from typing import TYPE_CHECKING

from planner.packing.counting.counts import CENTS_PER_UNIT
from planner.packing.counting.lanes import with_lanes
from planner.packing.counting.stays import moves_held
from planner.packing.counting.variants import with_reserve, with_room
from planner.packing.found import Infeasible
from planner.packing.solvers.beside import Beside
from planner.packing.solvers.program import Program
from planner.packing.solvers.solver import Halt, Outcome, solve_integer
from planner.packing.weeks.lean import binding, solve_lean
from planner.packing.weeks.seating import seat_in_weeks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from planner.packing.counting.counts import Counts
    from planner.packing.found import Found
    from planner.packing.solvers.solver import Answer
    from planner.packing.weeks.seating import SeatedInWeeks

__all__ = ["plan_in_weeks"]

_RESERVES = (0.02, 0.03, 0.06, 0.13, 0.35)
"""Shares of GPU-weeks, cores and memory left free, in turn, until there is a plan."""
_CLOSE = 0.002
"""Shares that differ less are not told apart."""
_STEPS = 1000
"""Units seated at the cost of others without an advance, until more is kept free."""
_ATTEMPTS = 5
"""Tries to seat units on counted nodes, each from other units or in another order: together, they
take less time than counting nodes anew."""
_GAP, _WHOLE_GAP, _NODES = 0.005, 0.05, 200
"""How far nodes are counted; and how far the room of whole units on them, or nodes of a tree."""
_FIRST_TIME, _TIME, _WHOLE_TIME, _SEAT_TIME, _LEAST_TIME_S = 0.2, 0.35, 0.1, 0.1, 1.0
"""Of the time left, what counting nodes once may take until there is a plan, and then; what whole
units on them may, and one try to seat them; and seconds at the least."""
_USEFUL_ROOM = 0.03
"""Share of each pool beyond which room is better left in others."""
_EARLY_S, _LATE_S = 1.0, 1.0
"""How long before the end the bound beside the plans should be there, and how long after it may."""
_WAITS = (0.1, 0.35)
"""Of the time left once there is a plan, how long bounds beside it are waited for: the first, and
if that came, the one of whole units, which brings the best plan with it or nearly so."""
_LAST = 0.1
"""Of all time, what is left for giving up nodes."""

Values = tuple[float, ...]


def plan_in_weeks(
    found: Found,
    asked_gap: float,
    bound_gap: float,
    left_s: Callable[[], float],
    say: Callable[[str], None],
) -> None:
    """A first bound and plan, kept in `found`; where these are apart, better ones at once.

    The bound is sought to its own gap. `left_s` says how much time there is. Raises Infeasible.
    """
    counts, program = found.counts, found.counts.program
    same = Program(list(program.variables), list(program.rows))
    first = solve_lean(
        counts, same, time_limit_s=max(left_s(), 0.1), relative_gap=bound_gap, node_limit=1
    )
    _learn(found, _Bound(first, frozenset()))
    plans = _Plans(found, left_s, say)
    if plans.seated(first.values) and found.closed(asked_gap):
        return
    halt = Halt()
    work = _bounds(counts, same, bound_gap, lambda: left_s() - _EARLY_S, halt)

    def seat(answer: Answer) -> bool:
        return left_s() > 0 and plans.cheaper(answer)

    bounds = _Learning(found, asked_gap, Beside(work), seat)
    try:
        plans.search(bounds)
        say("waiting for the bound")
        bounds.close(max(left_s(), 0.0) + _LATE_S)
    finally:
        halt.now()


@dataclass(frozen=True, slots=True)
class _Bound:
    answer: Answer
    relaxed: frozenset[int]


def _bounds(
    counts: Counts, program: Program, gap: float, left_s: Callable[[], float], halt: Halt
) -> Iterator[_Bound]:
    """Sites added up and units in fractions: nodes are most of it. Then all of it, and whole."""
    relaxed = counts.shared_unit_variables
    answer = solve_lean(
        counts, program, time_limit_s=left_s(), relative_gap=gap, relaxed=relaxed, halt=halt
    )
    yield _Bound(answer, relaxed)
    if answer.outcome is Outcome.OPTIMAL and left_s() > 0:
        answer = solve_integer(binding(program), time_limit_s=left_s(), halt=halt)
        yield _Bound(answer, frozenset())


def _learn(found: Found, bound: _Bound) -> None:
    if bound.answer.outcome is Outcome.INFEASIBLE:
        raise Infeasible(found.counts, bound.relaxed)
    found.raise_bound(bound.answer.bound, bound.relaxed)


class _Learning:
    """What is known of bounds that are sought beside the plans."""

    def __init__(
        self, found: Found, asked_gap: float, beside: Beside[_Bound], seat: Callable[[Answer], bool]
    ) -> None:
        self._found, self._asked_gap, self._beside, self._seat = found, asked_gap, beside, seat
        self.came = False
        """Whether there was one."""

    def close(self, seconds: float = 0.0, most: int | None = None) -> bool:
        """Whether bounds that are there, or come within so many seconds, close the gap."""
        if self._found.closed(self._asked_gap):
            return True
        for bound in islice(self._beside.given(seconds), most):
            self.came = True
            _learn(self._found, bound)
            if not self._found.closed(self._asked_gap):
                self._seat(bound.answer)
            if self._found.closed(self._asked_gap):
                break
        return self._found.closed(self._asked_gap)


class _Plans:
    """Plans of whole units, kept in `found`."""

    def __init__(
        self, found: Found, left_s: Callable[[], float], say: Callable[[str], None]
    ) -> None:
        self._found, self._left_s, self._say = found, left_s, say
        self._refused, self._enough = 0.0, 0.0
        """The largest share known to be too little, the least known to be enough."""
        self._best: SeatedInWeeks | None = None
        self._cut_short = False
        """Whether a limit of time ended the counting of nodes."""
        self._last_s = left_s() * _LAST

    def search(self, bounds: _Learning) -> None:
        """Plans with a share kept free: so much that there is one, then as little as will do.

        It ends early where bounds close the gap. As long as no limit of time has cut anything
        short, they are waited for, and not asked for later, so that the plan hangs on no clock.
        """
        for share in _RESERVES:
            if self._left_s() <= -_LEAST_TIME_S or self._enough_with(share):
                break
        for wait in _WAITS:
            self._say("waiting for a bound")
            if bounds.close(max(self._left_s(), 0.0) * wait, most=1):
                return
            if not bounds.came:
                break
        while self._enough - self._refused > _CLOSE and self._left_s() > self._last_s:
            if self._learns(bounds):
                return
            self._enough_with((self._enough + self._refused) / 2)
        if self._best and self._left_s() > 0 and not self._learns(bounds):
            self._say("giving up nodes that nobody needs")
            self._best.shrink(lambda: self._left_s() > 0)
            self._found.keep(*self._best.plan())

    def _learns(self, bounds: _Learning) -> bool:
        """Whether bounds close the gap, where the clock may tell."""
        return (self._cut_short or not bounds.came) and bounds.close()

    def cheaper(self, answer: Answer) -> bool:
        """Whether a counted plan costs less than the one there is, and all units find seats."""
        return self._hopeful(answer) and self.seated(answer.values)

    def seated(self, values: Values) -> bool:
        """Whether all units find seats on the nodes of these values; then the plan is kept."""
        for attempt, chosen in enumerate(self._chosen(values) if values else ()):
            if self._left_s() <= 0 and self._found.cost_cents is not None:
                break
            seated = chosen and seat_in_weeks(
                self._found.counts,
                self._found.stocks,
                chosen,
                self._within(self._share_s(_SEAT_TIME)),
                steps=_STEPS,
                attempt=attempt,
            )
            if seated and self._found.keep(*seated.plan()):
                self._best = seated
                return True
        return False

    def _chosen(self, values: Values) -> Iterator[Values]:
        """Units on counted nodes, in turn: whole ones with much room, and those as counted.

        Only whole ones where GPUs are shared; empty where none are found.
        """
        whole = self._whole(values)
        counted = whole if self._found.counts.opened else values
        yield from islice(cycle((whole, counted)), _ATTEMPTS)

    def _enough_with(self, share: float) -> bool:
        """Whether units find seats with such a share kept free, or no money is saved with it."""
        self._say(f"counting nodes, {share:.1%} of them kept free")
        answer = solve_lean(
            self._found.counts,
            with_reserve(self._found.counts, share),
            time_limit_s=self._share_s(_TIME if self._enough else _FIRST_TIME),
            relative_gap=_GAP,
            relaxed=self._found.counts.shared_unit_variables,
            effort="solutions",
        )
        self._cut_short |= answer.outcome in (Outcome.FEASIBLE, Outcome.NOTHING)
        if self.cheaper(answer) or (self._best and not self._hopeful(answer)):
            self._enough = share
            return True
        self._refused = share
        return False

    def _hopeful(self, answer: Answer) -> bool:
        """Whether nodes that are counted cost less than those of the plan, if there is one."""
        cost, fixed = self._found.cost_cents, self._found.counts.problem.fixed_cost_cents
        return bool(answer.values) and (
            cost is None or answer.objective * CENTS_PER_UNIT < cost - fixed - 0.5
        )

    def _share_s(self, share: float) -> float:
        """So much of the time left, in seconds."""
        return max(self._left_s() * share, _LEAST_TIME_S)

    def _within(self, seconds: float) -> Callable[[], bool]:
        """Whether no more of the time is gone."""
        ends = self._left_s() - seconds
        return lambda: self._left_s() > ends

    def _whole(self, values: Values) -> Values:
        """Whole units on counted nodes, with much room; empty where none are found."""
        counts = self._found.counts
        held = {index: float(round(values[index])) for index in counts.acquire.values()}
        program = with_lanes(counts, with_room(counts, values, _USEFUL_ROOM))
        return solve_integer(
            program.fixed(held | moves_held(counts, values)),
            time_limit_s=self._share_s(_WHOLE_TIME),
            relative_gap=_WHOLE_GAP,
            node_limit=_NODES,
        ).values[: len(counts.program.variables)]
