"""Runs of some weeks share GPUs one after the other, each rule alone."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from planner.packing.problem import ALWAYS, Choice, Demand, Reserve, RunWindow, Shape
from tests.packing.draws import draw
from tests.packing.meaning import slots

NODE = 10_000_000
ROUNDING = 1e-6


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


def test_what_follows_each_other_in_a_window_is_counted_in_whole_runs(build, solve):
    """Five runs of four weeks in ten are 20 of 20 weeks of two nodes; each node has two of them."""
    runs = units(5, (8, 0, slots(4, 0, 10)))
    solution = solve(build.problem([build.pool()], [build.buy(NODE)], [runs]), asked_gap=ROUNDING)
    assert solution.cost_cents == solution.bound_cents == 3 * NODE


def test_no_run_moves_while_it_runs(nodes_of):
    """Five runs of five weeks are 25 of 26 weeks of two nodes, and each node has two of them."""
    assert nodes_of(units(5, (8, 0, slots(5, 0, 13)))) == 3


def test_growth_is_kept_free_of_the_hours_of_runs_and_not_of_whole_gpus(build, solve, faults):
    """8 GPUs for 1,728 of 2,160 hours are 6.4: a fifth of the node is free, to the hour."""
    for hours, fits in ((1728, True), (1729, False)):
        problem = build.problem(
            [build.pool()],
            [build.buy(NODE, maximum=1)],
            [units(1, (8, 0, RunWindow(hours, 0, 2160)))],
        )
        problem = replace(problem, reserves=(Reserve("h100", Fraction(1, 5)),))
        solution = solve(problem, asked_gap=ROUNDING)
        assert (solution is not None) == fits
        assert solution is None or not faults(problem, solution)


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


def test_units_that_stay_are_spread_where_runs_need_cores_of_every_node(build, solve, faults):
    """Both of them fit on one node, which leaves too few GPUs there for the longer run."""
    demands = [
        units(2, (2, 22, ALWAYS)),
        units(1, (4, 58, RunWindow(830, 332, 1328))),
        units(1, (5, 36, RunWindow(1494, 166, 1992))),
    ]
    problem = build.problem([build.pool(owned=2)], [build.buy(NODE, maximum=1)], demands)
    solution = solve(problem, asked_gap=ROUNDING)
    assert not faults(problem, solution)
    assert solution.cost_cents == 0


@pytest.mark.parametrize("seed", ["g1-12-142", "g2-134-1484", "g3-124-1373"])
def test_where_a_node_more_cannot_be_had_fewer_runs_are_on_the_full_ones(
    seed, solve, least_cost, faults
):
    """The nodes hold all runs on the average, but not in whole runs one after the other."""
    problem = draw("runs growth", seed)
    solution = solve(problem, asked_gap=ROUNDING)
    assert not faults(problem, solution)
    assert solution.cost_cents == least_cost(problem)
