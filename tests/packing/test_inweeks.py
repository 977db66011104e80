"""Large portfolios of runs: lean programs bound them, and their plans are sound."""

from __future__ import annotations

import pytest

from benchmarks.portfolios import weekly
from planner.packing.apart import kept_apart
from planner.packing.counting.build import build_counts
from planner.packing.counting.lanes import with_lanes
from planner.packing.counting.layout import cutting_stocks, lay_out
from planner.packing.problem import ALWAYS, WEEKS, Choice, Demand, Run, Shape
from planner.packing.solution import Status
from planner.packing.solvers.solver import solve_integer
from planner.packing.weeks.lean import solve_lean
from planner.packing.weeks.seating import seat_in_weeks
from tests.packing.test_weeks import units


@pytest.mark.parametrize("seed", range(3))
def test_a_lean_program_has_the_bound_of_the_whole_one(seed):
    counts = build_counts(kept_apart(weekly(12, seed, quarters=2)))
    units_of = counts.unit_variables
    lean = solve_lean(counts, counts.program, time_limit_s=20.0, relaxed=units_of)
    whole = solve_integer(counts.program, time_limit_s=20.0, relaxed=units_of)
    assert lean.outcome == whole.outcome
    assert lean.objective == pytest.approx(whole.objective, abs=1e-5)
    assert lean.bound <= whole.objective + 1e-6
    assert len(lean.values) == len(counts.program.variables)


def test_a_lean_program_without_a_solution_says_so(build):
    counts = build_counts(build.problem([build.pool()], [build.buy(1, maximum=0)], [ONE_RUN]))
    answer = solve_lean(counts, counts.program, time_limit_s=5)
    assert answer.outcome == "infeasible"


def test_a_wide_run_needs_a_node_on_which_little_stays(build):
    def counted(*demands):
        problem = build.problem([build.pool()], [build.buy(100_000)], demands)
        return solve_integer(build_counts(problem).program, time_limit_s=5).objective

    stay = units(5, (1, 0, ALWAYS))
    week = Run(1, 0, 13)
    assert counted(stay, units(1, (2, 0, week))) == pytest.approx(1)
    assert counted(stay, units(1, (4, 0, week))) == pytest.approx(2)
    assert counted(stay, units(4, (8, 0, week))) == pytest.approx(2)
    assert counted(units(4, (8, 0, week))) == pytest.approx(1)
    assert counted(units(7, (1, 0, ALWAYS)), units(1, (2, 0, week))) == pytest.approx(2)


def test_runs_take_turns_on_whole_lanes(build, solve):
    def least(*demands):
        problem = build.problem([build.pool()], [build.buy(100_000)], demands)
        counted = solve_integer(build_counts(problem).program, time_limit_s=5).objective
        assert solve(problem).cost_cents == pytest.approx(100_000 * counted)
        return counted

    stay, week = units(5, (1, 0, ALWAYS)), Run(1, 0, 13)
    assert least(stay, units(13, (2, 0, week))) == pytest.approx(1)
    assert least(stay, units(14, (2, 0, week))) == pytest.approx(2)
    assert least(stay, units(12, (2, 0, week)), units(1, (3, 0, week))) == pytest.approx(1)
    assert least(units(4, (1, 0, ALWAYS)), units(13, (3, 0, week))) == pytest.approx(1)
    assert least(units(4, (1, 0, ALWAYS)), units(14, (3, 0, week))) == pytest.approx(2)


def test_whole_lanes_are_stated_where_many_runs_need_them_too(build):
    many = units(66, (2, 0, Run(1, 0, 13)))
    demands = [units(13, (1, 0, ALWAYS)), many]
    counts = build_counts(build.problem([build.pool()], [build.buy(100_000)], demands))
    on_nodes = with_lanes(counts, counts.program).fixed({counts.acquire[0, 0]: 3.0})
    assert solve_integer(on_nodes, time_limit_s=5).outcome == "infeasible"
    without = counts.program.fixed({counts.acquire[0, 0]: 3.0})
    assert solve_integer(without, time_limit_s=5).outcome == "optimal"


ONE_RUN = units(1, (8, 0, Run(5, 0, 13)))


def test_a_portfolio_of_runs_is_planned_soundly(solve, faults):
    problem = weekly(30, 1, quarters=2)
    solution = solve(problem, asked_gap=5e-3, time_limit_s=8.0)
    assert not faults(problem, solution)
    assert solution.gap < 0.25


def test_nodes_that_nobody_needs_are_given_up(build):
    offers = [build.buy(100, 90), build.rent(60, 60)]
    demand = units(2, (8, 0, Run(6, 0, 13)), quarters=(1,))
    problem = build.problem([build.pool()], offers, [demand], quarters=2)
    counts = build_counts(problem)
    _, stocks = cutting_stocks(counts, lambda: True)
    values = [0.0] * len(counts.program.variables)
    values[counts.choice[0, 0]] = 2.0
    values[counts.acquire[0, 0]] = 2.0
    found = seat_in_weeks(counts, stocks, tuple(values), lambda: True, steps=50)
    assert found is not None
    found.shrink(lambda: True)
    acquired = {key: found.plan()[0][index] for key, index in counts.acquire.items()}
    assert acquired in ({(0, 0): 1, (0, 1): 0, (1, 0): 0, (1, 1): 0},)


def test_always_on_pieces_beside_runs_are_proved(build, solve, least_cost, faults):
    demands = [units(3, (4, 0, Run(6, 0, 13))), units(1, (4, 0, ALWAYS))]
    problem = build.problem([build.pool()], [build.buy(10_000_000)], demands)
    solution = solve(problem)
    assert not faults(problem, solution)
    assert solution.status is Status.PROVED
    assert solution.cost_cents == least_cost(problem)


def test_a_fleet_keeps_the_nodes_that_it_needs(build):
    problem = build.problem([build.pool()], [build.buy(100)], [units(2, (8, 0, ALWAYS))])
    counts = build_counts(problem)
    _, stocks = cutting_stocks(counts, lambda: True)
    values = [0.0] * len(counts.program.variables)
    values[counts.choice[0, 0]] = values[counts.acquire[0, 0]] = 2.0
    found = seat_in_weeks(counts, stocks, tuple(values), lambda: True, steps=50)
    assert found is not None
    found.shrink(lambda: True)
    assert found.plan()[0][counts.acquire[0, 0]] == 2


def test_counts_that_leave_fewer_nodes_than_none_are_no_layout(build):
    whole = build.units(2, ("h100", 8, 0, 0))
    shape = Shape(2, 0, 0, run=Run(5, 0, WEEKS))
    runs = Demand((Choice("h100", shape),), (0,), 1)
    problem = build.problem([build.pool(owned=1)], [build.rent(100)], [whole, runs])
    counts = build_counts(problem)
    _, stocks = cutting_stocks(counts, lambda: True)
    values = tuple(
        float(index in counts.unit_variables) * 2 for index in range(len(counts.program.variables))
    )
    assert counts.shared_nodes(0, 0, values) < 0
    assert lay_out(counts, stocks[0], (0, 0), values, lambda: True) is None
