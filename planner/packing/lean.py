"""Solves for node counts on a lean program: what does not bind left out, sites added up.

Most of the rows that tighten a program bind nowhere, and cost time at every node of the solver's
tree: they come back only where a solution breaks them. And a program that can choose a site for
every node has very many solutions alike; a variable for the nodes of one kind at all sites together
lets the solver decide on their number before it decides where they stand.
"""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from planner.packing.program import Program
from planner.packing.solver import Answer, Outcome, solve_integer, solve_linear

if TYPE_CHECKING:
    from planner.packing.counts import Counts, Terms
    from planner.packing.program import Row

__all__ = ["solve_lean"]

_TOLERANCE = 1e-6


def solve_lean(
    counts: Counts,
    program: Program,
    *,
    time_limit_s: float,
    relative_gap: float = 0.0,
    relaxed: frozenset[int] = frozenset(),
    rounds: int = 5,
) -> Answer:
    """`solve_integer` of a program with the variables and rows of `counts`, and maybe more rows.

    Rows come back so many times. After that, or where time ends, the values may break rows that
    only tighten; the bound always holds.
    """
    ends = time.monotonic() + time_limit_s
    linear = solve_linear(program)
    if linear is None:
        return Answer(Outcome.INFEASIBLE, (), float("inf"), float("inf"))
    left_out = {
        number
        for number, row in enumerate(program.rows)
        if row.tightens and _slack(row, linear.values) > 0
    }
    bound = linear.objective
    found = Answer(Outcome.NOTHING, (), float("inf"), bound)
    for _ in range(rounds):
        kept = [row for number, row in enumerate(program.rows) if number not in left_out]
        lean = Program(list(program.variables), kept)
        _add_up_sites(counts, program, lean)
        answer = solve_integer(
            lean,
            time_limit_s=max(ends - time.monotonic(), 0.1),
            relative_gap=relative_gap,
            relaxed=relaxed,
        )
        if answer.outcome is Outcome.INFEASIBLE:
            return answer
        bound = max(bound, answer.bound)
        values = answer.values[: len(program.variables)]
        if answer.values or not found.values:
            found = Answer(answer.outcome, values, answer.objective, bound)
        broken = {
            number for number in left_out if values and _slack(program.rows[number], values) < 0
        }
        if not broken or time.monotonic() >= ends:
            break
        left_out -= broken
    return replace(found, bound=bound)


def _slack(row: Row, values: tuple[float, ...]) -> float:
    """Room in a row `<=`: below 0 where it is broken, 0 where it binds."""
    room = row.right - sum(values[index] * factor for index, factor in row.terms)
    return 0.0 if abs(room) <= _TOLERANCE else room


def _add_up_sites(counts: Counts, program: Program, lean: Program) -> None:
    """Rows `total` and, for each resource, the sum of the rows of the pools that are alike."""
    alike: dict[tuple[str, int], list[int]] = defaultdict(list)
    for pool, quarter in counts.capacity_rows:
        alike[counts.problem.pools[pool].node_type, quarter].append(pool)
    for (_, quarter), pools in sorted(alike.items()):
        if len(pools) == 1:
            continue
        usable: Terms = defaultdict(float)
        owned = 0
        for pool in pools:
            terms, constant = counts.usable_nodes(pool, quarter)
            owned += constant
            for index, factor in terms.items():
                usable[index] += factor
        total = lean.variable("total", integer=True)
        lean.row("total", {total: -1.0, **usable}, "==", -owned)
        held = [counts.capacity_rows[pool, quarter] for pool in pools]
        for resource in held[0]:
            if any(resource not in rows for rows in held):
                continue
            load: Terms = defaultdict(float, usable)
            right = -float(owned)
            for row in (program.rows[rows[resource]] for rows in held):
                right += row.right
                for index, factor in row.terms:
                    load[index] += factor
            load[total] = -1.0
            lean.row("all-sites", load, "<=", right)
