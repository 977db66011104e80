"""GPUs of a plan: what is owned, in service, held, short and free, quarter by quarter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.plan.ledger.reader import Reader, where
from planner.plan.ledger.traced import Traced, total

if TYPE_CHECKING:
    from planner.plan.plan import Plan, PoolUse

__all__ = ["Capacity"]


class Capacity:
    """Counts of GPUs and nodes; a quarter is its place in the horizon."""

    def __init__(self, plan: Plan, read: Reader) -> None:
        self._plan = plan
        self._read = read
        self._spares = [place for place, pool in enumerate(plan.pools) if any(pool.nodes_spare)]

    def needed(self, quarter: int) -> Traced:
        """GPUs of which jobs hold anything at any hour."""
        return self._read.sum(f"pools[*].gpus_used[{quarter}]")

    def in_service(self, quarter: int) -> Traced:
        """GPUs of all nodes in service."""
        return self._read.sum(f"pools[*].gpus[{quarter}]")

    def owned(self, quarter: int) -> Traced:
        """GPUs of nodes that were owned before."""
        return self._of(quarter, "owned")

    def added(self, quarter: int, origin: str) -> Traced:
        """GPUs of nodes that the plan buys, rents or reserves."""
        return self._of(quarter, origin)

    def _of(self, quarter: int, origin: str) -> Traced:
        nodes = where(origin=origin, in_service=self._plan.quarters[quarter])
        return self._read.sum(f"nodes{nodes}.gpus")

    def short(self, quarter: int) -> Traced:
        """GPUs held beyond those owned; negative where some would be left."""
        return self.needed(quarter) - self.owned(quarter)

    def short_hours(self, quarter: int) -> Traced:
        """GPU-hours held beyond those of the GPUs owned; negative where some would be left."""
        hours = self._read.at("settings[name=hours_per_quarter].value")
        held = self._read.sum(f"pools[*].gpu_hours_used[{quarter}]")
        return held - self.owned(quarter) * hours

    def usable(self, quarter: int) -> Traced:
        """GPUs in service, without the nodes that are kept empty as spare."""
        kept = (
            self._read.at(f"pools[{place}].nodes_spare[{quarter}]") * self.gpus_of(place)
            for place in self._spares
        )
        return self.in_service(quarter) - total(kept)

    def gpus_of(self, pool: int) -> Traced:
        """GPUs of one node of a pool."""
        return self.fact(self._plan.pools[pool], "gpus")

    def fact(self, pool: PoolUse, name: str) -> Traced:
        """What the catalog says of one node of a pool."""
        return self._read.at(f"node_types{where(node_type=pool.node_type)}.{name}")

    def held(self, job: str, quarter: int) -> Traced:
        """GPUs that a job holds, wholly or in part."""
        return self._read.count(f"placements[{quarter}][*].occupants{where(job=job)}.gpus[*]")

    def exhausted(self) -> int | None:
        """The first quarter in which jobs hold more GPUs than are owned; None if there is none."""
        quarters = range(len(self._plan.quarters))
        return next((place for place in quarters if self.short(place).value > 0), None)

    def exhausted_of(self, gpu_type: str) -> int | None:
        """The first quarter in which jobs and spare nodes take more of a GPU type than is owned."""
        plan = self._plan
        each = {facts.node_type: facts.gpus for facts in plan.node_types}
        pools = [pool for pool in plan.pools if pool.gpu_type == gpu_type]
        nodes = [node for node in plan.nodes if (node.gpu_type, node.origin) == (gpu_type, "owned")]
        for place, label in enumerate(plan.quarters):
            taken = sum(
                pool.gpus_used[place] + pool.nodes_spare[place] * each[pool.node_type]
                for pool in pools
            )
            if taken > sum(node.gpus for node in nodes if label in node.in_service):
                return place
        return None
