"""Spare nodes: rows `spare` and `running`, and the nodes that are left for units."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from planner.inputs.text.words import count_of
from planner.packing.constraints.base import OWNED_NODES, Condition
from planner.packing.constraints.moves import homes, main_pools

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from planner.packing.master import MasterProgram, Usage
    from planner.packing.node_packing.list_schedule import Placed
    from planner.packing.problem import Problem
    from planner.packing.statement.translate import Translation

__all__ = ["BILL", "add_rows", "conditions", "holds"]

BILL = OWNED_NODES


def add_rows(master: MasterProgram) -> None:
    """A pool that runs a unit keeps its spare nodes empty: rows `spare` and `running`."""
    parts, mains = homes(master.problem), main_pools(master.problem)
    done: set[tuple[int, int]] = set()
    for pool, quarter in master.usages:
        home = master.problem.pools[pool].home
        main = mains[home]
        if master.problem.pools[main].spare and (main, quarter) not in done:
            done.add((main, quarter))
            own = (part for part in parts[home] if master.problem.pools[part].lender is None)
            used = [part for part in own if (part, quarter) in master.usages]
            _keep_empty(master, main, quarter, used)


def _keep_empty(master: MasterProgram, main: int, quarter: int, used: list[int]) -> None:
    """Spare nodes are among those on which nobody is held, whichever part of the pool runs."""
    problem, program = master.problem, master.program
    most = {pool: _most_useful(master, pool, quarter) for pool in used}
    for pool in used:
        if pool != main:
            most[pool] = min(most[pool], problem.pools[pool].owned_in(quarter))
        master.usable[pool, quarter] = program.variable(
            f"usable[{pool},{quarter}]", upper=most[pool], integer=True
        )
    running = program.variable(f"running[{main},{quarter}]", upper=1, integer=True)
    terms = {index: -factor for index, factor in master.in_service[main, quarter].items()}
    terms[running] = float(problem.pools[main].spare)
    if main in used:
        terms[master.usable[main, quarter]] = 1.0
    owned = problem.pools[main].owned_in(quarter)
    program.row(f"spare[{main},{quarter}]", terms, "<=", owned)
    terms[running] -= owned
    for index, factor in master.in_service[main, quarter].items():
        if factor < 0:  # a pool that runs nothing lets its nodes go
            del terms[index]
    program.row(f"spare-owned[{main},{quarter}]", terms, "<=", 0.0, tightens=True)
    for pool in used:
        row = {master.usable[pool, quarter]: 1.0, running: -float(most[pool])}
        program.row(f"running[{pool},{quarter}]", row, "<=", 0.0)


def _most_useful(master: MasterProgram, pool: int, quarter: int) -> int:
    """Nodes of a pool that could ever be of use, to it or to one that it lends them."""
    pools = enumerate(master.problem.pools)
    mine = [number for number, other in pools if pool in (number, other.lender)]
    return sum(_most_nodes(master, master.usages.get((number, quarter), [])) for number in mine)


def _most_nodes(master: MasterProgram, usages: list[Usage]) -> int:
    """Nodes that could ever be of use: one for every piece, or the span of each that spans."""
    variables = master.program.variables
    ceiling = sum(
        demand.count * max((choice.copies for choice in demand.choices), default=1)
        for demand in master.problem.demands
    )
    return sum(
        int(sum((variables[index].upper or ceiling) * factor for index, factor in usage.terms))
        * max(1, usage.span)
        for usage in usages
    )


def holds(
    master: MasterProgram, values: Sequence[float], schedule: Mapping[int, Iterable[Placed]]
) -> bool:
    """True: layouts use no node that must stay spare."""
    del master, values, schedule
    return True


def conditions(translation: Translation) -> Iterator[_Spares]:
    """One for all pools together: they are one policy."""
    kept = sorted({pool.spare for pool in translation.problem.pools if pool.spare})
    if kept:
        figure = " to ".join(str(one) for one in dict.fromkeys((kept[0], kept[-1])))
        yield _Spares("the spare nodes of each pool", figure, kept[-1])


@dataclass(frozen=True, slots=True)
class _Spares(Condition):
    """Of all pools together: they are one policy."""

    procures = True

    def raised(self, problem: Problem, more: int | None) -> Problem:
        fewer = self.most if more is None else more
        pools = (replace(pool, spare=max(0, pool.spare - (fewer or 0))) for pool in problem.pools)
        return replace(problem, pools=tuple(pools))

    def mended(self, more: int) -> str:
        if not self.figure.isdecimal() and more != self.most:
            return f"keep {count_of(more, 'spare node')} fewer in each pool"
        left = "no" if more == self.most else str((self.most or 0) - more)
        return f"keep {left} spare node{'' if left == '1' else 's'}, not {self.figure}"
