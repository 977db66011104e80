"""Programs as plain numbers, and the seam to the solvers: HiGHS, and CBC through PuLP.

Linear programs go to HiGHS as arrays. PuLP 3 says "Optimal" for an answer that was merely stopped
by its limit, so the status, the bound and the values of integer programs are read from HiGHS
itself, and nothing is believed that HiGHS does not call proved.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

import highspy
import numpy as np
import pulp

from planner.errors import LimitError
from planner.packing import work

Sense = Literal["<=", ">=", "=="]


@dataclass(frozen=True, slots=True)
class Variable:
    """One column: bounds (no upper bound: None), cost and integrality."""

    name: str
    lower: float
    upper: float | None
    cost: float
    integer: bool


@dataclass(frozen=True, slots=True)
class ProgramRow:
    """One constraint: `sum(coefficient × variable) sense right`."""

    name: str
    terms: tuple[tuple[int, float], ...]
    sense: Sense
    right: float
    exact: bool = False
    """Whether a miss by one part in 10^8 matters, as by a cent in a budget."""
    tightens: bool = False
    """Whether it only tightens the relaxation: without it, the same plans remain."""
    owner: str = ""
    """The kind of constraint that states it; empty: what units take of nodes."""


@dataclass(slots=True)
class Program:
    """Minimize the cost of the variables subject to the rows."""

    variables: list[Variable] = field(default_factory=list)
    rows: list[ProgramRow] = field(default_factory=list)
    owner: str = ""
    """The owner of the rows that are added."""

    def variable(
        self,
        name: str,
        *,
        cost: float = 0.0,
        upper: float | None = None,
        integer: bool = False,
    ) -> int:
        """Add a column that starts at 0 and return its index."""
        self.variables.append(Variable(name, 0.0, upper, cost, integer))
        return len(self.variables) - 1

    def row(
        self,
        name: str,
        terms: dict[int, float],
        sense: Sense,
        right: float,
        *,
        exact: bool = False,
        tightens: bool = False,
    ) -> int:
        """Add a constraint and return its index; zero coefficients are left out."""
        kept = tuple((index, value) for index, value in sorted(terms.items()) if value)
        self.rows.append(ProgramRow(name, kept, sense, right, exact, tightens, self.owner))
        return len(self.rows) - 1

    def fixed(self, values: dict[int, float]) -> Program:
        """Return a copy with some variables held at a value."""
        variables = list(self.variables)
        for index, value in values.items():
            variables[index] = replace(variables[index], lower=value, upper=value)
        return Program(variables, self.rows)

    def priced(self, costs: dict[int, float]) -> Program:
        """Return a copy with another objective; variables that are not named cost nothing."""
        variables = [
            replace(variable, cost=costs.get(index, 0.0))
            for index, variable in enumerate(self.variables)
        ]
        return Program(variables, self.rows)


_LP_S, _LP_CELL_S = 1e-3, 5e-6
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
    work.add(_LP_S + _LP_CELL_S * sum(len(row.terms) for row in program.rows))
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

    def __init__(self, classes: Sequence[float]) -> None:
        self._model = highspy.Highs()
        self._model.silent()
        self._model.setOptionValue("threads", 1)
        infinity = highspy.kHighsInf
        for job_class in classes:
            self._model.addRow(
                float(job_class), infinity, 0, np.array([], dtype=np.int32), np.array([])
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


_CHECK_S, _CELL_S = 1e-3, 1.4e-6
"""Seconds that HiGHS takes from one look at its limits to the next, on a usual machine: for
itself, and for each cell of the program."""
_ROOT_CHECKS, _TREE = 20, 0.125
"""The first looks are at the root, where it takes that long; then a tree node's share of that.
Measured on portfolios with runs, over quarters and of unlike jobs: a sixth to a tenth."""
_GRACE_S = 1.0
"""Seconds that HiGHS gets beyond its own limit before it is cancelled: it is known to overshoot."""
_LONGEST_S = 1e6
"""The limit without any guard."""
_LAST_GRACE_S = 15.0
"""Seconds until it is given up if it does not stop even then."""

_SUB_PROGRAMS = ("feasibility_jump", "rens", "rins", "root_reduced_cost")
SolverMode = Literal["usual", "rounding", "branching"]
_EFFORTS: dict[SolverMode, dict[str, bool | float]] = {
    "usual": {},
    "rounding": {"mip_heuristic_run_feasibility_jump": False},
    "branching": dict.fromkeys(map("mip_heuristic_run_{}".format, _SUB_PROGRAMS), False),
}
"""HiGHS heuristics that are switched off: if the relaxation is nearly whole, those that look far
from it; and if few variables are whole, those by smaller programs, which take half the time
there and win nothing."""
_AGGREGATOR = 1 << 12
"""The step of presolve after which HiGHS 1.15.1 calls optimal what is not: see `doctor`."""
_TIGHT = {"mip_feasibility_tolerance": 1e-9, "primal_feasibility_tolerance": 1e-9}
"""By default a count may be off by 10^-6, which is dollars in a budget of millions."""


class Outcome(StrEnum):
    """What a solver proved."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    NOTHING = "nothing"
    """Stopped by a limit before any solution."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Values by variable index; empty unless optimal or feasible."""

    outcome: Outcome
    values: tuple[float, ...]
    objective: float
    bound: float
    """No solution of the program is below this."""


