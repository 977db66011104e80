"""The search: count nodes, lay units out on them, cut off what cannot be, until the gap is closed.

1. Root: cuts that the linear relaxation violates.
2. Bound: node counts whole, units fractional but those that span nodes, with every cut known.
3. Units: whole units on those node counts; if there are none, both at once.
4. Layouts: a cutting stock per pool and quarter, and a list schedule of the runs. Where units do
   not fit, cuts lead to 2.
5. First-fit: a plan at the least.
6. Local search: exchanges of units, and fewer nodes.
7. Exact plan: CP-SAT decides on small portfolios with runs as a whole.
8. Reserve: more nodes than are needed on paper, or fewer runs on the full ones.

`Search.run` has these steps in their order; each is a method below it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from planner.errors import LimitError
from planner.packing.build import (
    build_master,
    evenly_full,
    on_cheapest_gpus,
    with_at_least,
    with_every_window,
)
from planner.packing.exact_plan import exactly
from planner.packing.incumbent import Incumbent, Infeasible, begin
from planner.packing.layouts import Layouts
from planner.packing.local_search import place_unlike
from planner.packing.master import PoolInQuarter
from planner.packing.problem import Problem
from planner.packing.solver import Outcome, Program, solve_integer, solve_linear
from planner.packing.work import polled, spent

_ROOT_ROUNDS, _ROOT_TIME = 6, 0.3
"""Rounds of cuts before any integer program, and the share of the time left that they may take."""
_SLOW = 0.1
"""A share of that time: after a linear program that takes more, none is solved for more cuts."""
_ROUNDS = 60
_ROUNDS_TIME, _BOUND_TIME = 0.75, 0.7
"""Shares of the time left: for all rounds, and within them for counting nodes once."""
_BOUND_GAP = 0.9
"""The share of the asked gap for the bound if sites limit nodes, runs take turns, or replicas
share traffic."""
_MANY_CLASSES = 300
"""Job classes of one quarter on whole GPUs beyond which hardly any layout would repeat."""
_TIE_GAP, _TIE_NODES, _LEAST_S = 0.01, 200, 0.1
"""How far a mode among whole units is pursued: to 1 %, or so many nodes of the solver's tree;
and for how long at least."""
_RESERVED_GAP, _NODES = 0.3, 500
"""Share of the asked gap by which nodes with a reserve may exceed the fewest; and nodes of the
solver's tree, for each of these."""
_FIRST_FIT_S, _FIRST_PLAN_S, _ANY_PLAN = 5.0, 5.0, 1.0
"""Seconds of work beyond the limit for first-fit; then, if there is no plan yet, for any plan;
and the gap at which any will do."""
_EXACT_TIME = 0.5
"""The share of the time left for deciding on nodes and hours together."""

_Values = tuple[float, ...]
"""Values of the variables of the master program."""


def search(
    problem: Problem,
    *,
    asked_gap: float,
    time_limit_s: float,
    progress: Callable[[str], None] | None = None,
    tie_break: bool = True,
) -> Incumbent:
    """Search until the gap is closed or the time is over.

    Without `tie_break`, units are on any GPUs of plans that cost the same. Raises Infeasible if
    that is proved, and LimitError if time ends before any packing is found.
    """
    return Search(problem, asked_gap, time_limit_s, progress, tie_break=tie_break).run()


