"""Linear programs that are stated once and asked again and again, by HiGHS."""

from __future__ import annotations

from typing import TYPE_CHECKING

import highspy
import numpy as np

from planner.errors import LimitError
from planner.packing.solvers.solver import has_optimum, linear_model

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from planner.packing.solvers.program import Program

    Floats = NDArray[np.float64]

__all__ = ["LinearMaster", "WarmLinear"]

_DEVEX = 1
"""Weights of rows that need no solve each at the start: the questions take few steps."""


class WarmLinear:
    """A linear relaxation, stated once; each question begins at the basis of the first answer."""

    def __init__(self, program: Program) -> None:
        """State it and solve it; raises LimitError where it has no solution."""
        self._model, self._stated_rows = linear_model(program), len(program.rows)
        self._model.setOptionValue("simplex_dual_edge_weight_strategy", _DEVEX)
        if self.solve() is None:
            raise LimitError("a program that others are to be like has no solution")
        self._basis = self._model.getBasis()

    def keep(self) -> None:
        """Let questions begin at the basis of the last answer."""
        self._basis = self._model.getBasis()

    def begin(self) -> None:
        """Forget the question before."""
        added = np.arange(self._stated_rows, self._model.getNumRow(), dtype=np.int32)
        if len(added):
            self._model.deleteRows(len(added), added)
        self._model.clearSolver()
        self._model.setBasis(self._basis)

    def price(self, costs: Mapping[int, float]) -> None:
        """Give some variables other costs."""
        columns = np.array(list(costs), dtype=np.int32)
        self._model.changeColsCost(len(columns), columns, np.array(list(costs.values())))

    def ask(self, rows: NDArray[np.int32], right: Sequence[float]) -> None:
        """Give rows that are equations other right-hand sides."""
        sides = np.array(right, dtype=np.float64)
        self._model.changeRowsBounds(len(rows), rows, sides, sides)

    def hold(self, columns: NDArray[np.int32], lower: Floats, upper: Floats) -> None:
        """Give variables other bounds."""
        self._model.changeColsBounds(len(columns), columns, lower, upper)

    def require(self, terms: Mapping[int, float], most: float) -> None:
        """Add a row, `sum(factor × variable) <= most`, until the next question."""
        columns = np.array(list(terms), dtype=np.int32)
        factors = np.array(list(terms.values()), dtype=np.float64)
        self._model.addRow(-highspy.kHighsInf, most, len(terms), columns, factors)

    def weigh(self, row: int, column: int, factor: float) -> None:
        """Give a variable another factor in a row."""
        self._model.changeCoeff(row, column, factor)

    def solve(self) -> tuple[Floats, Floats] | None:
        """Values, and prices of the rows; None if infeasible, LimitError if HiGHS fails."""
        self._model.run()
        if not has_optimum(self._model):
            return None
        solution = self._model.getSolution()
        return np.array(solution.col_value), np.array(solution.row_dual)

    def whole(self, columns: NDArray[np.int32], gap: float, node_limit: int) -> Floats | None:
        """Values of which these are whole; empty where the limit comes first, None if none are."""
        model, kinds = self._model, highspy.HighsVarType
        many = len(columns)
        model.clearSolver()
        options = {
            "mip_rel_gap": gap,
            "mip_max_nodes": node_limit,
            "random_seed": 0,
            "mip_heuristic_run_feasibility_jump": False,  # it takes half the time of our programs
        }
        for name, value in options.items():
            model.setOptionValue(name, value)
        model.changeColsIntegrality(many, columns, np.full(many, int(kinds.kInteger), np.uint8))
        try:
            model.run()
            status = model.getModelStatus()
            info = model.getInfo()
            found = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
            values = np.array(model.getSolution().col_value)
        finally:
            model.changeColsIntegrality(
                many, columns, np.full(many, int(kinds.kContinuous), np.uint8)
            )
        if status == highspy.HighsModelStatus.kInfeasible:
            return None
        return values if found else np.array([])


class LinearMaster:
    """A covering program that grows by columns: minimize the sum of columns that cover each row.

    Rows are `sum(column entries) >= demand`; each column costs 1. Warm from solve to solve.
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
        """Objective, column values and row prices; raises LimitError if HiGHS fails on it."""
        self._model.run()
        if self._model.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            raise LimitError("the solver failed on a covering program that always has a solution")
        solution = self._model.getSolution()
        objective = float(self._model.getInfo().objective_function_value)
        return objective, list(solution.col_value), list(solution.row_dual)
