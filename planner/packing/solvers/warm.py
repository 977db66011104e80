"""Linear programs that are stated once and asked again and again, by HiGHS."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import highspy
import numpy as np

from planner.errors import LimitError
from planner.packing.solvers.linear import has_optimum, linear_model
from planner.packing.solvers.program import Program

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["LinearMaster", "WarmLinear"]

_DEVEX = 1
"""Weights of rows that need no solve each at the start: the questions take few steps."""


class WarmLinear:
    """A linear relaxation, stated once; each question begins at the basis of the first answer.

    Variables whose bounds are 0 are left out: they stay at 0 and cannot be asked about.
    """

    def __init__(self, program: Program) -> None:
        """State it and solve it; raises LimitError where it has no solution."""
        kept = [n for n, one in enumerate(program.variables) if one.lower or one.upper != 0]
        self._kept, self._many = np.array(kept, dtype=np.int64), len(program.variables)
        self._place = np.full(self._many, -1, dtype=np.int32)
        self._place[self._kept] = np.arange(len(kept), dtype=np.int32)
        self._model, self._stated_rows = linear_model(self._stated(program)), len(program.rows)
        self._model.setOptionValue("simplex_dual_edge_weight_strategy", _DEVEX)
        if self.solve() is None:
            raise LimitError("a program that others are to be like has no solution")
        self._basis = self._model.getBasis()

    def _stated(self, program: Program) -> Program:
        rows = [replace(row, terms=tuple(self._terms(row.terms))) for row in program.rows]
        return Program([program.variables[number] for number in self._kept.tolist()], rows)

    def _terms(self, terms: Iterable[tuple[int, float]]) -> Iterator[tuple[int, float]]:
        """With the columns of the model, for variables that it has."""
        for index, factor in terms:
            if self._place[index] >= 0:
                yield int(self._place[index]), factor

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
        columns = self._place[list(costs)]
        self._model.changeColsCost(len(columns), columns, np.array(list(costs.values())))

    def ask(self, rows: NDArray[np.int32], right: Sequence[float]) -> None:
        """Give rows that are equations other right-hand sides."""
        sides = np.array(right, dtype=np.float64)
        self._model.changeRowsBounds(len(rows), rows, sides, sides)

    def hold(self, columns: NDArray[np.int32], lower: Floats, upper: Floats) -> None:
        """Give variables other bounds."""
        self._model.changeColsBounds(len(columns), self._place[columns], lower, upper)

    def require(self, terms: Mapping[int, float], most: float) -> None:
        """Add a row, `sum(factor × variable) <= most`, until the next question."""
        known = dict(self._terms(terms.items()))
        columns = np.array(list(known), dtype=np.int32)
        factors = np.array(list(known.values()), dtype=np.float64)
        self._model.addRow(-highspy.kHighsInf, most, len(known), columns, factors)

    def weigh(self, row: int, column: int, factor: float) -> None:
        """Give a variable another factor in a row."""
        self._model.changeCoeff(row, int(self._place[column]), factor)

    def solve(self) -> tuple[Floats, Floats] | None:
        """Values, and prices of the rows; None if infeasible, LimitError if HiGHS fails."""
        self._model.run()
        if not has_optimum(self._model):
            return None
        solution = self._model.getSolution()
        return self._values(solution.col_value), np.array(solution.row_dual)

    def _values(self, known: Sequence[float]) -> Floats:
        values = np.zeros(self._many)
        values[self._kept] = known
        return values

    def whole(self, columns: NDArray[np.int32], gap: float, node_limit: int) -> Floats | None:
        """Values of which these are whole; empty where the limit comes first, None if none are."""
        model, kinds = self._model, highspy.HighsVarType
        many, columns = len(columns), self._place[columns]
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
            values = self._values(model.getSolution().col_value)
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
