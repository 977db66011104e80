"""From the placement of today to that of the first quarter: who stays, who moves, and why."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from planner.inputs.places import node_places, place_of, pool_places, running_units
from planner.inputs.words import count_of
from planner.plan.parts.moves import CurrentPlacement, Move
from planner.plan.plan import Note
from planner.plan.words import some_of, usd

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from planner.inputs.places import Place
    from planner.inputs.settled import Inputs
    from planner.packing import Translation
    from planner.plan.placing.fleet import Fleet
    from planner.plan.placing.place import Placement
    from planner.sizing.candidate import SizedJob

__all__ = ["current_placement", "nodes_today", "running_assumptions", "running_warnings"]

_NAMED = 6

Unit = tuple[str, int]
"""Job and unit number, from 1."""


def nodes_today(inputs: Inputs, fleet: Fleet) -> dict[Unit, tuple[int, ...]]:
    """Positions of the nodes that units run on today, where their names are known."""
    positions = _owned(fleet)
    return {
        unit: _positions(running.place, positions)
        for unit, running in running_units(inputs.scenario).items()
        if running.place.numbers
    }


def current_placement(
    inputs: Inputs,
    jobs: tuple[SizedJob, ...],
    translation: Translation,
    fleet: Fleet,
    placement: Placement,
) -> CurrentPlacement | None:
    """What becomes of the units that run today; None where the scenario lists none."""
    running = running_units(inputs.scenario)
    if not running:
        return None
    positions = _owned(fleet)
    place_of = {node.id: place for place, node in enumerate(fleet.nodes)}
    now: dict[Unit, list[int]] = defaultdict(list)
    for use in placement.uses[0]:
        for occupant in use.occupants:
            now[occupant.job, occupant.unit].append(place_of[use.node])
    reasons = _Reasons(inputs, jobs, translation)
    moves = []
    for (job, unit), today in sorted(running.items()):
        nodes = sorted(now[job, unit])
        first = fleet.nodes[nodes[0]]
        leaves = (first.node_type, first.site) != (today.place.node_type, today.place.site)
        before = sorted(_positions(today.place, positions)) if today.place.numbers else []
        if not leaves and (not before or before == nodes):
            continue
        moves.append(
            Move(
                job=job,
                unit=unit,
                origin=tuple(fleet.nodes[node].id for node in before) or (today.place.pool,),
                nodes=tuple(fleet.nodes[node].id for node in nodes),
                leaves_pool=leaves,
                cost_cents=inputs.scenario.move_cents(job) if leaves else 0,
                reason=reasons.of(job, today.place, leaves=leaves),
            )
        )
    return CurrentPlacement(
        units=len(running),
        pinned=sum(unit.pinned for unit in running.values()),
        moves=tuple(moves),
        cost_cents=sum(move.cost_cents for move in moves),
    )


def _owned(fleet: Fleet) -> dict[tuple[str, str, int], int]:
    """Type, site and number of each owned node -> its position."""
    return {
        (node.node_type, node.site, int(node.id.rpartition("/")[2])): position
        for position, node in enumerate(fleet.nodes)
        if node.origin == "owned"
    }


def _positions(place: Place, owned: Mapping[tuple[str, str, int], int]) -> tuple[int, ...]:
    return tuple(owned[place.node_type, place.site, number] for number in place.numbers)


class _Reasons:
    """Why a unit does not stay, in a sentence."""

    def __init__(
        self, inputs: Inputs, jobs: tuple[SizedJob, ...], translation: Translation
    ) -> None:
        self._inputs = inputs
        self._jobs = {job.name: job for job in jobs}
        problem = translation.problem
        self._gpu_type = {pool.home: pool.gpu_type for pool in problem.pools}
        self._label = translation.quarters[0]
        offered = {
            problem.pools[supply.pool].home
            for supply in problem.supplies
            if supply.unit_cost_cents[0] is not None
        }
        owned: Counter[str] = Counter()
        for pool in problem.pools:
            owned[pool.home] += pool.owned_in(0)
        spare = {pool.home: pool.spare for pool in problem.pools if not pool.held}
        self._to_be_had = offered | {home for home, nodes in owned.items() if nodes}
        self._all_spare = {home for home, nodes in owned.items() if nodes <= spare[home]} - offered

    def of(self, job: str, place: Place, *, leaves: bool) -> str:
        """The first thing that speaks against staying."""
        if not leaves:
            return "makes room within its pool, where moves cost nothing"
        return next(self._against(job, place), self._cheaper(job))

    def _against(self, job: str, place: Place) -> Iterator[str]:
        sized = self._jobs[job]
        if place.pool not in self._to_be_had:
            yield f"no node of {place.pool} can be in service in {self._label}"
            return
        if place.pool in self._all_spare:
            yield f"every node of {place.pool} is kept spare in {self._label}"
        gpu_type = self._gpu_type[place.pool]
        if sized.sites and place.site not in sized.sites:
            yield f"it may not run at {place.site}"
        for rejection in sized.sizing.rejections:
            if rejection.gpu_type == gpu_type:
                yield f"it may not use {gpu_type}: {rejection.message} ({rejection.rule})"

    def _cheaper(self, job: str) -> str:
        cents = self._inputs.scenario.move_cents(job)
        if not cents:
            return "the cheapest plan found moves it; no price of a move is stated"
        return f"the cheapest plan found moves it, though that costs {usd(cents)}"


def running_assumptions(inputs: Inputs) -> Iterator[Note]:
    """What is taken for granted of moves."""
    scenario = inputs.scenario
    free = sorted(
        {
            entry.job
            for entry in scenario.running
            if scenario.jobs[entry.job].move_cost_usd is None
            and not (entry.pinned or scenario.jobs[entry.job].pinned)
        }
    )
    if free and scenario.policies.move_cost_usd is None:
        yield Note(
            text=f"to move {some_of(free, _NAMED)} costs nothing: no price of a move is stated",
            origin="policies.move_cost_usd",
        )
    if scenario.running:
        yield Note(
            text="the time that a move takes is not planned, and a change of node within a pool "
            "has no price",
            origin="running",
        )
    loaded = sorted(name for name, job in scenario.jobs.items() if job.has_load)
    if scenario.running and loaded:
        yield Note(
            text=f"{some_of(loaded, _NAMED)}: replicas that follow from a load cannot be told "
            "apart, so that none of them counts as running today",
            origin="running",
        )


def running_warnings(inputs: Inputs, jobs: tuple[SizedJob, ...]) -> Iterator[Note]:
    """Jobs that are said to hold other GPU counts today than the rules give them there."""
    sized = {job.name: job for job in jobs}
    told: dict[tuple[str, str, int, int], None] = {}
    nodes, pools = node_places(inputs.scenario), pool_places(inputs.scenario)
    for entry in inputs.scenario.running:
        node = inputs.catalog.nodes.get(place_of(entry, nodes, pools).node_type)
        for candidate in sized[entry.job].sizing.candidates:
            here = node is not None and candidate.gpu_type == node.gpu_type
            if here and entry.gpus is not None and entry.gpus != candidate.gpus:
                told[entry.job, candidate.gpu_type, entry.gpus, candidate.gpus] = None
    for job, gpu_type, held, planned in told:
        yield Note(
            text=f"a unit of {job} holds {count_of(held, 'GPU')} of {gpu_type} today, the plan "
            f"gives it {planned:,} there",
            origin=f"jobs.{job}",
        )
