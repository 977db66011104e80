"""Lean programs for node counts: what does not bind left out, sites added up.

Most of the rows that tighten a program bind nowhere, and cost time at every node of the solver's
tree. And most of its variables say only at which site the pieces of a shape run. Added up over the
sites that a shape may run at, they are its units: with rows for each such set of sites, units need
no sites. All this leaves rows out, or adds them up, so that the bound of what remains is a bound.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from planner.packing.solvers.linear import solve_linear
from planner.packing.solvers.program import Program, Row
from planner.packing.solvers.solver import Answer, solve_integer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.packing.counting.counts import Counts, Terms
    from planner.packing.solvers.solver import Effort, Halt

__all__ = ["binding", "solve_lean"]

_TOLERANCE = 1e-6


def solve_lean(
    counts: Counts,
    program: Program,
    *,
    time_limit_s: float,
    relative_gap: float = 0.0,
    relaxed: frozenset[int] = frozenset(),
    node_limit: int | None = None,
    halt: Halt | None = None,
    effort: Effort = "usual",
) -> Answer:
    """`solve_integer` of less than a program with the variables and rows of `counts`.

    The bound is one of the whole program. The values have no sites of pieces that may run at
    several, and may break rows that only tighten.
    """
    lean, kept = _added_up(counts, program)
    answer = solve_integer(
        binding(lean),
        time_limit_s=time_limit_s,
        relative_gap=relative_gap,
        relaxed=frozenset(at for at, index in enumerate(kept) if index in relaxed),
        node_limit=node_limit,
        halt=halt,
        effort=effort,
    )
    if not answer.values:
        return answer
    values = [0.0] * len(program.variables)
    for index, value in zip(kept, answer.values, strict=False):
        values[index] = value
    return replace(answer, values=tuple(values))


def binding(program: Program) -> Program:
    """The program without the rows that only tighten and do not bind in the linear relaxation."""
    linear = solve_linear(program)
    if linear is None:
        return program
    rows = [row for row in program.rows if not row.tightens or _binds(row, linear.values)]
    return Program(program.variables, rows)


def _binds(row: Row, values: tuple[float, ...]) -> bool:
    held = sum(values[index] * factor for index, factor in row.terms)
    return held >= row.right - _TOLERANCE


@dataclass(frozen=True, slots=True)
class _Split:
    """Pieces of one shape in one quarter, split over the pools that can run it."""

    quarter: int
    places: dict[int, int]
    """By pool: the variable that counts them there."""
    pieces: tuple[tuple[int, float], ...]
    """All of them, by units."""


def _added_up(counts: Counts, program: Program) -> tuple[Program, list[int]]:
    """The program without splits that only say where pieces are; and the variables it has left."""
    capacity = {row for rows in counts.capacity_rows.values() for row in rows.values()}
    splits = list(_splits(counts, program, capacity))
    gone = {index for split in splits for index in split.places.values()}
    kept = [index for index in range(len(program.variables)) if index not in gone]
    place = {index: at for at, index in enumerate(kept)}
    lean = Program([program.variables[index] for index in kept], [])
    for number, row in enumerate(program.rows):
        terms = tuple((place[index], factor) for index, factor in row.terms if index in place)
        if number in capacity or len(terms) == len(row.terms):
            lean.rows.append(replace(row, terms=terms))
    for row in _sums(counts, program, splits):
        # Splits over more pools than these are left out: what is in the sum then weighs less.
        added = {place[index]: factor for index, factor in row.terms if index in place}
        lean.row(row.name, added, "<=", row.right, tightens=row.tightens)
    _count_together(counts, lean, place)
    return lean, kept


def _splits(counts: Counts, program: Program, capacity: set[int]) -> Iterator[_Split]:
    """Those over nodes that are alike, whose variables are in rows of capacity alone."""
    pools = counts.problem.pools
    elsewhere = {
        index
        for number, row in enumerate(program.rows)
        if number not in capacity and number not in counts.split_rows
        for index, _ in row.terms
    }
    for number, places in counts.split_rows.items():
        kinds = {(pools[pool].node_type, pools[pool].node) for pool, _ in places}
        if len(kinds) == 1 and elsewhere.isdisjoint(places.values()):
            held = set(places.values())
            pieces = tuple(
                (index, -factor)
                for index, factor in program.rows[number].terms
                if index not in held
            )
            quarter = next(quarter for _, quarter in places)
            yield _Split(quarter, {pool: index for (pool, _), index in places.items()}, pieces)


def _sums(counts: Counts, program: Program, splits: list[_Split]) -> Iterator[Row]:
    """For each set of pools that some pieces are split over, their rows of a kind together."""
    for quarter, pools in sorted({(split.quarter, tuple(split.places)) for split in splits}):
        within = [
            split
            for split in splits
            if split.quarter == quarter and split.places.keys() <= set(pools)
        ]
        gone = {index for split in within for index in split.places.values()}
        named = [counts.capacity_rows[pool, quarter] for pool in pools]
        for name in named[0]:
            if not all(name in rows for rows in named):
                continue
            rows = {pool: program.rows[rows[name]] for pool, rows in zip(pools, named, strict=True)}
            factors = {pool: dict(row.terms) for pool, row in rows.items()}
            load: Terms = defaultdict(float)
            for terms in factors.values():
                for index, factor in terms.items():
                    if index not in gone:
                        load[index] += factor
            for split in within:
                weight = min(factors[pool].get(at, 0.0) for pool, at in split.places.items())
                for index, factor in split.pieces:
                    load[index] += weight * factor
            first = rows[pools[0]]
            right = sum(row.right for row in rows.values())
            yield Row("all-sites", tuple(load.items()), "<=", right, tightens=first.tightens)


def _count_together(counts: Counts, lean: Program, place: dict[int, int]) -> None:
    """A variable for the nodes of one kind at all sites: how many before where they stand."""
    alike: dict[tuple[str, int], list[int]] = defaultdict(list)
    for pool, quarter in counts.capacity_rows:
        alike[counts.problem.pools[pool].node_type, quarter].append(pool)
    for (_, quarter), pools in sorted(alike.items()):
        if len(pools) > 1:
            usable: Terms = defaultdict(float)
            owned = 0
            for pool in pools:
                terms, constant = counts.usable_nodes(pool, quarter)
                owned += constant
                for index, factor in terms.items():
                    usable[place[index]] += factor
            total = lean.variable("total", integer=True)
            lean.row("total", {total: -1.0, **usable}, "==", -owned)
