"""The search: count nodes, lay them out, cut what cannot be laid out, until bound and cost meet.

1. Root: cuts that the linear relaxation violates.
2. Bound: node counts integer, units fractional but those that span nodes, with every cut known.
3. Units: whole units on those node counts; if there are none, both at once.
4. Layouts: a cutting stock per pool and quarter; where units do not fit, a cut returns to step 2.
5. Where cuts or time end first: a plan by first-fit, then exchanges of units, or more nodes than
   are needed on paper.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from planner.errors import LimitError
from planner.packing.apart import kept_apart
from planner.packing.constraints import traffic
from planner.packing.constraints.moves import moves_held
from planner.packing.formulation.build import build_master
from planner.packing.formulation.layout import cutting_stocks, lay_out, load_of
from planner.packing.formulation.partitioned_gpus import cut_shared, gpu_stocks
from planner.packing.formulation.variants import (
    at_random,
    on_cheapest_gpus,
    with_at_least,
    with_reserve,
    with_room,
)
from planner.packing.heuristics.start import begin, whole_near
from planner.packing.heuristics.unlike import place_unlike
from planner.packing.incumbent import Incumbent, Infeasible
from planner.packing.joint import joint_stocks
from planner.packing.node_packing.packed import Packed
from planner.packing.problem import NOWHERE
from planner.packing.solvers.linear import solve_linear
from planner.packing.solvers.solver import Answer, Outcome, solve_integer
from planner.packing.work import polled, spent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from planner.packing.master import MasterProgram
    from planner.packing.node_packing.cutting import Cut
    from planner.packing.problem import Problem
    from planner.packing.solvers.program import Program

_ROOT_ROUNDS, _ROOT_TIME = 6, 0.3
"""Cuts before any integer program: so often, in at most this share of the time left."""
_ROOT_GAIN = 2e-4
"""Where demands are very many, cuts that raise the bound by less than this share are the last."""
_SLOW = 0.1
"""Of the time left: a linear program that takes more is not solved again for more cuts."""
_ROUNDS = 60
_ROUNDS_TIME, _BOUND_TIME = 0.75, 0.7
"""Of the time left: what all rounds may take, and of theirs, counting nodes once."""
_BOUND_GAP = 0.7
"""Of the asked gap, what the bound may take where sites limit the nodes, runs take turns, or
replicas share traffic."""
_FEW_DEMANDS = 300
"""Beyond so many demands there is time for one way to choose the units, not for all."""
_TIE_GAP, _TIE_NODES, _LEAST_S = 0.01, 200, 0.1
"""How far a choice among whole units is pursued: to 1 %, or so many nodes of the solver's tree; and
for how long at the least."""
_RESERVED_GAP = 0.3
"""Of the asked gap: how far nodes with a reserve may be from the fewest."""
_RESERVES = (0.005, 0.01, 0.02, 0.04, 0.08)
"""Shares of host cores and memory left free, in turn, where units fit only on paper without."""
_FIRST_FIT_S, _FIRST_PLAN_S, _ANY_PLAN = 5.0, 5.0, 1.0
"""Seconds of work beyond the limit, for first-fit; then, where there is no plan yet, for any plan;
and the gap at which any will do."""
_MANY_RUNS = 1_000
"""Variables of runs from which on these are rounded: they are short, and the schedule decides."""
_DRAWN = 6
"""Ways to run units that are drawn where few units find no room in time."""
_RESERVES_FOR_HOURS = (0.02, 0.05, 0.1, 0.2)
"""Likewise, of nodes that come and go within a quarter."""
_NODES = 500
"""Of the solver's tree, for each of these."""


Nodes = tuple[tuple[int, ...], ...]
"""Nodes by supply and quarter of entry."""


