"""The parts of a plan as values: servers, moves, shortage, teams, the second opinion."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from planner.inputs.base import Frozen
from planner.inputs.scenario.quarter import RUN_HOURS
from planner.inputs.text.words import count_of

__all__ = [
    "Chargeback",
    "CurrentPlacement",
    "GpuPart",
    "Move",
    "Node",
    "NodeUse",
    "Occupant",
    "Origin",
    "PoolUse",
    "PriorityUse",
    "ProvedStep",
    "QuotaUse",
    "SecondOpinion",
    "ShortJob",
    "Shortage",
    "TeamUse",
]

Origin = Literal["owned", "buy", "rent", "reserve", "hourly"]
"""The last one: had and paid for some hours or weeks of a quarter."""


class Node(Frozen):
    """One server of the plan."""

    id: str
    """`xe9680-h100/dc-east/03`; rented ones end in `r1`, reserved ones in `v1`, those that are had
    for hours or weeks of a quarter in `h1`, …"""
    node_type: str
    gpu_type: str
    gpus: int
    cpus: int
    memory_mb: int
    site: str
    origin: Origin
    entry: str
    """Name of the fleet entry or offer."""
    in_service: tuple[str, ...]
    """Quarters."""
    hours: tuple[int, int] | None = None
    """From when to when of its one quarter it is had and paid, in hours from its start; None: it is
    in service for whole quarters."""
    steps: int = 1
    """Hours or terms that are paid of it where it comes and goes within the quarter."""
    racks: tuple[int, ...] = ()
    """Number of its rack, from 1, in each quarter in service; empty where the site has none."""

    @property
    def pool(self) -> tuple[str, str, str]:
        """Node type, site, and the offer where it comes and goes within a quarter."""
        return self.node_type, self.site, self.entry if self.hours else ""

    def gpu_hours(self, of_quarter: Fraction) -> Fraction:
        """GPU-hours that it offers in a quarter in service, where a quarter has so many hours."""
        hours = Fraction(self.hours[1] - self.hours[0]) if self.hours else of_quarter
        return self.gpus * hours


class GpuPart(Frozen):
    """What a piece takes of one GPU that others may share with it at the same time."""

    profile: str | None
    """Partition of this MIG profile; None: memory of a GPU that is not partitioned."""
    first: int | None
    """First memory slice of the partition, from 0; None without one."""
    taken: int
    """Memory slices of the partition, or MB of memory."""
    of: int
    """As many as the whole GPU has."""

    @property
    def share(self) -> Fraction:
        """Of the memory of the GPU."""
        return Fraction(self.taken, self.of)


class Occupant(Frozen):
    """A unit of a job on a node, or one of its replicas or runs."""

    job: str
    unit: int
    """From 1."""
    replica: int = 1
    """From 1 in each unit; more than one only where the replicas follow from a load, and where a
    unit of a tuning job runs several times in a quarter."""
    gpus: tuple[int, ...]
    """GPU numbers on this node, from 0."""
    cpus: int
    memory_mb: int
    """Host memory taken on this node, MB."""
    hours: tuple[int, int] | None = None
    """From when to when it holds all this, in hours from the start of the quarter; None: all
    quarter."""
    part: GpuPart | None = None
    """None: its GPUs are whole."""
    way: str = ""
    """Way of the candidate by which it runs, among those of the job."""

    @property
    def held_hours(self) -> tuple[int, int]:
        """The same, of those that hold it all quarter as well."""
        return self.hours or (0, RUN_HOURS)

    @property
    def gpus_at_once(self) -> Fraction:
        """GPUs that it holds while it does; a part of one counts by its share."""
        gpus = len(self.gpus)
        return gpus * self.part.share if self.part else Fraction(gpus)

    def gpu_hours(self, of_quarter: Fraction) -> Fraction:
        """GPU-hours that it holds, where a quarter has so many hours."""
        hours = Fraction(self.hours[1] - self.hours[0]) if self.hours else of_quarter
        return self.gpus_at_once * hours

    @property
    def piece(self) -> tuple[str, int, int]:
        """Job, unit and replica: what has one place, on one node or on whole ones."""
        return self.job, self.unit, self.replica


class NodeUse(Frozen):
    """Who holds one node in one quarter; only nodes that run something are listed."""

    node: str
    occupants: tuple[Occupant, ...]


class PoolUse(Frozen):
    """Capacity and use of one node type at one site, per quarter."""

    node_type: str
    site: str
    gpu_type: str
    offer: str = ""
    """Whose nodes these are where they come and go within a quarter: such nodes count by their
    GPU-hours alone, all else is 0."""
    nodes: tuple[int, ...]
    """In service."""
    nodes_used: tuple[int, ...]
    nodes_spare: tuple[int, ...]
    """Kept empty by policy."""
    gpus: tuple[int, ...]
    """In service."""
    gpus_used: tuple[int, ...]
    """Of which anything is held at any hour."""
    gpus_peak: tuple[float, ...]
    """Held at the hour at which most are; a part of a GPU counts by its share of the memory."""
    gpu_hours: tuple[float, ...]
    """In service."""
    gpu_hours_used: tuple[float, ...]
    """Held, likewise."""
    gpus_stranded: tuple[int, ...]
    """Free GPUs on nodes in use that no unit could take for want of cores or host memory."""
    cpus: tuple[int, ...]
    cpus_used: tuple[int, ...]
    """At the hour at which most are, node by node; likewise host memory."""
    memory_mb: tuple[int, ...]
    memory_used_mb: tuple[int, ...]


class Move(Frozen):
    """One unit that does not stay where it runs today."""

    job: str
    unit: int
    """From 1."""
    origin: tuple[str, ...]
    """Nodes that it runs on today, or its pool, `xe9680-h100/frankfurt`, where no node is known."""
    nodes: tuple[str, ...]
    """Nodes that it runs on in the first quarter."""
    leaves_pool: bool
    """Only this has a price: within a pool, units change their node for nothing."""
    cost_cents: int
    reason: str


class CurrentPlacement(Frozen):
    """Units that run today and go on: those that stay, those that are pinned, those that move."""

    units: int
    pinned: int
    """Of them: those that may not move."""
    moves: tuple[Move, ...]
    """By job and unit."""
    cost_cents: int
    """Of all moves."""


class SecondOpinion(Frozen):
    """What another solver says of the bound."""

    solver: str
    verdict: Literal["confirmed", "undecided", "unfounded"]
    """`undecided`: its time ended. `unfounded`: it disagrees, and its own answer is wrong."""
    bound_cents: int | None
    """What no plan costs less than, by its own account; None unless a cost is confirmed."""


class ShortJob(Frozen):
    """A job that is dropped or delayed."""

    name: str
    deployment: str | None
    """The job derived from it, for which the same holds."""
    priority: int
    """From 0 to 100; the highest is kept first."""
    outcome: Literal["dropped", "delayed"]
    delay_quarters: int
    """0 where it is dropped."""
    asked: tuple[int, ...]
    """Units by quarter that the scenario asks for."""
    cause: str
    """Why it cannot be kept as asked, beside all that is kept."""
    remedies: tuple[str, ...]
    """Each by itself would keep it as asked; empty where none was found."""

    @property
    def how(self) -> str:
        """`dropped` or `delayed by 2 quarters`."""
        late = count_of(self.delay_quarters, "quarter")
        return "dropped" if self.outcome == "dropped" else f"delayed by {late}"


class PriorityUse(Frozen):
    """What came of the jobs of one priority."""

    priority: int
    jobs: int
    """Of the scenario; deployments derived from them are not counted."""
    dropped: int
    delayed: int
    proved: bool
    """Whether fewer cannot be dropped, nor delayed, with all that comes first kept."""


class ProvedStep(Frozen):
    """A step of the triage that was proved, and what other solvers say of it."""

    counted: str
    """`jobs of priority 50 that are dropped`; empty: the cost of what keeps as much."""
    least: int
    """No plan that keeps what came before has fewer; of the cost: none costs less, cents."""
    second_opinions: tuple[SecondOpinion, ...]


class Shortage(Frozen):
    """Who gives way where not everything fits."""

    priorities: tuple[PriorityUse, ...]
    """The highest first; every priority of a job that asks for something."""
    jobs: tuple[ShortJob, ...]
    """By priority, the highest first, then by name."""
    bound_cents: int
    """No plan that drops and delays as few costs less, whichever of the equals they are."""
    steps: tuple[ProvedStep, ...] = ()
    """Where other solvers were asked; that nobody gives way needs no confirmation."""

    def ahead_of(self, job: ShortJob) -> tuple[str, ...]:
        """Jobs that give way, too, and get room that is made before this one does.

        Fewer are dropped before fewer are delayed, the highest priority first.
        """
        place = _turn(job)
        return tuple(one.name for one in self.jobs if _turn(one) < place)

    def proves(self, cost_cents: int, asked_gap: float) -> bool:
        """Whether nobody gives way without need, and no other choice of them is cheaper.

        `asked_gap` is the share of the cost that counts as none.
        """
        every = all(use.proved for use in self.priorities)
        return every and cost_cents - self.bound_cents <= asked_gap * cost_cents


def _turn(job: ShortJob) -> tuple[bool, int]:
    return job.outcome == "delayed", -job.priority


class QuotaUse(Frozen):
    """One quota of a team and what its jobs hold of it."""

    gpu_type: str | None
    """None: all types together."""
    limit_gpus: tuple[int | None, ...]
    """By quarter; None: no limit."""
    gpus: tuple[int, ...]
    """Held in each quarter, at the hour at which most are."""


class TeamUse(Frozen):
    """What the jobs of one team hold, and what they are charged."""

    team: str | None
    """None: jobs without a team."""
    gpus: tuple[int, ...]
    """Held in each quarter, at the hour at which most are."""
    gpu_hours: float
    """GPUs held × hours of the quarters."""
    delivered_gpu_hours: float
    """Of those: the runs of tuning jobs where their time is known, and all of other jobs."""
    open_gpu_hours: float
    """Of those: held by tuning jobs whose run time is not known."""
    charged_cents: tuple[int, ...]
    """Share of the net present cost, by quarter of use."""
    cost_cents: int
    """Their sum."""
    usd_per_gpu_hour: float | None
    """None where nothing is held."""
    usd_per_delivered_gpu_hour: float | None
    """None where nothing is delivered, or some run time is not known."""
    quotas: tuple[QuotaUse, ...]
    """All types together first, then by GPU type."""


class Chargeback(Frozen):
    """The net present cost shared among the teams by the GPUs that they hold; adds up exactly."""

    idle: Literal["separate", "spread"]
    """Whether what nobody holds stands by itself or is charged to the teams that use the pool."""
    teams: tuple[TeamUse, ...]
    """By name; jobs without a team last."""
    idle_gpu_hours: float
    """In service and held by no job, spare nodes included."""
    idle_cents: tuple[int, ...]
    """Cost of what nobody holds and nobody is charged, by quarter."""
