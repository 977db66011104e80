"""Which limits of the sites keep a plan from existing, and by how much each would have to rise."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING

from planner.errors import LimitError
from planner.packing.found import Infeasible
from planner.packing.limits import rack_name, row_scale
from planner.packing.program import Program
from planner.packing.search import search
from planner.packing.solver import solve_integer

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from planner.packing.counts import Counts
    from planner.packing.problem import Limit, Problem, RackSpace
    from planner.packing.translate import Translation

__all__ = ["limit_reasons", "limit_remedies", "owned_break", "without_costs"]

_TIME_S = 10.0
_TRIES = 8
_TOLERANCE = 1e-6


def limit_reasons(translation: Translation, pools: Collection[int]) -> Iterator[str]:
    """What the sites of these pools allow, and what the nodes owned there take of it."""
    problem = translation.problem
    for limit in problem.limits:
        if any(pool in pools for pool, _ in limit.terms):
            owned = max(
                sum(amount * problem.pools[pool].owned_in(q) for pool, amount in limit.terms)
                for q in range(problem.quarters)
            )
            taken = f", owned nodes take {_figure(owned, limit.unit)}" if owned else ""
            yield f"{limit.name}: {_by_quarter(translation, limit)}{taken}"
    for space in problem.racks:
        if any(pool in pools for pool, _, _ in space.nodes):
            fed = "" if space.power_w is None else f" and {_figure(space.power_w, 'W')}"
            yield f"{rack_name(space)}: {space.count} of {space.units} U{fed} each"
    for reserve in problem.reserves:
        if any(problem.pools[pool].gpu_type == reserve.gpu_type for pool in pools):
            share = f"{float(reserve.free):.4g}"
            yield f"{reserve.gpu_type}: {share} of the GPUs in service are kept free for growth"


def limit_remedies(translation: Translation, counts: Counts) -> Iterator[str]:
    """By how much each limit alone would have to rise; where none alone helps, all together."""
    problem = translation.problem
    names = [limit.name for limit in problem.limits]
    names += [rack_name(space) for space in problem.racks]
    alone = [more for name in names if (more := _more(problem, counts, (name,)))]
    for more in alone:
        yield f"{_told(problem, more)} would do"
    if not alone and len(names) > 1:
        together = _more(problem, counts, tuple(names))
        if together:
            yield f"{_told(problem, together)}, together, would do"


def _told(problem: Problem, more: Mapping[str, int]) -> str:
    """`15.8 kW more of power at main, 40.8 kW in all, and 1 rack more at main, 3 in all`."""
    parts = []
    for limit in problem.limits:
        if rise := more.get(limit.name):
            known = {most for most in limit.at_most if most is not None}
            new = f", {_figure(min(known) + rise, limit.unit)} in all" if len(known) == 1 else ""
            parts.append(f"{_figure(rise, limit.unit)} more of {limit.name}{new}")
    for space in problem.racks:
        if rise := more.get(rack_name(space)):
            racks = "1 rack" if rise == 1 else f"{rise} racks"
            parts.append(f"{racks} more at {space.site}, {space.count + rise} in all")
    return ", and ".join(parts)


def owned_break(translation: Translation, counts: Counts) -> str | None:
    """The limit that the owned nodes alone break, in a sentence; None where they break none."""
    for space in translation.problem.racks:
        alone = Program(list(counts.program.variables), list(counts.program.rows))
        for row in {*range(len(alone.rows))} - {*counts.standing_rows, *_rows(counts, space)}:
            alone.rows[row] = replace(alone.rows[row], terms=(), sense="<=", right=0.0)
        if not solve_integer(alone.priced({}), time_limit_s=_TIME_S).values:
            return f"the nodes owned at {space.site} do not fit its racks"
    return None


def _rows(counts: Counts, space: RackSpace) -> list[int]:
    return counts.limit_rows[rack_name(space)]


def _more(problem: Problem, counts: Counts, names: tuple[str, ...]) -> dict[str, int] | None:
    """The least by which limits must rise, in their own units; None where that does not help.

    The counting program says how much is needed at the least, the search whether that is enough.
    """
    raised = dict.fromkeys(names, 0)
    for _ in range(_TRIES):
        needed = _needed(problem, counts, names)
        if needed is None or not any(needed.values()):
            return None
        raised = {name: raised[name] + needed[name] for name in names}
        try:
            search(without_costs(_raised(problem, raised)), asked_gap=1.0, time_limit_s=_TIME_S)
        except LimitError:
            return None
        except Infeasible as proved:
            counts = proved.counts
        else:
            return raised
    return None


def _needed(problem: Problem, counts: Counts, names: tuple[str, ...]) -> dict[str, int] | None:
    """How much more a counting program without a solution needs of limits to have one."""
    program = Program(list(counts.program.variables), list(counts.program.rows))
    units = {limit.name: row_scale(limit) for limit in problem.limits}
    more = {name: program.variable("more", integer=True) for name in names}
    for name, index in more.items():
        for row in counts.limit_rows.get(name, ()):
            stated = program.rows[row]
            terms = (*stated.terms, (index, -units.get(name, 1.0)))
            program.rows[row] = replace(stated, terms=terms)
    answer = solve_integer(
        program.priced({index: units.get(name, 1.0) for name, index in more.items()}),
        time_limit_s=_TIME_S,
        relaxed=counts.unit_variables,
    )
    if not answer.values:
        return None
    return {name: ceil(answer.values[index] - _TOLERANCE) for name, index in more.items()}


def _raised(problem: Problem, more: Mapping[str, int]) -> Problem:
    """The problem with more of some limits in every quarter."""
    limits = tuple(
        replace(
            limit,
            at_most=tuple(
                None if most is None else most + more.get(limit.name, 0) for most in limit.at_most
            ),
        )
        for limit in problem.limits
    )
    racks = tuple(
        replace(space, count=space.count + more.get(rack_name(space), 0)) for space in problem.racks
    )
    return replace(problem, limits=limits, racks=racks)


def without_costs(problem: Problem) -> Problem:
    """The problem in which nothing costs anything: any plan will do."""
    supplies = tuple(
        replace(
            supply,
            unit_cost_cents=tuple(None if cents is None else 0 for cents in supply.unit_cost_cents),
        )
        for supply in problem.supplies
    )
    return replace(problem, supplies=supplies)


def _by_quarter(translation: Translation, limit: Limit) -> str:
    """`120 kW`, or the figures with the quarters from which they hold."""
    figures = [None if most is None else _figure(most, limit.unit) for most in limit.at_most]
    if len(set(figures)) == 1:
        return figures[0] or "not limited"
    told = [
        f"{figure or 'no limit'} from {translation.quarters[quarter]} on"
        for quarter, figure in enumerate(figures)
        if quarter == 0 or figure != figures[quarter - 1]
    ]
    return ", ".join(told)


def _figure(amount: int, unit: str) -> str:
    """`37.5 kW`, `12 U`."""
    return f"{amount / 1000:,.10g} kW" if unit == "W" else f"{amount:,} {unit}"
