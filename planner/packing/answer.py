"""Turns what the search found into the solution that leaves this room: layouts, prices, bound."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from planner.inputs.text import count_of
from planner.packing.constraints.base import LIMITED_OFFERS, OWNED_NODES
from planner.packing.constraints.moves import kept_by_pool
from planner.packing.constraints.racks import all_racked
from planner.packing.constraints.spares import kept_for_groups
from planner.packing.cutting import Packed, Pattern
from planner.packing.incumbent import Incumbent
from planner.packing.master import CENTS_PER_UNIT
from planner.packing.problem import Pool, Problem, Shape
from planner.packing.runs import ClassMode, on_fewest_gpus
from planner.packing.shared_gpus import Held, starts
from planner.packing.solution import (
    RUNNING_COST,
    WHOLE_NODES,
    Bundle,
    Layout,
    Member,
    PriceTag,
    Solution,
    Status,
)
from planner.packing.solver import Program, solve_linear


def answer(problem: Problem, found: Incumbent, asked_gap: float) -> Solution:
    """State a finished search as a solution; its cost is recomputed in whole cents."""
    assert found.cost_cents is not None
    found.schedule = on_fewest_gpus(
        found.master, found.values, found.packings, found.stocks, found.schedule
    )
    tags, terms = _prices(found)
    racks = all_racked(found.master, found.values)
    quarters = range(problem.quarters)
    return Solution(
        status=Status.PROVED if found.closed(asked_gap) else Status.NOT_PROVED,
        cost_cents=found.cost_cents,
        bound_cents=found.bound_cents,
        acquired=found.master.acquired(found.values),
        racks=racks,
        spare=kept_for_groups(found.master, found.values, racks),
        assigned=tuple(
            tuple(
                round(found.values[found.master.mode[number, position]])
                if (number, position) in found.master.mode
                else 0
                for position in range(len(job_class.modes))
            )
            for number, job_class in enumerate(problem.classes)
        ),
        layouts=tuple(_layouts(found, quarter)[: len(problem.pools)] for quarter in quarters),
        tags=tags,
        bound_terms=terms,
        method="master program with cutting-stock layouts, "
        f"{count_of(found.rounds, 'round')}, {count_of(found.cuts, 'cut')}",
        moved=tuple(
            round(found.values[found.master.moved[number]]) if number in found.master.moved else 0
            for number in range(len(problem.classes) if found.master.moved else 0)
        ),
    )


def _layouts(found: Incumbent, quarter: int) -> tuple[tuple[Layout, ...], ...]:
    """Return each pool's layouts of nodes in use, those of nodes that it lends last."""
    pools = found.master.problem.pools
    layouts: list[tuple[Layout, ...]] = [()] * len(pools)
    for pool, waiting in sorted(_waiting(found, quarter).items()):
        at = pools[pool].lender
        runs = _runs(found, pool, quarter, waiting)
        layouts[pool if at is None else at] += _of_pool(found, pool, quarter, waiting, runs)
    return tuple(layouts)


def _of_pool(
    found: Incumbent,
    pool: int,
    quarter: int,
    waiting: dict[Shape, Counter[ClassMode]],
    runs: dict[int, list[tuple[Member, int]]],
) -> tuple[Layout, ...]:
    """Return a pool's layouts: units that take whole nodes first, then shared nodes."""
    if found.master.problem.pools[pool].hire:
        rentals = found.rentals.get((pool, quarter), ())
        return tuple(
            Layout((), 1, bundles=bundled(runs[number]), hours=(one.start, one.end))
            for number, one in enumerate(rentals)
        )
    layouts = [
        Layout(((*part, 1),), units, usage.span)
        for usage in found.master.usages[pool, quarter]
        if usage.span
        for part, units in waiting[usage.asked].items()
    ]
    packed = found.packings[pool, quarter]
    nodes: Counter[tuple[tuple[tuple[int, int, int], ...], tuple[Bundle, ...]]] = Counter()
    number = 0
    for pattern, times in packed.patterns:
        with_runs = min(times, max(0, 1 + max(runs, default=-1) - number))
        for _ in range(with_runs):
            nodes[_node(found, pool, packed, pattern, waiting, runs.pop(number, ()))] += 1
            number += 1
        for _ in range(times - with_runs):
            nodes[_node(found, pool, packed, pattern, waiting, ())] += 1
            number += 1
    for _, members in sorted(runs.items()):
        nodes[(), bundled(members)] += 1
    shared = [
        Layout(parts, count, bundles=bundles) for (parts, bundles), count in sorted(nodes.items())
    ]
    return (*layouts, *shared)


