"""The program that counts nodes: units by choice and pool, nodes bought and rented by quarter.

Units of the same shape on the same pool are counted together, so the program's size follows the
variety of the portfolio. It is a relaxation of the real packing: resources are summed over a pool's
nodes, tightened by dual feasible functions and by cuts from the cutting stock. `docs/model.md` has
it in mathematics; row names follow that page.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from planner.inputs.scenario.quarter import RUN_HOURS
from planner.packing.constraints import add_rows
from planner.packing.constraints.base import LIMITED_OFFERS
from planner.packing.formulation.hourly_nodes import add_hire
from planner.packing.formulation.lanes import add_lanes
from planner.packing.formulation.partitioned_gpus import add_opened
from planner.packing.master import MasterProgram, PoolInQuarter, Terms, Usage
from planner.packing.node_packing.dual_feasible import times_of, weights_by_order
from planner.packing.problem import NOWHERE, Pool, Problem, Shape
from planner.packing.solvers.program import Sense


def build_master(problem: Problem) -> MasterProgram:
    """State the master program of a problem."""
    master = MasterProgram(problem)
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
    """Every unit takes exactly one choice and keeps it: row `demand[d]`.

    Where it is open how many units run, each takes one at most.
    One that may be short may take a choice that no pool runs, too: then it is, in all quarters.
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
    """Units that are short in a quarter, no more than take the choice: row `short[d,c,q]`."""
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
    """Bought nodes stay, rent lasts a quarter, reserved ones stay for their term.

    Nodes that come and go within a quarter are in service for the share of it that is paid. Owned
    nodes that are let go count as fewer: for good where sold, for a quarter where switched off.
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
    """Count pieces by shape; where several pools have the GPU type, split them: rows `split`."""
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
    places = {}
    for pool in pools:
        index = master.program.variable(f"split[{pool},{quarter}]", integer=True)
        master.splits.add(index)
        balance[index] = 1.0
        places[pool, quarter] = index
        yield pool, {index: 1.0}
    row = master.program.row(f"split[{quarter}]", balance, "==", 0.0)
    master.split_rows[row] = places


def _lent(master: MasterProgram) -> None:
    """Nodes that a pool lends another, quarter by quarter; row `gpus` of the lender bounds them."""
    for pool, quarter in list(master.usages):
        lender = master.problem.pools[pool].lender
        if lender is not None:
            index = master.program.variable(f"lent[{lender},{quarter}]", integer=True)
            master.lent[lender, quarter] = index
            master.in_service[pool, quarter] = {index: 1.0}
            master.usages.setdefault((lender, quarter), [])


def _capacity(master: MasterProgram, key: PoolInQuarter, usages: list[Usage]) -> None:
    """GPUs, cores and host memory: rows `gpus`, `cpus`, `memory` and their tightenings.

    Each holds on the average of the quarter, and of each window of runs; those of windows tighten,
    as do dual feasible functions of sizes (`dual`) and of hours (`turns`: of runs that are longer
    than half of the quarter, only one can follow no other).
    """
    node = master.problem.pools[key[0]].node
    runs = [usage.asked.run for usage in usages if usage.asked.is_run]
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
                row = master.capacity_row(label, *key, load, tightens=label != resource)
                master.capacity_rows.setdefault(key, {})[label] = row
                if order == 0 and (runs or resource != "gpus"):
                    master.room_rows.add(row)


def _times(
    master: MasterProgram, pool: int, usages: list[Usage]
) -> Iterator[tuple[str, list[int], int]]:
    """Ways to count time: a name, what each usage takes, and of how much.

    Nodes that come and go are there for as long as is paid, in whichever hours: the average alone.
    """
    runs = [usage.asked.run for usage in usages]
    if master.problem.pools[pool].hire:
        yield "", [run.hours for run in runs], RUN_HOURS
    else:
        yield from times_of(runs, master.gpus_of_runs(usages))


def _size(shape: Shape, resource: str) -> int:
    return {"gpus": shape.whole_gpus, "cpus": shape.cpus, "memory": shape.memory_mb}[resource]
