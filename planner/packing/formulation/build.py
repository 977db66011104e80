"""States the master program: units by choice and pool, nodes bought and rented by quarter.

Units of the same shape on the same pool are counted together, so the program's size follows the
variety of the portfolio. It is a relaxation of the real packing: resources are summed over a pool's
nodes, tightened by dual feasible functions and by cuts from the cutting stock. `docs/model.md` has
it in mathematics; row names follow that page.

A pool whose nodes do not mix is stated as two: one for whole and shared GPUs, with all offers and
owned nodes, and one for partitioned GPUs, to which the first lends nodes, quarter by quarter.

By its GPU-hours, a run of eight GPUs for a day is a hundredth of a node, and yet it needs one on
which nothing stays all quarter. Neighbouring GPUs of a node on which runs of so many GPUs take
turns are a *lane*: a node has as many lanes of a width as fit beside what stays on it. A lane
for a run on several nodes is as many nodes on which nothing stays.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from planner.inputs.scenario.quarter import RUN_HOURS
from planner.packing.constraints import add_rows
from planner.packing.constraints.base import LIMITED_OFFERS
from planner.packing.constraints.spares import stand_ins
from planner.packing.formulation.hourly_nodes import add_hire
from planner.packing.formulation.partitioned_gpus import add_opened
from planner.packing.master import MasterProgram, PoolInQuarter, Terms, Usage
from planner.packing.node_packing.dual_feasible import times_of, weights_by_order
from planner.packing.problem import ALWAYS, NOWHERE, Demand, Pool, Problem, Shape
from planner.packing.solvers.program import Sense


def build_master(problem: Problem) -> MasterProgram:
    """State the master program of a problem, with what is kept apart in it."""
    master = MasterProgram(kept_apart(problem))
    _choices(master)
    _short(master)
    _acquisitions(master)
    _usages(master)
    _lent(master)
    add_opened(master)
    add_rows(master)
    for key, usages in master.usages.items():
        opened = master.opened.get(key)
        on_nodes = [*usages, *([opened] if opened else [])]
        _capacity(master, key, on_nodes)
        if not master.problem.pools[key[0]].hire:
            add_lanes(master, key)
    master.program.owner = LIMITED_OFFERS
    add_hire(master)
    master.program.owner = ""
    return master


def _choices(master: MasterProgram) -> None:
    """Let every unit take exactly one choice and keep it: row `demand[d]`.

    If the number of units is open, each takes at most one. A unit that may be short may also
    take a choice that no pool runs: then it is short in all quarters.
    """
    problem, program, pools = master.problem, master.program, _by_gpu_type(master.problem)
    for number, demand in enumerate(problem.demands):
        terms: Terms = {}
        for position, choice in enumerate(demand.choices):
            runs = _running(problem, pools[choice.gpu_type], choice.shape)
            if runs or demand.nowhere is not None:
                index = program.variable(
                    f"units[{number},{position}]", upper=demand.count, integer=True
                )
                master.choice[number, position] = index
                terms[index] = 1.0
        sense: Sense = "<=" if demand.at_most else "=="
        master.demand_rows.append(program.row(f"demand[{number}]", terms, sense, demand.count))


def _short(master: MasterProgram) -> None:
    """Count units that are short in a quarter, of those that take the choice.

    Row `short[d,c,q]`.
    """
    for (number, position), index in master.choice.items():
        demand = master.problem.demands[number]
        choice = demand.choices[position]
        if demand.nowhere is None or choice.gpu_type.startswith(NOWHERE):
            continue
        for quarter in demand.quarters:
            name = f"short[{number},{position},{quarter}]"
            short = master.program.variable(name, integer=True)
            master.short[number, position, quarter] = short
            most = -float(choice.copies_in(quarter))
            master.program.row(name, {short: float(choice.copies_short), index: most}, "<=", 0.0)


def _by_gpu_type(problem: Problem) -> dict[str, list[int]]:
    pools: dict[str, list[int]] = defaultdict(list)
    for number, pool in enumerate(problem.pools):
        pools[pool.gpu_type].append(number)
    return pools


def _running(problem: Problem, pools: list[int], shape: Shape) -> list[int]:
    return [number for number in pools if problem.pools[number].nodes_taken(shape) is not None]


def _acquisitions(master: MasterProgram) -> None:
    """Count nodes in service: bought nodes stay, a rent lasts a quarter, a reservation its term.

    Nodes for hours or weeks are in service for the share of the quarter that is paid. Released
    owned nodes count as fewer: for good if sold, for a quarter if switched off.
    """
    problem, program = master.problem, master.program
    master.in_service = {
        (pool, quarter): {}
        for pool in range(len(problem.pools))
        for quarter in range(problem.quarters)
    }
    for number, supply in enumerate(problem.supplies):
        for quarter, cents in enumerate(supply.unit_cost_cents):
            arriving = supply.deliveries[quarter] if supply.deliveries else None
            if cents is None or 0 in (supply.maximum, arriving):
                continue
            hire = problem.pools[supply.pool].hire
            most = supply.maximum
            if hire and most is not None:
                most *= hire.steps(RUN_HOURS)
            index = program.variable(
                f"{supply.kind}[{number},{quarter}]",
                cost=master.cost(cents),
                upper=most,
                integer=True,
            )
            master.acquire[number, quarter] = index
            for served in supply.served(quarter):
                share = hire.step_hours / RUN_HOURS if hire else 1.0
                share = -share if supply.releases else share
                master.in_service[supply.pool, served][index] = share


def _usages(master: MasterProgram) -> None:
    """Count pieces by shape; split them if several pools have the GPU type: rows `split`."""
    shaped: dict[tuple[str, int, Shape], Terms] = defaultdict(lambda: defaultdict(float))
    for number, position in master.choice:
        demand = master.problem.demands[number]
        choice = demand.choices[position]
        for quarter in demand.quarters:
            for index, pieces in master.pieces_in(number, position, quarter):
                shaped[choice.gpu_type, quarter, choice.shape][index] += pieces
    pools = _by_gpu_type(master.problem)
    for (gpu_type, quarter, shape), terms in sorted(shaped.items(), key=lambda item: item[0]):
        running = _running(master.problem, pools[gpu_type], shape)
        for pool, share in _split(master, running, quarter, terms):
            usage = _usage(master.problem.pools[pool], (pool, quarter), shape, share)
            master.usages.setdefault((pool, quarter), []).append(usage)
    nowhere: dict[PoolInQuarter, Terms] = defaultdict(dict)
    for (number, _, quarter), index in master.short.items():
        nowhere[master.problem.demands[number].nowhere or 0, quarter][index] = 1.0
    for key, terms in nowhere.items():
        place = master.problem.pools[key[0]]
        master.usages[key] = [_usage(place, key, place.node, terms)]


def _usage(pool: Pool, key: PoolInQuarter, shape: Shape, pieces: Terms) -> Usage:
    nodes = pool.nodes_taken(shape) or 0
    times, span = (max(nodes, 1), 0) if shape.is_run else (1, nodes)
    terms = tuple(sorted((index, factor * times) for index, factor in pieces.items()))
    return Usage(*key, pool.on_node(shape), terms, span, shape, times)


def _split(
    master: MasterProgram, pools: list[int], quarter: int, terms: Terms
) -> Iterator[tuple[int, Terms]]:
    if len(pools) == 1:
        yield pools[0], terms
        return
    balance: Terms = defaultdict(float, {index: -factor for index, factor in terms.items()})
    for pool in pools:
        index = master.program.variable(f"split[{pool},{quarter}]", integer=True)
        master.splits.add(index)
        balance[index] = 1.0
        yield pool, {index: 1.0}
    master.split_rows.append(master.program.row(f"split[{quarter}]", balance, "==", 0.0))


def _lent(master: MasterProgram) -> None:
    """Count nodes that a pool lends another, quarter by quarter.

    The lender's row `gpus` bounds them.
    """
    for pool, quarter in list(master.usages):
        lender = master.problem.pools[pool].lender
        if lender is not None:
            index = master.program.variable(f"lent[{lender},{quarter}]", integer=True)
            master.lent[lender, quarter] = index
            master.in_service[pool, quarter] = {index: 1.0}
            master.usages.setdefault((lender, quarter), [])


def _capacity(master: MasterProgram, key: PoolInQuarter, usages: list[Usage]) -> None:
    """State GPUs, cores and host memory: rows `gpus`, `cpus`, `memory` and their tightenings.

    Each holds on the average of the quarter and, as a tightening, of each window of runs. Dual
    feasible functions tighten by size (`dual`) and by hours (`turns`: of runs longer than half
    of the quarter, none can follow another).
    """
    node = master.problem.pools[key[0]].node
    for resource, offered in (("gpus", node.gpus), ("cpus", node.cpus), ("memory", node.memory_mb)):
        sizes = [(usage.span, _size(usage.shape, resource)) for usage in usages]
        if resource != "gpus" and not any(span or size for span, size in sizes):
            continue
        for name, hours, of in _times(master, key[0], usages):
            taken = [(*size, taken) for size, taken in zip(sizes, hours, strict=True)]
            for order, weights in weights_by_order(taken, offered, of):
                load: Terms = defaultdict(float)
                for usage, weight in zip(usages, weights, strict=True):
                    usage.weigh(load, weight, 1.0)
                parts = [name, "dual" * (order > 0), resource, f"{order}" * (order > 0)]
                label = "-".join(filter(None, parts))
                master.capacity_row(label, *key, load, tightens=label != resource)


def _times(
    master: MasterProgram, pool: int, usages: list[Usage]
) -> Iterator[tuple[str, list[int], int]]:
    """Return ways to count time: a name, what each usage takes, and of how much.

    Nodes for hours or weeks exist for as long as is paid, in whichever hours: only the average
    counts.
    """
    runs = [usage.asked.run for usage in usages]
    if master.problem.pools[pool].hire:
        yield "", [run.hours for run in runs], RUN_HOURS
    else:
        yield from times_of(runs, master.gpus_of_runs(usages))


def _size(shape: Shape, resource: str) -> int:
    return {"gpus": shape.whole_gpus, "cpus": shape.cpus, "memory": shape.memory_mb}[resource]


def kept_apart(problem: Problem) -> Problem:
    """Return the problem with one more pool for each whose nodes do not mix; those come last.

    Runs of owners with quotas have shapes that name the owner, and units of pools that share
    spare nodes have shapes that say which pools can take them in.
    """
    demands = problem.demands
    if problem.spare_groups:
        demands = tuple(_taken_in(problem, demand) for demand in demands)
    pools, apart = list(problem.pools), []
    for number, pool in enumerate(problem.pools):
        if not pool.mixes and any(
            choice.gpu_type == pool.gpu_type and choice.shape.part.profile
            for demand in problem.demands
            for choice in demand.choices
        ):
            pools[number] = replace(pool, divisions=(), mixes=True)
            apart.append(
                replace(pool, owned=0, retired=(), spare=0, shared_mb=0, mixes=True, lender=number)
            )
    if problem.quotas:
        demands = tuple(_named(problem, demand) for demand in demands)
    return replace(problem, pools=(*pools, *apart), demands=demands)


def _taken_in(problem: Problem, demand: Demand) -> Demand:
    choices = (
        replace(
            choice,
            shape=choice.shape._replace(stand_ins=tuple(stand_ins(problem, demand, choice))),
        )
        for choice in demand.choices
    )
    return replace(demand, choices=tuple(choices))


def _named(problem: Problem, demand: Demand) -> Demand:
    """Put the owner's name on each run that some quota of the owner counts by hours."""
    mine = [quota for quota in problem.quotas if demand.owner and quota.owner == demand.owner]
    choices = (
        replace(choice, shape=choice.shape._replace(owner=demand.owner))
        if choice.shape.run != ALWAYS and any(quota.taken(choice) for quota in mine)
        else choice
        for choice in demand.choices
    )
    return replace(demand, choices=tuple(choices)) if mine else demand


