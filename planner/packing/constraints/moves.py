"""Units that run today: which pool keeps them, and what moving the others costs.

A unit stays if it is in its pool of origin in the first quarter. Units of one shape are
interchangeable on a pool, so counting is enough: no more of them stay than take a mode that
the pool can run, and no more stay on the pool than units of that shape run there.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import zip_longest

from planner.packing.constraints.base import Condition
from planner.packing.master import MasterProgram, Terms
from planner.packing.problem import NOWHERE, JobClass, Problem, Shape
from planner.packing.translation import Translation

BILL = "units that run today"

Home = tuple[str, "Shape"]
"""A pool with all its parts, and a shape."""


def homes(problem: Problem) -> dict[str, tuple[int, ...]]:
    """Return each home's pools: all of a node type and site, and those of its held nodes."""
    found: dict[str, tuple[int, ...]] = {}
    for number, pool in enumerate(problem.pools):
        found[pool.home] = (*found.get(pool.home, ()), number)
    return found


def main_pools(problem: Problem) -> dict[str, int]:
    """Return, for each home, the pool of nodes that hold no pinned unit, where new nodes enter."""
    return {
        pool.home: number
        for number, pool in enumerate(problem.pools)
        if not pool.held and pool.lender is None
    }


def add_rows(master: MasterProgram) -> None:
    """State the rows `stays`, `keeps` and `moved` for every job class that runs somewhere today."""
    program = master.program
    kept: dict[Home, list[int]] = defaultdict(list)
    for number, job_class in enumerate(master.problem.classes):
        if not job_class.origin:
            continue
        moved = program.variable(
            f"moved[{number}]", cost=master.cost(job_class.move_cents), integer=True
        )
        master.moved[number] = moved
        terms: Terms = {moved: 1.0}
        for position in _positions_at_home(master, number):
            shape = job_class.modes[position].shape
            stays = program.variable(f"stays[{number},{position}]", upper=job_class.count)
            master.stays[number, position] = stays
            kept[job_class.origin, shape].append(stays)
            terms[stays] = 1.0
            taken = master.mode[number, position]
            within = {stays: 1.0, taken: -1.0}
            if (number, position, 0) in master.short:
                within[master.short[number, position, 0]] = 1.0
            program.row(f"stays[{number},{position}]", within, "<=", 0.0)
        terms |= dict.fromkeys(_not_run(master, number), 1.0)
        program.row(f"moved[{number}]", terms, ">=", job_class.count)
    for (home, shape), staying in sorted(kept.items()):
        load: Terms = defaultdict(float, dict.fromkeys(staying, 1.0))
        for index, factor in _units_at_home(master, home, shape):
            load[index] -= factor
        program.row(f"keeps[{home}]", load, "<=", 0.0)


def _not_run(master: MasterProgram, number: int) -> Iterator[int]:
    """Return the variables of the units of a job class that stop: they neither stay nor move."""
    for position, mode in enumerate(master.problem.classes[number].modes):
        if mode.gpu_type.startswith(NOWHERE) and (number, position) in master.mode:
            yield master.mode[number, position]
        if (number, position, 0) in master.short:
            yield master.short[number, position, 0]


def _positions_at_home(master: MasterProgram, number: int) -> list[int]:
    """Return the modes of a job class with which its units can stay."""
    problem = master.problem
    job_class = problem.classes[number]
    here = [problem.pools[pool] for pool in homes(problem).get(job_class.origin, ())]
    return [
        position
        for position, mode in enumerate(job_class.modes)
        if (number, position) in master.mode
        and any(
            pool.gpu_type == mode.gpu_type and pool.nodes_taken(mode.shape) is not None
            for pool in here
        )
    ]


def _units_at_home(master: MasterProgram, home: str, shape: Shape) -> list[tuple[int, float]]:
    """Return the sum of variables that counts a shape's units on a pool in the first quarter."""
    return [
        (index, factor / usage.times)
        for pool in homes(master.problem).get(home, ())
        for usage in master.usages.get((pool, 0), ())
        if usage.asked == shape
        for index, factor in usage.terms
    ]


def with_stays(master: MasterProgram, values: Sequence[float]) -> tuple[float, ...]:
    """Return a plan in whole units with as few moves as its pools allow.

    The dearest moves are avoided first.
    """
    if not master.moved:
        return tuple(values)
    found = list(values)
    classes = master.problem.classes
    room: dict[Home, int] = {}
    left = {
        number: classes[number].count
        - sum(round(values[index]) for index in _not_run(master, number))
        for number in master.moved
        if classes[number].origin
    }
    by_cost = sorted(master.stays, key=lambda key: (-classes[key[0]].move_cents, key))
    for number, position in by_cost:
        job_class = classes[number]
        home = (job_class.origin, job_class.modes[position].shape)
        if home not in room:
            terms = _units_at_home(master, *home)
            room[home] = round(sum(values[index] * factor for index, factor in terms))
        running = round(values[master.mode[number, position]])
        if (number, position, 0) in master.short:
            running -= round(values[master.short[number, position, 0]])
        staying = min(room[home], running)
        room[home] -= staying
        left[number] -= staying
        found[master.stays[number, position]] = float(staying)
    for number, moved in left.items():
        found[master.moved[number]] = float(moved)
    return tuple(found)


