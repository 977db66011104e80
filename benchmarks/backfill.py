"""The fewest nodes on which a queue runs a quarter: first in, first out, with EASY backfill.

That is nearly how Slurm runs what is submitted to it, and the queue is helped: it knows how long
each run takes, each node type is a partition of its own, and there are as few nodes as it can do
with. What serves is submitted first, the largest first, and holds its GPUs all quarter; runs follow
when they are released. The first of the queue starts as soon as it fits. While it does not, later
ones start before it where they do not delay it.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.greedy import Bought, Way, prices_of, share_of
from planner.inputs.scenario.quarter import RUN_HOURS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from planner.packing.problem import Mode, Pool, Problem, Shape

__all__ = ["Job", "Node", "fewest_nodes", "first_in_first_out", "hours_of_starts"]


class Node(NamedTuple):
    """What a node offers, or what of it is free or taken."""

    gpus: int
    cpus: int
    memory_mb: int

    def holds(self, other: Node) -> bool:
        """Whether this is no less than the other in all three."""
        return all(mine >= its for mine, its in zip(self, other, strict=True))

    def without(self, other: Node) -> Node:
        """What is left of it."""
        return Node(*(mine - its for mine, its in zip(self, other, strict=True)))

    def with_(self, other: Node) -> Node:
        """Both together."""
        return Node(*(mine + its for mine, its in zip(self, other, strict=True)))


@dataclass(frozen=True, slots=True)
class Job:
    """What is submitted."""

    takes: Node
    """Of each of its nodes."""
    hours: int
    released: int = 0
    until: int = RUN_HOURS
    """Hour by whose beginning it must have ended."""
    nodes: int = 1


def first_in_first_out(
    problem: Problem, assigned: Sequence[Sequence[int]] | None = None
) -> Bought | None:
    """What a portfolio of one quarter takes, bought; None where no number of nodes would do.

    Each unit asks for the node that is the cheapest for what it takes, or for what it is assigned:
    units by job class and mode.
    """
    prices = prices_of(problem)
    nodes = 0
    cost_cents = 0
    for pool, jobs in _submitted(problem, prices, assigned).items():
        fewest = fewest_nodes(jobs, Node(*problem.pools[pool].node[:3]))
        if fewest is None:
            return None
        nodes += fewest
        cost_cents += fewest * prices[pool]
    return Bought(cost_cents, nodes)


def fewest_nodes(jobs: Sequence[Job], node: Node) -> int | None:
    """The fewest nodes on which all jobs end in time; None where all nodes there could be do not.

    More nodes may end a queue later, so no number is skipped.
    """
    most = sum(job.nodes for job in jobs)
    return next(
        (
            nodes
            for nodes in range(_least(jobs, node), most + 1)
            if hours_of_starts(jobs, node, nodes) is not None
        ),
        None,
    )


def hours_of_starts(jobs: Sequence[Job], node: Node, nodes: int) -> list[int] | None:
    """By job, in order of submission, the hour at which it starts; None if one ends too late."""
    queue = _Queue(jobs, node, nodes)
    while queue.waiting or queue.coming:
        if not queue.start_what_fits():
            return None
        queue.go_on()
    return queue.starts


class _Queue:
    """Jobs that wait and jobs that run, at one hour."""

    def __init__(self, jobs: Sequence[Job], node: Node, nodes: int) -> None:
        self._jobs = jobs
        self._free = [node] * nodes
        self._running: list[tuple[int, int, tuple[int, ...]]] = []
        """(end, job, its nodes)."""
        self._now = 0
        self.starts = [-1] * len(jobs)
        self.coming = sorted(range(len(jobs)), key=lambda job: jobs[job].released)
        self.waiting: list[int] = []
        self._release()

    def start_what_fits(self) -> bool:
        """Start the first ones, then what does not delay the next; False if one comes too late."""
        if any(self._now > self._latest(job) for job in self.waiting):
            return False
        while self.waiting and (places := _places(self._jobs[self.waiting[0]], self._free)):
            self._start(self.waiting[0], places)
        if self.waiting:
            self._backfill(self._jobs[self.waiting[0]])
        return bool(self._running or not self.waiting)

    def go_on(self) -> None:
        """To the next hour at which a job ends or comes."""
        self._now = min(
            [end for end, _, _ in self._running]
            + [self._jobs[job].released for job in self.coming[:1]],
            default=self._now,
        )
        for end, job, places in [one for one in self._running if one[0] <= self._now]:
            self._running.remove((end, job, places))
            for place in places:
                self._free[place] = self._free[place].with_(self._jobs[job].takes)
        self._release()

    def _release(self) -> None:
        while self.coming and self._jobs[self.coming[0]].released <= self._now:
            self.waiting.append(self.coming.pop(0))

    def _latest(self, job: int) -> int:
        return self._jobs[job].until - self._jobs[job].hours

    def _start(self, job: int, places: tuple[int, ...]) -> None:
        self.waiting.remove(job)
        self.starts[job] = self._now
        self._running.append((self._now + self._jobs[job].hours, job, places))
        for place in places:
            self._free[place] = self._free[place].without(self._jobs[job].takes)

    def _backfill(self, head: Job) -> None:
        """Start later ones that end before the head can start, or leave it what it then takes."""
        begins, spare = self._reserved(head)
        for job in self.waiting[1:]:
            asks = self._jobs[job]
            in_time = self._now + asks.hours <= begins
            places = _places(asks, self._free, None if in_time else spare)
            if places:
                self._start(job, places)
                for place in () if in_time else places:
                    spare[place] = spare[place].without(asks.takes)

    def _reserved(self, head: Job) -> tuple[int, list[Node]]:
        """The hour at which the head can start, and what is free then beside it."""
        free = list(self._free)
        begins = self._now
        for end, job, held in sorted(self._running):
            if end > begins and (places := _places(head, free)):
                break
            begins = end
            for place in held:
                free[place] = free[place].with_(self._jobs[job].takes)
        else:
            places = _places(head, free)
        for place in places:
            free[place] = free[place].without(head.takes)
        return begins, free


def _places(job: Job, free: Sequence[Node], also: Sequence[Node] | None = None) -> tuple[int, ...]:
    """Nodes for a job, the fullest that hold it, now and in the other list; empty: too few do."""
    fits = [
        (node.gpus, number)
        for number, node in enumerate(free)
        if node.holds(job.takes) and (also is None or also[number].holds(job.takes))
    ]
    return (
        tuple(number for _, number in sorted(fits)[: job.nodes]) if len(fits) >= job.nodes else ()
    )


def _least(jobs: Sequence[Job], node: Node) -> int:
    """Nodes that hold all jobs by their hours alone, and the largest one."""
    hours = [
        sum(job.takes[resource] * job.nodes * job.hours for job in jobs) for resource in range(3)
    ]
    by_hours = (-(-used // (RUN_HOURS * size)) for used, size in zip(hours, node, strict=True))
    return max(*by_hours, *(job.nodes for job in jobs))


def _submitted(
    problem: Problem, prices: dict[int, int], assigned: Sequence[Sequence[int]] | None
) -> dict[int, list[Job]]:
    """By pool, in order of submission: what serves, the largest first, then runs as they come."""
    ways: list[Way] = []
    for number, job_class in enumerate(problem.classes):
        if assigned is None:
            ways += [_cheapest(problem, job_class.modes, prices)] * job_class.count
        else:
            for mode, units in zip(job_class.modes, assigned[number], strict=True):
                ways += [_cheapest(problem, [mode], prices)] * units
    random.Random("submission").shuffle(ways)
    ways.sort(key=lambda way: (way[1].is_run, 0 if way[1].is_run else -way[1].gpus))
    submitted: dict[int, list[Job]] = defaultdict(list)
    for pool, shape in ways:
        submitted[pool].append(_job(problem.pools[pool], shape))
    return submitted


def _cheapest(problem: Problem, modes: Iterable[Mode], prices: dict[int, int]) -> Way:
    """The way to run a unit that takes the least of a node, in money times hours."""

    def cost(way: Way) -> float:
        pool = problem.pools[way[0]]
        nodes = pool.nodes_taken(way[1]) or share_of(pool, way[1])
        return nodes * prices[way[0]] * way[1].run.hours

    ways = [
        (number, mode.shape)
        for mode in modes
        for number, pool in enumerate(problem.pools)
        if number in prices
        and pool.gpu_type == mode.gpu_type
        and pool.nodes_taken(mode.shape) is not None
    ]
    return min(ways, key=cost)


def _job(pool: Pool, shape: Shape) -> Job:
    nodes = pool.nodes_taken(shape)
    takes = Node(*(pool.node if nodes else shape)[:3])
    return Job(takes, shape.run.hours, shape.run.earliest, shape.run.until, nodes or 1)
