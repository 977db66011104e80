"""Spare nodes: rows `spare` and `running`, and the nodes that are left for units.

Pools that share their spare nodes have rows `empty`, `fits` and `shared` as well. One pool
stands in for another if its nodes can take in, node for node, whatever runs there. If at most as
many nodes of a group fail at once as are empty in the stand-ins of each of its running pools,
all of them are replaced, by Hall's theorem. When a rack fails, empty nodes are lost, too, but
they count among what it holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from planner.inputs.text import count_of
from planner.packing.constraints.base import OWNED_NODES, Condition, widening
from planner.packing.constraints.moves import homes, main_pools
from planner.packing.master import MasterProgram, PoolInQuarter, Terms, Usage
from planner.packing.problem import WHOLE, JobClass, Mode, Pool, Problem, RackSpace, SharedSpares
from planner.packing.solution import Racked
from planner.packing.translation import Translation

BILL = OWNED_NODES


def add_rows(master: MasterProgram) -> None:
    """Keep the spare nodes of each pool that runs a unit empty: rows `spare` and `running`."""
    problem = master.problem
    parts, mains = homes(problem), main_pools(problem)
    sharing = {pool for group in problem.spare_groups for pool in group.pools}
    running: dict[PoolInQuarter, int] = {}
    for pool, quarter in master.usages:
        home = problem.pools[pool].home
        main = mains[home]
        kept = problem.pools[main].spare or main in sharing
        if kept and (main, quarter) not in running:
            own = (part for part in parts[home] if problem.pools[part].lender is None)
            used = [part for part in own if (part, quarter) in master.usages]
            running[main, quarter] = _keep_empty(master, main, quarter, used)
    for number in range(len(problem.spare_groups)):
        for quarter in range(problem.quarters):
            _share(master, number, quarter, running)


def _keep_empty(master: MasterProgram, main: int, quarter: int, used: list[int]) -> int:
    """Keep spare nodes among those that hold no pinned unit, whichever part of the pool runs.

    Returns the variable that says whether one does.
    """
    problem, program = master.problem, master.program
    most = {pool: _most_useful(master, pool, quarter) for pool in used}
    for pool in used:
        if pool != main:
            most[pool] = min(most[pool], problem.pools[pool].owned_in(quarter))
        master.usable[pool, quarter] = program.variable(
            f"usable[{pool},{quarter}]", upper=most[pool], integer=True
        )
    running = program.variable(f"running[{main},{quarter}]", upper=1, integer=True)
    terms = {index: -factor for index, factor in master.in_service[main, quarter].items()}
    terms[running] = float(problem.pools[main].spare)
    if main in used:
        terms[master.usable[main, quarter]] = 1.0
    owned = problem.pools[main].owned_in(quarter)
    program.row(f"spare[{main},{quarter}]", terms, "<=", owned)
    terms[running] -= owned
    for index, factor in master.in_service[main, quarter].items():
        if factor < 0:  # a pool that runs nothing lets its nodes go
            del terms[index]
    program.row(f"spare-owned[{main},{quarter}]", terms, "<=", 0.0, tightens=True)
    for pool in used:
        row = {master.usable[pool, quarter]: 1.0, running: -float(most[pool])}
        program.row(f"running[{pool},{quarter}]", row, "<=", 0.0)
    return running


def _share(
    master: MasterProgram, number: int, quarter: int, running: Mapping[PoolInQuarter, int]
) -> None:
    """Keep stand-ins empty for each running pool of a group: rows `shared`."""
    problem, program = master.problem, master.program
    group = problem.spare_groups[number]
    most = most_spare(problem, group)
    empty = {}
    for pool in group.pools:
        empty[pool] = program.variable(f"empty[{pool},{quarter}]", upper=most, integer=True)
        row = {index: -factor for index, factor in master.in_service[pool, quarter].items()}
        row[empty[pool]] = 1.0
        if (pool, quarter) in master.usable:
            row[master.usable[pool, quarter]] = 1.0
        owned = problem.pools[pool].owned_in(quarter)
        program.row(f"empty[{pool},{quarter}]", row, "<=", owned)
    in_racks = _space_of(problem, group) is not None
    if in_racks:
        fullest = program.variable(
            f"fullest[{number},{quarter}]", upper=most // group.racks, integer=True
        )
        master.fullest_racks[number, quarter] = fullest
    for pool in group.pools:
        if (pool, quarter) not in running:
            continue
        others = (other for other in group.pools if other != pool)
        found = (_standing_in(master, quarter, (pool, one), empty[one], most) for one in others)
        terms: Terms = {index: -1.0 for index in found if index is not None}
        terms[empty[pool]] = -1.0
        terms[running[pool, quarter]] = float(most)
        if in_racks:
            terms[fullest] = float(group.racks)
        program.row(f"shared[{pool},{quarter}]", terms, "<=", most if in_racks else 0.0)


def _standing_in(
    master: MasterProgram, quarter: int, pair: tuple[int, int], empty: int, most: int
) -> int | None:
    """Return the variable of the second pool's empty nodes that can stand in for the first.

    None if nothing that may run there could be taken in. Rows `fits`.
    """
    program, (pool, other) = master.program, pair
    here = _of_home(master, pool, quarter)
    unfit = [usage for usage in here if pair not in usage.asked.stand_ins]
    if not unfit:
        return empty
    if len(unfit) == len(here):
        return None
    label = f"{pool},{other},{quarter}"
    fits = program.variable(f"fits[{label}]", upper=1, integer=True)
    lends = program.variable(f"stands-in[{label}]", upper=most, integer=True)
    program.row(f"fits[{label}]", {lends: 1.0, empty: -1.0}, "<=", 0.0)
    program.row(f"fits[{label}]", {lends: 1.0, fits: -float(most)}, "<=", 0.0)
    ceiling = _ceiling(master.problem)
    for usage in unfit:
        units = _most_units(master, usage, ceiling)
        row: Terms = {fits: float(units)}
        for index, factor in usage.terms:
            row[index] = factor
        program.row(f"fits[{label}]", row, "<=", units)
    return lends


def _of_home(master: MasterProgram, pool: int, quarter: int) -> list[Usage]:
    """Return what may run on a pool and on all its parts."""
    pools = master.problem.pools
    return [
        usage
        for part in homes(master.problem)[pools[pool].home]
        for usage in master.usages.get((part, quarter), ())
    ]


def _most_useful(master: MasterProgram, pool: int, quarter: int) -> int:
    """Return the nodes of a pool that could be of use, to it or to one that it lends them to.

    One for every piece, or the span of each that spans.
    """
    ceiling, pools = _ceiling(master.problem), enumerate(master.problem.pools)
    mine = [number for number, other in pools if pool in (number, other.lender)]
    return sum(
        _most_units(master, usage, ceiling) * max(1, usage.span)
        for number in mine
        for usage in master.usages.get((number, quarter), ())
    )


def _ceiling(problem: Problem) -> int:
    """Return an upper bound of the pieces."""
    return sum(
        job_class.count * max((mode.copies for mode in job_class.modes), default=1)
        for job_class in problem.classes
    )


def _most_units(master: MasterProgram, usage: Usage, ceiling: int) -> int:
    """Return the pieces of a usage if there are as many as possible."""
    variables = master.program.variables
    counted = ((index, factor) for index, factor in usage.terms if factor > 0)  # not what is short
    return int(sum((variables[index].upper or ceiling) * factor for index, factor in counted))


def _space_of(problem: Problem, group: SharedSpares) -> RackSpace | None:
    """Return the racks of which a group may lose some, if they are stated."""
    return next((one for one in problem.racks if group.racks and one.site == group.site), None)


def most_in_rack(problem: Problem, group: SharedSpares) -> int:
    """Return the most nodes of a group in one rack; 1 if nothing is known of racks."""
    space = _space_of(problem, group)
    if space is None:
        return 1
    here = [sizes for pool, *sizes in space.nodes if pool in group.pools]
    by_units = max(space.units // units for units, _ in here)
    if space.power_w is None:
        return by_units
    return min(by_units, max(space.power_w // watts for _, watts in here))


def most_spare(problem: Problem, group: SharedSpares) -> int:
    """Return the most spare nodes that a group could need."""
    return group.nodes or group.racks * most_in_rack(problem, group)


def stand_ins(problem: Problem, job_class: JobClass, mode: Mode) -> Iterator[tuple[int, int]]:
    """Return pairs of pools that share spares: one runs a mode, the other can take it in."""
    for group in problem.spare_groups:
        for pool in group.pools:
            mine = problem.pools[pool]
            nodes = mine.nodes_taken(mode.shape) if mine.gpu_type == mode.gpu_type else None
            if nodes in (0, 1) and mode.shape.part == WHOLE:
                for other in group.pools:
                    # As it is on the same GPU type, in any way on another.
                    there = problem.pools[other].gpu_type
                    ways = [one for one in job_class.modes if one.gpu_type == there]
                    ways = [mode] if there == mine.gpu_type else ways
                    if any(
                        _taken_in(job_class, mode, way, mine, problem.pools[other]) for way in ways
                    ):
                        yield pool, other


def _taken_in(job_class: JobClass, mode: Mode, way: Mode, mine: Pool, other: Pool) -> bool:
    """Return whether a node can take in another's pieces if they run there in this way.

    They must take as much of a shared traffic there, on no more GPUs, for no longer, and need no
    more of the host than the share of these GPUs. Then all that fit the failed node fit.
    """
    held, taken = mode.shape, way.shape
    worth = dict(zip(job_class.modes, job_class.takes, strict=False))
    return (
        worth.get(way, 0) >= worth.get(mode, 0)
        and taken.part == WHOLE
        and other.nodes_taken(taken) in (0, 1)
        and other.node.gpus >= mine.node.gpus
        and taken.gpus <= held.gpus
        and taken.run.hours <= held.run.hours
        and taken.cpus * mine.node.gpus <= held.gpus * other.node.cpus
        and taken.memory_mb * mine.node.gpus <= held.gpus * other.node.memory_mb
        and all(way.copies_in(quarter) <= mode.copies_in(quarter) for quarter in job_class.quarters)
    )


def holds(master: MasterProgram, values: Sequence[float]) -> bool:
    """Return whether enough empty nodes stand in for each pool, in whole numbers.

    Layouts use no node that a pool keeps for itself. What racks ask of the spares is tested with
    the racks.
    """
    problem = master.problem
    return all(
        least is None or least >= most_spare(problem, group)
        for group in problem.spare_groups
        if _space_of(problem, group) is None
        for quarter in range(problem.quarters)
        for least in [fewest_empty(master, values, group, quarter)]
    )


def fewest_empty(
    master: MasterProgram, values: Sequence[float], group: SharedSpares, quarter: int
) -> int | None:
    """Return the empty stand-ins of the group's pool that has fewest; None: no pool runs."""
    found = _standing(master, values, group, quarter)
    return min(
        (sum(_empty(master, values, one, quarter) for one in here) for here in found), default=None
    )


