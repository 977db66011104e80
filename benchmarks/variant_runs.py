"""How many variants of one scenario are planned in a second: packing alone, and whole plans."""

from __future__ import annotations

import gc
import os
import random
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pulp

from benchmarks.portfolios import catalogue
from benchmarks.table import Row
from planner.cli.app import OBJECTS_BETWEEN_SCANS
from planner.packing.answer import answer
from planner.packing.counting.build import build_counts
from planner.packing.families.family import family_of
from planner.packing.search import rooted, search
from planner.whatif.desk.crew import Processes
from planner.whatif.desk.desk import Desk, Station
from planner.whatif.risk.futures import read_futures

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.packing.problem import Problem
    from planner.packing.solution import Solution
    from planner.packing.solvers.program import Row as ProgramRow
    from planner.whatif.desk.figures import Figures

__all__ = ["variants"]

_GAP = 1e-3
_JOBS = 200
_SEEDS = (0, 1, 2)
"""In the last, host memory is so scarce that layouts are hard to find."""
_SAMPLE = 10
"""Variants that the program of PuLP and CBC solves, of those that are planned."""
_TIMES = 15
_LIMIT_S = 10.0
_FUTURES = Path(__file__).resolve().parent.parent / "scenarios" / "sweeps" / "futures.yaml"
_WORKERS, _PLANS, _PLANS_A_SECOND = 2, 60, 2.0


def variants(number: int) -> Iterator[Row]:
    """Demand variants of one quarter against PuLP and CBC, and futures of a shipped scenario."""
    for seed in _SEEDS:
        yield _packed(seed, number)
    yield _planned()


def _packed(seed: int, number: int) -> Row:
    base = catalogue(_JOBS, seed)
    rng = random.Random(f"variants-{_JOBS}-{seed}")
    drawn = [_variant(base, rng) for _ in range(number)]
    found, quick = [], 0
    gc.set_threshold(OBJECTS_BETWEEN_SCANS)  # as the commands do
    started = _processor_s()
    family = family_of(base, _LIMIT_S)
    for problem in drawn:
        soon = family.found(problem, _GAP) if family else None
        quick += soon is not None
        found.append(soon or search(problem, asked_gap=_GAP, time_limit_s=_LIMIT_S))
    ours = number / (_processor_s() - started)
    sample = drawn[:: max(1, number // _SAMPLE)][:_SAMPLE]
    cuts = rooted(base, _LIMIT_S).counts.program.rows[len(build_counts(base).program.rows) :]
    started = _processor_s()
    for problem in sample:
        _rebuilt(problem, cuts)
    theirs = len(sample) / (_processor_s() - started)
    solutions = [answer(problem, one, _GAP) for problem, one in zip(drawn, found, strict=True)]
    sound = all(map(_is_sound, drawn, solutions))
    gap = max(solution.gap for solution in solutions)
    return Row(
        f"catalogue, {_JOBS} jobs, one quarter, seed {seed}: {number:,} demand variants",
        f"{ours:.0f} a second ({quick:,} without the search); gap ≤ "
        f"{gap:.3%}; PuLP and CBC {theirs:.1f} a second: {ours / theirs:.0f} times".replace(
            "%", " %"
        )
        + ("" if sound else "; UNSOUND"),
        f"≥ {_TIMES} times; gap ≤ 0.1 %",
        ours >= _TIMES * theirs and gap <= _GAP and sound,
    )


def _processor_s() -> float:
    """Processor time of this process and of those that it started and that have ended."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def _variant(base: Problem, rng: random.Random) -> Problem:
    """Each kind of job from half as often to 1.6 times as often, most likely as often."""
    counts = [
        max(1, round(demand.count * rng.triangular(0.5, 1.6, 1.0))) for demand in base.demands
    ]
    demands = [
        replace(demand, count=count) for demand, count in zip(base.demands, counts, strict=True)
    ]
    return replace(base, demands=tuple(demands))


def _rebuilt(problem: Problem, cuts: list[ProgramRow]) -> None:
    """The same counting program, stated anew and solved to 0.1 % by PuLP and CBC: no layouts."""
    program = build_counts(problem).program
    program.rows += cuts
    stated = pulp.LpProblem("variant", pulp.LpMinimize)
    columns = [
        stated.add_variable(f"v{index}", variable.lower, variable.upper, pulp.LpInteger)
        for index, variable in enumerate(program.variables)
    ]
    stated += pulp.LpAffineExpression(
        [(columns[i], variable.cost) for i, variable in enumerate(program.variables)]
    )
    senses = {"<=": pulp.LpConstraintLE, ">=": pulp.LpConstraintGE, "==": pulp.LpConstraintEQ}
    for row in program.rows:
        terms = pulp.LpAffineExpression([(columns[i], factor) for i, factor in row.terms])
        stated += pulp.LpConstraint(terms, senses[row.sense], None, row.right)
    cbc = pulp.COIN_CMD(path=pulp.PULP_CBC_CMD.pulp_cbc_path, msg=False, threads=1, gapRel=_GAP)
    stated.solve(cbc)


def _is_sound(problem: Problem, solution: Solution) -> bool:
    """Whether every unit lies on a node that holds it, and no more nodes are used than bought."""
    placed: Counter[tuple[int, int]] = Counter()
    for pool, layouts in enumerate(solution.layouts[0]):
        node = problem.pools[pool].node
        used = 0
        for layout in layouts:
            used += layout.count * layout.span
            for offered, name in (
                (node.gpus, "gpus"),
                (node.cpus, "cpus"),
                (node.memory_mb, "memory_mb"),
            ):
                taken = sum(
                    units * getattr(problem.demands[demand].choices[choice].shape, name)
                    for demand, choice, units in layout.parts
                )
                if taken > offered * layout.span:
                    return False
            for demand, choice, units in layout.parts:
                placed[demand, choice] += units * layout.count
        bought = sum(
            solution.entering(number, 0)
            for number, supply in enumerate(problem.supplies)
            if supply.pool == pool
        )
        if used > bought + problem.pools[pool].owned:
            return False
    return all(
        sum(placed[number, choice] for choice in range(len(demand.choices))) == demand.count
        for number, demand in enumerate(problem.demands)
    )


def _planned() -> Row:
    """Futures of the quarterly scenario, planned and checked in full by two workers."""
    futures = read_futures(_FUTURES)
    desk = Desk(Station(futures.scenario))
    drawn = {}
    for one in futures.drawn(desk, _PLANS):
        by_quarters = replace(one, settings=(*one.settings, "policies.time=quarters"))
        drawn[desk.key(by_quarters)] = by_quarters
    results: list[Figures] = []
    spent = _processor_s()
    with Processes(desk, _WORKERS) as crew:
        started = time.perf_counter()
        crew.plan(drawn, lambda _, figures: results.append(figures))
        rate = len(results) / (time.perf_counter() - started)
    each = (_processor_s() - spent) / len(results)
    proved = sum(figures.result == "proved" for figures in results)
    return Row(
        f"`scenarios/quarterly.yaml` by quarters: {_PLANS} futures in full, {_WORKERS} workers",
        f"{rate:.1f} plans a second, the workers' start included, {each:.2f} s of processor time "
        f"each; {proved} proved to 0.01 %",
        f"≥ {_PLANS_A_SECOND:g} plans a second; all proved",
        rate >= _PLANS_A_SECOND and proved == len(results),
    )
