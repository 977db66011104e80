"""What quotas allow their owners to hold: rows of the counting program, and the exact test.

Rows `quota[name]` sum the GPUs of an owner's active units over the choices that they take. Every
unit of an owner with a quota is in a demand of its own owner alone, so that these sums are exact.
"""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from planner.packing.counting.counts import Counts
    from planner.packing.problem import Choice, Demand, Problem, Quota

__all__ = ["Allowance", "add_quotas", "held_gpus", "whole_units", "within_quotas"]


def add_quotas(counts: Counts) -> None:
    """State every quota; quarters in which the same units are active share the least figure."""
    for number, quota in enumerate(counts.problem.quotas):
        held = _held_by_quarter(counts, quota)
        counts.quota_terms[number] = held
        least: dict[tuple[tuple[int, int], ...], int] = {}
        for quarter, most in enumerate(quota.at_most):
            if most is not None and held[quarter]:
                least[held[quarter]] = min(most, least.get(held[quarter], most))
        counts.quota_rows[number] = {
            _row(counts, quota, dict(terms), most): most for terms, most in least.items()
        }


def _row(counts: Counts, quota: Quota, terms: Mapping[int, int], most: int) -> int:
    """What whole units can hold of it is a multiple of what divides all their sizes."""
    divisor = gcd(*terms.values())
    load = {index: float(gpus) for index, gpus in terms.items()}
    return counts.program.row(f"quota[{quota.name}]", load, "<=", most // divisor * divisor)


def _held_by_quarter(counts: Counts, quota: Quota) -> tuple[tuple[tuple[int, int], ...], ...]:
    """By quarter: variables that count units, and the GPUs that one of them holds of the quota."""
    held: list[list[tuple[int, int]]] = [[] for _ in quota.at_most]
    for (number, position), index in counts.choice.items():
        demand = counts.problem.demands[number]
        if demand.owner == quota.owner and (gpus := quota.taken(demand.choices[position])):
            for quarter in demand.quarters:
                held[quarter].append((index, gpus))
    return tuple(tuple(terms) for terms in held)


def held_gpus(counts: Counts, number: int, quarter: int, values: Sequence[float]) -> int:
    """GPUs that a plan in whole units holds of a quota in a quarter."""
    terms = counts.quota_terms[number][quarter]
    return sum(gpus * round(values[index]) for index, gpus in terms)


def within_quotas(counts: Counts, values: Sequence[float]) -> bool:
    """Whether the units keep to every quota, in whole numbers."""
    return all(
        most is None or held_gpus(counts, number, quarter, values) <= most
        for number, quota in enumerate(counts.problem.quotas)
        for quarter, most in enumerate(quota.at_most)
    )


class Allowance:
    """What is left of the quotas while units take their choices one after another.

    What the units still to come need at the least is kept for them.
    """

    def __init__(self, problem: Problem) -> None:
        """Before any unit has taken a choice."""
        self._quotas = problem.quotas
        self._left = {
            (quota, quarter): most
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
            key[0].taken(choice) - _least(key[0], demand) <= self._left[key]
            for key in self._concerned(demand)
        )

    def take(self, demand: Demand, choice: Choice) -> None:
        """Let a unit take a choice, allowed or not."""
        for key in self._concerned(demand):
            self._left[key] -= key[0].taken(choice) - _least(key[0], demand)

    def _concerned(self, demand: Demand) -> list[tuple[Quota, int]]:
        return [
            (quota, quarter)
            for quota in self._quotas
            if demand.owner and quota.owner == demand.owner
            for quarter in demand.quarters
            if (quota, quarter) in self._left
        ]


def _least(quota: Quota, demand: Demand) -> int:
    return min((quota.taken(choice) for choice in demand.choices), default=0)


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
