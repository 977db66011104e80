"""Who does not stay: units that move from where they run today, and changes of the GPU type."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from planner.inputs.scenario.places import NodePlace, running_units
from planner.inputs.settled import Inputs
from planner.inputs.text.words import usd
from planner.packing import Translation
from planner.planning.placing.fleet import Fleet
from planner.planning.placing.place import UnitPlacement
from planner.planning.plan import CurrentPlacement, Move
from planner.sizing.candidate import SizedJob

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
    placement: UnitPlacement,
) -> CurrentPlacement | None:
    """What becomes of the units that run today; None where the scenario lists none.

    A unit that holds nodes for some hours only is where its first run is, on whatever node there.
    """
    running = running_units(inputs.scenario)
    if not running:
        return None
    positions = _owned(fleet)
    place_of = {node.id: place for place, node in enumerate(fleet.nodes)}
    now: dict[Unit, list[int]] = defaultdict(list)
    runs: set[Unit] = set()
    for use in placement.uses[0]:
        for occupant in use.occupants:
            if occupant.replica == 1:
                now[occupant.job, occupant.unit].append(place_of[use.node])
            if occupant.hours is not None:
                runs.add((occupant.job, occupant.unit))
    sized = {job.name: job for job in jobs}
    moves = []
    for (job, unit), today in sorted(running.items()):
        if (job, unit) not in now:
            continue
        nodes = sorted(now[job, unit])
        first = fleet.nodes[nodes[0]]
        leaves = (first.node_type, first.site) != (today.place.node_type, today.place.site)
        before = sorted(_positions(today.place, positions)) if today.place.numbers else []
        if not leaves and (not before or before == nodes or (job, unit) in runs):
            continue
        reason = "makes room within its pool, where moves cost nothing"
        if leaves:
            reason = next(_why_it_moves(inputs, sized[job], translation, today.place))
        moves.append(
            Move(
                job=job,
                unit=unit,
                origin=tuple(fleet.nodes[node].id for node in before) or (today.place.pool,),
                nodes=tuple(fleet.nodes[node].id for node in nodes),
                leaves_pool=leaves,
                cost_cents=inputs.scenario.move_cents(job) if leaves else 0,
                reason=reason,
            )
        )
    return CurrentPlacement(
        units=len(running),
        stopped=sum(unit not in now for unit in running),
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


def _positions(place: NodePlace, owned: Mapping[tuple[str, str, int], int]) -> tuple[int, ...]:
    return tuple(owned[place.node_type, place.site, number] for number in place.numbers)


def _why_it_moves(
    inputs: Inputs, job: SizedJob, translation: Translation, place: NodePlace
) -> Iterator[str]:
    """What speaks against staying in a pool; last, that it is cheaper elsewhere."""
    problem, label = translation.problem, translation.quarters[0]
    pools = [pool for pool in problem.pools if pool.home == place.pool]
    owned = sum(pool.owned_in(0) for pool in pools)
    offered = any(
        problem.pools[supply.pool].home == place.pool and supply.unit_cost_cents[0] is not None
        for supply in problem.supplies
    )
    if not owned and not offered:
        yield f"no node of {place.pool} can be in service in {label}"
        return
    if not offered and owned <= max(pool.spare for pool in pools if not pool.held):
        yield f"every node of {place.pool} is kept spare in {label}"
    if job.sites and place.site not in job.sites:
        yield f"it may not run at {place.site}"
    for rejection in job.sizing.rejections:
        if rejection.gpu_type == pools[0].gpu_type:
            told = f"{rejection.message} ({rejection.rule})"
            yield f"it may not use {rejection.gpu_type}: {told}"
    cents = inputs.scenario.move_cents(job.name)
    if cents:
        yield f"the cheapest plan found moves it, though that costs {usd(cents)}"
    yield "the cheapest plan found moves it; no price of a move is stated"
