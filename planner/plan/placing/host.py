"""Which nodes hold which units in a quarter: as before as far as can be, else by the layouts."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.plan.placing.match import hired_nodes, match_layouts
from planner.plan.placing.steady import Quarter, settle

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from planner.packing.problem import Problem
    from planner.packing.solution import Layout
    from planner.plan.placing.fleet import Fleet
    from planner.plan.placing.match import Group, Hosting

__all__ = ["Host"]


@dataclass(frozen=True, slots=True)
class Host:
    """One quarter, and who was where before it."""

    problem: Problem
    fleet: Fleet
    kept: Sequence[Sequence[int]]
    """demand × member: choice."""
    quarter: int
    here: Mapping[tuple[int, ...], Mapping[Group, int]]
    """Nodes -> units of each group that sat there all quarter and go on."""

    def hostings(self, layouts: Sequence[Sequence[Layout]]) -> list[Hosting]:
        """Nodes with their units, so that few move; `layouts`, by pool, prove that there is a way.

        The pools of one GPU type are looked at together, since its units may run on any of them.
        """
        pools: dict[str, list[int]] = defaultdict(list)
        for index, pool in enumerate(self.problem.pools):
            pools[pool.gpu_type].append(index)
        return [
            hosting
            for gpu_type, indices in pools.items()
            for hosting in self._of_gpu_type(gpu_type, indices, layouts)
        ]

    def _of_gpu_type(
        self, gpu_type: str, pools: Sequence[int], layouts: Sequence[Sequence[Layout]]
    ) -> list[Hosting]:
        here = self._here(gpu_type)
        matched = self._matched(pools, layouts)
        unrest = self._unrest(matched, here)
        fixed = [hosting for hosting in matched if self._in_turn(hosting)]
        if not any(unrest) or len(fixed) == len(matched):
            return matched
        settled = settle(self._asked(gpu_type, pools, fixed), here)
        settled = [*settled, *fixed] if settled else []
        calmer = settled and self._unrest(settled, here) <= unrest
        grows = any(reserve.gpu_type == gpu_type for reserve in self.problem.reserves)
        fits = calmer and not (grows and _bundles(settled) > _bundles(matched))
        return settled if fits and self._at_home(settled) == self._at_home(matched) else matched

    def _in_turn(self, hosting: Hosting) -> bool:
        """Whether runs take turns on a node, so that they cannot be seated one by one."""
        return any(
            self.problem.demands[member.demand].choices[member.choice].shape.is_run
            for bundle in hosting.bundles
            for member in bundle.members
        )

    def _at_home(self, hostings: Sequence[Hosting]) -> Counter[int]:
        """In the first quarter, by demand: units in the pool in which they run before it.

        The solution has counted and priced them, so that no other layout may change that.
        """
        found: Counter[int] = Counter()
        for hosting in hostings if self.quarter == 0 else ():
            home = self.problem.pools[self.fleet.pool[hosting.nodes[0]]].home
            for (demand, _), count in hosting.parts:
                if self.problem.demands[demand].origin == home:
                    found[demand] += count
        return found

    def _here(self, gpu_type: str) -> dict[tuple[int, ...], dict[Group, int]]:
        found = {}
        for nodes, groups in self.here.items():
            mine = {group: units for group, units in groups.items() if self._is(group, gpu_type)}
            if mine:
                found[nodes] = mine
        return found

    def _is(self, group: Group, gpu_type: str) -> bool:
        return self.problem.demands[group[0]].choices[group[1]].gpu_type == gpu_type

    def _matched(self, pools: Sequence[int], layouts: Sequence[Sequence[Layout]]) -> list[Hosting]:
        """The quarter's own layouts, each on the nodes where it keeps most units."""
        residents: dict[int, Counter[Group]] = defaultdict(Counter)
        spans: dict[Group, list[tuple[int, ...]]] = defaultdict(list)
        for nodes, groups in self.here.items():
            for group, units in groups.items():
                if len(nodes) == 1:
                    residents[nodes[0]][group] += units
                else:
                    spans[group].append(nodes)
        in_service, stay = self.fleet.in_service[self.quarter], self._stay()
        return [
            hosting
            for pool in pools
            for hosting in (
                hired_nodes(layouts[pool], in_service[pool])
                if self.problem.pools[pool].hire
                else match_layouts(layouts[pool], in_service[pool], residents, spans, stay)
            )
        ]

    def _asked(self, gpu_type: str, pools: Sequence[int], fixed: Sequence[Hosting]) -> Quarter:
        """The quarter without nodes whose units are settled, and without those."""
        taken = {node for hosting in fixed for node in hosting.nodes}
        units: Counter[Group] = Counter()
        for index, demand in enumerate(self.problem.demands):
            for choice in self.kept[index] if self.quarter in demand.quarters else ():
                units[index, choice] += demand.choices[choice].copies
        for hosting in fixed:
            units.subtract(dict(hosting.parts))
        in_service = self.fleet.in_service[self.quarter]
        return Quarter(
            self.problem,
            {pool: [node for node in in_service[pool] if node not in taken] for pool in pools},
            self._lasting(),
            {group: count for group, count in (+units).items() if self._is(group, gpu_type)},
            self._stay(),
        )

    def _stay(self) -> set[int]:
        """Demands that go on in the next quarter."""
        demands = enumerate(self.problem.demands)
        return {index for index, demand in demands if self.quarter + 1 in demand.quarters}

    def _lasting(self) -> set[int]:
        """Nodes that are in service in the next quarter too."""
        ahead = self.fleet.in_service[self.quarter + 1 :][:1]
        return {node for pools in ahead for nodes in pools for node in nodes}

    def _unrest(
        self, hostings: Sequence[Hosting], here: Mapping[tuple[int, ...], Mapping[Group, int]]
    ) -> tuple[int, int]:
        """Units that change node now, and units that will have to in the next quarter."""
        moves = sum(sum(groups.values()) for groups in here.values())
        stay, lasting, must = self._stay(), self._lasting(), 0
        for hosting in hostings:
            held = here.get(hosting.nodes, {})
            moves -= sum(min(count, held.get(group, 0)) for group, count in hosting.parts)
            if not lasting.issuperset(hosting.nodes):
                must += sum(count for (demand, _), count in hosting.parts if demand in stay)
        return moves, must


def _bundles(hostings: Sequence[Hosting]) -> int:
    """GPUs that parts are taken of."""
    return sum(len(hosting.bundles) for hosting in hostings)
