"""The part of a plan that says who holds which GPUs of which server, and when."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from planner.inputs.base import Frozen
from planner.inputs.scenario.quarter import RUN_HOURS

__all__ = ["GpuPart", "Node", "NodeUse", "Occupant", "Origin", "PoolUse"]


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
