"""The case that every check examines: a plan and its inputs, indexed once."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from heapq import heappop, heappush
from itertools import count as naturals

from planner.inputs.base import Frozen
from planner.inputs.scenario.quarter import Quarter
from planner.inputs.settled import Inputs, SettledOffer
from planner.planning.plan import Node, Occupant, Plan, ShortJob
from planner.sizing.candidate import Candidate, SizedJob

Unit = tuple[str, int]
"""The job's name and the unit's number."""
ReplicaKey = tuple[str, int, int]
"""The job's name, the unit's number and the replica's number."""
Findings = Generator[str, None, str]
"""A check yields one sentence for each violation and returns what it confirms."""
Seats = dict[ReplicaKey, list[tuple["Node", "Occupant"]]]


@dataclass(frozen=True)
class PlanCase:
    """The plan under test, its inputs, and the jobs sized again from those inputs."""

    inputs: Inputs
    asked: tuple[SizedJob, ...]
    """All jobs as the scenario asks for them."""
    plan: Plan
    node_costs: dict[tuple[object, ...], dict[str, list[int]]] = field(
        default_factory=dict, init=False, compare=False
    )
    """What `checks.money` has worked out: the cost of each kind of node, by what it depends on."""

    @cached_property
    def short(self) -> dict[str, ShortJob]:
        """The jobs that give way according to the plan, and their deployments, by name."""
        jobs = self.plan.shortage.jobs if self.plan.shortage else ()
        names = ((name, job) for job in jobs for name in (job.name, job.deployment))
        return {name: job for name, job in names if name is not None}

    @cached_property
    def jobs(self) -> tuple[SizedJob, ...]:
        """All jobs as they must be placed: without the units that give way."""
        return tuple(self._due(job) for job in self.asked)

    @cached_property
    def on_apis(self) -> dict[str, tuple[tuple[str, tuple[int, ...]], ...]]:
        """For each job, the APIs that serve it, with the number of units in each quarter."""
        return {job.name: job.on_apis for job in self.plan.jobs if job.on_apis}

    def _due(self, job: SizedJob) -> SizedJob:
        placed = self.asked_of(job)
        if job.shares_traffic:
            # As many as the plan says: what arrives is held against what these take.
            said = next((one.units for one in self.plan.jobs if one.name == job.name), ())
            units = tuple(map(min, zip(placed.units, said, strict=False)))
            return placed.model_copy(update={"units": units})
        on_apis = self.on_apis.get(job.name, ())
        units = tuple(
            count - sum(there[quarter] for _, there in on_apis)
            for quarter, count in enumerate(placed.units)
        )
        return placed.model_copy(update={"units": units}) if on_apis else placed

    def arriving(self, job: SizedJob) -> tuple[int, ...]:
        """Return how many times the job's traffic arrives at its units on GPUs, by quarter."""
        return tuple(min(one, 1) if job.shares_traffic else one for one in job.units)

    def asked_of(self, job: SizedJob) -> SizedJob:
        """Return the job as it is kept, on GPUs or on APIs: without units that are short."""
        if job.name not in self.short:
            return job
        due = enumerate(self.due(job))
        units = tuple(count - self.units_short(job.name, quarter) for quarter, count in due)
        return job.model_copy(update={"units": units})

    def due(self, job: SizedJob) -> tuple[int, ...]:
        """Return the units due by quarter: none of a dropped job, later of a delayed one."""
        short = self.short.get(job.name)
        if short is None:
            return job.units
        delay = len(job.units) if short.outcome == "dropped" else short.delay_quarters
        return ((0,) * delay + job.units)[: len(job.units)]

    def units_short(self, job: str, quarter: int) -> int:
        """Return how many units of the job are short in a quarter, according to the plan."""
        short = self.short.get(job)
        mine = short.short if short is not None and short.name == job else ()
        return mine[quarter] if quarter < len(mine) else 0

    @cached_property
    def quarters(self) -> tuple[Quarter, ...]:
        """The quarters of the horizon."""
        horizon = self.inputs.scenario.horizon
        return tuple(horizon.first_quarter + step for step in range(horizon.quarters))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The quarters of the horizon as labels, such as `2027Q1`."""
        return tuple(str(quarter) for quarter in self.quarters)

    @cached_property
    def earliest_order(self) -> date:
        """The first day on which an order can be placed."""
        horizon = self.inputs.scenario.horizon
        return horizon.as_of or horizon.first_quarter.start

    def sold_too_early(self, offer: SettledOffer, quarter: int) -> bool:
        """Return whether the last node that is on sale is delivered a whole quarter before one."""
        if offer.end_of_sale is None:
            return False
        delivered = offer.end_of_sale + timedelta(weeks=offer.lead_time_weeks)
        return delivered <= (self.quarters[quarter] + -1).start

    def order_day(self, offer: SettledOffer, quarter: int) -> date:
        """Return the last working day to order what enters service in a quarter.

        It is no day before the plan's own.
        """
        off = self.inputs.scenario.horizon.holidays
        latest = self.quarters[quarter].start - timedelta(weeks=offer.lead_time_weeks)
        latest = min(latest, offer.end_of_sale or latest)
        days = (latest - timedelta(days=back) for back in naturals())
        working = next(day for day in days if day.weekday() not in (5, 6) and day not in off)
        return max(self.earliest_order, working)

    @cached_property
    def discount(self) -> Fraction:
        """The present value of one dollar that is paid a quarter later, to 50 digits."""
        with localcontext() as context:
            context.prec = 50
            rate = self.inputs.settings.discount_rate_per_year.value
            return Fraction((1 + rate) ** (Decimal(-1) / 4))

    @cached_property
    def quarter_hours(self) -> Fraction:
        """The hours of a quarter."""
        return Fraction(self.inputs.settings.hours_per_quarter.value)

    @cached_property
    def nodes(self) -> dict[str, Node]:
        """The plan's nodes by id."""
        return {node.id: node for node in self.plan.nodes}

    @cached_property
    def offers(self) -> dict[str, SettledOffer]:
        """The offers by name."""
        return {offer.name: offer for offer in self.inputs.offers}

    @cached_property
    def sized(self) -> dict[str, SizedJob]:
        """The sized jobs by name."""
        return {job.name: job for job in self.jobs}

    @cached_property
    def seats(self) -> tuple[Seats, ...]:
        """For each quarter, the places of each replica.

        Unknown nodes are left out; another check reports them.
        """
        found: dict[str, Seats] = {label: defaultdict(list) for label in self.labels}
        for label, node, occupants in self.uses():
            for occupant in occupants:
                found[label][occupant.piece].append((node, occupant))
        return tuple(found.values())

    @cached_property
    def held(self) -> tuple[dict[str, tuple[Occupant, ...]], ...]:
        """For each quarter, the occupants of each node in use, by node id."""
        return tuple({use.node: use.occupants for use in uses} for uses in self.plan.placements)

    @cached_property
    def serving(self) -> tuple[tuple[Node, ...], ...]:
        """For each quarter, the nodes in service, without those that exist for a part of it."""
        nodes = [node for node in self.plan.nodes if node.hours is None]
        return tuple(
            tuple(node for node in nodes if label in node.in_service) for label in self.labels
        )

    def pieces(self) -> Iterator[tuple[int, str, ReplicaKey, list[tuple[Node, Occupant]]]]:
        """Yield the quarter's index from 0, its label, a piece, and the places of that piece."""
        for quarter, (label, seats) in enumerate(zip(self.labels, self.seats, strict=True)):
            for piece, places in seats.items():
                yield quarter, label, piece, places

    def uses(self) -> Iterator[tuple[str, Node, tuple[Occupant, ...]]]:
        """Yield the quarter's label, a node and its occupants.

        Unknown nodes are left out; another check reports them.
        """
        for label, uses in zip(self.labels, self.plan.placements, strict=True):
            for use in uses:
                if use.node in self.nodes:
                    yield label, self.nodes[use.node], use.occupants

    @cached_property
    def _candidates(self) -> dict[str, dict[str, Candidate]]:
        """The candidates by sizing id, then by way."""
        return {
            job.sizing.id: {candidate.way: candidate for candidate in job.sizing.candidates}
            for job in self.jobs
        }

    def candidate(self, job: str, node: Node, occupant: Occupant) -> Candidate | None:
        """Return how a job's unit runs where it sits; None if it may not run there in this way."""
        sized = self.sized.get(job)
        found = self._candidates[sized.sizing.id].get(occupant.way) if sized else None
        return found if found and found.gpu_type == node.gpu_type else None

    def spare(self, node_type: str, site: str) -> int:
        """Return how many nodes must stay empty in a pool that is in use."""
        spare = self.inputs.scenario.policies.spare_nodes
        asked = [spare if isinstance(spare, int) else spare.get(node_type, 0)]
        if site in self.inputs.scenario.sites:
            stated = self.inputs.scenario.sites[site].spare_nodes
            asked.append(stated if isinstance(stated, int) else 0)
        return max(asked)

    def price_usd(self, offer: SettledOffer, quarter: int) -> Decimal:
        """Return the price of each node that enters service in a quarter, given how many do."""
        nodes = self.entering[offer.name, quarter] if offer.levels else 0
        reached = [level for level in offer.levels if nodes >= level.from_nodes]
        level = max(reached, key=lambda level: level.from_nodes, default=offer)
        return level.unit_price_usd

    @cached_property
    def entering(self) -> Counter[tuple[str, int]]:
        """The nodes of each order at all sites together, by offer and quarter from 0."""
        found: Counter[tuple[str, int]] = Counter()
        for (offer, _, label), nodes in self.entering_at_sites.items():
            found[offer, self.labels.index(label)] += nodes
        return found

    @cached_property
    def entering_at_sites(self) -> Counter[tuple[str, str, str]]:
        """The nodes that enter service, by offer, site and quarter label.

        Rented nodes count in every quarter, others when they enter. Nodes that exist for a part
        of a quarter count by the hours or terms that are paid.
        """
        found: Counter[tuple[str, str, str]] = Counter()
        for node in self.plan.nodes:
            if node.origin != "owned":
                enters = node.in_service if node.origin == "rent" else node.in_service[:1]
                for label in enters:
                    found[node.entry, node.site, label] += node.steps
        return found