def _standing(
    master: MasterProgram, values: Sequence[float], group: SharedSpares, quarter: int
) -> list[list[int]]:
    """Return, for each running pool of a group, the pools that stand in for it, itself included."""
    found = []
    for pool in group.pools:
        held = [
            usage.asked.stand_ins
            for usage in _of_home(master, pool, quarter)
            if round(usage.units(tuple(values)))
        ]
        if held:
            found.append(
                [
                    one
                    for one in group.pools
                    if one == pool or all((pool, one) in pairs for pairs in held)
                ]
            )
    return found


def _empty(master: MasterProgram, values: Sequence[float], pool: int, quarter: int) -> int:
    """Return the nodes that no unit may use."""
    usable = master.usable.get((pool, quarter))
    used = 0.0 if usable is None else values[usable]
    return round(master.stand(pool, quarter, values, on=True) - used)


def kept_for_groups(
    master: MasterProgram,
    values: Sequence[float],
    racks: Sequence[Sequence[Sequence[Racked]]],
) -> tuple[tuple[int, ...], ...]:
    """Return empty nodes that stand in for others, quarter × pool; empty if no pools share any.

    Those that stand in for most pools are taken first, and no more than are needed then.
    """
    problem = master.problem
    found = [[0] * len(problem.pools) for _ in range(problem.quarters)]
    for group in problem.spare_groups:
        for quarter, kept in enumerate(found):
            here = sorted(_standing(master, values, group, quarter), key=len)
            needed = most_spare(problem, group)
            if (space := _space_of(problem, group)) is not None:
                standing = racks[quarter][problem.racks.index(space)]
                needed = group.racks * _fullest(problem, group, standing)
            for pools in here:
                for pool in sorted(pools, key=lambda one: -sum(one in every for every in here)):
                    lacking = needed - sum(kept[one] for one in pools)
                    left = _empty(master, values, pool, quarter) - kept[pool]
                    kept[pool] += max(0, min(lacking, left))
    return tuple(map(tuple, found)) if problem.spare_groups else ()