def add_lanes(master: MasterProgram, key: PoolInQuarter) -> None:
    """State whole lanes for runs of each width: rows `wide` and `beside-wide`."""
    usages = master.on_nodes(*key)
    for gpus in _widths(usages):
        _state(master, key, usages, gpus)


def _widths(usages: Sequence[Usage]) -> list[int]:
    """Return the widths of runs that need lanes.

    Those on several nodes, and those of several GPUs if something stays beside them. Otherwise,
    GPU-hours say as much.
    """
    runs = [usage for usage in usages if not _stays(usage)]
    alone = len(runs) == len(usages)
    widths = {usage.shape.gpus * usage.times for usage in runs if usage.times > 1 or not alone}
    return sorted(widths - {1})


def _stays(usage: Usage) -> bool:
    """Return whether pieces hold what they take all quarter."""
    return not usage.asked.is_run


def _state(master: MasterProgram, key: PoolInQuarter, usages: Sequence[Usage], gpus: int) -> None:
    """State the lanes of a width: what takes turns on them, and what stays beside them."""
    offered = master.problem.pools[key[0]].node.gpus
    lanes = master.program.variable(f"lanes[{key[0]},{key[1]}]", integer=True)
    beside: Terms = defaultdict(float, {lanes: gpus / offered})
    runs = [usage for usage in usages if not _stays(usage)]
    for usage in usages:
        if _stays(usage):
            usage.weigh(beside, usage.span or usage.shape.whole_gpus / offered)
    master.capacity_row(f"beside-wide-{gpus}", *key, beside)
    asked = [usage.asked.run for usage in runs]
    for time, taken, of in times_of(asked, master.gpus_of_runs(runs)):
        turns: Terms = defaultdict(float, {lanes: -1.0})
        for usage, hours in zip(runs, taken, strict=True):
            usage.weigh(turns, _lanes_taken(usage, gpus, offered) / usage.times, hours / of)
        name = "-".join(filter(None, (time, f"wide-{gpus}")))
        master.program.row(f"{name}[{key[0]},{key[1]}]", turns, "<=", 0.0)


def _lanes_taken(usage: Usage, gpus: int, offered: int) -> int:
    """Return the lanes of a width that a run takes while it runs, on all of its nodes."""
    nodes = usage.times
    return nodes * (usage.shape.gpus // gpus) if gpus <= offered else nodes // (gpus // offered)
