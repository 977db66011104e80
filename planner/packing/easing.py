"""Asks pools for less where less fits: what found no room is taken off what they may hold.

A counted plan fills GPUs and weeks on paper as no timetable can. So the share of its nodes' weeks
that a pool and quarter may hold falls to what was laid out there, and the plan is counted again:
units move to where there is room, or nodes are added, whichever costs less. Such a plan is sound,
and says nothing of the bound.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from planner.packing.cutting import Packed
from planner.packing.layout import lay_out_or_lack
from planner.packing.problem import WEEKS
from planner.packing.program import Program, Row
from planner.packing.solver import solve_integer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from planner.packing.counts import Counts, Terms
    from planner.packing.cutting import CuttingStock

__all__ = ["plan_with_eased_pools"]

_Key = tuple[int, int]
"""Pool and quarter."""

_TIME, _LEAST_TIME_S, _GAP = 0.25, 1.0, 0.01
"""Of the time left, what one of many counts may take, seconds at the least, and how exact it is."""
_LEAST_STEP = 0.01
"""By what share of its nodes' weeks a pool holds less each time, at the least."""


def plan_with_eased_pools(
    counts: Counts,
    stocks: Mapping[int, CuttingStock],
    left_s: Callable[[], float],
    below_cents: int | None,
) -> tuple[tuple[float, ...], dict[_Key, Packed]] | None:
    """Values and layouts of a plan, by pool and quarter; None where time or counts run out.

    `below_cents` is what it may cost at the most, where a plan is known.
    """
    below = None
    if below_cents is not None:
        below = counts.cost(below_cents - counts.problem.fixed_cost_cents)
    easing = _Easing(counts, below)
    while left_s() > 0:
        answer = solve_integer(
            easing.program(),
            time_limit_s=max(left_s() * _TIME, _LEAST_TIME_S),
            relative_gap=_GAP,
        )
        if not answer.values:
            return None
        values = tuple(float(round(value)) for value in answer.values)
        packings: dict[_Key, Packed] = {}
        lacking: dict[_Key, float] = {}
        for key in counts.usages:
            tried = lay_out_or_lack(counts, stocks[key[0]], key, values)
            if isinstance(tried, Packed):
                packings[key] = tried
            else:
                lacking[key] = tried
        if not lacking:
            return values, packings
        easing.lower(values, lacking)
    return None


class _Easing:
    """The counting program with what was learned of the pools."""

    def __init__(self, counts: Counts, below: float | None) -> None:
        """`below` is the objective that a plan must beat; then pools are eased step by step."""
        self._counts = counts
        self._below = below
        self._share: dict[_Key, float] = {}
        """Of the weeks of all GPUs, what may be held; pools that were never short are not here."""

    def program(self) -> Program:
        """The program, with a row `eased` for each pool and quarter that was short of room."""
        program = self._counts.program
        rows = [self._row(key, share) for key, share in sorted(self._share.items())]
        if self._below is not None:
            costs = {i: v.cost for i, v in enumerate(program.variables) if v.cost}
            rows.append(Row("cheaper", tuple(costs.items()), "<=", self._below))
        return Program(program.variables, [*program.rows, *rows])

    def lower(self, values: tuple[float, ...], lacking: Mapping[_Key, float]) -> None:
        """Take in what found no room in a solution, in GPU-weeks by pool and quarter."""
        for key, gpu_weeks in lacking.items():
            nodes = max(1.0, self._counts.nodes(*key, values))
            held = sum(values[index] * share for index, share in self._held(key).items())
            per_node = self._counts.problem.pools[key[0]].node.gpus * WEEKS
            step = 0.0 if self._below is not None else gpu_weeks / per_node
            share = (held - max(step, _LEAST_STEP * nodes)) / nodes
            self._share[key] = min(share, self._share.get(key, share))

    def _row(self, key: _Key, share: float) -> Row:
        terms: Terms = defaultdict(float, self._held(key))
        usable, owned = self._counts.usable_nodes(*key)
        for index, factor in usable.items():
            terms[index] -= share * factor
        return Row(f"eased[{key[0]},{key[1]}]", tuple(sorted(terms.items())), "<=", share * owned)

    def _held(self, key: _Key) -> Terms:
        """Weeks of GPUs that pieces hold, in nodes, by variable."""
        gpus = self._counts.problem.pools[key[0]].node.gpus
        held: Terms = defaultdict(float)
        spanning = [usage for usage in self._counts.usages[key] if usage.span]
        for usage in {*self._counts.on_nodes(*key), *spanning}:
            weeks = usage.shape.gpus * usage.shape.run.weeks / (gpus * WEEKS)
            for index, factor in usage.terms:
                held[index] += factor * (usage.span or weeks)
        return held