def search(
    problem: Problem,
    *,
    asked_gap: float,
    time_limit_s: float,
    progress: Callable[[str], None] | None = None,
    cost_alone: bool = False,
    nodes: Nodes = (),
) -> Incumbent:
    """Search until the gap is closed or the time is over.

    With `cost_alone` any of the plans that cost as little will do. `nodes` of the first supplies
    are known to do: they are tried first. Raises Infeasible where that is proved, LimitError where
    time ends before any packing is found.
    """
    return Search(kept_apart(problem), asked_gap, time_limit_s, progress, cost_alone, nodes).run()


def nodes_entering(master: MasterProgram, values: Sequence[float]) -> Nodes:
    """Nodes of a solution, of the supplies of pools that are somewhere; these come first."""
    problem = master.problem
    return tuple(
        tuple(
            round(values[master.acquire[number, quarter]])
            if (number, quarter) in master.acquire
            else 0
            for quarter in range(problem.quarters)
        )
        for number, supply in enumerate(problem.supplies)
        if not problem.pools[supply.pool].gpu_type.startswith(NOWHERE)
    )


def rooted(problem: Problem, time_limit_s: float) -> Incumbent:
    """The master program with the cuts of its root, and the cutting stocks; no packing yet.

    Raises Infeasible where that is proved.
    """
    return Search(kept_apart(problem), 0.0, time_limit_s).cut_root()


def bound_cents(problem: Problem, *, asked_gap: float, time_limit_s: float) -> int:
    """No plan costs less; nothing is laid out. Raises Infeasible where none exists."""
    return Search(kept_apart(problem), asked_gap, time_limit_s, cost_alone=True).bound()


