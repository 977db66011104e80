"""Programs on which released solvers have lied: their truth, and what a liar is told."""

from itertools import product

import pytest

from planner.errors import LimitError
from planner.packing import doctor
from planner.packing.crosscheck import keeps_rows
from planner.packing.doctor import cases, examine
from planner.packing.solver import Answer, Outcome

TRIVIAL, SWITCHED, CALLED_INFEASIBLE, SWITCHES, RACKED = cases()
LEAST = (8.89, 0.29, 0.0, 4.0)


def test_the_truth_of_the_trivial_program_follows_from_trying_every_whole_z():
    assert TRIVIAL.optimum == min(2 * max(0.0, 4.5 - z) + 3 * z for z in range(11))


def test_the_truth_of_the_switched_program_follows_from_trying_both_switches():
    costs = [
        10 * (1000 - 1000 * x0) + 8 * (1000 - 1000 * x1)
        for x0, x1 in product((0, 1), repeat=2)
        if x0 + x1 <= 1
    ]
    assert min(costs) == SWITCHED.optimum


def test_the_truth_of_the_five_switches_follows_from_trying_all():
    program = SWITCHES.programs[0]
    costs = [
        sum(variable.cost * v for variable, v in zip(program.variables, values, strict=True))
        for values in product((0.0, 1.0), repeat=5)
        if keeps_rows(program, values, frozenset())
    ]
    assert min(costs) == SWITCHES.optimum


def test_the_program_called_infeasible_has_the_solution_that_is_claimed():
    (program,) = CALLED_INFEASIBLE.programs
    assert keeps_rows(program, LEAST, frozenset())
    cost = sum(variable.cost * v for variable, v in zip(program.variables, LEAST, strict=True))
    assert cost == pytest.approx(CALLED_INFEASIBLE.optimum, abs=1e-9)


def test_the_program_of_racks_has_a_solution_that_costs_nothing():
    (program,) = RACKED.programs
    named = {"on_a": 2.0, "a": 1.0, "rented_a": 1.0, "ones": 2.0}
    values = [named.get(variable.name, 0.0) for variable in program.variables]
    assert keeps_rows(program, values, frozenset())
    cost = sum(variable.cost * v for variable, v in zip(program.variables, values, strict=True))
    assert cost == RACKED.optimum == 0.0


def test_an_order_changes_the_place_of_columns_and_rows_and_nothing_else():
    first, *others = SWITCHED.programs

    def spelled(program):
        names = [variable.name for variable in program.variables]
        rows = {(row.name, frozenset((names[i], v) for i, v in row.terms)) for row in program.rows}
        return set(program.variables), rows

    assert all(spelled(other) == spelled(first) for other in others)
    assert len({tuple(v.name for v in other.variables) for other in others}) > 20


@pytest.fixture
def decides(monkeypatch):
    """`decides(answer)`: what is found where both solvers give this answer to every program."""

    def told(answer):
        for solve in ("solve_integer", "solve_with_cbc"):
            monkeypatch.setattr(doctor, solve, lambda *_, **__: answer)
        return [one for one in examine() if one.decides]

    return told


@pytest.mark.parametrize(
    "answer",
    [
        Answer(Outcome.OPTIMAL, (), 15.0, 15.0),
        Answer(Outcome.INFEASIBLE, (), float("inf"), float("inf")),
        Answer(Outcome.FEASIBLE, (), -1e6, -1e6),
    ],
)
def test_a_solver_that_lies_is_found_out(decides, answer):
    assert all(one.wrong == len(one.case.programs) for one in decides(answer))


def test_a_solver_that_is_slow_does_not_lie(decides):
    nothing = Answer(Outcome.NOTHING, (), float("inf"), float("-inf"))
    assert not any(one.wrong for one in decides(nothing))


def test_a_solver_that_cannot_be_run_is_told_of(monkeypatch):
    def absent(*_, **__):
        raise LimitError("CBC failed: no such file")

    monkeypatch.setattr(doctor, "solve_with_cbc", absent)
    second = [one for one in examine() if not one.decides]
    assert {one.said for one in second} == {"CBC failed: no such file"}
