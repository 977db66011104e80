"""Racks of a site: rows `standing` and `racks` count racks by what they hold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from operator import mul
from typing import TYPE_CHECKING

from planner.inputs.text.words import amount_text
from planner.packing.constraints.base import SITES, Rising, widened
from planner.packing.constraints.rack_patterns import kinds, patterns, racked, room_of
from planner.packing.constraints.spares import fewest_empty, most_in_rack

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from planner.packing.limits import RackSpace, SharedSpares
    from planner.packing.master import MasterProgram, Terms
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
    """Quarters that bind: the last alone where nodes come, never leave, and no rack may fail."""
    pools = {pool for pool, _, _ in space.nodes}
    leave = any(problem.pools[pool].retired for pool in pools) or any(
        supply.pool in pools and supply.kind != "buy" for supply in problem.supplies
    )
    leave = leave or bool(_groups(problem, space))
    return range(0 if leave else problem.quarters - 1, problem.quarters)


def _groups(problem: Problem, space: RackSpace) -> dict[int, SharedSpares]:
    """Groups of shared spare nodes that outlast the loss of some of these racks."""
    groups = enumerate(problem.spare_groups)
    return {index: group for index, group in groups if group.racks and group.site == space.site}


def _racks(master: MasterProgram, space: RackSpace, quarter: int) -> None:
    groups = _groups(master.problem, space)
    alike = kinds(space, [master.problem.sharing(group) for group in groups.values()])
    most = [range(most_in_rack(master.problem, group) + 1) for group in groups.values()]
    used = {
        pattern: master.program.variable(f"rack[{space.site},{quarter}]", integer=True)
        for pattern in dict.fromkeys(
            pattern
            for held in product(*most)
            for pattern in patterns(tuple(alike), room_of(space, held))
        )
    }
    for place, index in enumerate(groups):
        each = {
            variable: sum(map(mul, pattern, (size[2 + place] for size in alike)))
            for pattern, variable in used.items()
        }
        _fullest(master, space, (index, quarter), each)
    for place, pools in enumerate(alike.values()):
        load: Terms = {index: -float(pattern[place]) for pattern, index in used.items()}
        for pool in pools:
            for index, factor in master.standing(pool, quarter).items():
                load[index] = load.get(index, 0.0) + factor
        owned = sum(master.problem.pools[pool].owned_in(quarter) for pool in pools)
        master.program.row(f"standing[{space.site},{place},{quarter}]", load, "<=", -owned)
    row = master.program.row(
        f"racks[{space.site},{quarter}]", dict.fromkeys(used.values(), 1.0), "<=", space.count
    )
    if not groups:  # others of its rows go by the number of racks as well
        master.relaxable(_name(space), row, space.count, 1.0)


def _fullest(
    master: MasterProgram, space: RackSpace, key: tuple[int, int], each: Mapping[int, int]
) -> None:
    """Nodes of a group in its fullest rack: rows `fuller` and `fullest`; `each` by variable."""
    label = f"{key[0]},{key[1]}"
    fullest: Terms = {master.fullest_racks[key]: -1.0}
    for nodes in range(1, max(each.values()) + 1):
        some = master.program.variable(f"fuller[{label},{nodes}]", upper=1, integer=True)
        fullest[some] = 1.0
        row: Terms = {index: 1.0 for index, held in each.items() if held >= nodes}
        row[some] = -float(space.count)
        master.program.row(f"fuller[{label},{nodes}]", row, "<=", 0.0)
    master.program.row(f"fullest[{label}]", fullest, "<=", 0.0)


def holds(master: MasterProgram, values: Sequence[float]) -> bool:
    """Whether the nodes stand in the racks, in every quarter.

    So spread that the empty ones of a group stand in for those of its fullest racks.
    """
    return all(
        _racked(master, values, space, quarter) is not None
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
        tuple(_racked(master, values, space, quarter) or () for space in problem.racks)
        for quarter in range(problem.quarters)
    )


def _racked(
    master: MasterProgram, values: Sequence[float], space: RackSpace, quarter: int
) -> tuple[Racked, ...] | None:
    most = [
        (master.problem.sharing(group), least // group.racks)
        for group in _groups(master.problem, space).values()
        if (least := fewest_empty(master, values, group, quarter)) is not None
    ]
    return racked(space, _standing(master, space, quarter, values), most)


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