def solver_version() -> str:
    """Return the solver and its version: `HiGHS 1.15.1 through PuLP 3.3.2`."""
    model = highspy.Highs()
    return f"HiGHS {model.version()} through PuLP {pulp.__version__}"


def cbc_version() -> str:
    """Return CBC's version: `CBC of PuLP 3.3.2`."""
    return f"CBC of PuLP {pulp.__version__}"


class _WatchedHighs(pulp.HiGHS):  # type: ignore[misc]
    """PuLP's HiGHS, to which a problem is handed over as a whole, run beside a watch.

    Cell by cell, as PuLP does it, takes longer than most of our programs take to solve. HiGHS can
    be interrupted, and does not overshoot its limit. It looks at its limits at the same steps in
    each run, so that these count its work.
    """

    most_checks = 0
    checks = 0

    def buildSolverModel(self, lp: Any) -> None:  # noqa: ANN401, N802 - PuLP's own name and type
        """State columns and rows in the order in which PuLP lists them."""
        columns = lp.variables()
        for index, column in enumerate(columns):
            column.index = index
        rows = [lp.get_constraint_by_name(f"r{number}") for number in range(lp.numConstraints())]
        stated = highs_lp(
            [(lp.objective.get(one, 0.0), one.lowBound, one.upBound) for one in columns],
            [(row.getLb(), row.getUb()) for row in rows],
            [[(column.index, value) for column, value in row.items()] for row in rows],
        )
        whole, free = highspy.HighsVarType.kInteger, highspy.HighsVarType.kContinuous
        stated.integrality_ = [whole if one.cat == pulp.LpInteger else free for one in columns]
        lp.solverModel.passModel(stated)

    def findSolutionValues(self, lp: Any) -> tuple[int, int]:  # noqa: ANN401, ARG002, N802
        """Take nothing from PuLP's reading, which lacks statuses and calls limits optimal."""
        return pulp.LpStatusNotSolved, pulp.LpSolutionNoSolutionFound

    def callSolver(self, lp: Any) -> None:  # noqa: ANN401, N802 - PuLP's own name and type
        model = lp.solverModel
        model.HandleUserInterrupt = True
        model.cbMipInterrupt.subscribe(self._count)
        thread = model.startSolve()
        started = time.monotonic()
        try:
            while thread.is_alive():
                thread.join(0.1)
                overdue = time.monotonic() - started - (self.timeLimit or float("inf"))
                if overdue > _GRACE_S:
                    model.cancelSolve()
                if overdue > _LAST_GRACE_S:
                    raise LimitError("the solver did not stop at its time limit")
        except KeyboardInterrupt:
            model.cancelSolve()
            thread.join(_GRACE_S)
            raise
        if model.getModelStatus() == highspy.HighsModelStatus.kNotset:
            raise MemoryError  # it ended the thread, which could tell nobody

    def _count(self, event: Any) -> None:  # noqa: ANN401 - highspy has no name for it
        self.checks += 1
        if self.checks >= self.most_checks:
            event.interrupt()


