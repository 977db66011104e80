"""From layouts to units on GPUs: who sits where in each quarter."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.plan.host import Host
from planner.plan.keep import choices_kept
from planner.plan.plan import NodeUse, Occupant

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from planner.packing import Translation
    from planner.packing.problem import Solution
    from planner.plan.fleet import Fleet
    from planner.plan.match import Group, Hosting

__all__ = ["Placement", "place"]

Piece = tuple[int, int, int]
"""Demand, position among its members, and replica from 1."""


@dataclass(frozen=True, slots=True)
class _Seat:
    """Where a piece sits: its nodes, and the GPU numbers it holds on each of them."""

    nodes: tuple[int, ...]
    gpus: tuple[tuple[int, ...], ...]


Seats = dict[Piece, _Seat]


@dataclass(frozen=True, slots=True)
class Placement:
    """The layouts made concrete."""

    uses: tuple[tuple[NodeUse, ...], ...]
    """By quarter."""
    moves: tuple[int, ...]
    """By quarter: pieces that change node when it begins."""
    kept: tuple[tuple[int, ...], ...]
    """demand × member: choice."""


def place(translation: Translation, solution: Solution, fleet: Fleet) -> Placement:
    """Put every piece on numbered GPUs of named nodes, quarter by quarter."""
    kept = choices_kept(translation, solution)
    seats: Seats = {}
    uses, moves = [], []
    for quarter, layouts in enumerate(solution.layouts):
        before = _going_on(translation, seats, quarter)
        seating = _Seating(translation, fleet, kept, before)
        host = Host(translation.problem, fleet, kept, quarter, seating.counted())
        seats = seating.seat_all(host.hostings(layouts), quarter)
        moves.append(sum(seats[piece].nodes != seat.nodes for piece, seat in before.items()))
        uses.append(_node_uses(translation, fleet, kept, seats))
    return Placement(tuple(uses), tuple(moves), kept)


def _going_on(translation: Translation, seats: Seats, quarter: int) -> Seats:
    """Seats of the pieces that are still active, in canonical order."""
    active = [quarter in demand.quarters for demand in translation.problem.demands]
    return {piece: seats[piece] for piece in sorted(seats) if active[piece[0]]}


class _Seating:
    """The seating of one quarter, given who sat where before."""

    def __init__(
        self,
        translation: Translation,
        fleet: Fleet,
        kept: tuple[tuple[int, ...], ...],
        before: Seats,
    ) -> None:
        self.demands = translation.problem.demands
        self.fleet = fleet
        self.kept = kept
        self.before = before
        self.here: dict[tuple[int, ...], dict[Group, list[Piece]]] = defaultdict(dict)
        for piece, seat in before.items():
            group = (piece[0], kept[piece[0]][piece[1]])
            self.here[seat.nodes].setdefault(group, []).append(piece)
        self.seats: Seats = {}
        self.free = {node: list(range(fleet.nodes[node].gpus)) for node in range(len(fleet.nodes))}

    def counted(self) -> dict[tuple[int, ...], dict[Group, int]]:
        """How many pieces of each group sat on which nodes."""
        return {
            nodes: {group: len(pieces) for group, pieces in groups.items()}
            for nodes, groups in self.here.items()
        }

    def seat_all(self, hostings: Sequence[Hosting], quarter: int) -> Seats:
        """Residents first, so that they keep node and GPU numbers; then everybody else in order."""
        open_places = [
            (hosting, group, count) for hosting in hostings for group, count in self._keep(hosting)
        ]
        waiting = self._waiting(quarter)
        for hosting, group, count in open_places:
            for _ in range(count):
                self._sit(next(waiting[group]), group, hosting.nodes)
        return self.seats

    def _keep(self, hosting: Hosting) -> Iterator[tuple[Group, int]]:
        """Seat those who were here; yield what is left open, by group."""
        here = self.here.get(hosting.nodes, {})
        for group, count in hosting.parts:
            staying = here.get(group, [])[:count]
            for piece in staying:
                self._take(piece, self.before[piece])
            yield group, count - len(staying)

    def _waiting(self, quarter: int) -> dict[Group, Iterator[Piece]]:
        """Active pieces without a seat, by group in canonical order."""
        queues: dict[Group, list[Piece]] = defaultdict(list)
        for index, demand in enumerate(self.demands):
            if quarter not in demand.quarters:
                continue
            for position, choice in enumerate(self.kept[index]):
                for replica in range(1, demand.choices[choice].copies + 1):
                    if (index, position, replica) not in self.seats:
                        queues[index, choice].append((index, position, replica))
        return {group: iter(queue) for group, queue in queues.items()}

    def _sit(self, piece: Piece, group: Group, nodes: tuple[int, ...]) -> None:
        """Give a piece the lowest free GPU numbers of its nodes."""
        gpus = self.demands[group[0]].choices[group[1]].shape.gpus
        if len(nodes) > 1:
            numbers = tuple(tuple(self.free[node]) for node in nodes)
        else:
            numbers = (tuple(self.free[nodes[0]][:gpus]),)
        self._take(piece, _Seat(nodes, numbers))

    def _take(self, piece: Piece, seat: _Seat) -> None:
        self.seats[piece] = seat
        for node, gpus in zip(seat.nodes, seat.gpus, strict=True):
            self.free[node] = [gpu for gpu in self.free[node] if gpu not in gpus]


def _node_uses(
    translation: Translation, fleet: Fleet, kept: tuple[tuple[int, ...], ...], seats: Seats
) -> tuple[NodeUse, ...]:
    """Who holds each node, nodes in the fleet's order, occupants by GPU number."""
    occupants: dict[int, list[Occupant]] = defaultdict(list)
    for (demand, position, replica), seat in seats.items():
        job, number = translation.members[demand][position]
        shape = translation.problem.demands[demand].choices[kept[demand][position]].shape
        cpus, memory_mb = (
            _even(amount, len(seat.nodes)) for amount in (shape.cpus, shape.memory_mb)
        )
        for index, node in enumerate(seat.nodes):
            occupants[node].append(
                Occupant(
                    job=job,
                    unit=number,
                    replica=replica,
                    gpus=seat.gpus[index],
                    cpus=cpus[index],
                    memory_mb=memory_mb[index],
                )
            )
    return tuple(
        NodeUse(
            node=fleet.nodes[node].id,
            occupants=tuple(sorted(occupants[node], key=lambda occupant: occupant.gpus)),
        )
        for node in sorted(occupants)
    )


def _even(amount: int, nodes: int) -> list[int]:
    """Split into whole parts that differ by one at most, the larger ones first."""
    if nodes == 1:
        return [amount]
    share, rest = divmod(amount, nodes)
    return [share + (index < rest) for index in range(nodes)]
