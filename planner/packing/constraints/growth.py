"""Growth reserves: a share of the GPUs of a type that no unit holds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from math import floor, inf

from planner.inputs.scenario.quarter import RUN_HOURS
from planner.packing.constraints.base import OWNED_NODES, Condition, widening
from planner.packing.master import MasterProgram, Terms
from planner.packing.problem import Pool, Problem, Reserve
from planner.packing.translation import Translation

BILL = OWNED_NODES


def add_rows(master: MasterProgram) -> None:
    """State what stays free for growth: rows `reserve[type,q]`."""
    for reserve in master.problem.reserves:
        for quarter in range(master.problem.quarters):
            held = _held(master, reserve, quarter)
            load: Terms = defaultdict(float)
            for index, gpu_hours in held:
                load[index] += gpu_hours / RUN_HOURS
            share = float(1 - reserve.free)
            owned = 0.0
            for number, pool in _in_service(master.problem, reserve.gpu_type):
                owned += share * pool.node.gpus * pool.owned_in(quarter)
                for index, factor in master.in_service[number, quarter].items():
                    load[index] = load.get(index, 0.0) - share * pool.node.gpus * factor
            master.program.row(f"reserve[{reserve.gpu_type},{quarter}]", load, "<=", owned)


def _held(master: MasterProgram, reserve: Reserve, quarter: int) -> Iterator[tuple[int, int]]:
    """Yield variables that count units, with the GPU-hours of the type that one of them adds."""
    for number, position in master.mode:
        job_class = master.problem.classes[number]
        mode = job_class.modes[position]
        if mode.gpu_type == reserve.gpu_type and quarter in job_class.quarters:
            for index, pieces in master.pieces_in(number, position, quarter):
                yield index, mode.shape.whole_gpus * pieces * mode.shape.run.hours
    for number, pool in enumerate(master.problem.pools):
        if pool.gpu_type != reserve.gpu_type:
            continue
        if pool.hire:  # its nodes come for their runs, and leave nothing free
            for usage in master.usages.get((number, quarter), ()):
                for index, factor in usage.terms:
                    yield index, -int(factor) * usage.shape.gpus * usage.asked.run.hours
        if (number, quarter) in master.opened:
            for index, _ in master.opened[number, quarter].terms:
                yield index, RUN_HOURS


def _in_service(problem: Problem, gpu_type: str) -> Iterator[tuple[int, Pool]]:
    """Return the nodes in service, without pools that borrow nodes or have them by the hour."""
    for number, pool in enumerate(problem.pools):
        if pool.gpu_type == gpu_type and pool.lender is None and not pool.hire:
            yield number, pool


def holds(master: MasterProgram, values: Sequence[float]) -> bool:
    """Return whether enough GPUs stay free for growth, in whole numbers."""
    return all(
        free_to_hold(master, reserve.gpu_type, quarter, values) >= 0
        for reserve in master.problem.reserves
        for quarter in range(master.problem.quarters)
    )


def free_to_hold(
    master: MasterProgram, gpu_type: str, quarter: int, values: Sequence[float]
) -> float | Fraction:
    """Return the GPUs of a type that units may still take; infinite without a reserve.

    A run holds its GPUs for a share of the quarter.
    """
    for reserve in master.problem.reserves:
        if reserve.gpu_type == gpu_type:
            held = sum(
                gpu_hours * round(values[index])
                for index, gpu_hours in _held(master, reserve, quarter)
            )
            there = sum(
                pool.node.gpus * round(master.stand(number, quarter, values, on=True))
                for number, pool in _in_service(master.problem, gpu_type)
            )
            return (1 - reserve.free) * there - Fraction(held, RUN_HOURS)
    return inf


def conditions(translation: Translation) -> Iterator[Condition]:
    """Return the reserves as conditions."""
    return map(_condition, translation.problem.reserves)


def _condition(reserve: Reserve) -> Condition:
    name = f"the growth reserve of {reserve.gpu_type}"

    def lower(one: Reserve, more: int) -> Reserve:
        return replace(one, free=max(Fraction(0), reserve.free - Fraction(more, 100)))

    return Condition(
        name,
        _per_cent(reserve.free),
        widening("reserves", "gpu_type", reserve.gpu_type, lower),
        lambda more: f"lower {name} to {_per_cent(lower(reserve, more).free)}",
        floor(reserve.free * 100),
    )


def _per_cent(share: Fraction) -> str:
    """Format a share: `12.5 %`."""
    return f"{float(share * 100):.4g} %"
