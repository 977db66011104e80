"""What is taken of each site, and of each rack, before and after what a plan adds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.plan.ledger.reader import Reader, where
from planner.plan.ledger.traced import Traced, total

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from planner.plan.plan import NodeFacts, Plan, PoolUse

__all__ = ["Facility"]


class Facility:
    """What nodes take of a site by the catalog; a need is a key of `NodeFacts.takes`."""

    def __init__(self, plan: Plan, read: Reader) -> None:
        self._plan = plan
        self._read = read
        self._facts: dict[str, NodeFacts] = {facts.node_type: facts for facts in plan.node_types}

    @property
    def sites(self) -> tuple[str, ...]:
        """Sites with nodes, sorted."""
        return tuple(sorted({pool.site for pool in self._plan.pools}))

    def each(self, node_type: str, need: str) -> Traced | None:
        """What one node takes; None where the catalog does not say."""
        facts = self._facts.get(node_type)
        if facts is None or need not in facts.takes:
            return None
        return self._read.at(f"node_types{where(node_type=node_type)}.takes[{need}]")

    def before(self, site: str, quarter: int, need: str) -> Traced | None:
        """What the nodes owned before take; None where the catalog lacks one of them."""
        label = self._plan.quarters[quarter]
        return self._taken(
            site,
            need,
            lambda _, pool: self._read.count(
                "nodes"
                + where(origin="owned", site=site, node_type=pool.node_type, in_service=label)
            ),
        )

    def after(self, site: str, quarter: int, need: str) -> Traced | None:
        """What all nodes in service take; None where the catalog lacks one of them."""
        return self._taken(
            site, need, lambda place, _: self._read.at(f"pools[{place}].nodes[{quarter}]")
        )

    def unstated(self, site: str, need: str) -> tuple[str, ...]:
        """Node types of a site of which the catalog does not say what they take."""
        return tuple(
            pool.node_type
            for _, pool in self._pools(site)
            if self.each(pool.node_type, need) is None
        )

    def racks(self, site: str, quarter: int) -> dict[int, Traced] | None:
        """What the nodes in each rack take by their nameplates, W, by the rack's number.

        None where a node changes its rack, or the catalog lacks one of them; empty without racks.
        """
        label = self._plan.quarters[quarter]
        nodes = [one for one in self._plan.nodes if one.site == site and label in one.in_service]
        stood: dict[int, set[str]] = {}
        for node in nodes:
            if len(set(node.racks)) > 1 or self.each(node.node_type, "power_w") is None:
                return None
            for rack in set(node.racks):
                stood.setdefault(rack, set()).add(node.node_type)
        return {
            rack: total(
                self._read.count(
                    "nodes" + where(site=site, node_type=name, racks=str(rack), in_service=label)
                )
                * self._read.at(f"node_types{where(node_type=name)}.takes[power_w]")
                for name in sorted(stood[rack])
            )
            for rack in sorted(stood)
        }

    def _pools(self, site: str) -> Iterator[tuple[int, PoolUse]]:
        return ((place, pool) for place, pool in enumerate(self._plan.pools) if pool.site == site)

    def _taken(
        self, site: str, need: str, counted: Callable[[int, PoolUse], Traced]
    ) -> Traced | None:
        terms = []
        for place, pool in self._pools(site):
            nodes, each = counted(place, pool), self.each(pool.node_type, need)
            if each is None and nodes.value:
                return None
            if each is not None and nodes.value:
                terms.append(nodes * each)
        return total(terms)
