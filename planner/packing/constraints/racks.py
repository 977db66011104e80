"""Racks of a site: rows `standing` and `racks` count racks by what they hold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from planner.inputs.text.words import amount_text
from planner.packing.constraints.base import SITES, Rising, widened
from planner.packing.constraints.rack_patterns import kinds, patterns, racked

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from planner.packing.limits import RackSpace
    from planner.packing.master import MasterProgram, Terms
    from planner.packing.node_packing.list_schedule import Placed
    from planner.packing.problem import Problem
    from planner.packing.solution import Racked
    from planner.packing.statement.translate import Translation

__all__ = ["BILL", "add_rows", "all_racked", "conditions", "holds"]

BILL = SITES


def _name(space: RackSpace) -> str:
    return f"the number of racks at {space.site}"


def add_rows(master: MasterProgram) -> None:
    """State the racks of every site."""
    for space in master.problem.racks:
        for quarter in _fullest_quarters(master.problem, space):
            _racks(master, space, quarter)


def _fullest_quarters(problem: Problem, space: RackSpace) -> range:
    """Quarters that bind: the last alone where nodes come and never leave."""
    pools = {pool for pool, _, _ in space.nodes}
    leave = any(problem.pools[pool].retired for pool in pools) or any(
        supply.pool in pools and supply.kind != "buy" for supply in problem.supplies
    )
    return range(0 if leave else problem.quarters - 1, problem.quarters)


def _racks(master: MasterProgram, space: RackSpace, quarter: int) -> None:
    groups = kinds(space)
    used = {
        pattern: master.program.variable(f"rack[{space.site},{quarter}]", integer=True)
        for pattern in patterns(tuple(groups), space.units, space.power_w)
    }
    for place, pools in enumerate(groups.values()):
        load: Terms = {index: -float(pattern[place]) for pattern, index in used.items()}
        for pool in pools:
            for index, factor in master.standing(pool, quarter).items():
                load[index] = load.get(index, 0.0) + factor
        owned = sum(master.problem.pools[pool].owned_in(quarter) for pool in pools)
        master.program.row(f"standing[{space.site},{place},{quarter}]", load, "<=", -owned)
    row = master.program.row(
        f"racks[{space.site},{quarter}]", dict.fromkeys(used.values(), 1.0), "<=", space.count
    )
    master.relaxable(_name(space), row, space.count, 1.0)


def holds(
    master: MasterProgram, values: Sequence[float], schedule: Mapping[int, Iterable[Placed]]
) -> bool:
    """Whether the nodes stand in the racks, in every quarter."""
    del schedule
    return all(
        racked(space, _standing(master, space, quarter, values)) is not None
        for space in master.problem.racks
        for quarter in range(master.problem.quarters)
    )


def all_racked(
    master: MasterProgram, values: Sequence[float]
) -> tuple[tuple[tuple[Racked, ...], ...], ...]:
    """What stands in each rack, by quarter and rack space; empty where nothing is limited so."""
    problem = master.problem
    if not problem.racks:
        return ()
    return tuple(
        tuple(
            racked(space, _standing(master, space, quarter, values)) or ()
            for space in problem.racks
        )
        for quarter in range(problem.quarters)
    )


def _standing(
    master: MasterProgram, space: RackSpace, quarter: int, values: Sequence[float]
) -> Mapping[int, int]:
    return {pool: round(master.stand(pool, quarter, values)) for pool, _, _ in space.nodes}


def conditions(translation: Translation) -> Iterator[_Racks]:
    """The numbers of racks."""
    for space in translation.problem.racks:
        fed = "" if space.power_w is None else f" and {amount_text(space.power_w, 'W')}"
        figure = f"{space.count}, of {space.units} U{fed} each"
        yield _Racks(_name(space), figure, None, space.count, space)


@dataclass(frozen=True, slots=True)
class _Racks(Rising):
    space: RackSpace

    def _told(self, amount: int) -> str:
        return f"{amount:,}"

    def raised(self, problem: Problem, more: int | None) -> Problem:
        def wider(space: RackSpace, more: int) -> RackSpace:
            return replace(space, count=space.count + more)

        return widened(problem, "racks", "site", self.space.site, more, wider)
