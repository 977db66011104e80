"""The seam to HiGHS for linear programs: handed over as arrays, solved with their prices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import highspy
import numpy as np

from planner.errors import LimitError
from planner.packing import work
from planner.packing.solvers.program import Program

_SOLVE_S, _CELL_S = 1e-3, 5e-6
"""Seconds that a linear program takes on a usual machine: for itself, and for each of its cells."""


@dataclass(frozen=True, slots=True)
class Duals:
    """An optimal linear program: row prices and reduced costs."""

    objective: float
    values: tuple[float, ...]
    rows: tuple[float, ...]
    reduced_costs: tuple[float, ...]


def highs_lp(
    columns: Sequence[tuple[float, float | None, float | None]],
    sides: Sequence[tuple[float | None, float | None]],
    cells: Sequence[Sequence[tuple[int, float]]],
) -> highspy.HighsLp:
    """Build a HiGHS program.

    Columns are (cost, lower, upper), and rows (lower, upper) with their cells; None: no bound.
    """
    infinity = highspy.kHighsInf
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(columns), len(cells)
    lp.col_cost_ = np.array([cost for cost, _, _ in columns])
    lp.col_lower_ = np.array([-infinity if low is None else low for _, low, _ in columns])
    lp.col_upper_ = np.array([infinity if high is None else high for _, _, high in columns])
    lp.row_lower_ = np.array([-infinity if low is None else low for low, _ in sides])
    lp.row_upper_ = np.array([infinity if high is None else high for _, high in sides])
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = np.cumsum([0] + [len(row) for row in cells])
    lp.a_matrix_.index_ = np.array([index for row in cells for index, _ in row])
    lp.a_matrix_.value_ = np.array([value for row in cells for _, value in row])
    return lp


def is_infeasible(model: highspy.Highs) -> bool:
    """Return whether no values keep all rows.

    HiGHS looks at no row if there is no column.
    """
    statuses = highspy.HighsModelStatus
    status = model.getModelStatus()
    if status == statuses.kModelEmpty:
        lp = model.getLp()
        return any(low > 0 or up < 0 for low, up in zip(lp.row_lower_, lp.row_upper_, strict=True))
    return status in (statuses.kInfeasible, statuses.kUnboundedOrInfeasible)


def solve_linear(program: Program) -> Duals | None:
    """Solve the linear relaxation, with its prices; None if infeasible.

    Raises LimitError if HiGHS fails.
    """
    model = highspy.Highs()
    model.silent()
    model.setOptionValue("threads", 1)
    sides = [
        (None if row.sense == "<=" else row.right, None if row.sense == ">=" else row.right)
        for row in program.rows
    ]
    columns = [(one.cost, one.lower, one.upper) for one in program.variables]
    model.passModel(highs_lp(columns, sides, [row.terms for row in program.rows]))
    model.run()
    work.add(_SOLVE_S + _CELL_S * sum(len(row.terms) for row in program.rows))
    if is_infeasible(model):
        return None
    statuses = highspy.HighsModelStatus
    if model.getModelStatus() not in (statuses.kOptimal, statuses.kModelEmpty):
        raise LimitError("the solver failed on a linear program")
    solution = model.getSolution()
    return Duals(
        float(model.getInfo().objective_function_value),
        tuple(solution.col_value),
        tuple(solution.row_dual),
        tuple(solution.col_dual),
    )


class LinearMaster:
    """A covering program that grows by columns: minimize the sum of columns that cover each row.

    Rows are `sum(column entries) >= demand`; each column costs 1. Each solve starts from the one
    before.
    """

    def __init__(self, demands: Sequence[float]) -> None:
        self._model = highspy.Highs()
        self._model.silent()
        self._model.setOptionValue("threads", 1)
        infinity = highspy.kHighsInf
        for demand in demands:
            self._model.addRow(
                float(demand), infinity, 0, np.array([], dtype=np.int32), np.array([])
            )

    def add(self, column: Sequence[tuple[int, int]]) -> None:
        """Add a column given as (row, entry) pairs."""
        rows = np.array([row for row, _ in column], dtype=np.int32)
        entries = np.array([float(entry) for _, entry in column])
        self._model.addCol(1.0, 0.0, highspy.kHighsInf, len(column), rows, entries)

    def solve(self) -> tuple[float, list[float], list[float]]:
        """Return the objective, column values and row prices.

        Raises LimitError if HiGHS fails.
        """
        self._model.run()
        if self._model.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            raise LimitError("the solver failed on a covering program that always has a solution")
        solution = self._model.getSolution()
        objective = float(self._model.getInfo().objective_function_value)
        return objective, list(solution.col_value), list(solution.row_dual)
