"""Spare nodes: rows `spare` and `running`, and the nodes that are left for units."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.packing.counting.stays import homes, main_pools

if TYPE_CHECKING:
    from planner.packing.counting.counts import Counts, Usage

__all__ = ["add_spares"]


def add_spares(counts: Counts) -> None:
    """A pool that runs a unit keeps its spare nodes empty: rows `spare` and `running`."""
    parts, mains = homes(counts.problem), main_pools(counts.problem)
    done: set[tuple[int, int]] = set()
    for pool, quarter in counts.usages:
        home = counts.problem.pools[pool].home
        main = mains[home]
        if counts.problem.pools[main].spare and (main, quarter) not in done:
            done.add((main, quarter))
            own = (part for part in parts[home] if counts.problem.pools[part].lender is None)
            used = [part for part in own if (part, quarter) in counts.usages]
            _keep_empty(counts, main, quarter, used)


def _keep_empty(counts: Counts, main: int, quarter: int, used: list[int]) -> None:
    """Spare nodes are among those on which nobody is held, whichever part of the pool runs."""
    problem, program = counts.problem, counts.program
    most = {pool: _most_useful(counts, pool, quarter) for pool in used}
    for pool in used:
        if pool != main:
            most[pool] = min(most[pool], problem.pools[pool].owned_in(quarter))
        counts.usable[pool, quarter] = program.variable(
            f"usable[{pool},{quarter}]", upper=most[pool], integer=True
        )
    running = program.variable(f"running[{main},{quarter}]", upper=1, integer=True)
    terms = {index: -factor for index, factor in counts.in_service[main, quarter].items()}
    terms[running] = float(problem.pools[main].spare)
    if main in used:
        terms[counts.usable[main, quarter]] = 1.0
    owned = problem.pools[main].owned_in(quarter)
    program.row(f"spare[{main},{quarter}]", terms, "<=", owned)
    terms[running] -= owned
    program.row(f"spare-owned[{main},{quarter}]", terms, "<=", 0.0, tightens=True)
    for pool in used:
        row = {counts.usable[pool, quarter]: 1.0, running: -float(most[pool])}
        program.row(f"running[{pool},{quarter}]", row, "<=", 0.0)


def _most_useful(counts: Counts, pool: int, quarter: int) -> int:
    """Nodes of a pool that could ever be of use, to it or to one that it lends them."""
    pools = enumerate(counts.problem.pools)
    mine = [number for number, other in pools if pool in (number, other.lender)]
    return sum(_most_nodes(counts, counts.usages.get((number, quarter), [])) for number in mine)


def _most_nodes(counts: Counts, usages: list[Usage]) -> int:
    """Nodes that could ever be of use: one for every piece, or the span of each that spans."""
    variables = counts.program.variables
    ceiling = sum(
        demand.count * max((choice.copies for choice in demand.choices), default=1)
        for demand in counts.problem.demands
    )
    return sum(
        int(sum((variables[index].upper or ceiling) * factor for index, factor in usage.terms))
        * max(1, usage.span)
        for usage in usages
    )
