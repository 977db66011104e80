"""The seam to the solvers of integer programs: PuLP, and through it HiGHS and CBC.

PuLP 3 says "Optimal" for an answer that was merely stopped by its limit, so the status, the bound
and the values are read from HiGHS itself, and nothing is believed that HiGHS does not call proved.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

import highspy
import pulp

from planner.errors import LimitError
from planner.packing import work
from planner.packing.solvers.linear import highs_lp, is_infeasible
from planner.packing.solvers.program import Program

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


class _Highs(pulp.HiGHS):  # type: ignore[misc]
    """PuLP's HiGHS, to which a problem is handed over as a whole.

    Cell by cell, as PuLP does it, takes longer than most of our programs take to solve.
    """

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


class _WatchedHighs(_Highs):
    """PuLP's HiGHS, run beside a watch: it can be interrupted, and does not overshoot its limit.

    It looks at its limits at the same steps in each run, so that these count its work.
    """

    most_checks = 0
    checks = 0

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
    solver.most_checks = max(1, round(_checks_in(max(time_limit_s, 0.0) / each_s)))
    try:
        problem.solve(solver)
    except MemoryError:
        raise LimitError("the solver ran out of memory") from None
    except (pulp.PulpError, RuntimeError) as error:  # what highspy makes of an exception of HiGHS
        raise LimitError(f"the solver failed: {error}") from error
    in_tree = max(0, solver.checks - _ROOT_CHECKS)
    work.add((1 + solver.checks - in_tree * (1 - _TREE)) * each_s)
    return _read(problem.solverModel, columns)


def _checks_in(at_root: float) -> float:
    """Return the looks that fit into so many seconds at the root."""
    return at_root + max(0.0, at_root - _ROOT_CHECKS) * (1 / _TREE - 1)


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


def mps_text(program: Program, relaxed: frozenset[int] = frozenset()) -> str:
    """Return the program in MPS format: columns v0, v1, … and rows r0, r1, …."""
    problem, _ = _pulp_problem(program, relaxed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.mps"
        problem.writeMPS(str(path))
        return path.read_text(encoding="utf-8")


def lp_text(program: Program, relaxed: frozenset[int] = frozenset()) -> str:
    """Return the program in CPLEX LP format, by its own names.

    Each name is unique and has letters, digits, `_` and `.` only.
    """
    problem, _ = _pulp_problem(program, relaxed, named=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.lp"
        problem.writeLP(str(path))
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
