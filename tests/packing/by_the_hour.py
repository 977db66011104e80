"""The least that nodes bought and nodes by the hour cost together, by trying everything."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from typing import NamedTuple, TypeAlias

from planner.inputs.scenario.quarter import RUN_HOURS
from planner.packing.problem import Pool, Problem, Shape
from tests.packing.meaning import SLOT, SLOTS

Copies: TypeAlias = "tuple[tuple[str, Shape, int], ...]"
"""Runs on each of their nodes: site, what it takes, first slot; those alike beside each other."""


class Had(NamedTuple):
    """A run at one site of an offer."""

    site: str
    shape: Shape


def least_with_hours(problem: Problem, least_cost: Callable[[Problem], int | None]) -> int | None:
    """Every way to leave runs to nodes, and the others to each offer by the hour and site."""
    kept = [number for number, pool in enumerate(problem.pools) if not pool.hire]
    nodes = replace(
        problem,
        pools=tuple(problem.pools[number] for number in kept),
        supplies=tuple(one for one in problem.supplies if one.pool in kept),
    )
    units = [
        (number, job_class.modes[0].shape)
        for number, job_class in enumerate(problem.classes)
        for _ in range(job_class.count)
    ]
    found = []
    for places in {_sorted(units, way) for way in product(*(_open(problem, s) for _, s in units))}:
        left = Counter(
            number for (number, _), place in zip(units, places, strict=True) if place < 0
        )
        rest = [
            replace(job_class, count=left[number])
            for number, job_class in enumerate(problem.classes)
            if left[number]
        ]
        cost: int | None = problem.fixed_cost_cents
        if rest:
            cost = least_cost(replace(nodes, classes=tuple(rest)))
        offers: dict[object, list[tuple[int, Shape]]] = defaultdict(list)
        for (_, shape), place in zip(units, places, strict=True):
            if place >= 0:
                supply = _supply(problem, place)
                offers[(supply.name,)].append((place, shape))
        for mine in offers.values():
            supply = _supply(problem, mine[0][0])
            steps = least_steps(
                problem.pools[mine[0][0]],
                tuple(sorted(Had(problem.pools[place].site, shape) for place, shape in mine)),
                supply.maximum,
            )
            price = supply.unit_cost_cents[0]
            cost = None if None in (cost, steps, price) else cost + steps * price
        if cost is not None:
            found.append(cost)
    return min(found, default=None)


def _sorted(units: Sequence[tuple[int, Shape]], way: Sequence[int]) -> tuple[int, ...]:
    """The same where units of a job class are not told apart: they come one after another."""
    numbers = [number for number, _ in units]
    return tuple(place for _, place in sorted(zip(numbers, way, strict=True)))


def _supply(problem: Problem, pool: int):
    return next(one for one in problem.supplies if one.pool == pool)


def _open(problem: Problem, shape: Shape) -> Iterator[int]:
    """Pools by the hour on which a run may be; -1: nodes."""
    yield -1
    for number, pool in enumerate(problem.pools):
        wide = shape.gpus > pool.node.gpus
        together = pool.fabric and shape.spans and not shape.gpus % pool.node.gpus
        here = pool.hire and pool.site in (shape.sites or (pool.site,))
        if here and shape.is_run and (together or not wide):
            yield number


@cache
def least_steps(pool: Pool, runs: tuple[Had, ...], most: int | None) -> int | None:
    """The least that is paid for these runs: every start, and every way to share nodes."""
    assert pool.hire is not None
    found = None
    for starts in product(*(_starts(run.shape) for run in runs)):
        copies = tuple(
            sorted(
                (run.site, run.shape, start)
                for run, start in zip(runs, starts, strict=True)
                for _ in range(max(1, run.shape.gpus // pool.node.gpus))
            )
        )
        for steps in _shared(pool, copies, most, (), found):
            found = steps if found is None else min(found, steps)
    return found


def _shared(
    pool: Pool,
    copies: Copies,
    most: int | None,
    spells: tuple[tuple[int, int], ...],
    below: int | None,
) -> Iterator[int]:
    """Steps of each way to leave runs with their starts to nodes, less than those known."""
    hire = pool.hire
    assert hire is not None
    taken = sum(end - start for start, end in spells) // hire.step_hours
    if below is not None and taken >= below:
        return
    if not copies:
        if most is None or all(sum(a <= at < b for a, b in spells) <= most for at, _ in spells):
            yield taken
        return
    for mine, others in _groups(pool.node, copies[:1], copies[1:], ()):
        begins = min(start for _, _, start in mine) * SLOT
        ends = max(start * SLOT + shape.run.hours for _, shape, start in mine)
        paid = hire.steps(ends - begins) * hire.step_hours
        begins = min(begins, max(0, RUN_HOURS - paid))
        spell = begins, begins + paid
        yield from _shared(pool, others, most, (*spells, spell), below)


def _groups(
    node: Shape, mine: Copies, rest: Copies, others: Copies
) -> Iterator[tuple[Copies, Copies]]:
    """Which of the rest may be on the node of the first ones, and which others are left."""
    if not rest:
        yield mine, others
        return
    if _fit(node, (*mine, rest[0])):
        yield from _groups(node, (*mine, rest[0]), rest[1:], others)
    alike = sum(one == rest[0] for one in rest)  # copies and runs alike are not told apart
    yield from _groups(node, mine, rest[alike:], (*others, *rest[:alike]))


@cache
def _fit(node: Shape, copies: Copies) -> bool:
    """Whether one node holds these runs."""
    held: list[Counter[str]] = [Counter() for _ in range(SLOTS)]
    for _, shape, start in copies:
        whole = shape.gpus >= node.gpus
        for slot in range(start, start + shape.run.hours // SLOT):
            held[slot].update({"gpus": min(shape.gpus, node.gpus)})
            held[slot].update(
                {"cpus": node.cpus if whole and shape.gpus > node.gpus else shape.cpus}
            )
    one_site = len({site for site, _, _ in copies}) == 1
    return one_site and all(one["gpus"] <= node.gpus and one["cpus"] <= node.cpus for one in held)


def _starts(shape: Shape) -> range:
    return range(shape.run.earliest // SLOT, shape.run.latest // SLOT + 1)
