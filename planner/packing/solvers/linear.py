"""The seam to HiGHS for linear programs: handed over as arrays, solved with their prices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import highspy
import numpy as np

from planner.errors import LimitError
from planner.packing import work

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.packing.solvers.program import Program

__all__ = ["Duals", "has_optimum", "highs_lp", "is_infeasible", "linear_model", "solve_linear"]


_SOLVE_S, _CELL_S = 1e-3, 5e-6
"""What a linear program takes on a usual machine: for itself, and for each of its cells."""


@dataclass(frozen=True, slots=True)
class Duals:
    """An optimal linear program: row prices and reduced costs."""

    objective: float
    values: tuple[float, ...]
    rows: tuple[float, ...]
    reduced_costs: tuple[float, ...]


def linear_model(program: Program) -> highspy.Highs:
    """The program's linear relaxation, handed over as arrays."""
    model = highspy.Highs()
    model.silent()
    model.setOptionValue("threads", 1)
    sides = [
        (None if row.sense == "<=" else row.right, None if row.sense == ">=" else row.right)
        for row in program.rows
    ]
    columns = [(one.cost, one.lower, one.upper) for one in program.variables]
    model.passModel(highs_lp(columns, sides, [row.terms for row in program.rows]))
    return model


def highs_lp(
    columns: Sequence[tuple[float, float | None, float | None]],
    sides: Sequence[tuple[float | None, float | None]],
    cells: Sequence[Sequence[tuple[int, float]]],
) -> highspy.HighsLp:
    """Columns as (cost, lower, upper), rows as (lower, upper) with their cells; None: no bound."""
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


def has_optimum(model: highspy.Highs) -> bool:
    """Whether a linear program was solved; False if infeasible, LimitError if HiGHS failed."""
    if is_infeasible(model):
        return False
    statuses = highspy.HighsModelStatus
    if model.getModelStatus() not in (statuses.kOptimal, statuses.kModelEmpty):
        raise LimitError("the solver failed on a linear program")
    return True


def is_infeasible(model: highspy.Highs) -> bool:
    """Whether no values keep all rows; HiGHS looks at none of them where there is no column."""
    statuses = highspy.HighsModelStatus
    status = model.getModelStatus()
    if status == statuses.kModelEmpty:
        lp = model.getLp()
        return any(low > 0 or up < 0 for low, up in zip(lp.row_lower_, lp.row_upper_, strict=True))
    return status in (statuses.kInfeasible, statuses.kUnboundedOrInfeasible)


def solve_linear(program: Program) -> Duals | None:
    """The linear relaxation with its prices; None if infeasible, LimitError if HiGHS fails."""
    model = linear_model(program)
    model.run()
    work.add(_SOLVE_S + _CELL_S * sum(len(row.terms) for row in program.rows))
    if not has_optimum(model):
        return None
    solution = model.getSolution()
    return Duals(
        float(model.getInfo().objective_function_value),
        tuple(solution.col_value),
        tuple(solution.row_dual),
        tuple(solution.col_dual),
    )