class Search:
    """The search for one problem, from the program that counts its nodes to their layouts."""

    def __init__(
        self,
        problem: Problem,
        asked_gap: float,
        time_limit_s: float,
        progress: Callable[[str], None] | None = None,
        *,
        tie_break: bool = True,
    ) -> None:
        """State the program and what lays out its units."""
        self._asked_gap, self._deadline = asked_gap, spent() + time_limit_s
        self._say = progress or (lambda _: None)
        self._tie_break = tie_break
        self._master = build_master(problem)
        self._problem = problem = self._master.problem
        self._layouts = Layouts(self._master, self._in_time)
        self._found = Incumbent(self._master, stocks=self._layouts.stocks)
        self._counted: _Values = ()
        """The last solution of the master program, with whole units if these were asked for."""
        self._stuck: dict[PoolInQuarter, tuple[int, int]] = {}
        """Pools whose units could not be laid out -> one node more than tried, and one run less."""
        self._tried: dict[_Values, dict[PoolInQuarter, tuple[int, int]]] = {}
        """Counts of units and nodes that could not be laid out, or are laid out -> those pools."""
        shapes = [mode.shape for job_class in problem.classes for mode in job_class.modes]
        self._runs = any(shape.is_run for shape in shapes)
        bundles = any(shape.bundles for shape in shapes)
        self._movable = problem.quarters == 1 and not (bundles or self._master.short)
        """Whether the local search can move units: whole GPUs, all of the one quarter."""
        self._unlike = len(problem.classes) > _MANY_CLASSES and self._movable
        """Whether it replaces layouts by pattern, because hardly any pattern would repeat."""

    def run(self) -> Incumbent:
        """Take all steps in order; raises as `search` does."""
        self._steps()
        if self._found.cost_cents is None and not self._in_time():
            self._deadline, self._asked_gap = spent() + _FIRST_PLAN_S, _ANY_PLAN
            self._tried = {}
            self._steps()
        self._found.cuts = self._layouts.cuts
        if self._found.cost_cents is None:
            cause = "no plan was found, though time was left"
            if not self._in_time():
                cause = "the time limit was hit before any plan was found"
            raise LimitError(f"{cause}; that is no proof that none exists")
        return self._found

    def _steps(self) -> None:
        """Search on from the cuts and the plan so far."""
        self._say("tightening the bound")
        self.cut_root()  # step 1
        if not self._master.program.variables:  # nothing runs, and nothing can be had
            self._found.raise_bound(0.0, frozenset())
            self._lay_out(())
        with self._within(_ROUNDS_TIME):
            for number in range(1, _ROUNDS + 1):
                self._found.rounds = number
                if self._closed() or self._over():
                    break
                self._say(f"counting and laying out nodes, round {number}")
                if not self._round() or self._left_s() <= 0:  # steps 2 to 4
                    break
        if not self._closed():
            self._first_fit()  # step 5
            self._exchange()  # step 6
            self._decide_exactly()  # step 7
            self._reserve()  # step 8

    # Step 1

    def cut_root(self) -> Incumbent:
        """State cuts that the linear relaxation violates, before any integer program is solved."""
        with self._within(_ROOT_TIME):
            for _ in range(_ROOT_ROUNDS):
                longest_s = spent() + _SLOW * self._left_s()
                relaxed = solve_linear(self._master.program)
                if relaxed is None:
                    raise Infeasible(self._master)
                self._found.raise_bound(relaxed.objective, frozenset(range(len(relaxed.values))))
                slow = spent() > longest_s
                if not self._layouts.cut_off(relaxed.values) or slow:
                    break
        return self._found

    # Steps 2 to 4

    def _round(self) -> bool:
        """Count nodes and lay units out on them.

        Return False if another round would gain nothing.
        """
        master = self._master
        if self._unlike:
            counted = self._count_nodes(master.unit_variables)
            if counted and not (self._closed() or self._over()):
                self._place(counted, more_nodes=True)
            return False
        counted = self._count_nodes(master.shared_unit_variables)
        if not counted or self._closed() or self._over():
            return False
        cuts = self._layouts.cuts
        laid_out = self._on_nodes(counted)
        if laid_out:
            return False
        if self._layouts.cuts > cuts:
            return True
        if self._movable and self._place(counted, more_nodes=False):
            return False
        if laid_out is False or self._over():
            return False
        counted = self._count_nodes(frozenset())
        if not counted or self._on_nodes(counted) or self._lay_out(counted):
            return False
        return self._layouts.cuts > cuts

    def _count_nodes(self, relaxed: frozenset[int]) -> _Values:
        """Solve the master program and keep its bound; empty if time ended without values."""
        sites = bool(self._problem.limits or self._problem.racks)
        limited = sites or self._runs or bool(self._master.traffic_rows)
        answer = solve_integer(
            self._master.program,
            time_limit_s=self._left_s() * _BOUND_TIME,
            relative_gap=self._asked_gap * _BOUND_GAP * self._share_of_cost() if limited else 0.0,
            relaxed=relaxed,
            effort="branching" if relaxed else "usual",
        )
        if answer.outcome is Outcome.INFEASIBLE:
            raise Infeasible(self._master, relaxed)
        exact = answer.outcome is Outcome.OPTIMAL and not limited
        self._found.raise_bound(answer.objective if exact else answer.bound, relaxed)
        self._counted = answer.values or self._counted
        return answer.values

    def _share_of_cost(self) -> float:
        """Return what a gap of the objective is as a gap of the cost.

        Less than all only if released nodes make the cost less than what is decided.
        """
        cost = self._found.bound_cents
        decided = cost - self._problem.fixed_cost_cents
        return min(1.0, abs(cost / decided)) if decided else 1.0

    def _units_on(self, counted: _Values) -> Iterator[_Values]:
        """Yield whole units on counted nodes: on the cheapest GPUs, if ties count.

        Runs also with rows for every window, and evenly.
        """
        master, ways = self._master, [self._master.program]
        if self._runs:
            ways.append(with_every_window(master))
        if self._tie_break:
            ways = [on_cheapest_gpus(master, way) for way in ways]
        if self._runs:
            ways.append(evenly_full(master, counted))
        for program in ways:
            if self._over():
                return
            units = self._units(program, counted)
            if units:
                yield units
            if units is None or not self._in_time():
                return  # these nodes do not hold whole units, or time is over

    def _units(self, program: Program, counted: _Values) -> _Values | None:
        """Return whole units on counted nodes; None if there are none, empty if time is over."""
        master = self._master
        held = {index: float(round(counted[index])) for index in master.acquire.values()}
        held |= {
            index: float(round(counted[index]))
            for number, index in master.moved.items()
            if self._problem.classes[number].move_cents
        }
        answer = solve_integer(
            program.fixed(held),
            time_limit_s=max(self._left_s(), _LEAST_S),
            relative_gap=_TIE_GAP,
            node_limit=_TIE_NODES,
            effort="rounding",
        )
        return None if answer.outcome is Outcome.INFEASIBLE else answer.values

    def _lay_out(self, solved: _Values) -> bool:
        """Lay out whole units, and keep the plan if all fit; else learn from the rest."""
        values = tuple(float(round(value)) for value in solved)
        master = self._master
        counting = (*master.unit_variables, *master.acquire.values())
        counts = tuple(values[index] for index in counting)
        if counts in self._tried:
            self._stuck = self._tried[counts]
            return False
        packings, lacking = self._layouts.lay_out(values)
        kept = not lacking and self._found.keep(values, packings)
        if not lacking:
            lacking = self._found.short[:1]
        self._stuck = {}
        for key in lacking:  # one node more than was tried in vain, and one run less
            runs = (one.pieces(values) for one in master.usages[key] if one.asked.is_run)
            nodes = round(master.nodes(*key, values))
            self._stuck[key] = nodes + 1, round(sum(runs)) - 1
        self._tried[counts] = self._stuck
        return kept

    def _on_nodes(self, counted: _Values) -> bool | None:
        """Lay whole units out on counted nodes; return whether that worked, None if there are none.

        If not, those on the cheapest GPUs tell where more nodes are needed.
        """
        stuck = None
        for units in self._units_on(counted):
            if self._lay_out(units):
                return True
            stuck = self._stuck if stuck is None else stuck
        if stuck is None:
            return None
        self._stuck = stuck
        return False

    # Steps 5 to 8

    def _first_fit(self) -> None:
        """Make at least a first-fit plan."""
        self._say("placing units by first-fit")
        values = self._counted
        if not values:
            relaxed = solve_linear(self._master.program)
            if relaxed is None:
                raise Infeasible(self._master)
            values = relaxed.values
        begin(self._found, values, _FIRST_FIT_S)

    def _exchange(self) -> None:
        """Take nodes away while the local search finds a place for all units."""
        if not self._movable:
            return
        self._say("exchanging units")
        supplies = self._problem.supplies
        offers = [
            (supplies[number].unit_cost_cents[quarter] or 0, index)
            for (number, quarter), index in self._master.acquire.items()
            if not supplies[number].releases
        ]
        for _, index in sorted(offers, reverse=True):
            while self._found.values and round(self._found.values[index]) > 0:
                if self._closed() or not self._in_time():
                    return
                values = [*self._found.values]
                values[index] -= 1.0
                if not self._place(tuple(values), more_nodes=False):
                    break

    def _place(self, values: _Values, *, more_nodes: bool) -> bool:
        """Place units on a solution's nodes by the local search; return True if that worked."""
        stocks = self._layouts.stocks
        placed = place_unlike(self._master, stocks, values, self._in_time, more_nodes=more_nodes)
        return placed is not None and self._found.keep(*placed)

    def _decide_exactly(self) -> None:
        """Let CP-SAT decide on a small portfolio with runs as a whole."""
        if not self._runs or self._closed():
            return
        self._say("deciding on nodes and hours together")
        found, master, most_s = self._found, self._master, self._left_s() * _EXACT_TIME
        exact = exactly(master, found.stocks, found.bound_cents, found.cost_cents, most_s)
        if exact is None:
            return
        if exact.made is not None:
            packings, lacking = self._layouts.lay_out(exact.made.values)
            packings |= exact.packings
            if all(key in packings for key in lacking):
                found.keep_scheduled(packings, exact.made)
        if exact.bound_cents is None or exact.bound_cents > found.bound_cents:
            master.add_bound(exact.bound_cents)
            if exact.bound_cents is None:
                raise Infeasible(master)
            found.bound_cents = exact.bound_cents

    def _reserve(self) -> None:
        """Count more nodes than are needed on paper, as long as that is cheaper than the plan.

        There is one node more where units did not fit. Then, and where nodes are had by the hour,
        there is one run less instead.
        """
        if self._unlike:
            return
        stuck = self._stuck
        for full in (False, True):
            nodes: dict[PoolInQuarter, int] = {}
            runs: dict[PoolInQuarter, int] = {}
            self._stuck = dict(stuck)
            for _ in range(_ROUNDS):
                for key, (more, fewer) in self._stuck.items():
                    if full or self._problem.pools[key[0]].hire:
                        runs[key] = fewer
                    else:
                        nodes[key] = more
                values = self._cheaper(with_at_least(self._master, nodes, most_runs=runs))
                if not values or self._lay_out(values) or not self._stuck:
                    break

    def _cheaper(self, program: Program) -> _Values:
        """Return a cheaper solution of a variant of the master program, or None."""
        if self._closed() or not self._in_time():
            return ()
        answer = solve_integer(
            program,
            time_limit_s=self._left_s() * _BOUND_TIME,
            relative_gap=self._asked_gap * _RESERVED_GAP,
            node_limit=_NODES,
        )
        cost = self._found.cost_cents
        if not answer.values or (cost is not None and self._found.cents(answer.objective) >= cost):
            return ()
        return answer.values

    # When to end

    def _closed(self) -> bool:
        return self._found.closed(self._asked_gap)

    def _over(self) -> bool:
        """Return whether time is over and there is a plan."""
        return self._found.cost_cents is not None and not self._in_time()

    def _in_time(self) -> bool:
        return self._deadline > polled()

    def _left_s(self) -> float:
        return self._deadline - spent()

    @contextmanager
    def _within(self, share: float) -> Iterator[None]:
        """Do something within a share of the time left."""
        deadline = self._deadline
        self._deadline = spent() + self._left_s() * share
        try:
            yield
        finally:
            self._deadline = deadline
