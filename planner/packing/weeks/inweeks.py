"""Plans for runs of some weeks: few nodes more than the bound counts, and units seated on them.

Counted nodes are full in every week, or nearly so, as no timetable may be. So more and more of
every pool is kept free on paper, until what is counted finds seats; then less again, as long as
there is time.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from planner.packing.counting.counts import CENTS_PER_UNIT
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

_RESERVES = (0.02, 0.05, 0.13, 0.35)
"""Shares of GPU-weeks, cores and memory left free, in turn, until there is a plan."""
_CLOSE = 0.002
"""Shares that differ less are not told apart."""
_STEPS = 1000
"""Units seated at the cost of others without an advance, until more is kept free."""
_GAP, _NODES = 0.005, 200
"""How far nodes are counted; and how far units on them, to 1 %, or this many nodes of a tree."""
_FIRST_TIME, _TIME, _SEAT_TIME, _LEAST_TIME_S = 0.2, 0.35, 0.15, 1.0
"""Of the time left, what counting nodes once may take until there is a plan, and then; what seating
units may; and seconds at the least."""
_EARLY_S, _LATE_S = 1.0, 1.0
"""How long before the end the bound beside the plans should be there, and how long after it may."""
_WAIT = 0.1
"""Of the time left once there is a plan, how long a first bound beside it is waited for."""
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
    bounds = _Learning(found, asked_gap, Beside(work), plans.seated)
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
        self, found: Found, asked_gap: float, beside: Beside[_Bound], seat: Callable[[Values], bool]
    ) -> None:
        self._found, self._asked_gap, self._beside, self._seat = found, asked_gap, beside, seat
        self.came = False
        """Whether there was one."""

    def close(self, seconds: float = 0.0, most: int | None = None) -> bool:
        """Whether bounds that are there, or come within so many seconds, close the gap."""
        for bound in islice(self._beside.given(seconds), most):
            self.came = True
            _learn(self._found, bound)
            if not (bound.relaxed or self._found.closed(self._asked_gap)):
                self._seat(bound.answer.values)
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
        short, only the first is asked for, and waited for, so that the plan hangs on no clock.
        """
        for share in _RESERVES:
            if self._left_s() <= -_LEAST_TIME_S or self._enough_with(share):
                break
        if bounds.close(max(self._left_s(), 0.0) * _WAIT, most=1):
            return
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

    def seated(self, values: Values) -> bool:
        """Whether all units find seats on the nodes of these values; then the plan is kept."""
        left_s = self._left_s()
        ends = left_s - max(left_s * _SEAT_TIME, _LEAST_TIME_S)
        for attempt, chosen in enumerate(self._chosen(values) if values else ()):
            seated = chosen and seat_in_weeks(
                self._found.counts,
                self._found.stocks,
                chosen,
                lambda: self._left_s() > ends,
                steps=_STEPS,
                attempt=attempt,
            )
            if seated and self._found.keep(*seated.plan()):
                self._best = seated
                return True
        return False

    def _chosen(self, values: Values) -> Iterator[Values]:
        """Units on counted nodes: as they are counted, then with as much room as there is.

        Whole ones with room, twice, where GPUs are shared; empty where there are none.
        """
        if self._found.counts.opened:
            yield from (self._roomy(values, whole=True),) * 2
        else:
            yield values
            yield self._roomy(values, whole=False)

    def _enough_with(self, share: float) -> bool:
        """Whether units find seats with such a share kept free, or no money is saved with it."""
        self._say(f"counting nodes, {share:.1%} of them kept free")
        time = self._left_s() * (_TIME if self._enough else _FIRST_TIME)
        answer = solve_lean(
            self._found.counts,
            with_reserve(self._found.counts, share),
            time_limit_s=max(time, _LEAST_TIME_S),
            relative_gap=_GAP,
            relaxed=self._found.counts.shared_unit_variables,
            effort="solutions",
        )
        self._cut_short |= answer.outcome in (Outcome.FEASIBLE, Outcome.NOTHING)
        hopeful = answer.values and self._saves(answer.objective)
        if self.seated(answer.values) if hopeful else self._best:
            self._enough = share
            return True
        self._refused = share
        return False

    def _saves(self, objective: float) -> bool:
        """Whether nodes that are counted cost less than those of the plan, if there is one."""
        cost, fixed = self._found.cost_cents, self._found.counts.problem.fixed_cost_cents
        return cost is None or objective * CENTS_PER_UNIT < cost - fixed - 0.5

    def _roomy(self, values: Values, *, whole: bool) -> Values:
        """Units on counted nodes, with as much room as there is; empty where there are none."""
        counts = self._found.counts
        held = {index: float(round(values[index])) for index in counts.acquire.values()}
        return solve_integer(
            with_room(counts, values).fixed(held | moves_held(counts, values)),
            time_limit_s=max(self._left_s(), _LEAST_TIME_S),
            relative_gap=0.01,
            node_limit=_NODES,
            relaxed=frozenset() if whole else counts.unit_variables,
        ).values
