"""States the master program: units by mode and pool, nodes bought and rented by quarter.

Units of the same shape on the same pool are counted together, so the program's size follows the
variety of the portfolio. It is a relaxation of the real packing: resources are summed over a pool's
nodes, tightened by dual feasible functions and by cuts from the cutting stock. `docs/model.md` has
it in mathematics; row names follow that page.

A pool whose nodes do not mix is stated as two: one for whole and shared GPUs, with all offers and
owned nodes, and one for partitioned GPUs, to which the first lends nodes, quarter by quarter.

By its GPU-hours, a run of eight GPUs for a day is a hundredth of a node, and yet it needs one on
which nothing stays all quarter. Neighbouring GPUs of a node on which runs of so many GPUs take
turns are a *lane*: a node has as many lanes of a width as fit beside what stays on it. A lane for a
run on several nodes is as many nodes on which nothing stays.

A GPU shared by memory is to its pieces what a node is to pieces of whole GPUs, so the same
functions and the same cutting stock bound how many are opened. Variants of the program, solved
for units that can be laid out, are copies; the program that proves the bound is left as it is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace

from planner.inputs.scenario.quarter import RUN_HOURS
from planner.packing.constraints import add_rows
from planner.packing.constraints.base import LIMITED_OFFERS
from planner.packing.constraints.spares import stand_ins
from planner.packing.dual_feasible import times_of, weights_by_order
from planner.packing.hourly_nodes import add_hire
from planner.packing.master import CENTS_PER_UNIT, MasterProgram, PoolInQuarter, Terms, Usage
from planner.packing.problem import (
    ALWAYS,
    NOWHERE,
    WHOLE,
    JobClass,
    Mode,
    Part,
    Pool,
    Problem,
    Shape,
)
from planner.packing.shared_gpus import OPENED, fillings
from planner.packing.solver import Program, ProgramRow, Sense


def build_master(problem: Problem) -> MasterProgram:
    """State the master program of a problem, with what is kept apart in it."""
    master = MasterProgram(kept_apart(problem))
    _modes(master)
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


def _modes(master: MasterProgram) -> None:
    """Let every unit take exactly one mode and keep it: row `demand[d]`.

    If the number of units is open, each takes at most one. A unit that may be short may also
    take a mode that no pool runs: then it is short in all quarters.
    """
    problem, program, pools = master.problem, master.program, _by_gpu_type(master.problem)
    for number, job_class in enumerate(problem.classes):
        terms: Terms = {}
        for position, mode in enumerate(job_class.modes):
            runs = _running(problem, pools[mode.gpu_type], mode.shape)
            if runs or job_class.nowhere is not None:
                index = program.variable(
                    f"units[{number},{position}]", upper=job_class.count, integer=True
                )
                master.mode[number, position] = index
                terms[index] = 1.0
        sense: Sense = "<=" if job_class.at_most else "=="
        master.class_rows.append(program.row(f"demand[{number}]", terms, sense, job_class.count))


def _short(master: MasterProgram) -> None:
    """Count units that are short in a quarter, of those that take the mode.

    Row `short[d,c,q]`.
    """
    for (number, position), index in master.mode.items():
        job_class = master.problem.classes[number]
        mode = job_class.modes[position]
        if job_class.nowhere is None or mode.gpu_type.startswith(NOWHERE):
            continue
        for quarter in job_class.quarters:
            name = f"short[{number},{position},{quarter}]"
            short = master.program.variable(name, integer=True)
            master.short[number, position, quarter] = short
            most = -float(mode.copies_in(quarter))
            master.program.row(name, {short: float(mode.copies_short), index: most}, "<=", 0.0)


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
    for number, position in master.mode:
        job_class = master.problem.classes[number]
        mode = job_class.modes[position]
        for quarter in job_class.quarters:
            for index, pieces in master.pieces_in(number, position, quarter):
                shaped[mode.gpu_type, quarter, mode.shape][index] += pieces
    pools = _by_gpu_type(master.problem)
    for (gpu_type, quarter, shape), terms in sorted(shaped.items(), key=lambda item: item[0]):
        running = _running(master.problem, pools[gpu_type], shape)
        for pool, share in _split(master, running, quarter, terms):
            usage = _usage(master.problem.pools[pool], (pool, quarter), shape, share)
            master.usages.setdefault((pool, quarter), []).append(usage)
    nowhere: dict[PoolInQuarter, Terms] = defaultdict(dict)
    for (number, _, quarter), index in master.short.items():
        nowhere[master.problem.classes[number].nowhere or 0, quarter][index] = 1.0
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
    pool = master.problem.pools[key[0]]
    node, runs = pool.node, [usage.asked.run for usage in usages]
    # Nodes that come and go are there for as long as is paid, in whichever hours.
    times = [("", [run.hours for run in runs], RUN_HOURS)]
    if not pool.hire:
        times = list(times_of(runs, master.gpus_of_runs(usages)))
    for resource, offered in (("gpus", node.gpus), ("cpus", node.cpus), ("memory", node.memory_mb)):
        sizes = [(usage.span, _size(usage.shape, resource)) for usage in usages]
        if resource != "gpus" and not any(span or size for span, size in sizes):
            continue
        for name, hours, of in times:
            taken = [(*size, taken) for size, taken in zip(sizes, hours, strict=True)]
            for order, weights in weights_by_order(taken, offered, of):
                load: Terms = defaultdict(float)
                for usage, weight in zip(usages, weights, strict=True):
                    usage.weigh(load, weight, 1.0)
                parts = [name, "dual" * (order > 0), resource, f"{order}" * (order > 0)]
                label = "-".join(filter(None, parts))
                master.capacity_row(label, *key, load, tightens=label != resource)


def _size(shape: Shape, resource: str) -> int:
    return {"gpus": shape.whole_gpus, "cpus": shape.cpus, "memory": shape.memory_mb}[resource]


def kept_apart(problem: Problem) -> Problem:
    """Return the problem with one more pool for each whose nodes do not mix; those come last.

    Runs of owners with quotas have shapes that name the owner, and units of pools that share
    spare nodes have shapes that say which pools can take them in.
    """
    classes = problem.classes
    if problem.spare_groups:
        classes = tuple(_taken_in(problem, job_class) for job_class in classes)
    pools, apart = list(problem.pools), []
    for number, pool in enumerate(problem.pools):
        if not pool.mixes and any(
            mode.gpu_type == pool.gpu_type and mode.shape.part.profile
            for job_class in problem.classes
            for mode in job_class.modes
        ):
            pools[number] = replace(pool, divisions=(), mixes=True)
            apart.append(
                replace(pool, owned=0, retired=(), spare=0, shared_mb=0, mixes=True, lender=number)
            )
    if problem.quotas:
        classes = tuple(_named(problem, job_class) for job_class in classes)
    return replace(problem, pools=(*pools, *apart), classes=classes)


def _taken_in(problem: Problem, job_class: JobClass) -> JobClass:
    modes = (
        replace(
            mode,
            shape=mode.shape._replace(stand_ins=tuple(stand_ins(problem, job_class, mode))),
        )
        for mode in job_class.modes
    )
    return replace(job_class, modes=tuple(modes))


def _named(problem: Problem, job_class: JobClass) -> JobClass:
    """Put the owner's name on each run that some quota of the owner counts by hours."""
    mine = [quota for quota in problem.quotas if job_class.owner and quota.owner == job_class.owner]
    modes = (
        replace(mode, shape=mode.shape._replace(owner=job_class.owner))
        if mode.shape.run != ALWAYS and any(quota.taken(mode) for quota in mine)
        else mode
        for mode in job_class.modes
    )
    return replace(job_class, modes=tuple(modes)) if mine else job_class


