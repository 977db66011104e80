"""A second opinion on the solver's claim that no plan costs less, or that none exists.

The program behind the claim is solved again by HiGHS without presolve, from which most of its
known wrong answers came, and by CBC. A better solution from either is believed only if it keeps
every row of the program, recomputed in fractions; then the claim is refuted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from math import isfinite

from planner.errors import DisagreementError, LimitError
from planner.packing.incumbent import Incumbent, Infeasible
from planner.packing.master import CENTS_PER_UNIT
from planner.packing.solution import Opinion, Verdict
from planner.packing.solver import (
    Answer,
    Outcome,
    Program,
    cbc_version,
    program_text,
    solve_integer,
    solve_with_cbc,
    solver_version,
)

_TOLERANCE = 1e-6
"""Relative: the objectives and rows of floating-point solvers agree no closer than this."""


@dataclass(frozen=True, slots=True)
class Assertion:
    """A claim about a program."""

    program: Program
    relaxed: frozenset[int]
    """Variables that may be fractional in it."""
    bound_cents: int | None
    """No solution costs less; None: no solution exists."""
    fixed_cents: int = 0
    """Cost that the program leaves out because nothing in it changes it."""
    known: tuple[float, ...] = ()
    """Whole values of a solution, if one is known."""
    counted: str = ""
    """What a unit of the objective counts; empty: cost."""

    @classmethod
    def bound(cls, found: Incumbent, counted: str = "") -> Assertion:
        """Claim that nothing costs less, or counts fewer, than the bound of a search."""
        master = found.master
        fixed_cents = master.problem.fixed_cost_cents
        known = () if found.cost_cents is None else found.values
        return cls(master.program, found.relaxed, found.bound_cents, fixed_cents, known, counted)

    @classmethod
    def none(cls, proved: Infeasible) -> Assertion:
        """Claim that no solution exists."""
        return cls(proved.master.program, proved.relaxed, None)

    def told(self, cents: int) -> str:
        """Format a value of the objective in words."""
        if self.counted:
            return f"{cents / CENTS_PER_UNIT:g} {self.counted}"
        return f"{cents / 100:,.2f} USD"

    def cents(self, objective: float) -> int:
        """Return what a value of the objective costs."""
        return round(objective * CENTS_PER_UNIT) + self.fixed_cents


def require_agreement(
    ask: Callable[[Assertion], tuple[Opinion, ...]], assertion: Assertion
) -> tuple[Opinion, ...]:
    """Put a claim to other solvers.

    Raises DisagreementError, with all they said, if it is refuted.
    """
    opinions = ask(assertion)
    refuted = [one for one in opinions if one.verdict is Verdict.REFUTED]
    if not refuted:
        return opinions
    answers = {
        "solver": solver_version(),
        "bound_cents": assertion.bound_cents,
        "values": assertion.known,
        "answers": [asdict(one) for one in opinions],
        "fractional": sorted(assertion.relaxed),
        "columns": [variable.name for variable in assertion.program.variables],
        "rows": [row.name for row in assertion.program.rows],
    }
    if assertion.bound_cents is None:
        proved, should = "that no plan exists", "there should be none"
    else:
        bound = assertion.told(assertion.bound_cents)
        less = "has fewer" if assertion.counted else "costs less"
        proved, should = f"that no plan {less} than {bound}", f"the bound is {bound}"
    raise DisagreementError(
        f"{solver_version()} proved {proved}, and another solver refutes it",
        tuple(
            f"{one.solver} has a solution at {assertion.told(one.reached_cents or 0)} that keeps "
            f"every row of the program; {should}"
            for one in refuted
        ),
        {
            "disagreement.mps": program_text(assertion.program, assertion.relaxed, "mps"),
            "disagreement.json": json.dumps(answers, indent=2) + "\n",
        },
    )


def second_opinions(
    assertion: Assertion, *, time_limit_s: float, progress: Callable[[str], None] | None = None
) -> tuple[Opinion, ...]:
    """Ask HiGHS without presolve, then CBC, each for at most so many seconds."""
    program, relaxed = assertion.program, assertion.relaxed
    ways: tuple[tuple[str, Callable[[], Answer]], ...] = (
        (
            f"{solver_version()}, without presolve",
            lambda: solve_integer(
                program, time_limit_s=time_limit_s, relaxed=relaxed, presolve=False
            ),
        ),
        (
            cbc_version(),
            lambda: solve_with_cbc(program, time_limit_s=time_limit_s, relaxed=relaxed),
        ),
    )
    opinions = []
    for name, solve in ways:
        if progress:
            progress(f"asking {name}")
        opinions.append(_opinion(assertion, name, solve))
    return tuple(opinions)


def _opinion(assertion: Assertion, name: str, solve: Callable[[], Answer]) -> Opinion:
    try:
        answer = solve()
    except LimitError:
        return Opinion(name, Verdict.UNDECIDED)
    if answer.outcome is Outcome.INFEASIBLE:
        if assertion.bound_cents is None:
            return Opinion(name, Verdict.CONFIRMED)
        kept = assertion.known and keeps_rows(assertion.program, assertion.known, frozenset())
        return Opinion(name, Verdict.UNFOUNDED if kept else Verdict.UNDECIDED)
    least = float("inf")
    if assertion.bound_cents is not None:
        least = assertion.bound_cents - max(1.0, _TOLERANCE * abs(assertion.bound_cents))
    if answer.values and (cents := assertion.cents(answer.objective)) < least:
        kept = keeps_rows(assertion.program, answer.values, assertion.relaxed)
        return Opinion(name, Verdict.REFUTED if kept else Verdict.UNFOUNDED, cents, answer.values)
    if isfinite(answer.bound) and (cents := assertion.cents(answer.bound)) >= least:
        return Opinion(name, Verdict.CONFIRMED, cents)
    return Opinion(name, Verdict.UNDECIDED)


def keeps_rows(program: Program, values: Sequence[float], relaxed: frozenset[int]) -> bool:
    """Return whether values keep every bound and row, summed in fractions.

    Integer variables are taken at the nearest whole number. Rows of integer variables alone must
    hold to a part in 10^9 of their terms, since their coefficients are rounded; others to the
    solver's tolerance.
    """
    exact = [
        Fraction(round(value)) if variable.integer and index not in relaxed else Fraction(value)
        for index, (variable, value) in enumerate(zip(program.variables, values, strict=True))
    ]
    for variable, value in zip(program.variables, exact, strict=True):
        slack = _slack((value,), whole=False)
        low, high = Fraction(variable.lower), variable.upper
        if value < low - slack or (high is not None and value > Fraction(high) + slack):
            return False
    for row in program.rows:
        terms = [Fraction(factor) * exact[index] for index, factor in row.terms]
        whole = all(
            program.variables[index].integer and index not in relaxed for index, _ in row.terms
        )
        over = sum(terms, Fraction(0)) - Fraction(row.right)
        slack = _slack((*terms, Fraction(row.right)), whole=whole)
        if (row.sense != ">=" and over > slack) or (row.sense != "<=" and over < -slack):
            return False
    return True


def _slack(terms: Sequence[Fraction], *, whole: bool) -> Fraction:
    largest = max((abs(term) for term in terms), default=Fraction(0))
    return max(Fraction(1), largest) * Fraction(1, 10**9 if whole else 10**6)