def in_force(stated: object, label: str) -> object:
    """Return the value that applies in a quarter: a value by quarter holds until the next one.

    None before the first value. Labels sort as the quarters do.
    """
    if not isinstance(stated, dict):
        return stated
    begun = [key for key in stated if key <= label]
    return stated[max(begun)] if begun else None


def at_once(occupant: Occupant) -> Fraction:
    """Return the GPUs that an occupant holds; a part of a GPU counts by its share of the memory."""
    part, gpus = occupant.part, len(occupant.gpus)
    return Fraction(gpus * part.taken, part.of) if part else Fraction(gpus)


def gpu_hours(occupant: Occupant, of_quarter: Fraction) -> Fraction:
    """Return the GPU-hours that an occupant holds, given the hours of a quarter."""
    start, end = occupant.hours or (0, of_quarter)
    return at_once(occupant) * (end - start)


def node_hours(node: Node, of_quarter: Fraction) -> Fraction:
    """Return the GPU-hours that a node offers in a quarter in service."""
    start, end = node.hours or (0, of_quarter)
    return node.gpus * Fraction(end - start)


def most_at_once(
    held: Iterable[tuple[Occupant | Node, int | Fraction]],
) -> tuple[int | Fraction, int]:
    """Return the largest amount that is held together at any hour, and the first such hour."""
    known = [(one.hours, amount) for one, amount in held]
    always = sum((amount for hours, amount in known if hours is None), Fraction(0))
    runs = [(hours, amount) for hours, amount in known if hours is not None]
    most, when = always, 0
    here: list[tuple[int, int | Fraction]] = []
    held_now = always
    for hours, amount in sorted(runs, key=lambda one: one[0]):
        while here and here[0][0] <= hours[0]:
            held_now -= heappop(here)[1]
        heappush(here, (hours[1], amount))
        held_now += amount
        if held_now > most:
            most, when = held_now, hours[0]
    return most, when


def differences(what: str, found: object, expected: object) -> Iterator[str]:
    """Yield a violation if a figure of the plan differs from what the inputs give."""
    if found != expected:
        yield f"{what} is {found}, the inputs give {expected}"


def each_difference(
    what: str, found: Frozen | Mapping[str, object], expected: Mapping[str, object], after: str = ""
) -> Iterator[str]:
    """Yield a violation for each entry of a mapping, or field of a record, that differs."""
    known = (
        {name: getattr(found, name) for name in expected} if isinstance(found, Frozen) else found
    )
    for name in {**expected, **known}:
        yield from differences(f"{what} {name}{after}", known.get(name), expected.get(name))