def kept_by_pool(
    master: MasterProgram, values: tuple[float, ...], pools: Sequence[int], quarter: int
) -> dict[int, Counter[tuple[int, int]]]:
    """Return, for each pool, the units by (job class, mode) that stay there.

    After the first quarter, those that still can. `pools` are those of one GPU type that run
    something in the quarter.
    """
    classes = master.problem.classes
    kept: dict[int, Counter[tuple[int, int]]] = {}
    left = {
        key: round(values[index])
        for key, index in master.stays.items()
        if quarter in classes[key[0]].quarters
    }
    for pool in pools:
        kept[pool] = Counter()
        room = {usage.asked: round(usage.pieces(values)) for usage in master.usages[pool, quarter]}
        for (number, position), units in left.items():
            job_class = classes[number]
            shape = job_class.modes[position].shape
            if job_class.origin == master.problem.pools[pool].home and room.get(shape):
                here = min(units, room[shape])
                kept[pool][number, position] = here
                left[number, position] -= here
                room[shape] -= here
    return kept


def _pinned_home(job_class: JobClass) -> str:
    """Return what the units of a job class may not leave; empty if they are free to move."""
    return next((mode.shape.stays for mode in job_class.modes), "")


def _released(number: int, problem: Problem, more: int | None) -> Problem:
    """Return the problem in which the units of a job class may leave where they run.

    Nodes that then hold no pinned unit join the others of their pool.
    """
    if more == 0:
        return problem
    classes = list(problem.classes)
    classes[number] = replace(
        classes[number],
        modes=tuple(
            replace(mode, shape=mode.shape._replace(stays="")) for mode in classes[number].modes
        ),
    )
    pools, mains = list(problem.pools), main_pools(problem)
    still = {_pinned_home(job_class) for job_class in classes}
    for index, pool in enumerate(problem.pools):
        if pool.held and pool.held not in still:
            main = pools[mains[pool.home]]
            gone = zip_longest(main.retired, pool.retired, fillvalue=0)
            pools[mains[pool.home]] = replace(
                main, owned=main.owned + pool.owned, retired=tuple(map(sum, gone))
            )
            pools[index] = replace(pool, owned=0, retired=())
    return replace(problem, classes=tuple(classes), pools=tuple(pools))


def holds(master: MasterProgram, values: Sequence[float]) -> bool:
    """Return True: stays are counted from the plan, and shapes keep pinned units where they are."""
    del master, values
    return True


def conditions(translation: Translation) -> Iterator[Condition]:
    """Return the pins as conditions."""
    for number, job_class in enumerate(translation.problem.classes):
        if home := _pinned_home(job_class):
            units = _units_named(translation, number)
            yield Condition(
                f"the pin of {units} to {home}",
                _pinned_needs(translation.problem, job_class, home),
                partial(_released, number),
                partial("let {units} move".format, units=units),
                most=1,
            )


_NAMED = 6


def _units_named(translation: Translation, number: int) -> str:
    """Name units: `unit 2 of chat`; `units 1, 2 of chat and 3 more`."""
    members = translation.members[number]
    jobs = sorted({job for job, _ in members})
    mine = [str(unit) for job, unit in members if job == jobs[0]]
    what = f"unit{'' if len(mine) == 1 else 's'} {', '.join(mine[:_NAMED])} of {jobs[0]}"
    more = len(members) - min(len(mine), _NAMED)
    return f"{what} and {more} more" if more else what


def _pinned_needs(problem: Problem, job_class: JobClass, home: str) -> str:
    """Say what pinned units take of their nodes.

    Such as `8 of 8 GPUs, 120 of 112 cores, 480 of 2,000 GB`.
    """
    here = [pool for pool in problem.pools if home in (pool.home, pool.held)]
    if not here:
        return "none of its nodes can be in service"
    tried = [
        (mode.shape, pool)
        for mode in job_class.modes
        for pool in here
        if pool.gpu_type == mode.gpu_type
    ]
    if not tried:
        types = sorted({mode.gpu_type for mode in job_class.modes})
        return f"it can run on {', '.join(types)} alone"
    fitting = [shape for shape, pool in tried if pool.nodes_taken(shape) is not None]
    if not fitting:
        shape, pool = tried[0]
        return f"each needs {_shares([shape], 1, [(pool.node, 1)])} of a node"
    return _shares(fitting, job_class.count, [(pool.node, pool.owned) for pool in here])


def _shares(shapes: Sequence[Shape], units: int, nodes: Sequence[tuple[Shape, int]]) -> str:
    """Return what so many units take at least, of so many nodes of each kind."""
    told = []
    for key, unit, per in (("gpus", "GPUs", 1), ("cpus", "cores", 1), ("memory_mb", "GB", 1000)):
        taken = units * min(getattr(shape, key) for shape in shapes) / per
        there = sum(getattr(node, key) * count for node, count in nodes) / per
        if taken:
            told.append(f"{taken:,.10g} of {there:,.10g} {unit}")
    return ", ".join(told)