def _runs(
    found: Incumbent,
    pool: int,
    quarter: int,
    waiting: Mapping[Shape, Counter[ClassMode]],
) -> dict[int, list[tuple[Member, int]]]:
    """Return the runs on each node of a pool, with their GPUs there, by the node's number."""
    members: dict[int, list[tuple[Member, int]]] = defaultdict(list)
    whole = found.master.problem.pools[pool].node.gpus
    for one in found.schedule.get(quarter, ()):
        if one.pool != pool:
            continue
        (part,) = _take(waiting[one.shape], 1)
        for node, gpu in one.places:
            taken = one.shape.gpus if len(one.places) == 1 else whole
            members[node].append((Member(*part, one.start, gpu, 0), taken))
    return members


def bundled(members: Iterable[tuple[Member, int]]) -> tuple[Bundle, ...]:
    """Group the runs of one node into bundles that are as small as possible, each with its GPUs."""
    bundles: list[Bundle] = []
    held: list[Member] = []
    first = end = 0
    for member, gpus in sorted(members, key=lambda entry: (entry[0].gpu, entry[0])):
        if held and member.gpu >= end:
            bundles.append(Bundle(end - first, tuple(sorted(held))))
            held = []
        if not held:
            first = end = member.gpu
        end = max(end, member.gpu + gpus)
        held.append(replace(member, gpu=member.gpu - first))
    if held:
        bundles.append(Bundle(end - first, tuple(sorted(held))))
    return tuple(sorted(bundles))


def _node(
    found: Incumbent,
    pool: int,
    packed: Packed,
    pattern: Pattern,
    waiting: dict[Shape, Counter[ClassMode]],
    runs: Iterable[tuple[Member, int]],
) -> tuple[tuple[tuple[int, int, int], ...], tuple[Bundle, ...]]:
    """Return what one node holds: waiting pieces, GPUs that they share, and runs."""
    held: Counter[ClassMode] = Counter()
    opened: list[Bundle] = []
    kind = found.master.problem.pools[pool]
    for index, units in pattern:
        if index < 0:
            gpu = packed.bundles[-1 - index]
            opened += [_opened(kind, gpu, waiting) for _ in range(units)]
        else:
            held.update(_take(waiting[found.stocks[pool].shapes[index]], units))
    parts = tuple((*part, units) for part, units in sorted(held.items()))
    return parts, tuple(sorted([*bundled(runs), *opened]))


def _opened(pool: Pool, gpu: Held, waiting: dict[Shape, Counter[ClassMode]]) -> Bundle:
    """Return one shared GPU with the pieces that it holds side by side all quarter."""
    slots = starts(pool, [shape.part.profile for shape in gpu])
    taken = [next(iter(_take(waiting[shape], 1))) for shape in gpu]
    members = [Member(*unit, 0, 0, slot) for unit, slot in zip(taken, slots, strict=True)]
    return Bundle(1, tuple(sorted(members)))


def _take(queue: Counter[ClassMode], units: int) -> Counter[ClassMode]:
    """Take units from the front of a queue."""
    taken: Counter[ClassMode] = Counter()
    while units:
        part = next(iter(queue))
        used = min(units, queue[part])
        taken[part] += used
        queue[part] -= used
        if not queue[part]:
            del queue[part]
        units -= used
    return taken


