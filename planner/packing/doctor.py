"""Tests the solver on small programs that released solvers have answered wrongly.

Each is pinned with its true optimum, which can be worked out by hand or by trying every case.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from planner.errors import LimitError
from planner.packing.solver import (
    Answer,
    Outcome,
    Program,
    Sense,
    Variable,
    cbc_version,
    solve_integer,
    solve_with_cbc,
    solver_version,
)

_LIMIT_S = 10.0
_ORDERS = 40
"""How many orders of columns and rows to try for a program whose answer depended on the order."""
_EXACT = 1e-6


@dataclass(frozen=True, slots=True)
class Case:
    """One program, in one or more orders, and the truth."""

    name: str
    source: str
    """Where it was reported."""
    what: str
    """What was wrong, and where."""
    optimum: float
    """Exact to the last digit shown."""
    programs: tuple[Program, ...]


@dataclass(frozen=True, slots=True)
class Examined:
    """What one solver says of a case."""

    case: Case
    solver: str
    decides: bool
    """Whether plans rest on this solver; the other only gives second opinions."""
    wrong: int
    """Orders of the program with a wrong answer."""
    said: str
    """The first wrong answer in words, else the right one."""


def examine() -> tuple[Examined, ...]:
    """Put every case to the solver that plans rest on, and to the one that is asked second."""
    solvers: tuple[tuple[str, bool, Callable[[Program], Answer]], ...] = (
        (solver_version(), True, lambda program: solve_integer(program, time_limit_s=_LIMIT_S)),
        (cbc_version(), False, lambda program: solve_with_cbc(program, time_limit_s=_LIMIT_S)),
    )
    found = []
    for solver, decides, solve in solvers:
        for case in cases():
            said = [_said(case, solve, program) for program in case.programs]
            wrong = [words for right, words in said if not right]
            words = wrong[0] if wrong else said[0][1]
            found.append(Examined(case, solver, decides, len(wrong), words))
    return tuple(found)


def _said(case: Case, solve: Callable[[Program], Answer], program: Program) -> tuple[bool, str]:
    """Judge what a solver says; that it was too slow to answer is no wrong answer."""
    try:
        answer = solve(program)
    except LimitError as error:
        return False, str(error)
    slack = _EXACT * max(1.0, abs(case.optimum))
    if answer.outcome is Outcome.OPTIMAL:
        return abs(answer.objective - case.optimum) <= slack, f"{answer.objective:.6g}, proved"
    if answer.outcome is Outcome.FEASIBLE:
        return answer.objective >= case.optimum - slack, f"{answer.objective:.6g}, not proved"
    infeasible = answer.outcome is Outcome.INFEASIBLE
    return not infeasible, "no solution exists" if infeasible else "nothing within its time"


def cases() -> tuple[Case, ...]:
    """Return all cases."""
    return (_trivial(), _exclusive(), _called_infeasible(), _five_binaries(), _racked())


def _trivial() -> Case:
    """`x + z >= 4.5` with z whole: x = 4.5 alone is cheapest."""
    program = _program(
        [("x", 0, 10, 2, False), ("z", 0, 10, 3, True)],
        [({"x": 1, "z": 1}, ">=", 4.5)],
    )
    return Case(
        "two variables, one row",
        "https://github.com/ERGO-Code/HiGHS/issues/3043",
        "HiGHS 1.14.0 called 15 optimal",
        9.0,
        (program,),
    )


def _exclusive() -> Case:
    """One of two slots may serve: serving the one that costs 10 each leaves 8 × 1,000."""
    program = _program(
        [
            ("z0", 0, 1000, 0, False),
            ("z1", 0, 1000, 0, False),
            ("d0", 0, 1000, 10, False),
            ("d1", 0, 1000, 8, False),
            ("x0", 0, 1, 0, True),
            ("x1", 0, 1, 0, True),
        ],
        [
            ({"z0": 1, "x0": -1000}, "<=", 0),
            ({"z1": 1, "x1": -1000}, "<=", 0),
            ({"z0": 1, "d0": 1}, "==", 1000),
            ({"z1": 1, "d1": 1}, "==", 1000),
            ({"x0": 1, "x1": 1}, "<=", 1),
        ],
    )
    return Case(
        "capacity opened by a switch",
        "https://github.com/ERGO-Code/HiGHS/issues/3094",
        "HiGHS 1.14.0 called 10,000 optimal, in some orders of its columns and rows",
        8000.0,
        _in_many_orders(program),
    )


def _called_infeasible() -> Case:
    """The least is at a = 8.89, b = 0.29, c = 0, d = 4."""
    program = _program(
        [
            ("a", -100, 100, -24, False),
            ("b", -100, 100, 5, False),
            ("c", -100, 100, 7.4, True),
            ("d", -100, 100, 9, True),
        ],
        [
            ({"a": 96.55, "c": -32.45, "d": 88.78}, "<=", 1216.06),
            ({"a": -3.14, "b": -78.02}, "<=", -50.5404),
            ({"b": 11.8, "c": -21.94}, "<=", 3.422),
            ({"c": 91.59, "d": -10.58}, "<=", -35.25),
            ({"a": 79.17, "b": 1.73, "d": -73.23}, "<=", 411.403),
            ({"a": -10.61, "b": -94.66, "d": 76.88}, "<=", 195.69),
        ],
    )
    return Case(
        "four variables, six rows",
        "https://github.com/ERGO-Code/HiGHS/issues/2585",
        "HiGHS 1.10 and 1.11 said that it has no solution",
        -175.91,
        (program,),
    )


def _five_binaries() -> Case:
    """All x are 1 and both c are 0."""
    names = ("x0", "x1", "x2", "c0", "c1")
    program = _program(
        [(name, 0, 1, 1 if name.startswith("c") else 0, True) for name in names],
        [
            ({"x0": 1, "c1": 1}, "==", 1),
            ({"x0": 1, "c0": 1}, ">=", 1),
            ({"x1": 1, "c1": 1}, "<=", 1),
            ({"c0": 1, "c1": 1}, "<=", 1),
            ({"x2": 1}, "==", 1),
            ({"x1": 9000, "x2": 7200, "c1": 10800}, ">=", 16200),
        ],
    )
    return Case(
        "five switches",
        "https://github.com/coin-or/pulp/issues/662",
        "the CBC that PuLP brings says that it has no solution",
        0.0,
        _in_many_orders(program),
    )


def _racked() -> Case:
    """Two units run on a, of which two nodes stand in one rack, so that no b is bought."""
    most = {"c": 0, "b": 2, "rented_a": 1, "running": 0}
    names = ("on_a", "c", "on_b", "b", "a", "rented_a", "used_b", "running", "twos", "ones")
    program = _program(
        [(name, 0, most.get(name), float(name == "b"), True) for name in names],
        [
            ({"on_a": 0.666667, "on_b": 0.666667}, ">=", 1),
            ({"b": -1, "used_b": 1}, "<=", 0),
            ({"a": 1, "rented_a": 1, "twos": -2, "ones": -1}, "<=", 0),
            ({"b": 1, "ones": -1}, "<=", 0),
            ({"twos": 1, "ones": 1}, "<=", 2),
            ({"on_a": 1, "a": -1, "rented_a": -1}, "<=", 0),
            ({"c": 1 / 3, "on_b": 1, "used_b": -1}, "<=", 0),
            ({"on_b": 1, "used_b": -1}, "<=", 0),
        ],
    )
    return Case(
        "nodes in racks",
        "found here, against trying everything; not reported yet",
        "HiGHS 1.15.1 called 1 optimal before its aggregator was switched off here",
        0.0,
        (program,),
    )


def _program(
    columns: list[tuple[str, float, float | None, float, bool]],
    rows: list[tuple[dict[str, float], Sense, float]],
) -> Program:
    """Build a program from (name, lower, upper, cost, whole) and (terms, sense, right)."""
    place = {column[0]: index for index, column in enumerate(columns)}
    program = Program([Variable(*column) for column in columns])
    for number, (terms, sense, right) in enumerate(rows):
        program.row(f"r{number}", {place[name]: v for name, v in terms.items()}, sense, right)
    return program


def _in_many_orders(program: Program) -> tuple[Program, ...]:
    return tuple(_shuffled(program, seed) for seed in range(_ORDERS))


def _shuffled(program: Program, seed: int) -> Program:
    """Yield the program with columns and rows in other orders; the first is as stated."""
    columns, rows = list(range(len(program.variables))), list(program.rows)
    if seed:
        order = random.Random(seed)
        order.shuffle(columns)
        order.shuffle(rows)
    place = {column: index for index, column in enumerate(columns)}
    return Program(
        [program.variables[column] for column in columns],
        [replace(row, terms=tuple((place[at], value) for at, value in row.terms)) for row in rows],
    )