class _WatchedCbc(pulp.COIN_CMD):  # type: ignore[misc]
    """PuLP's CBC, as a child process that never outlives its limit or an interrupt."""

    def solve_CBC(self, lp: Any, use_mps: bool = True) -> int:  # noqa: ANN401, ARG002, N802
        """Do as PuLP does, which would wait as long as CBC likes and leave its files behind."""
        with tempfile.TemporaryDirectory() as folder:
            model, found = f"{folder}/program.mps", f"{folder}/program.sol"
            columns, column_names, row_names, _ = lp.writeMPS(model, rename=1)
            options = [word for option in self.getOptions() for word in f"-{option}".split()]
            limit = ["-sec", str(self.timeLimit)]
            output = ["-solve", "-printingOptions", "all", "-solution", found]
            subprocess.run(
                [self.path, model, *limit, *options, *output],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=self.timeLimit + _LAST_GRACE_S,
                check=True,
            )
            read = self.readsol_MPS(found, lp, columns, column_names, row_names)
        status, values, _, _, _, solution_status = read
        lp.assignVarsVals(values)
        lp.assignStatus(status, solution_status)
        return int(status)


def solve_integer(
    program: Program,
    *,
    time_limit_s: float,
    relative_gap: float = 0.0,
    node_limit: int | None = None,
    relaxed: frozenset[int] = frozenset(),
    presolve: bool = True,
    effort: SolverMode = "usual",
) -> Answer:
    """Minimize an integer program on one thread; `relaxed` variables may be fractional.

    The limit is in seconds of work, as `work` counts them. Without `presolve`, HiGHS takes another
    way through the program, usually a slower one.

    Raises LimitError if the solver crashes or does not stop.
    """
    problem, columns = _pulp_problem(program, relaxed)
    each_s = _CHECK_S + _CELL_S * sum(len(row.terms) for row in program.rows)
    solver = _WatchedHighs(
        msg=False,
        threads=1,
        timeLimit=max(min(work.guarded_s(), _LONGEST_S), 0.01),
        gapRel=relative_gap,
        gapAbs=0.0,
        random_seed=0,
        presolve_rule_off=_AGGREGATOR,
        mip_allow_restart=False,  # restarts take half the time of our programs and win nothing
        **({} if node_limit is None else {"mip_max_nodes": node_limit}),
        **({} if presolve else {"presolve": "off"}),
        **_EFFORTS[effort],
        **(_TIGHT if any(row.exact for row in program.rows) else {}),
    )
    at_root = max(time_limit_s, 0.0) / each_s  # looks at the limits, if all were at the root
    checks = at_root + max(0.0, at_root - _ROOT_CHECKS) * (1 / _TREE - 1)
    solver.most_checks = max(1, round(checks))
    try:
        problem.solve(solver)
    except MemoryError:
        raise LimitError("the solver ran out of memory") from None
    except (pulp.PulpError, RuntimeError) as error:  # what highspy makes of an exception of HiGHS
        raise LimitError(f"the solver failed: {error}") from error
    in_tree = max(0, solver.checks - _ROOT_CHECKS)
    work.add((1 + solver.checks - in_tree * (1 - _TREE)) * each_s)
    return _read(problem.solverModel, columns)