def add_lanes(master: MasterProgram, key: PoolInQuarter) -> None:
    """Whole lanes for runs of each width, in rows `wide` and `beside-wide`.

    Of those that need several GPUs, where something stays beside them or they need nodes: where
    nothing does, and for runs of one GPU, GPU-hours say as much.
    """
    usages = master.on_nodes(*key)
    stays = [usage for usage in usages if not usage.asked.is_run]
    runs = [usage for usage in usages if usage.asked.is_run]
    asked = [usage.asked.run for usage in runs]
    offered = master.problem.pools[key[0]].node.gpus
    widths = {usage.shape.gpus * usage.times for usage in runs if usage.times > 1 or stays}
    for gpus in sorted(widths - {1}):
        lanes = master.program.variable(f"lanes[{key[0]},{key[1]}]", integer=True)
        beside: Terms = defaultdict(float, {lanes: gpus / offered})
        for usage in stays:
            usage.weigh(beside, usage.span or usage.shape.whole_gpus / offered)
        master.capacity_row(f"beside-wide-{gpus}", *key, beside)
        for time, taken, of in times_of(asked, master.gpus_of_runs(runs)):
            turns: Terms = defaultdict(float, {lanes: -1.0})
            for usage, hours in zip(runs, taken, strict=True):
                # Lanes that a run takes while it runs, on all of its nodes.
                mine = usage.times * (usage.shape.gpus // gpus)
                if gpus > offered:
                    mine = usage.times // (gpus // offered)
                usage.weigh(turns, mine / usage.times, hours / of)
            name = "-".join(filter(None, (time, f"wide-{gpus}")))
            master.program.row(f"{name}[{key[0]},{key[1]}]", turns, "<=", 0.0)


def add_opened(master: MasterProgram) -> None:
    """Count the opened GPUs; if one is partitioned, by how it is."""
    for key, usages in master.usages.items():
        pieces: dict[Part, Terms] = defaultdict(lambda: defaultdict(float))
        for usage in usages:
            if usage.shape.part != WHOLE:
                usage.weigh(pieces[usage.shape.part], 1.0)
        opened = _partitioned(master, key, pieces)
        if any(not part.profile for part in pieces):
            opened.append(_shared(master, key))
        if opened:
            terms = tuple((index, 1.0) for index in opened)
            master.opened[key] = Usage(*key, OPENED, terms, 0, OPENED)


def _partitioned(
    master: MasterProgram, key: PoolInQuarter, pieces: Mapping[Part, Terms]
) -> list[int]:
    """Return variables of the partitioned GPUs, by their maximal fillings: rows `parts`."""
    program, pool, place = master.program, master.problem.pools[key[0]], f"[{key[0]},{key[1]}]"
    profiles = sorted(part for part in pieces if part.profile)
    fills = {
        fill: program.variable(f"opened{place}", integer=True) for fill in fillings(pool, profiles)
    }
    for part in profiles:
        load = {index: -float(dict(fill).get(part, 0)) for fill, index in fills.items()}
        program.row(f"parts{place}", load | pieces[part], "<=", 0.0)
    return [*fills.values()]


def _shared(master: MasterProgram, key: PoolInQuarter) -> int:
    """Return the variable of the GPUs shared by memory: rows `shared` and `dual-shared`."""
    master.shared[key] = master.program.variable(f"shared[{key[0]},{key[1]}]", integer=True)
    parts = ((usage, usage.shape.part) for usage in master.usages[key])
    usages = [usage for usage, part in parts if part != WHOLE and not part.profile]
    sizes = [(0, usage.shape.part.memory_mb, 1) for usage in usages]
    offered = master.problem.pools[key[0]].shared_mb
    for order, weights in weights_by_order(sizes, offered, 1):
        load: Terms = defaultdict(float, {master.shared[key]: -1.0})
        for usage, weight in zip(usages, weights, strict=True):
            usage.weigh(load, weight)
        name = f"dual-shared-{order}" if order else "shared"
        master.program.row(f"{name}[{key[0]},{key[1]}]", load, "<=", 0.0, tightens=order > 0)
    return master.shared[key]


_IDLE = 0.01
"""The weight of a GPU that costs nothing, as a share of the lowest price of a GPU."""


def on_cheapest_gpus(master: MasterProgram, base: Program) -> Program:
    """Return the program that runs units on the cheapest GPUs: a tie-break at equal cost.

    Of GPUs that cost nothing, on the fewest. Before that, units that may change their GPU type
    from quarter to quarter keep it where they can; before all else, units that run today stay.
    """
    price = gpu_prices(master.problem)
    idle = _IDLE * min(filter(None, price.values()), default=1.0)
    costs: dict[int, float] = {}
    for (number, position), index in master.mode.items():
        job_class = master.problem.classes[number]
        mode = job_class.modes[position]
        copies = sum(mode.copies_in(quarter) for quarter in job_class.quarters)
        gpus = mode.shape.whole_gpus * mode.shape.run.hours / RUN_HOURS
        costs[index] = gpus * (price.get(mode.gpu_type) or idle) * copies
    for (pool, _), usage in master.opened.items():
        for index, _ in usage.terms:
            costs[index] = price[master.problem.pools[pool].gpu_type]
    program = Program(list(base.variables), list(base.rows))
    worth = 1.0 + max(costs.values(), default=0.0)
    changes = {index: sign * worth for index, sign in _changes(master, program).items()}
    most = max([*costs.values(), *map(abs, changes.values())], default=0.0)
    stays = dict.fromkeys(master.stays.values(), -1.0 - most)
    return program.priced(costs | stays | changes)


def evenly_full(master: MasterProgram, counted: tuple[float, ...]) -> Program:
    """Return the program that fills the counted nodes of all pools to the same share of hours."""
    program = Program(list(master.program.variables), list(master.program.rows))
    fullest = program.variable("fullest", upper=1.0)
    for key, load in _hours_taken(master):
        load[fullest] = -master.nodes(*key, counted)
        program.row(f"fullest[{key[0]},{key[1]}]", load, "<=", 0.0)
    return program.priced({fullest: 1.0})


def with_every_window(master: MasterProgram) -> Program:
    """Return the program with rows for all windows of runs, not only those fuller than average."""
    program = Program(list(master.program.variables), list(master.program.rows))
    for key, load in _hours_taken(master):
        usable, owned = master.usable_nodes(*key)
        for index, factor in usable.items():
            load[index] -= factor
        program.row(f"window[{key[0]},{key[1]}]", load, "<=", owned)
    return program


def _hours_taken(master: MasterProgram) -> Iterator[tuple[PoolInQuarter, Terms]]:
    """Yield what is taken of the nodes of pools with runs, for each way to count time."""
    for key in master.usages:
        pool, usages = master.problem.pools[key[0]], master.on_nodes(*key)
        runs = [usage.asked.run for usage in usages]
        if pool.hire or all(run == ALWAYS for run in runs):
            continue
        for _, taken, of in times_of(runs, master.gpus_of_runs(usages), fuller=False):
            load: Terms = defaultdict(float)
            for usage, hours in zip(usages, taken, strict=True):
                usage.weigh(load, usage.span or usage.shape.whole_gpus / pool.node.gpus, hours / of)
            yield key, load


def _changes(master: MasterProgram, program: Program) -> dict[int, float]:
    """Count the units of each stage that go on unchanged in the next one (-1): rows `goes-on`.

    If the number of units that share some traffic is open, those that end are counted (1), in
    rows `ends`: otherwise more would go on than are needed.
    """
    taking: dict[tuple[tuple[Mode, ...], str, str, int, int], Terms] = defaultdict(dict)
    for (number, position), index in master.mode.items():
        job_class = master.problem.classes[number]
        if job_class.stage:
            kind = (job_class.modes, job_class.owner, job_class.endpoint, position)
            taking[*kind, job_class.quarters[0]][index] = 1.0
    found = {}
    for (modes, owner, endpoint, position, quarter), now in taking.items():
        after = taking.get((modes, owner, endpoint, position, quarter + 1), {})
        if endpoint and after:
            ends = program.variable("ends")
            program.row("ends", {**now, **dict.fromkeys(after, -1.0), ends: -1.0}, "<=", 0.0)
            found[ends] = 1.0
        elif after:
            going_on = program.variable("goes-on")
            for side in (now, after):
                terms = {**dict.fromkeys(side, -1.0), going_on: 1.0}
                program.row("goes-on", terms, "<=", 0.0)
            found[going_on] = -1.0
    return found


def gpu_prices(problem: Problem) -> dict[str, float]:
    """Return the least that one GPU of a type costs; owned ones that nobody offers cost nothing."""
    prices: dict[str, float] = {}
    for number, pool in enumerate(problem.pools):
        if pool.lender is not None:
            continue
        quarter = RUN_HOURS / pool.hire.step_hours if pool.hire else 1.0
        offered = [
            cents * quarter
            for supply in problem.supplies
            if supply.pool == number and not supply.releases
            for cents in supply.unit_cost_cents
            if cents is not None
        ]
        worth = min(offered, default=0) / pool.node.gpus / CENTS_PER_UNIT
        prices[pool.gpu_type] = min(worth, prices.get(pool.gpu_type, worth))
    return prices


def with_at_least(
    master: MasterProgram,
    nodes: Mapping[PoolInQuarter, int],
    *,
    opened: Mapping[PoolInQuarter, int] | None = None,
    most_runs: Mapping[PoolInQuarter, int] | None = None,
) -> Program:
    """Return the program in which some pools have at least so many usable nodes or opened GPUs.

    On others, at most so many runs are.
    """
    extra = []
    for key, wanted in sorted(nodes.items()):
        terms, owned = master.usable_nodes(*key)
        extra.append(ProgramRow(f"at-least{key}", tuple(terms.items()), ">=", wanted - owned))
    for key, gpus in sorted((opened or {}).items()):
        extra.append(ProgramRow(f"at-least-opened{key}", master.opened[key].terms, ">=", gpus))
    for key, most in sorted((most_runs or {}).items()):
        runs: Terms = defaultdict(float)
        for usage in master.usages[key]:
            if usage.asked.is_run:
                usage.weigh(runs, 1 / usage.times, 1.0)
        extra.append(ProgramRow(f"at-most{key}", tuple(runs.items()), "<=", most))
    return Program(master.program.variables, [*master.program.rows, *extra])
