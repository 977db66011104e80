"""The seam to the solver: statuses, limits, and models on which released solvers have lied."""

import random
from collections.abc import Sequence

import pytest

from planner.errors import LimitError
from planner.packing import incumbent
from planner.packing import search as searching
from planner.packing.solver import (
    Answer,
    Outcome,
    Program,
    Sense,
    solve_integer,
    solve_linear,
)

NOTHING = Answer(Outcome.NOTHING, (), float("inf"), float("-inf"))


def program_of(
    costs: Sequence[float],
    rows: Sequence[tuple[Sequence[float], Sense, float]],
    *,
    uppers: Sequence[float] | None = None,
    integers: Sequence[int] = (),
) -> Program:
    """Minimize the costs; rows are (coefficients, sense, right)."""
    program = Program()
    for index, cost in enumerate(costs):
        upper = uppers[index] if uppers else None
        program.variable(f"x{index}", cost=cost, upper=upper, integer=index in integers)
    for number, (coefficients, sense, right) in enumerate(rows):
        program.row(f"row{number}", dict(enumerate(coefficients)), sense, right)
    return program


def market_split(variables: int = 40, rows: int = 4) -> Program:
    """Equal halves of random weights: small, and out of reach of any branch and bound."""
    rng = random.Random(7)
    program = Program()
    for index in range(variables):
        program.variable(f"x{index}", upper=1, integer=True)
    for number in range(rows):
        weights = [rng.randrange(100) for _ in range(variables)]
        over = program.variable(f"over{number}", cost=1.0)
        under = program.variable(f"under{number}", cost=1.0)
        terms = {index: float(weight) for index, weight in enumerate(weights)}
        program.row(f"half{number}", {**terms, over: -1.0, under: 1.0}, "==", sum(weights) // 2)
    return program


def test_relaxed_variables_may_be_fractional_and_the_others_not():
    program = program_of([3, 2], [([2, 0], ">=", 5), ([0, 2], ">=", 5)], integers=(0, 1))
    answer = solve_integer(program, time_limit_s=10, relaxed=frozenset({1}))
    assert answer.values == pytest.approx((3.0, 2.5))


@pytest.mark.parametrize("limits", [{"time_limit_s": 0.2}, {"time_limit_s": 10, "node_limit": 1}])
def test_a_program_stopped_by_a_limit_is_not_called_optimal(limits):
    answer = solve_integer(market_split(), **limits)
    assert answer.outcome in (Outcome.FEASIBLE, Outcome.NOTHING)
    assert answer.bound < 1, "nothing is proved that was not"


@pytest.mark.parametrize(("sense", "right"), [("==", 1), (">=", 1), ("<=", -1)])
def test_a_program_without_variables_is_infeasible_if_one_of_its_rows_is(sense, right):
    kept = program_of([], [([], "<=", 3)])
    assert solve_integer(kept, time_limit_s=10) == Answer(Outcome.OPTIMAL, (), 0.0, 0.0)
    assert solve_linear(kept) is not None
    broken = program_of([], [([], "<=", 3), ([], sense, right)])
    assert solve_integer(broken, time_limit_s=10).outcome is Outcome.INFEASIBLE
    assert solve_linear(broken) is None


@pytest.mark.parametrize(
    ("name", "program", "optimum"),
    [
        (
            "an integer beside a continuous one that starts at 8 (HiGHS issue 2957)",
            program_of(
                [1, 2], [([1, 1], ">=", 20.1), ([0, 1], ">=", 8)], uppers=(20, 20), integers=(0,)
            ),
            28.2,
        ),
        (
            "a shortfall against an integer (HiGHS issue 3073)",
            program_of(
                [100, 0.01, 0],
                [
                    ([1, 0, 1], "==", 3),
                    ([0, -1, 1], "<=", 0),
                    ([0, -1, -1], "<=", 0),
                    ([0, 0, 1], "<=", 3),
                    ([0, 0, -1], "<=", -0.45),
                ],
                integers=(2,),
            ),
            0.03,
        ),
    ],
)
def test_models_on_which_released_solvers_have_lied_are_solved_right(name, program, optimum):
    answer = solve_integer(program, time_limit_s=10)
    assert answer.outcome is Outcome.OPTIMAL
    assert answer.objective == pytest.approx(optimum), name
    assert answer.bound == pytest.approx(optimum), name


def test_a_search_that_ends_without_a_plan_claims_neither_plan_nor_proof(build, monkeypatch):
    for module in (searching, incumbent):
        monkeypatch.setattr(module, "solve_integer", lambda *_, **__: NOTHING)
    problem = build.problem([build.pool()], [build.buy(100)], [build.units(1, ("h100", 1, 0, 0))])
    with pytest.raises(LimitError, match="no proof that none exists"):
        searching.search(problem, asked_gap=0.0, time_limit_s=0.01)