class Search:
    """The search for one problem, from the program that counts its nodes to their layouts."""

    def __init__(
        self,
        problem: Problem,
        asked_gap: float,
        time_limit_s: float,
        progress: Callable[[str], None] | None = None,
        cost_alone: bool = False,
        nodes: Nodes = (),
    ) -> None:
        """State the program and what lays out its units."""
        self._nodes = nodes
        self._cost_alone = cost_alone
        self._problem = problem
        self._asked_gap = asked_gap
        self._deadline = spent() + time_limit_s
        self._say = progress or (lambda _: None)
        self._master = build_master(problem)
        shapes = [choice.shape for demand in problem.demands for choice in demand.choices]
        self._runs = any(shape.is_run for shape in shapes)
        """Whether pieces share GPUs in time."""
        runs = self._master.run_variables
        self._loose = runs if len(runs) > _MANY_RUNS else frozenset()
        """Variables that are rounded."""
        self._many = len(problem.demands) > _FEW_DEMANDS
        bundles = any(shape.bundles for shape in shapes)
        self._movable = problem.quarters == 1 and not (bundles or self._master.short)
        """Whether the local search can move units: whole GPUs, all of the one quarter."""
        self._unlike = self._many and self._movable
        self._found = Incumbent(self._master)
        self._found.shapes, self._stocks = cutting_stocks(self._master, self._in_time)
        self._found.stocks = self._stocks
        self._gpu_stocks = gpu_stocks(self._master, self._in_time)
        self._joint_stocks = joint_stocks(self._master, self._stocks, self._in_time)
        self._rounded: tuple[float, ...] = ()
        """The last whole units on the bound's node counts, laid out or not."""
        self._counted: tuple[float, ...] = ()
        """The last solution of the master program, with whole units where these were asked for."""
        self._stuck: dict[tuple[int, int], int] = {}
        """Pools whose units could not be laid out -> one node more than tried, or one run less."""
        self._in_vain: dict[tuple[float, ...], dict[tuple[int, int], int]] = {}
        """What could not be laid out, or is laid out already -> those pools."""

    def run(self) -> Incumbent:
        """Search until the gap is closed or the time is over; raises as `search` does."""
        self._say("tightening the bound")
        self.cut_root()
        if self._nodes:
            self._on_known_nodes()
        self._go_on()
        if self._found.cost_cents is None and not self._in_time():
            self._deadline, self._asked_gap = spent() + _FIRST_PLAN_S, _ANY_PLAN
            self._in_vain = {}
            self.cut_root()
            self._go_on()
        if self._found.cost_cents is None:
            cause = "no plan was found, though time was left"
            if not self._in_time():
                cause = "the time limit was hit before any plan was found"
            raise LimitError(f"{cause}; that is no proof that none exists")
        return self._found

    def _go_on(self) -> None:
        """Search as `run` does, from the cuts and the plan so far."""
        if not self._master.program.variables:  # nothing runs, and nothing can be had
            self._found.raise_bound(0.0, frozenset())
            self._lay_out(())
        with self._within(_ROUNDS_TIME):
            for number in range(1, _ROUNDS + 1):
                self._found.rounds = number
                if self._closed() or self._over():
                    break
                self._say(f"counting and laying out nodes, round {number}")
                if not self._round() or self._left_s() <= 0:
                    break
        if not self._closed():
            self._improve()

    def bound(self) -> int:
        """The bound of the first round, in cents."""
        self.cut_root()
        self._bound(self._master.shared_unit_variables)
        return self._found.bound_cents

    def _improve(self) -> None:
        """A plan by first-fit at the least, then what time allows for cheaper ones."""
        self._say("placing units by first-fit")
        relaxed = None if self._counted else solve_linear(self._master.program)
        if not self._counted and relaxed is None:
            raise Infeasible(self._master)
        begin(self._found, relaxed.values if relaxed else self._counted, _FIRST_FIT_S)
        if self._movable:
            self._say("exchanging units")
            if self._unlike and self._counted and self._in_time() and not self._closed():
                self._place(self._counted, more_nodes=True)
            self._with_fewer_nodes()
        if not self._unlike:
            self._more_hours()
            self._beyond_need()

    def _closed(self) -> bool:
        return self._found.closed(self._asked_gap)

    def _over(self) -> bool:
        """Whether the time is, and there is a plan."""
        return self._found.cost_cents is not None and not self._in_time()

    def _left_s(self) -> float:
        return self._deadline - spent()

    def _round(self) -> bool:
        """One pass of bound, units and layouts; False where another would gain nothing."""
        counts = self._master
        bounded = self._bound(
            counts.unit_variables if self._unlike else counts.shared_unit_variables
        )
        if bounded is None or self._closed() or self._over():
            return False
        cuts = self._found.cuts
        if not self._unlike:
            self._rounded = ()
            if self._on_nodes(bounded.values):
                return False
            if self._found.cuts > cuts:
                return True
        if self._movable and self._place(bounded.values, more_nodes=False):
            return False
        if self._unlike or self._rounded or self._over():
            return False
        whole = self._bound(frozenset())
        if whole is None or (self._cost_alone and self._lay_out(whole.values)):
            return False
        if self._on_nodes(whole.values) or self._lay_out(whole.values):
            return False
        return self._found.cuts > cuts

    def _bound(self, relaxed: frozenset[int]) -> Answer | None:
        """Solve the master program and keep its bound; None where time ended without values.

        Again while cuts of shared traffic raise it by more than the gap that is asked for.
        """
        before = self._found.bound_cents
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
        if not answer.values:
            return None
        self._counted = answer.values
        raised = self._found.bound_cents - before > self._asked_gap * abs(self._found.bound_cents)
        if relaxed and self._cut_traffic(answer.values) and raised and not self._over():
            return self._bound(relaxed)
        return answer

    def _share_of_cost(self) -> float:
        """What of a gap of the program's objective is a gap of the cost, which holds more.

        Less than all only where nodes that are let go make the cost less than what is decided.
        """
        cost = self._found.bound_cents
        decided = cost - self._problem.fixed_cost_cents
        return min(1.0, abs(cost / decided)) if decided else 1.0

    def _on_nodes(self, counted: tuple[float, ...]) -> bool:
        """Lay whole units out on nodes that were counted; True where that worked.

        The units are chosen on the GPUs that cost the least, or, where the cost alone counts, on
        any, then with the most room.
        """
        acquired = self._master.acquire.values()
        held = {index: float(round(counted[index])) for index in acquired}
        held |= moves_held(self._master, counted)
        programs = [with_room(self._master, counted)]
        if not self._many:
            any_gpus = self._master.program.priced({})
            programs.insert(0, any_gpus if self._cost_alone else on_cheapest_gpus(self._master))
        if self._runs and len(self._master.choice) <= _FEW_DEMANDS:
            programs += (at_random(self._master, seed) for seed in range(_DRAWN))
        for program in programs:
            if self._over():
                return False
            answer = self._whole_units(program.fixed(held))
            if answer.values:
                self._rounded = self._with_whole_runs(answer.values)
                if self._lay_out(self._rounded):
                    return True
            if answer.outcome is Outcome.INFEASIBLE or not self._in_time():
                break  # room or not, these nodes do not hold whole units; or time is over
        return self._hiring_more(held)

    def _on_known_nodes(self) -> None:
        """Lay units out on the nodes that are known to do."""
        held = {
            index: float(self._nodes[number][quarter])
            for (number, quarter), index in self._master.acquire.items()
            if number < len(self._nodes)
        }
        answer = self._whole_units(self._master.program.fixed(held))
        if answer.values and not self._on_nodes(answer.values):
            self._lay_out(self._with_whole_runs(answer.values))

    def _whole_units(self, program: Program) -> Answer:
        """Whole units, but for those that are loose, where node counts are held."""
        return solve_integer(
            program,
            time_limit_s=max(self._left_s(), _LEAST_S),
            relative_gap=_TIE_GAP,
            node_limit=_TIE_NODES,
            relaxed=self._loose,
            effort="branching" if self._loose else "rounding",
        )

    def _hiring_more(self, held: dict[int, float]) -> bool:
        """Lay units out on these nodes, and on more of those that come and go within a quarter."""
        hired = self._master.hired_variables
        if not hired or self._over():
            return False
        nodes = {index: number for index, number in held.items() if index not in hired}
        answer = self._whole_units(self._master.program.fixed(nodes))
        return bool(answer.values) and self._lay_out(self._with_whole_runs(answer.values))

    def _with_whole_runs(self, values: tuple[float, ...]) -> tuple[float, ...]:
        """Runs in whole numbers, near a solution in which they may be fractions."""
        if not self._loose:
            return values
        changed = list(values)
        for index, number in whole_near(self._master, values).items():
            changed[index] = number
        return tuple(changed)

    def _place(self, values: tuple[float, ...], *, more_nodes: bool) -> bool:
        """Place units on the nodes of a solution by a local search; True where that worked."""
        placed = place_unlike(
            self._master, self._stocks, values, self._in_time, more_nodes=more_nodes
        )
        return placed is not None and self._found.keep(*placed)

    def _with_fewer_nodes(self) -> None:
        """Take nodes away one by one, the dearest first, while all units find a place."""
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

    def _in_time(self) -> bool:
        return self._deadline > polled()

    def _more_hours(self) -> None:
        """Leave some room on nodes that come and go, where runs take more than was counted.

        Where one more hour is paid as a week, others may do.
        """
        for share in _RESERVES_FOR_HOURS if self._master.hired_variables else ():
            program = with_reserve(self._master, share, hired=True)
            answer = self._cheaper(program, self._loose)
            if answer is None:
                return
            self._lay_out(self._with_whole_runs(answer.values))

    def _beyond_need(self) -> None:
        """Count more nodes than are needed on paper, as long as that is cheaper than the plan."""
        for share in _RESERVES:
            answer = self._cheaper(with_reserve(self._master, share), self._master.unit_variables)
            if answer is None or self._on_nodes(answer.values):
                return
        at_least: dict[tuple[int, int], int] = {}
        for _ in range(_ROUNDS):
            at_least |= self._stuck
            answer = self._cheaper(with_at_least(self._master, at_least), frozenset())
            if answer is None or self._lay_out(answer.values) or not self._stuck:
                return

    def _cheaper(self, program: Program, relaxed: frozenset[int]) -> Answer | None:
        """A solution of a variant of the master program that costs less than the plan so far."""
        if self._closed() or not self._in_time():
            return None
        answer = solve_integer(
            program,
            time_limit_s=self._left_s() * _BOUND_TIME,
            relative_gap=self._asked_gap * _RESERVED_GAP,
            node_limit=_NODES,
            relaxed=relaxed,
        )
        cost = self._found.cost_cents
        if not answer.values or (cost is not None and self._found.cents(answer.objective) >= cost):
            return None
        return answer

    def cut_root(self) -> Incumbent:
        """Cuts that the linear relaxation violates, before any integer program is solved."""
        with self._within(_ROOT_TIME):
            self._cut_relaxation()
        return self._found

    @contextmanager
    def _within(self, share: float) -> Iterator[None]:
        """What is done in a share of the time left."""
        deadline = self._deadline
        self._deadline = spent() + self._left_s() * share
        try:
            yield
        finally:
            self._deadline = deadline

    def _cut_relaxation(self) -> None:
        before = 0.0
        for _ in range(_ROOT_ROUNDS):
            begun = spent()
            relaxed = solve_linear(self._master.program)
            if relaxed is None:
                raise Infeasible(self._master)
            self._found.raise_bound(relaxed.objective, frozenset(range(len(relaxed.values))))
            slow = spent() - begun > _SLOW * self._left_s()
            if self._unlike and before and relaxed.objective < before * (1 + _ROOT_GAIN):
                break
            before = relaxed.objective
            cuts = []
            for pool, quarter in self._master.usages:
                if not self._in_time():
                    break
                stock = self._stocks[pool]
                load, nodes = load_of(self._master, stock, (pool, quarter), relaxed.values)
                cut = stock.separate(load, nodes)
                if cut:
                    cuts.append((pool, cut))
            added = self._add(cuts) + self._cut_shared(relaxed.values)
            if not added + self._cut_traffic(relaxed.values) or slow:
                break

    def _cut_shared(self, values: tuple[float, ...]) -> int:
        """Cut the GPUs that a solution shares by memory, where they are too few; how many cuts."""
        cuts = cut_shared(self._master, self._gpu_stocks, values)
        self._found.cuts += cuts
        return cuts

    def _cut_traffic(self, values: tuple[float, ...]) -> int:
        """Cut parts of units that share traffic; how many cuts."""
        cuts = traffic.cut(self._master, values)
        self._found.cuts += cuts
        return cuts

    def _add(self, cuts: list[tuple[int, Cut]]) -> int:
        """State each new cut once for its kind of node; how many there are."""
        for pool, cut in dict.fromkeys(cuts):
            self._master.add_cut(self._problem.pools[pool], cut)
            self._found.cuts += 1
        return len(cuts)

    def _lay_out(self, solved: tuple[float, ...]) -> bool:
        """Lay out every pool and quarter; keep the plan if all fit, else learn from the rest."""
        values = tuple(float(round(value)) for value in solved)
        if values in self._in_vain:
            self._stuck = self._in_vain[values]
            return False
        packings: dict[tuple[int, int], Packed] = {}
        cuts: list[tuple[int, Cut]] = []
        self._stuck = self._in_vain[values] = {}
        for pool, quarter in self._master.usages:
            stock = self._stocks[pool]
            key = (pool, quarter)
            packed = lay_out(self._master, stock, key, values, self._in_time)
            if packed is None and pool in self._joint_stocks:
                packed = self._joint_stocks[pool].lay_out(self._master, key, values)
            if isinstance(packed, Packed):
                packings[pool, quarter] = packed
                continue
            self._stuck[pool, quarter] = round(self._master.nodes(pool, quarter, values)) + 1
            cuts += [(pool, packed)] if packed else []
        self._add(cuts)
        if self._stuck:
            self._cut_shared(values)
            return False
        kept = self._found.keep(values, packings)
        for key in self._found.short[:1]:
            if self._problem.pools[key[0]].hire:
                runs = sum(usage.pieces(values) for usage in self._master.usages[key])
                self._stuck[key] = round(runs) - 1
            else:
                self._stuck[key] = round(self._master.nodes(*key, values)) + 1
        return kept
