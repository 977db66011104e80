"""Programs on which released solvers have lied: what is told of a liar.

That `planner doctor` trusts two solvers here, whose answers agree, is the truth of each program.
"""

import pytest

from planner.errors import LimitError
from planner.packing import doctor
from planner.packing.doctor import cases, examine
from planner.packing.solver import Answer, Outcome


def test_an_order_changes_the_place_of_columns_and_rows_and_nothing_else():
    first, *others = cases()[1].programs

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