def solve_with_cbc(
    program: Program, *, time_limit_s: float, relaxed: frozenset[int] = frozenset()
) -> Answer:
    """Minimize the program with CBC, as PuLP brings it; raises LimitError if it cannot run.

    What CBC found within its time without a proof has no bound: PuLP does not read it.
    """
    problem, columns = _pulp_problem(program, relaxed)
    # `PULP_CBC_CMD` itself announces its end with PuLP 4; the program that it runs is what counts.
    solver = _WatchedCbc(
        path=pulp.PULP_CBC_CMD.pulp_cbc_path,
        msg=False,
        threads=1,
        gapRel=0.0,
        timeLimit=max(time_limit_s, 0.01),
    )
    try:
        problem.solve(solver)
    except subprocess.TimeoutExpired:
        raise LimitError("CBC did not stop at its time limit") from None
    except subprocess.CalledProcessError as error:
        raise LimitError(f"CBC failed: it ended with {error.returncode}") from error
    except (pulp.PulpError, OSError) as error:
        raise LimitError(f"CBC failed: {error}") from error
    if problem.status == pulp.LpStatusInfeasible:
        return Answer(Outcome.INFEASIBLE, (), float("inf"), float("inf"))
    proved = problem.sol_status == pulp.LpSolutionOptimal
    if not proved and problem.sol_status != pulp.LpSolutionIntegerFeasible:
        return Answer(Outcome.NOTHING, (), float("inf"), float("-inf"))
    values = tuple(float(column.value() or 0.0) for column in columns)
    objective = sum(
        variable.cost * value for variable, value in zip(program.variables, values, strict=True)
    )
    bound = objective if proved else float("-inf")
    return Answer(Outcome.OPTIMAL if proved else Outcome.FEASIBLE, values, objective, bound)


def program_text(program: Program, relaxed: frozenset[int], form: Literal["mps", "lp"]) -> str:
    """The program in a format that every solver reads.

    MPS has columns v0, v1, and rows r0, r1 on; CPLEX LP has the names of the program: each once, of
    letters, digits, `_`, `.`.
    """
    problem, _ = _pulp_problem(program, relaxed, named=form == "lp")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"program.{form}"
        (problem.writeLP if form == "lp" else problem.writeMPS)(str(path))
        return path.read_text(encoding="utf-8")


def _pulp_problem(
    program: Program, relaxed: frozenset[int], *, named: bool = False
) -> tuple[Any, list[Any]]:
    problem = pulp.LpProblem("plan", pulp.LpMinimize)
    columns = [
        problem.add_variable(
            variable.name if named else f"v{index}",
            variable.lower,
            variable.upper,
            pulp.LpInteger if variable.integer and index not in relaxed else pulp.LpContinuous,
        )
        for index, variable in enumerate(program.variables)
    ]
    problem += pulp.LpAffineExpression(
        [(columns[index], variable.cost) for index, variable in enumerate(program.variables)]
    )
    senses = {"<=": pulp.LpConstraintLE, ">=": pulp.LpConstraintGE, "==": pulp.LpConstraintEQ}
    for index, row in enumerate(program.rows):
        terms = pulp.LpAffineExpression([(columns[column], value) for column, value in row.terms])
        problem += pulp.LpConstraint(
            terms, senses[row.sense], row.name if named else f"r{index}", row.right
        )
    return problem, columns


def _read(model: highspy.Highs, columns: list[Any]) -> Answer:
    status = model.getModelStatus()
    info = model.getInfo()
    if is_infeasible(model):
        return Answer(Outcome.INFEASIBLE, (), float("inf"), float("inf"))
    optimal = status in (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kModelEmpty)
    found = optimal or info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    if not found:
        return Answer(Outcome.NOTHING, (), float("inf"), float(info.mip_dual_bound))
    solved = model.getSolution().col_value
    values = tuple(float(solved[column.index]) for column in columns)
    integer = any(column.cat == pulp.LpInteger for column in columns)
    bound = float(info.mip_dual_bound) if integer else float(info.objective_function_value)
    return Answer(
        Outcome.OPTIMAL if optimal else Outcome.FEASIBLE,
        values,
        float(info.objective_function_value),
        bound,
    )
