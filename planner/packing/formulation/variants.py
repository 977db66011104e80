"""Variants of the master program: the same rows, solved for units that can be laid out.

Each is a copy; the program that proves the bound is left as it is.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping

from planner.inputs.scenario.quarter import RUN_HOURS
from planner.packing.constraints.moves import stay_rewards
from planner.packing.master import CENTS_PER_UNIT, MasterProgram, PoolInQuarter, Terms
from planner.packing.problem import Choice, Problem
from planner.packing.solvers.program import Program, ProgramRow

_IDLE = 0.01
"""The weight of a GPU that costs nothing, as a share of the lowest price of a GPU."""


def on_cheapest_gpus(master: MasterProgram) -> Program:
    """Return the program that runs units on the cheapest GPUs: a tie-break at equal cost.

    Of GPUs that cost nothing, on the fewest. Before that, units that may change their GPU type
    from quarter to quarter keep it where they can; before all else, units that run today stay.
    """
    price = gpu_prices(master.problem)
    idle = _IDLE * min(filter(None, price.values()), default=1.0)
    costs: dict[int, float] = {}
    for (number, position), index in master.choice.items():
        demand = master.problem.demands[number]
        choice = demand.choices[position]
        copies = sum(choice.copies_in(quarter) for quarter in demand.quarters)
        gpus = choice.shape.whole_gpus * choice.shape.run.hours / RUN_HOURS
        costs[index] = gpus * (price.get(choice.gpu_type) or idle) * copies
    for (pool, _), usage in master.opened.items():
        for index, _ in usage.terms:
            costs[index] = price[master.problem.pools[pool].gpu_type]
    program = Program(list(master.program.variables), list(master.program.rows))
    worth = 1.0 + max(costs.values(), default=0.0)
    changes = {index: sign * worth for index, sign in _changes(master, program).items()}
    stays = stay_rewards(master, costs | {index: abs(cost) for index, cost in changes.items()})
    return program.priced(costs | stays | changes)


def at_random(master: MasterProgram, seed: int) -> Program:
    """Return the program that prefers some ways to run units to others, at random."""
    rng = random.Random(seed)
    return master.program.priced({index: rng.random() for index in master.choice.values()})


def _changes(master: MasterProgram, program: Program) -> dict[int, float]:
    """Count the units of each stage that go on unchanged in the next one (-1): rows `goes-on`.

    If the number of units that share some traffic is open, those that end are counted (1), in
    rows `ends`: otherwise more would go on than are needed.
    """
    taking: dict[tuple[tuple[Choice, ...], str, str, int, int], Terms] = defaultdict(dict)
    for (number, position), index in master.choice.items():
        demand = master.problem.demands[number]
        if demand.stage:
            kind = (demand.choices, demand.owner, demand.endpoint, position)
            taking[*kind, demand.quarters[0]][index] = 1.0
    found = {}
    for (choices, owner, endpoint, position, quarter), now in taking.items():
        after = taking.get((choices, owner, endpoint, position, quarter + 1), {})
        if endpoint and after:
            ends = program.variable("ends")
            program.row("ends", {**now, **dict.fromkeys(after, -1.0), ends: -1.0}, "<=", 0.0)
            found[ends] = 1.0
        elif after:
            going_on = program.variable("goes-on")
            for side in (now, after):
                terms = {**dict.fromkeys(side, -1.0), going_on: 1.0}
                program.row("goes-on", terms, "<=", 0.0)
            found[going_on] = -1.0
    return found


def gpu_prices(problem: Problem) -> dict[str, float]:
    """Return the least that one GPU of a type costs; owned ones that nobody offers cost nothing."""
    prices: dict[str, float] = {}
    for number, pool in enumerate(problem.pools):
        if pool.lender is not None:
            continue
        quarter = RUN_HOURS / pool.hire.step_hours if pool.hire else 1.0
        offered = [
            cents * quarter
            for supply in problem.supplies
            if supply.pool == number and not supply.releases
            for cents in supply.unit_cost_cents
            if cents is not None
        ]
        worth = min(offered, default=0) / pool.node.gpus / CENTS_PER_UNIT
        prices[pool.gpu_type] = min(worth, prices.get(pool.gpu_type, worth))
    return prices


def with_at_least(
    master: MasterProgram,
    nodes: Mapping[PoolInQuarter, int],
    *,
    opened: Mapping[PoolInQuarter, int] | None = None,
    most_runs: Mapping[PoolInQuarter, int] | None = None,
) -> Program:
    """Return the program in which some pools have at least so many usable nodes or opened GPUs.

    On others, at most so many runs are.
    """
    extra = []
    for key, wanted in sorted(nodes.items()):
        terms, owned = master.usable_nodes(*key)
        extra.append(ProgramRow(f"at-least{key}", tuple(terms.items()), ">=", wanted - owned))
    for key, gpus in sorted((opened or {}).items()):
        extra.append(ProgramRow(f"at-least-opened{key}", master.opened[key].terms, ">=", gpus))
    for key, most in sorted((most_runs or {}).items()):
        runs: Terms = defaultdict(float)
        for usage in master.usages[key]:
            if usage.asked.is_run:
                usage.weigh(runs, 1 / usage.times, 1.0)
        extra.append(ProgramRow(f"at-most{key}", tuple(runs.items()), "<=", most))
    return Program(master.program.variables, [*master.program.rows, *extra])