def _waiting(found: Incumbent, quarter: int) -> dict[int, dict[Shape, Counter[ClassMode]]]:
    """Return, by pool and shape, the units that run there in a quarter, in the order of classes.

    If several pools have the GPU type, each keeps its units that stay, and the first pool takes
    the first job classes of the others, so that units tend to be where they were in the quarter
    before.
    """
    master, classes = found.master, found.master.problem.classes
    queues: dict[tuple[str, Shape], Counter[ClassMode]] = defaultdict(Counter)
    for (number, position), index in sorted(master.mode.items()):
        mode = classes[number].modes[position]
        units = round(found.values[index]) * mode.copies_in(quarter)
        if quarter in classes[number].quarters and units:
            queues[mode.gpu_type, mode.shape][number, position] += units
    alike: dict[str, list[int]] = defaultdict(list)
    for pool, kind in enumerate(master.problem.pools):
        if (pool, quarter) in master.usages:
            alike[kind.gpu_type].append(pool)
    waiting: dict[int, dict[Shape, Counter[ClassMode]]] = {}
    for gpu_type, pools in alike.items():
        kept = kept_by_pool(master, found.values, pools, quarter)
        for held in kept.values():
            for part, units in held.items():
                queues[gpu_type, classes[part[0]].modes[part[1]].shape][part] -= units
        for pool in pools:
            waiting[pool] = {}
            for usage in master.usages[pool, quarter]:
                mine = Counter(
                    {
                        (number, position): units
                        for (number, position), units in kept[pool].items()
                        if classes[number].modes[position].shape == usage.asked
                    }
                )
                queue = +queues[gpu_type, usage.asked]
                more = _take(queue, round(usage.pieces(found.values)) - mine.total())
                queues[gpu_type, usage.asked] = queue
                waiting[pool][usage.asked] = Counter(dict(sorted((mine + more).items())))
    return waiting


def _prices(found: Incumbent) -> tuple[tuple[PriceTag, ...], tuple[tuple[str, float], ...]]:
    """Return price tags from the duals of the linear relaxation, and the bound's other terms."""
    master, classes = found.master, found.master.problem.classes
    program = Program(list(master.program.variables), list(master.program.rows))
    for index in master.mode.values():  # whose caps rows imply: they carry no price of their own
        program.variables[index] = replace(program.variables[index], upper=None)
    for at, job_class in zip(master.class_rows, classes, strict=True):
        if job_class.endpoint:  # it needs as few units as take its traffic
            program.rows[at] = replace(program.rows[at], sense="<=")
    for at in master.bound_rows:  # what they add is that nodes and hours come whole
        program.rows[at] = replace(program.rows[at], terms=(), right=0.0)
    duals = solve_linear(program)
    assert duals is not None, "a program with a whole solution has a fractional one"
    of_traffic: Counter[int] = Counter()
    traffic_rows = master.traffic_rows | master.cover_rows
    for at, numbers in traffic_rows.items():
        units = sum(classes[number].count for number in numbers)
        shared = duals.rows[at] * master.program.rows[at].right / units
        of_traffic.update(dict.fromkeys(numbers, shared))
    tags = tuple(
        PriceTag(
            (duals.rows[at] + of_traffic[number]) * CENTS_PER_UNIT,
            tuple(
                max(0.0, duals.reduced_costs[master.mode[number, position]]) * CENTS_PER_UNIT
                if (number, position) in master.mode
                else None
                for position in range(len(classes[number].modes))
            ),
        )
        for number, at in enumerate(master.class_rows)
    )
    tagged = sum(tag.cents * job_class.count for tag, job_class in zip(tags, classes, strict=True))
    worth: dict[str, float] = {OWNED_NODES: 0.0, LIMITED_OFFERS: 0.0}
    class_rows = {*master.class_rows, *traffic_rows}
    for number, row in enumerate(master.program.rows):
        if row.right and number not in class_rows:
            owner = row.owner or OWNED_NODES
            cents = duals.rows[number] * row.right * CENTS_PER_UNIT
            worth[owner] = worth.get(owner, 0.0) + cents
    relaxed = duals.objective * CENTS_PER_UNIT
    worth[LIMITED_OFFERS] += relaxed - tagged - sum(worth.values())  # what variables are capped at
    fixed = master.problem.fixed_cost_cents
    return tags, (
        *worth.items(),
        (RUNNING_COST, float(fixed)),
        (WHOLE_NODES, found.bound_cents - fixed - relaxed),
    )
