"""Checks the units that run today: pinned ones stay, and moves are listed and priced."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import ROUND_HALF_EVEN, Decimal
from itertools import count
from typing import NamedTuple

from planner.inputs.scenario.scenario import plain
from planner.inputs.text import count_of
from planner.planning.checks.case import Findings, PlanCase, Unit, differences
from planner.planning.plan import Node


class _Today(NamedTuple):
    """Where a unit runs before the first quarter."""

    pool: str
    """The pool, such as `xe9680-h100/frankfurt`."""
    nodes: frozenset[str]
    """The node ids; empty if only the pool is known."""
    pinned: bool


def running_today(case: PlanCase) -> dict[Unit, _Today]:
    """Return where each unit runs today.

    The entries of a job are its units 1, 2, … in the order in which they are listed.
    """
    ids = {plain(node.id): node for node in case.plan.nodes if node.origin == "owned"}
    found: dict[Unit, _Today] = {}
    last: dict[str, int] = {}
    for entry in case.inputs.scenario.running:
        named = [ids[plain(name)] for name in entry.nodes]
        pool = entry.pool or _pool(named[0])
        pinned = entry.pinned or case.inputs.scenario.jobs[entry.job].pinned
        for _ in range(entry.count):
            last[entry.job] = last.get(entry.job, 0) + 1
            nodes = frozenset(node.id for node in named)
            found[entry.job, last[entry.job]] = _Today(pool, nodes, pinned)
    return found


def _pool(node: Node) -> str:
    return f"{node.node_type}/{node.site}"


def _places(case: PlanCase, quarter: int, unit: Unit) -> Iterator[list[Node]]:
    """Return the nodes of each run of a unit, or of the unit itself."""
    for replica in count(1):
        places = case.seats[quarter].get((*unit, replica))
        if not places:
            return
        yield [node for node, _ in places]


def _pinned(case: PlanCase) -> Findings:
    for unit, today in running_today(case).items():
        for quarter, label in enumerate(case.labels if today.pinned else ()):
            for nodes in _places(case, quarter, unit):
                ids = {node.id for node in nodes}
                told = f"{label}: unit {unit[1]} of {unit[0]} is pinned to"
                if today.nodes and ids != today.nodes:
                    yield f"{told} {_listed(today.nodes)}, but is on {_listed(ids)}"
                elif {_pool(node) for node in nodes} != {today.pool}:
                    yield f"{told} {today.pool}, but is on {_listed(ids)}"
    pinned = sum(place.pinned for place in running_today(case).values())
    if not pinned:
        return "no running unit is pinned"
    return f"{count_of(pinned, 'pinned unit')} stay where they run, in every quarter"


def _listed(ids: set[str] | frozenset[str]) -> str:
    return ", ".join(sorted(ids))


def _cents(case: PlanCase, job: str) -> int:
    """Return the cost of moving one unit of the job out of its pool."""
    stated = case.inputs.scenario.jobs[job].move_cost_usd
    usd = case.inputs.scenario.policies.move_cost_usd if stated is None else stated
    return int(((usd or Decimal(0)) * 100).quantize(Decimal(1), ROUND_HALF_EVEN))


def _first_quarter(case: PlanCase) -> Iterator[tuple[Unit, _Today, set[str], bool]]:
    """Yield each unit that runs today, its nodes, and whether it leaves its pool.

    Given are its origin and its nodes in the first quarter. Units that stop because their job
    gives way are left out. A unit that runs several times counts by its first run; jobs that run
    today have no replicas within a unit.
    """
    for unit, today in running_today(case).items():
        nodes = [node for node, _ in case.seats[0].get((*unit, 1), ())]
        if not nodes and unit[0] in case.short:
            continue
        leaves = {_pool(node) for node in nodes} != {today.pool}
        yield unit, today, {node.id for node in nodes}, leaves


def moves_cents(case: PlanCase) -> dict[str, int]:
    """Return the cost of each job's moves in the first quarter."""
    found: dict[str, int] = {}
    for (job, _), _, _, leaves in _first_quarter(case):
        if leaves:
            found[job] = found.get(job, 0) + _cents(case, job)
    return found


def _moves(case: PlanCase) -> Findings:
    current, today = case.plan.current, running_today(case)
    if current is None or not today:
        listed = current is not None
        yield from differences("whether moves are listed", listed, bool(today))
        return "nothing runs today, so nothing moves"
    expected = {}
    for unit, place, ids, leaves in _first_quarter(case):
        # Of a unit that holds nodes for some hours, another node of the pool is no move.
        runs = any(one.hours is not None for _, one in case.seats[0].get((*unit, 1), ()))
        if leaves or (place.nodes and ids != place.nodes and not runs):
            origin = tuple(sorted(place.nodes)) or (place.pool,)
            cents = _cents(case, unit[0]) if leaves else 0
            expected[unit] = (origin, tuple(sorted(ids)), leaves, cents)
    found = {
        (move.job, move.unit): (
            tuple(sorted(move.origin)),
            tuple(sorted(move.nodes)),
            move.leaves_pool,
            move.cost_cents,
        )
        for move in current.moves
    }
    yield from differences("the moves of running units", found, expected)
    figures = (
        len(current.moves),
        current.units,
        current.stopped,
        current.pinned,
        current.cost_cents,
    )
    stopped = len(today) - sum(1 for _ in _first_quarter(case))
    pinned = sum(place.pinned for place in today.values())
    cents = sum(moves_cents(case).values())
    wanted = (len(expected), len(today), stopped, pinned, cents)
    yield from differences("(moves, running units, stopped, pinned, cents)", figures, wanted)
    return "what moves is counted from the placements, and its cost is right to the cent"


CHECKS = (_pinned, _moves)