def _fullest(problem: Problem, group: SharedSpares, racks: Iterable[Racked]) -> int:
    """Return the nodes of a group in the rack that holds most of them."""
    mine = problem.sharing(group)
    held = (sum(count for pool, count in rack.nodes if pool in mine) for rack in racks)
    return max(held, default=0)


def conditions(translation: Translation) -> Iterator[Condition]:
    """Return one condition for all pools, since they are one policy, and one for each group."""
    problem = translation.problem
    kept = sorted({pool.spare for pool in problem.pools if pool.spare})
    if kept:
        yield _of_each(kept)
    for group in problem.spare_groups:
        yield _of_group(group)


def _of_each(kept: Sequence[int]) -> Condition:
    """Return the condition of the spare nodes that all pools keep."""
    figure = " to ".join(str(one) for one in dict.fromkeys((kept[0], kept[-1])))
    most = kept[-1]

    def raised(problem: Problem, more: int | None) -> Problem:
        fewer = most if more is None else more
        pools = (replace(pool, spare=max(0, pool.spare - fewer)) for pool in problem.pools)
        return replace(problem, pools=tuple(pools))

    def mended(more: int) -> str:
        if len(kept) > 1 and more != most:
            return f"keep {count_of(more, 'spare node')} fewer in each pool"
        left = most - more
        return f"keep {left or 'no'} spare node{'' if left == 1 else 's'} in place of {figure}"

    return Condition("the spare nodes of each pool", figure, raised, mended, most, procures=True)


def _of_group(group: SharedSpares) -> Condition:
    name, most = f"the spare nodes of {group.name}", group.nodes or group.racks
    figure = str(group.nodes) if group.nodes else f"for the loss of {count_of(most, 'rack')}"

    def fewer(one: SharedSpares, more: int) -> SharedSpares:
        return replace(one, nodes=max(0, one.nodes - more), racks=max(0, one.racks - more))

    def raised(problem: Problem, more: int | None) -> Problem:
        return lifted(problem, None if more == most else more)

    def mended(more: int) -> str:
        if group.racks:
            lost = count_of(most - more, "rack") if most > more else "no rack"
            return f"keep spare nodes of {group.name} for the loss of {lost} in place of {most}"
        left = count_of(most - more, "spare node") if most > more else "no spare nodes"
        return f"keep {left} of {group.name} in place of {most}"

    lifted = widening("spare_groups", "name", group.name, fewer)
    return Condition(name, figure, raised, mended, most, procures=True)
