"""A second opinion on the solver's claim that no plan costs less, or that none exists.

The program behind the claim is solved again by HiGHS without presolve, from which most of its
known wrong answers came, and by CBC; or it is written for any solver, in names that a person
reads. A better solution from either is believed only if it keeps
every row of the program, recomputed in fractions; then the claim is refuted.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
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
    Variable,
    cbc_version,
    program_text,
    solve_integer,
    solve_with_cbc,
    solver_version,
)
from planner.packing.translation import Translation

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

    @classmethod
    def bound(cls, found: Incumbent) -> Assertion:
        """Claim that nothing costs less than the bound of a search."""
        master = found.master
        fixed_cents = master.problem.fixed_cost_cents
        known = () if found.cost_cents is None else found.values
        return cls(master.program, found.relaxed, found.bound_cents, fixed_cents, known)

    @classmethod
    def none(cls, proved: Infeasible) -> Assertion:
        """Claim that no solution exists."""
        return cls(proved.master.program, proved.relaxed, None)

    def told(self, cents: int) -> str:
        """Format a value of the objective in words."""
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
        proved, should = f"that no plan costs less than {bound}", f"the bound is {bound}"
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


_USD_PER_UNIT = CENTS_PER_UNIT / 100
_NO_NAME = re.compile(r"[^A-Za-z0-9_.]+")
_PLACED = re.compile(r"(?!stays|units|buy|rent|reserve\[|fullest)([\w.-]+)\[([0-9]+),([0-9]+)\]")
"""`gpus[0,1]`: of pool 0 in quarter 1."""
_OF_OFFERS = ("deliveries", "lot", "lot-fewest", "lot-most", "one-lot")
"""Names whose first number is that of an offer's supply rather than a pool's."""
_LONGEST = 200
"""Characters of a name; readers of the format take 255."""


def written_program(translation: Translation, found: Incumbent) -> str:
    """Return the program of a finished search in CPLEX LP format, with the cuts that it found.

    Its least value is the bound of the plan in USD: net present cost, with the running cost of
    the owned nodes. Units that were fractional when the bound was computed are fractional here.
    """
    master = found.master

    def plain(name: str) -> str:
        """Return a name with pool, or offer, and quarter in words if it ends in their numbers."""
        placed = _PLACED.fullmatch(name)
        if placed is None:
            return name
        kind, number = placed[1], int(placed[2])
        places = master.problem.supplies if kind in _OF_OFFERS else master.problem.pools
        return f"{kind} {places[number].name} {translation.quarters[int(placed[3])]}"

    names = {index: plain(one.name) for index, one in enumerate(master.program.variables)}
    for (number, position), index in master.mode.items():
        job_class, members = master.problem.classes[number], translation.members[number]
        job, unit = members[0]
        more = f" and {len(members) - 1} more" if len(members) > 1 else ""
        way = job_class.modes[position].way or job_class.modes[position].gpu_type
        when = translation.quarters[job_class.quarters[0]]
        names[index] = f"units of {job} {unit}{more} on {way} from {when}"
    for (number, quarter), index in master.acquire.items():
        supply = master.problem.supplies[number]
        site = master.problem.pools[supply.pool].site
        names[index] = f"{supply.kind} {supply.name} at {site} in {translation.quarters[quarter]}"
    variables = [
        replace(one, name=name, cost=one.cost * _USD_PER_UNIT)
        for one, name in zip(master.program.variables, _apart(list(names.values())), strict=True)
    ]
    fixed_usd = master.problem.fixed_cost_cents / 100
    variables.append(Variable("running_cost_of_owned_nodes", 1.0, 1.0, fixed_usd, integer=False))
    rows = [
        replace(row, name=name)
        for row, name in zip(
            master.program.rows,
            _apart([plain(row.name) for row in master.program.rows]),
            strict=True,
        )
    ]
    return program_text(Program(variables, rows), found.relaxed, "lp")


def _apart(names: list[str]) -> list[str]:
    """Return names as the format takes them, each once."""
    plain = [f"n_{_NO_NAME.sub('_', name).strip('_')}"[:_LONGEST] for name in names]
    plain = [name.removeprefix("n_") if name[2:3].isalpha() else name for name in plain]
    often, seen = Counter(plain), Counter[str]()
    found = []
    for name in plain:
        seen[name] += 1
        found.append(f"{name}.{seen[name]}" if often[name] > 1 else name)
    return found
