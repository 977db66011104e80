"""What quotas allow their owners to hold: rows of the counting program, and the exact test.

Rows `quota[name]` sum the GPUs of an owner's active units over the choices that they take. Every
unit of an owner with a quota is in a demand of its own owner alone, so that these sums are exact.
Where an owner has runs of some weeks, variables say how many of them start in which week, and each
week has a row.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from math import gcd
from typing import TYPE_CHECKING

from planner.packing.counting.counts import Starts
from planner.packing.counting.turns import fullest
from planner.packing.problem import WEEKS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from planner.packing.counting.counts import Counts, PoolInQuarter, Terms
    from planner.packing.layouts.cutting import CuttingStock
    from planner.packing.layouts.packed import Packed
    from planner.packing.problem import Choice, Demand, Problem, Quota, Shape

__all__ = [
    "Allowance",
    "Started",
    "add_quotas",
    "starts_of",
    "whole_units",
    "with_starts",
    "within_quotas",
]


Started = Counter[tuple[Starts, int]]
"""Pieces by the week in which they start."""


def add_quotas(counts: Counts) -> None:
    """State every quota; quarters in which the same units are active share the least figure.

    Where some are runs, quarters share rows that have the same figures in all quotas of the owner.
    """
    for number, quota in enumerate(counts.problem.quotas):
        held = _held_by_quarter(counts, quota)
        counts.quota_terms[number] = held
        least: dict[object, tuple[int, int]] = {}
        for quarter, most in enumerate(quota.at_most):
            runs = _runs(counts, quota, quarter)
            if most is not None and (held[quarter] or runs):
                key = _alike(counts.problem, quota, quarter) if runs else held[quarter]
                least[key] = min((most, quarter), least.get(key, (most, quarter)))
        counts.quota_rows[number] = {
            row: most
            for most, quarter in least.values()
            for row in _rows(counts, quota, most, held[quarter], _runs(counts, quota, quarter))
        }


def _alike(problem: Problem, quota: Quota, quarter: int) -> object:
    """Units of an owner that are active in a quarter, and what all quotas of the owner allow."""
    owner = quota.owner
    return (
        tuple(
            n
            for n, one in enumerate(problem.demands)
            if one.owner == owner and quarter in one.quarters
        ),
        tuple(one.at_most[quarter] for one in problem.quotas if one.owner == owner),
    )


def _rows(
    counts: Counts,
    quota: Quota,
    most: int,
    held: Sequence[tuple[int, int]],
    runs: Mapping[Starts, Terms],
) -> Iterator[int]:
    """One for each week that says something; what whole units hold there is a multiple."""
    weeks = [dict(held)]
    if runs:
        begun = {kind: _begun(counts, kind, pieces) for kind, pieces in runs.items()}
        weeks = [dict(held) | _in_week(begun, week) for week in range(WEEKS)]
    for week, terms in fullest(weeks):
        divisor = gcd(*terms.values())
        load = {index: float(gpus) for index, gpus in terms.items()}
        name = f"quota[{quota.name},{week}]" if runs else f"quota[{quota.name}]"
        yield counts.program.row(name, load, "<=", most // divisor * divisor)


def _begun(counts: Counts, kind: Starts, pieces: Terms) -> dict[int, int]:
    """By week: the variable that counts the pieces that start; row `starts` has them all."""
    if kind not in counts.starts:
        name = f"starts[{kind.owner},{kind.quarter}]"
        begun = {week: counts.program.variable(name, integer=True) for week in kind.run.starts}
        terms = {index: -copies for index, copies in pieces.items()}
        terms |= dict.fromkeys(begun.values(), 1.0)
        counts.program.row(name, terms, "==", 0.0)
        counts.starts[kind] = begun
    return counts.starts[kind]


def _in_week(begun: Mapping[Starts, Mapping[int, int]], week: int) -> dict[int, int]:
    """GPUs that runs hold in a week, by when they start."""
    return {
        index: kind.gpus
        for kind, variables in begun.items()
        for start, index in variables.items()
        if start <= week < start + kind.run.weeks
    }


def _held_by_quarter(counts: Counts, quota: Quota) -> tuple[tuple[tuple[int, int], ...], ...]:
    """By quarter: variables that count units, and the GPUs that one of them holds of the quota.

    Without runs.
    """
    held: list[list[tuple[int, int]]] = [[] for _ in quota.at_most]
    for index, demand, choice in _taken(counts, quota):
        if not choice.shape.owner:
            for quarter in demand.quarters:
                held[quarter].append((index, quota.taken(choice)))
    return tuple(tuple(terms) for terms in held)


def _runs(counts: Counts, quota: Quota, quarter: int) -> dict[Starts, Terms]:
    """Pieces of runs that a quota counts in a quarter, by the variables that count their units."""
    found: dict[Starts, Terms] = defaultdict(dict)
    for index, demand, choice in _taken(counts, quota):
        if choice.shape.owner and quarter in demand.quarters:
            kind = Starts.of(choice.shape, quarter, choice.gpu_type)
            found[kind][index] = float(choice.copies)
    return dict(found)


def _taken(counts: Counts, quota: Quota) -> Iterator[tuple[int, Demand, Choice]]:
    """Choices that a quota counts, with the variables of their units."""
    for (number, position), index in counts.choice.items():
        demand = counts.problem.demands[number]
        choice = demand.choices[position]
        if demand.owner == quota.owner and quota.taken(choice):
            yield index, demand, choice


def starts_of(
    counts: Counts,
    stocks: Mapping[int, CuttingStock],
    packings: Mapping[PoolInQuarter, Packed],
) -> Started:
    """When the runs that quotas count start in a plan."""
    found: Started = Counter()
    for key, packed in packings.items() if counts.starts else ():
        gpu_type, stock = counts.problem.pools[key[0]].gpu_type, stocks[key[0]]
        runs = {index: shape for index, shape in enumerate(stock.shapes) if shape.owner}
        nodes: Counter[tuple[Shape, int]] = Counter()
        for number, (pattern, times) in enumerate(packed.patterns):
            if runs.keys().isdisjoint(index for index, _ in pattern):
                continue
            for index, week, _ in stock.timetable_in(packed, number):
                if index in runs:
                    nodes[runs[index], week] += times
        for (shape, week), begun in nodes.items():
            found[Starts.of(shape, key[1], gpu_type), week] += begun // shape.nodes_at_once
    return found


def with_starts(counts: Counts, values: tuple[float, ...], started: Started) -> tuple[float, ...]:
    """A plan with the starts that it has; where several quarters share them, those of one."""
    changed = list(values)
    for kind, begun in counts.starts.items():
        for week, index in begun.items():
            changed[index] = float(started[kind, week])
    return tuple(changed)


def within_quotas(counts: Counts, values: tuple[float, ...], started: Started) -> bool:
    """Whether the units keep to every quota in every week, in whole numbers."""
    for number, quota in enumerate(counts.problem.quotas):
        for quarter, most in enumerate(quota.at_most):
            if most is None:
                continue
            terms = counts.quota_terms[number][quarter]
            weeks = [sum(gpus * round(values[index]) for index, gpus in terms)] * WEEKS
            for (kind, first), pieces in started.items():
                if _counted(quota, quarter, kind):
                    for week in range(first, first + kind.run.weeks):
                        weeks[week] += kind.gpus * pieces
            if max(weeks) > most:
                return False
    return True


def _counted(quota: Quota, quarter: int, kind: Starts) -> bool:
    return (quota.owner, quarter) == (kind.owner, kind.quarter) and quota.gpu_type in (
        None,
        kind.gpu_type,
    )


class Allowance:
    """What is left of the quotas, in GPU-weeks, while units take choices one after another.

    What the units still to come need at the least is kept for them.
    """

    def __init__(self, problem: Problem) -> None:
        """Before any unit has taken a choice."""
        self._quotas = problem.quotas
        self._left = {
            (quota, quarter): most * WEEKS
            for quota in problem.quotas
            for quarter, most in enumerate(quota.at_most)
            if most is not None
        }
        for demand in problem.demands if self._left else ():
            for key in self._concerned(demand):
                self._left[key] -= demand.count * _least(key[0], demand)

    def allows(self, demand: Demand, choice: Choice) -> bool:
        """Whether a unit may take a choice."""
        return all(
            _gpu_weeks(key[0], choice) - _least(key[0], demand) <= self._left[key]
            for key in self._concerned(demand)
        )

    def take(self, demand: Demand, choice: Choice) -> None:
        """Let a unit take a choice, allowed or not."""
        for key in self._concerned(demand):
            self._left[key] -= _gpu_weeks(key[0], choice) - _least(key[0], demand)

    def _concerned(self, demand: Demand) -> list[tuple[Quota, int]]:
        return [
            (quota, quarter)
            for quota in self._quotas
            if demand.owner and quota.owner == demand.owner
            for quarter in demand.quarters
            if (quota, quarter) in self._left
        ]


def _least(quota: Quota, demand: Demand) -> int:
    return min((_gpu_weeks(quota, choice) for choice in demand.choices), default=0)


def _gpu_weeks(quota: Quota, choice: Choice) -> int:
    return quota.taken(choice) * (choice.shape.run.weeks if choice.shape.owner else WEEKS)


def whole_units(counts: Counts, values: Sequence[float]) -> Iterator[tuple[int, int]]:
    """Each unit as (demand, choice): as counted, then where larger fractions are.

    Fractions go up only where that keeps to the quotas, if any choice does.
    """
    allowance = Allowance(counts.problem)
    for number, demand in enumerate(counts.problem.demands):
        wanted = {
            position: values[counts.choice[number, position]]
            for position in range(len(demand.choices))
            if (number, position) in counts.choice
        }
        for _ in range(demand.count):
            open_to = [at for at in wanted if allowance.allows(demand, demand.choices[at])]
            position = max(open_to or wanted, key=lambda position: (wanted[position], -position))
            allowance.take(demand, demand.choices[position])
            wanted[position] -= 1.0
            yield number, position
