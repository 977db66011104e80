"""Places units on GPUs: the mode in which each runs, its nodes, and which units move."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

from planner.inputs.catalog.catalog import GpuType
from planner.inputs.scenario.scenario import NodePlace, running_units
from planner.inputs.settled import Inputs
from planner.inputs.text import usd
from planner.packing import Translation
from planner.packing.problem import WHOLE, Mode, Part, Pool
from planner.packing.solution import Bundle, Solution
from planner.planning.fleet import Fleet
from planner.planning.node_assignment import Group, NodeAssignment, QuarterNodes
from planner.planning.plan import CurrentPlacement, GpuPart, Move, NodeUse, Occupant
from planner.sizing.candidate import SizedJob

ReplicaIndex = tuple[int, int, int]
"""The job class, the position among its members, and the replica from 1."""
Unit = tuple[str, int]
"""The job's name and the unit's number."""
Way = tuple[str, str]
"""The GPU type and the name of a mode."""
Kept = tuple[tuple[int, ...], ...]
"""job class × member: mode."""


@dataclass(frozen=True, slots=True)
class GpuAssignment:
    """Where a piece sits: its nodes, and the GPU numbers that it holds on each of them."""

    nodes: tuple[int, ...]
    gpus: tuple[tuple[int, ...], ...]
    start: int | None = None
    """The hour of the quarter in which its run starts; None: it holds them all quarter."""
    slot: int = 0
    """The first memory slice of its partition."""
    shared: bool = False
    """Whether others may hold the same GPUs, at other hours or in parts."""


GpuAssignments = dict[ReplicaIndex, GpuAssignment]


def assigned_modes(translation: Translation, solution: Solution) -> Kept:
    """Choose the mode of each member of each job class, keeping a job in one mode if possible.

    Units that have run before go on as they did, as many as can. Then large jobs choose first: a
    job goes where its other units are, else where it fits tightest, and is split only if it fits
    nowhere whole.
    """
    ways_of_job: dict[str, Counter[Way]] = defaultdict(Counter)
    before: dict[Unit, Way] = {}
    kept = []
    for job_class, members in enumerate(translation.members):
        asked = translation.problem.classes[job_class]
        modes = [(mode.gpu_type, mode.way) for mode in asked.modes]
        left = list(solution.assigned[job_class])
        chosen = []
        for way in (before.get(unit) for unit in members):
            same = (n for n, one in enumerate(modes) if one == way and left[n])
            chosen.append(next(same, -1))
            if chosen[-1] >= 0:
                left[chosen[-1]] -= 1
        by_job = groupby(range(len(members)), key=lambda position: members[position][0])
        every = [(job, list(positions)) for job, positions in by_job]
        for job, mine in sorted(every, key=lambda one: (-len(one[1]), one[0])):
            seen = ways_of_job[job]
            positions = [position for position in mine if chosen[position] < 0]
            taken = _take(modes, left, seen, len(positions))
            for position, mode in zip(positions, taken, strict=True):
                chosen[position] = mode
                seen[modes[mode]] += 1
        before |= {unit: modes[mode] for unit, mode in zip(members, chosen, strict=True)}
        kept.append(tuple(chosen))
    return tuple(kept)


def _take(modes: list[Way], left: list[int], seen: Counter[Way], units: int) -> list[int]:
    """Take `units` from `left` in as few modes as possible; return the modes by unit.

    Whole before split, then the job's own way, then the tightest fit (or the largest, if split).
    """
    taken: list[int] = []
    while wanted := units - len(taken):
        ranked = [
            (count < wanted, -seen[modes[index]], count if count >= wanted else -count, index)
            for index, count in enumerate(left)
            if count
        ]
        best = min(ranked)[-1]
        count = min(left[best], wanted)
        left[best] -= count
        taken += [best] * count
    return taken


def _seats_today(
    translation: Translation, fleet: Fleet, kept: Kept, today: Mapping[Unit, tuple[int, ...]]
) -> GpuAssignments:
    """Return the seats of the units that run today, for the mode that they take from now on.

    `today` gives their nodes by job and unit. Left out are units whose mode runs on other
    nodes, units for which their nodes have no room by the needs that the rules state, and runs,
    which hold no node for good.
    """
    seats: GpuAssignments = {}
    pools = translation.problem.pools
    nodes_today = {place: fleet.nodes[place] for nodes in today.values() for place in nodes}
    free: dict[int, tuple[int, ...]] = {
        place: (one.gpus, one.cpus, one.memory_mb) for place, one in nodes_today.items()
    }
    numbers = {place: list(range(one.gpus)) for place, one in nodes_today.items()}
    serving = {place for pool in fleet.in_service[0] for place in pool} if today else set()
    for job_class, members in enumerate(translation.members):
        for position, unit in enumerate(members):
            nodes = today.get(unit, ())
            mode = translation.problem.classes[job_class].modes[kept[job_class][position]]
            shape = mode.shape
            if shape.is_run or not nodes or not serving.issuperset(nodes):
                continue
            here = pools[fleet.pool[nodes[0]]]
            taken = {pool.nodes_taken(shape) for pool in pools if pool.home == here.home}
            fits = len(nodes) in taken or (len(nodes) == 1 and 0 in taken)
            if here.gpu_type != mode.gpu_type or not fits:
                continue
            amounts = (shape.gpus, shape.cpus, shape.memory_mb)
            each = [-(-amount // len(nodes)) for amount in amounts]
            left = {
                place: tuple(there - need for there, need in zip(free[place], each, strict=True))
                for place in nodes
            }
            if min(map(min, left.values())) >= 0:
                held = tuple(tuple(numbers[place][: each[0]]) for place in nodes)
                free |= left
                for place in nodes:
                    del numbers[place][: each[0]]
                seats[job_class, position, 1] = GpuAssignment(nodes, held, shared=shape.bundles)
    return seats


_Open: TypeAlias = "tuple[tuple[int, ...], Group, GpuAssignment | None]"
"""The nodes, the group that may sit there, and the GPUs; None: any whole GPUs."""


@dataclass(frozen=True, slots=True)
class UnitPlacement:
    """The layouts made concrete."""

    uses: tuple[tuple[NodeUse, ...], ...]
    """One entry for each quarter."""
    moves: tuple[int, ...]
    """For each quarter, the pieces that change node when it begins, without runs."""
    kept: Kept


def place(
    inputs: Inputs, translation: Translation, solution: Solution, fleet: Fleet
) -> UnitPlacement:
    """Place every piece on numbered GPUs of named nodes, quarter by quarter.

    Units that run today keep their nodes if their pool keeps them and the others leave them
    room. Runs go where the layouts of each quarter put them.
    """
    kept = assigned_modes(translation, solution)
    seats = _seats_today(translation, fleet, kept, _nodes_today(inputs, fleet))
    uses, moves = [], []
    for quarter, layouts in enumerate(solution.layouts):
        before, left = _going_on(translation, kept, seats, quarter)
        seating = _Seating(translation, fleet, kept, before)
        here = {
            nodes: {group: len(pieces) for group, pieces in groups.items()}
            for nodes, groups in seating.here.items()
        }
        nodes = QuarterNodes(translation.problem, fleet, kept, quarter, here)
        seats = seating.seat_all(nodes.assigned(layouts), quarter)
        moves.append(
            sum(
                seats[piece].nodes != seat.nodes
                for piece, seat in (before | left if quarter else {}).items()
                if piece in seats and seats[piece].start is None
            )
        )
        uses.append(seating.node_uses(inputs.catalog.gpus))
    return UnitPlacement(tuple(uses), tuple(moves), kept)


def _going_on(
    translation: Translation, kept: Kept, seats: GpuAssignments, quarter: int
) -> tuple[GpuAssignments, GpuAssignments]:
    """Return the seats of the pieces that go on as they are, and of those in another way.

    In canonical order. Where the next stage of a unit begins, its pieces take the number that it
    has there. Runs are over.
    """
    classes = translation.problem.classes
    begins = {
        unit: (index, position)
        for index, job_class in enumerate(classes)
        if job_class.quarters[0] == quarter > 0
        for position, unit in enumerate(translation.members[index])
    }
    going_on: GpuAssignments = {}
    left: GpuAssignments = {}
    for piece in sorted(piece for piece, seat in seats.items() if seat.start is None):
        index, position, replica = piece
        if quarter in classes[index].quarters:
            if replica <= classes[index].modes[kept[index][position]].copies_in(quarter):
                going_on[piece] = seats[piece]
        elif stage := begins.get(translation.members[index][position]):
            before = classes[index].modes[kept[index][position]]
            now = classes[stage[0]].modes[kept[stage[0]][stage[1]]]
            same = (before.gpu_type, before.way) == (now.gpu_type, now.way)
            if replica <= now.copies_in(quarter):
                (going_on if same else left)[*stage, replica] = seats[piece]
    return dict(sorted(going_on.items())), left


class _Seating:
    """The seating of one quarter, given who sat where before."""

    def __init__(
        self,
        translation: Translation,
        fleet: Fleet,
        kept: Kept,
        before: GpuAssignments,
    ) -> None:
        self.classes = translation.problem.classes
        self.members = translation.members
        self.pools = translation.problem.pools
        self.fleet = fleet
        self.kept = kept
        self.before = before
        self.here: dict[tuple[int, ...], dict[Group, list[ReplicaIndex]]] = defaultdict(dict)
        for piece, seat in before.items():
            group = (piece[0], kept[piece[0]][piece[1]])
            self.here[seat.nodes].setdefault(group, []).append(piece)
        self.seats: GpuAssignments = {}
        self.free = {node: list(range(fleet.nodes[node].gpus)) for node in range(len(fleet.nodes))}

    def seat_all(self, assigned: Sequence[NodeAssignment], quarter: int) -> GpuAssignments:
        """Seat residents first, so that they keep node and GPU numbers.

        Then all others in order.
        """
        open_places = [
            (one.nodes, group, seat) for one in assigned for group, seat in self._keep(one)
        ]
        waiting = self._waiting(quarter)
        for nodes, group, seat in sorted(self._joined(open_places), key=self._by_start):
            self._sit(next(waiting[group]), group, nodes, seat)
        return self.seats

    def _joined(self, places: Sequence[_Open]) -> Iterator[_Open]:
        """Join the places of a run on several nodes into one."""
        parts: dict[tuple[Group, int, int], dict[int, tuple[int, ...]]] = defaultdict(dict)
        for nodes, group, seat in places:
            asked = self._mode(group).shape.gpus
            if seat is None or seat.start is None or asked == len(seat.gpus[0]):
                yield nodes, group, seat
            else:
                parts[group, self.fleet.pool[nodes[0]], seat.start][nodes[0]] = seat.gpus[0]
        for (group, _, start), gpus in parts.items():
            every = sorted(gpus)
            size = self._mode(group).shape.gpus // len(gpus[every[0]])
            for first in range(0, len(every), size):
                held = tuple(every[first : first + size])
                taken = tuple(gpus[node] for node in held)
                yield held, group, GpuAssignment(held, taken, start, shared=True)

    def _by_start(self, place: _Open) -> tuple[bool, int]:
        """Sort so that the places where units ran before come first, for their first runs."""
        nodes, group, seat = place
        if seat is None or seat.start is None:
            return False, 0
        home = self.pools[self.fleet.pool[nodes[0]]].home
        return self.classes[group[0]].origin != home, seat.start

    def _keep(self, assigned: NodeAssignment) -> Iterator[tuple[Group, GpuAssignment | None]]:
        """Seat those who were here, and yield the open places; None for any whole GPUs."""
        here = self.here.get(assigned.nodes, {})
        residents = {group: list(here.get(group, ())) for group, _ in assigned.parts}
        sharing = Counter(
            (member.job_class, member.mode)
            for bundle in assigned.bundles
            for member in bundle.members
        )
        places: list[tuple[Group, GpuAssignment | None]] = []
        for group, count in assigned.parts:
            whole = count - sharing[group]
            staying = [one for one in residents[group] if not self.before[one].shared][:whole]
            for piece in staying:
                self._take(piece, self.before[piece])
                residents[group].remove(piece)
            places += [(group, None)] * (whole - len(staying))
        for bundle in assigned.bundles:
            places += self._share(bundle, assigned.nodes, residents)
        for group, seat in places:
            if residents[group]:
                self._sit(residents[group].pop(0), group, assigned.nodes, seat)
            else:
                yield group, seat

    def _share(
        self,
        bundle: Bundle,
        nodes: tuple[int, ...],
        residents: Mapping[Group, list[ReplicaIndex]],
    ) -> list[tuple[Group, GpuAssignment]]:
        """Give a bundle the lowest free GPUs, and seat those who had the same place."""
        free = self.free[nodes[0]]
        numbers, self.free[nodes[0]] = tuple(free[: bundle.gpus]), free[bundle.gpus :]
        places = []
        for member in bundle.members:
            group = (member.job_class, member.mode)
            gpus = numbers[member.gpu :][: self._mode(group).shape.gpus]
            start = member.start if self._mode(group).shape.is_run else None
            seat = GpuAssignment(nodes, (gpus,), start, member.slot, shared=True)
            same = next((one for one in residents[group] if self.before[one] == seat), None)
            if same is None:
                places.append((group, seat))
            else:
                residents[group].remove(same)
                self._take(same, seat)
        return places

    def _mode(self, group: Group) -> Mode:
        return self.classes[group[0]].modes[group[1]]

    def _waiting(self, quarter: int) -> dict[Group, Iterator[ReplicaIndex]]:
        """Yield active pieces without a seat, by group in canonical order, all first runs first."""
        queues: dict[Group, list[ReplicaIndex]] = defaultdict(list)
        for index, job_class in enumerate(self.classes):
            if quarter not in job_class.quarters:
                continue
            for position, mode in enumerate(self.kept[index]):
                for replica in range(1, job_class.modes[mode].copies_in(quarter) + 1):
                    if (index, position, replica) not in self.seats:
                        queues[index, mode].append((index, position, replica))
        for (index, mode), queue in queues.items():
            if self.classes[index].modes[mode].shape.is_run:
                queue.sort(key=lambda piece: (piece[2], piece[1]))
        return {group: iter(queue) for group, queue in queues.items()}

    def _sit(
        self, piece: ReplicaIndex, group: Group, nodes: tuple[int, ...], seat: GpuAssignment | None
    ) -> None:
        """Give a piece this seat, or the lowest free GPU numbers of its nodes."""
        shape = self._mode(group).shape
        numbers = tuple(tuple(self.free[node]) for node in nodes)
        if len(nodes) == 1:
            numbers = (numbers[0][: shape.gpus],)
        self._take(piece, seat or GpuAssignment(nodes, numbers))

    def _take(self, piece: ReplicaIndex, seat: GpuAssignment) -> None:
        self.seats[piece] = seat
        for node, gpus in zip(seat.nodes, seat.gpus, strict=True):
            self.free[node] = [gpu for gpu in self.free[node] if gpu not in gpus]

    def node_uses(self, gpu_types: Mapping[str, GpuType]) -> tuple[NodeUse, ...]:
        """Return who holds each node.

        Nodes come in the fleet's order, occupants by first GPU, hour and slice.
        """
        occupants: dict[int, list[Occupant]] = defaultdict(list)
        for (job_class, position, replica), seat in self.seats.items():
            job, number = self.members[job_class][position]
            mode = self._mode((job_class, self.kept[job_class][position]))
            shape, pool = mode.shape, self.pools[self.fleet.pool[seat.nodes[0]]]
            hours = None if seat.start is None else (seat.start, seat.start + shape.run.hours)
            part = _part(shape.part, seat.slot, pool, gpu_types)
            cpus, memory_mb = (_even(one, len(seat.nodes)) for one in (shape.cpus, shape.memory_mb))
            for index, node in enumerate(seat.nodes):
                occupants[node].append(
                    Occupant(
                        job=job,
                        unit=number,
                        replica=replica,
                        gpus=seat.gpus[index],
                        cpus=cpus[index],
                        memory_mb=memory_mb[index],
                        hours=hours,
                        part=part,
                        way=mode.way,
                    )
                )

        def in_order(one: Occupant) -> tuple[int, int, int]:
            return one.gpus[0], one.held_hours[0], (one.part and one.part.first) or 0

        return tuple(
            NodeUse(
                node=self.fleet.nodes[node].id,
                occupants=tuple(sorted(occupants[node], key=in_order)),
            )
            for node in sorted(occupants)
        )


def _part(part: Part, slot: int, pool: Pool, gpu_types: Mapping[str, GpuType]) -> GpuPart | None:
    if part == WHOLE:
        return None
    if not part.profile:
        return GpuPart(profile=None, first=None, taken=part.memory_mb, of=pool.shared_mb)
    gpu = gpu_types[pool.gpu_type]
    slices = gpu.mig_profiles[part.profile].memory_slices
    return GpuPart(profile=part.profile, first=slot, taken=slices, of=gpu.memory_slices)


def _even(amount: int, nodes: int) -> list[int]:
    """Split into whole parts that differ by one at most, the larger ones first."""
    share, rest = divmod(amount, nodes)
    return [share + (index < rest) for index in range(nodes)]


def current_placement(
    inputs: Inputs,
    jobs: tuple[SizedJob, ...],
    translation: Translation,
    fleet: Fleet,
    placement: UnitPlacement,
) -> CurrentPlacement | None:
    """Say what becomes of the units that run today; None if the scenario lists none.

    A unit that holds nodes for some hours only is where its first run is, on whatever node
    there.
    """
    running = running_units(inputs.scenario)
    if not running:
        return None
    place_of = {node.id: place for place, node in enumerate(fleet.nodes)}
    now: dict[Unit, list[int]] = defaultdict(list)
    runs: set[Unit] = set()
    held = [(use.node, one) for use in placement.uses[0] for one in use.occupants]
    for node, one in held:
        if one.replica == 1:
            now[one.job, one.unit].append(place_of[node])
        if one.hours is not None:
            runs.add((one.job, one.unit))
    known, sized = _nodes_today(inputs, fleet), {job.name: job for job in jobs}
    moves = []
    for unit, today in sorted(running.items()):
        if unit not in now:
            continue
        nodes, before = sorted(now[unit]), sorted(known.get(unit, ()))
        first = fleet.nodes[nodes[0]]
        leaves = (first.node_type, first.site) != (today.place.node_type, today.place.site)
        if leaves:
            reason = next(_why_it_moves(inputs, sized[unit[0]], translation, today.place))
        elif before and before != nodes and unit not in runs:
            reason = "makes room within its pool, where moves cost nothing"
        else:
            continue
        moves.append(
            Move(
                job=unit[0],
                unit=unit[1],
                origin=tuple(fleet.nodes[node].id for node in before) or (today.place.pool,),
                nodes=tuple(fleet.nodes[node].id for node in nodes),
                leaves_pool=leaves,
                cost_cents=inputs.scenario.move_cents(unit[0]) if leaves else 0,
                reason=reason,
            )
        )
    return CurrentPlacement(
        units=len(running),
        stopped=sum(unit not in now for unit in running),
        pinned=sum(unit.pinned for unit in running.values()),
        moves=tuple(moves),
        cost_cents=sum(move.cost_cents for move in moves),
    )


def _nodes_today(inputs: Inputs, fleet: Fleet) -> dict[Unit, tuple[int, ...]]:
    """Return the positions of the nodes on which each unit runs today, where these are known."""
    owned = {
        (node.node_type, node.site, int(node.id.rpartition("/")[2])): position
        for position, node in enumerate(fleet.nodes)
        if node.origin == "owned"
    }
    return {
        unit: tuple(owned[at.node_type, at.site, number] for number in at.numbers)
        for unit, running in running_units(inputs.scenario).items()
        if (at := running.place).numbers
    }


def _why_it_moves(
    inputs: Inputs, job: SizedJob, translation: Translation, place: NodePlace
) -> Iterator[str]:
    """Say what speaks against staying in a pool; last, that it is cheaper elsewhere."""
    problem, label = translation.problem, translation.quarters[0]
    pools = [pool for pool in problem.pools if pool.home == place.pool]
    owned = sum(pool.owned_in(0) for pool in pools)
    offered = any(
        problem.pools[supply.pool].home == place.pool and supply.unit_cost_cents[0] is not None
        for supply in problem.supplies
        if not supply.releases
    )
    if not owned and not offered:
        yield f"no node of {place.pool} can be in service in {label}"
        return
    if not offered and owned <= max(pool.spare for pool in pools if not pool.held):
        yield f"every node of {place.pool} is kept spare in {label}"
    if job.sites and place.site not in job.sites:
        yield f"it may not run at {place.site}"
    for rejection in job.sizing.rejections:
        if rejection.gpu_type == pools[0].gpu_type:
            told = f"{rejection.message} ({rejection.rule})"
            yield f"it may not use {rejection.gpu_type}: {told}"
    for quarter, label in enumerate(translation.quarters if job.keeps_gpu_type else ()):
        if job.units[quarter] and not problem.can_have(pools[0].gpu_type, quarter):
            told = f"no {pools[0].gpu_type} can be in service in {label}"
            yield f"{told}, and its units keep one GPU type over all quarters"
    cents = inputs.scenario.move_cents(job.name)
    if cents:
        yield f"the cheapest plan found moves it, though that costs {usd(cents)}"
    yield "the cheapest plan found moves it; no price of a move is stated"
