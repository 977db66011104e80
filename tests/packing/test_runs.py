"""Runs of some weeks share GPUs one after the other: the search agrees with trying everything."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from planner.packing.problem import ALWAYS, Choice, Demand, Problem, RunWindow, Shape
from planner.packing.solution import Status
from tests.packing import test_procurement, test_quotas, test_sites
from tests.packing.meaning import slots
from tests.packing.test_brute_force import draw
from tests.properties.questions import draws

if TYPE_CHECKING:
    from collections.abc import Callable

BATCHES, SIZE = draws(3, 8), draws(6, 10)
NODE = 10_000_000
ROUNDING = 1e-6
"""Prices of layouts are floats: a bound may be a cent too low."""


def units(
    count: int,
    *choices: tuple[int, int, RunWindow],
    gpu_type: str = "h100",
    quarters: tuple[int, ...] = (0,),
) -> Demand:
    """Units that take so many GPUs and cores for a run."""
    made = (Choice(gpu_type, Shape(gpus, cpus, 0, run=run)) for gpus, cpus, run in choices)
    return Demand(tuple(sorted(made)), quarters, count)


@pytest.fixture
def nodes_of(build, solve, least_cost, faults):
    """Nodes of 8 GPUs and 80 cores that the best plan buys, by trying everything."""

    def planned(*demands, quarters=1):
        problem = build.problem(
            [build.pool()], [build.buy(*[NODE] * quarters)], demands, quarters=quarters
        )
        solution = solve(problem, asked_gap=ROUNDING)
        assert not faults(problem, solution)
        assert solution.cost_cents == least_cost(problem) >= solution.bound_cents
        return solution.cost_cents // NODE

    return planned


def test_runs_fill_the_hours_before_one_that_is_released_late(build, solve, faults):
    """Else those of 100 hours would follow it, and leave no room to those that are as late."""
    late = (8, 0, RunWindow(50, 2000, 2160))
    demands = [
        units(1, late),
        units(8, (1, 0, RunWindow(1900, 0, 2160))),
        units(8, (1, 0, RunWindow(100, 0, 2160))),
        units(8, (1, 0, RunWindow(100, 2016, 2160))),
    ]
    problem = build.problem([build.pool()], [build.buy(NODE)], demands)
    solution = solve(problem, asked_gap=ROUNDING)
    assert not faults(problem, solution)
    assert solution.cost_cents == solution.bound_cents == NODE


def test_no_run_moves_while_it_runs(nodes_of):
    """Five runs of five weeks are 25 of 26 weeks of two nodes, and each node has two of them."""
    assert nodes_of(units(5, (8, 0, slots(5, 0, 13)))) == 3


def test_host_memory_counts_in_the_weeks_of_a_run_alone(build, solve):
    def cost(memory_mb):
        runs = Demand((Choice("h100", Shape(1, 0, memory_mb, run=slots(6, 0, 13))),), (0,), 4)
        problem = build.problem([build.pool()], [build.buy(NODE)], [runs])
        return solve(problem, asked_gap=ROUNDING).cost_cents

    assert cost(400_000) == NODE
    assert cost(400_001) == 2 * NODE


def test_a_run_that_spans_nodes_leaves_them_to_others_in_other_weeks(nodes_of):
    wide, narrow = units(1, (16, 0, slots(2, 0, 13))), units(1, (8, 0, slots(2, 5, 13)))
    assert nodes_of(wide, narrow) == 2
    assert nodes_of(units(2, (16, 0, slots(6, 0, 13)))) == 2
    assert nodes_of(units(2, (16, 0, slots(7, 0, 13)))) == 4
    assert nodes_of(wide, units(1, (1, 0, ALWAYS))) == 3


def test_a_run_that_spans_nodes_is_on_all_of_them_in_the_same_weeks(nodes_of):
    early, late = units(1, (8, 0, slots(5, 0, 5))), units(1, (8, 0, slots(5, 8, 13)))
    assert nodes_of(early, late, units(1, (16, 0, slots(3, 0, 13)))) == 2
    assert nodes_of(early, late, units(1, (16, 0, slots(4, 0, 13)))) == 3


def test_runs_on_two_and_on_three_nodes_need_five_where_they_must_overlap(nodes_of):
    pair, wider = units(1, (16, 0, slots(3, 1, 6))), units(1, (24, 0, slots(6, 0, 13)))
    assert nodes_of(pair, wider, units(1, (24, 0, slots(3, 0, 13)))) == 3
    assert nodes_of(pair, wider, units(1, (24, 0, slots(5, 3, 13)))) == 5


def test_it_takes_its_nodes_whole(nodes_of):
    half = units(1, (4, 0, slots(13, 0, 13)))
    assert nodes_of(units(1, (16, 0, slots(2, 0, 13))), half) == 3
    assert nodes_of(units(1, (16, 0, slots(2, 0, 2))), units(4, (4, 0, slots(11, 2, 13)))) == 2


def in_turns(problem: Problem, rng: random.Random) -> Problem:
    """The same, where most choices run for some weeks within some window."""

    def run(choice: Choice) -> Choice:
        if rng.random() < 0.3:
            return choice
        weeks = rng.randrange(2, 12)
        earliest = rng.randrange(0, 14 - weeks)
        until = min(13, earliest + weeks + rng.choice((0, 1, 2, 5)))
        return replace(choice, shape=choice.shape._replace(run=slots(weeks, earliest, until)))

    return replace(
        problem,
        demands=tuple(
            replace(demand, choices=tuple(sorted({run(one) for one in demand.choices})))
            for demand in problem.demands
        ),
    )


@pytest.fixture
def plans(agree):
    """How many problems have a plan that is proved, nearly all, and as good as trying everything.

    Which hours runs may start in is a question of its own, which the bound asks on the average.
    """

    def counted(problems):
        seen = agree(problems, asked_gap=ROUNDING)
        assert seen[Status.NOT_PROVED] + seen["undecided"] <= draws(1, 2)
        return seen[Status.PROVED]

    return counted


@pytest.mark.parametrize("batch", range(BATCHES))
def test_the_search_agrees_with_trying_everything(batch, plans):
    seeds = [random.Random(number) for number in range(batch * SIZE, (batch + 1) * SIZE)]
    assert plans(in_turns(draw(rng), rng) for rng in seeds) >= SIZE // 3


def on_several_nodes(rng: random.Random) -> Problem:
    """Some choices take two nodes."""
    problem = draw(rng)

    def wide(choice: Choice) -> Choice:
        node = problem.pools[0].node
        shape = choice.shape._replace(gpus=2 * node.gpus, spans=True)
        return replace(choice, shape=shape) if rng.random() < 0.35 else choice

    return replace(
        problem,
        pools=tuple(replace(pool, fabric=True) for pool in problem.pools),
        demands=tuple(
            replace(demand, choices=tuple(sorted({wide(one) for one in demand.choices})))
            for demand in problem.demands
        ),
    )


def limited(which: str) -> Callable[[random.Random], Problem]:
    """Problems at two sites with limits of some kind."""
    return lambda rng: test_sites.with_limits(test_sites.draw(rng), rng, which={which})


def procured(feature: str) -> Callable[[random.Random], Problem]:
    return lambda rng: test_procurement.draw(rng, (feature,))


OTHERS = {
    "several nodes": on_several_nodes,
    "sites": limited("none"),
    "power": limited("power"),
    "rack units": limited("units"),
    "racks": limited("racks"),
    "growth": limited("growth"),
    "copies": limited("copies"),
    "budget": limited("budget"),
    "quotas": test_quotas.draw,
    "spares": lambda rng: test_quotas.with_rents_and_spares(test_quotas.draw(rng), rng),
    "reservations": procured("reserve"),
    "retirement": procured("retire"),
    "lots": procured("lots"),
}


@pytest.mark.parametrize("other", OTHERS)
def test_so_it_does_where_runs_meet_another_limit(other, plans):
    seeds = [random.Random(f"in turns {other} {number}") for number in range(SIZE)]
    assert plans(in_turns(OTHERS[other](rng), rng) for rng in seeds) >= SIZE // 4


def test_a_run_for_which_its_pool_has_no_room_goes_to_another(plans):
    """On the average both runs fit beside what stays on one node; at their hours only one does."""
    rng = random.Random("weeks of quotas 7")
    assert plans([in_turns(OTHERS["quotas"](rng), rng)]) == 1
