"""Second opinions: when a assertion is confirmed, refuted, or disputed without ground."""

import json
import random
from functools import partial
from itertools import product

import pytest

from planner.errors import DisagreementError, LimitError
from planner.packing import crosscheck
from planner.packing.crosscheck import (
    Assertion,
    keeps_rows,
    require_agreement,
    second_opinions,
)
from planner.packing.master import CENTS_PER_UNIT
from planner.packing.solution import Verdict
from planner.packing.solver import Answer, Outcome, Program

ASK = partial(second_opinions, time_limit_s=600.0)


def covering(seed: int) -> tuple[Program, int | None]:
    """Cover three needs by four whole columns of at most 3; its optimum in cents, by trying all."""
    rng = random.Random(seed)
    costs = [rng.randint(1, 9) for _ in range(4)]
    rows = [[rng.randint(0, 4) for _ in range(4)] for _ in range(3)]
    needs = [rng.randint(1, 30) for _ in range(3)]
    program = Program()
    for number, cost in enumerate(costs):
        program.variable(f"x{number}", cost=cost, upper=3, integer=True)
    for number, (row, need) in enumerate(zip(rows, needs, strict=True)):
        program.row(f"need{number}", {i: float(v) for i, v in enumerate(row)}, ">=", need)
    best = min(
        (
            sum(cost * value for cost, value in zip(costs, values, strict=True))
            for values in product(range(4), repeat=4)
            if all(
                sum(factor * value for factor, value in zip(row, values, strict=True)) >= need
                for row, need in zip(rows, needs, strict=True)
            )
        ),
        default=None,
    )
    return program, None if best is None else best * CENTS_PER_UNIT


SOLVABLE = next((program, best) for program, best in map(covering, range(9)) if best is not None)


def verdicts(assertion: Assertion) -> list[Verdict]:
    return [one.verdict for one in ASK(assertion)]


def test_both_solvers_confirm_what_trying_everything_proves():
    programs = [covering(seed) for seed in range(6)]
    for program, best in programs:
        assert verdicts(Assertion(program, frozenset(), best)) == [Verdict.CONFIRMED] * 2
    assert {best is None for _, best in programs} == {True, False}


def test_a_bound_above_the_best_solution_is_refuted_with_program_and_answers():
    program, best = SOLVABLE
    assertion = Assertion(program, frozenset(), best + CENTS_PER_UNIT)
    with pytest.raises(DisagreementError, match="no plan costs less than") as raised:
        require_agreement(ASK, assertion)
    assert f"{best / 100:,.2f} USD" in str(raised.value)
    assert "ROWS" in raised.value.files["disagreement.mps"]
    told = json.loads(raised.value.files["disagreement.json"])
    assert told["bound_cents"] == assertion.bound_cents
    assert {one["verdict"] for one in told["answers"]} == {"refuted"}
    assert all(keeps_rows(program, one["values"], frozenset()) for one in told["answers"])


def test_a_claim_that_nothing_exists_is_refuted_by_any_solution():
    program, _ = SOLVABLE
    with pytest.raises(DisagreementError, match="no plan exists"):
        require_agreement(ASK, Assertion(program, frozenset(), None))


def test_a_cost_outside_the_program_counts_into_the_bound():
    program, best = SOLVABLE
    assertion = Assertion(program, frozenset(), best + 700, fixed_cents=700)
    assert [one.reached_cents for one in ASK(assertion)] == [best + 700] * 2


def stubborn(monkeypatch, answer):
    """Let CBC answer this, whatever it is asked."""
    monkeypatch.setattr(crosscheck, "solve_with_cbc", lambda *_, **__: answer)


def test_a_cheaper_answer_that_breaks_a_row_is_not_believed(monkeypatch):
    program, best = SOLVABLE
    stubborn(monkeypatch, Answer(Outcome.OPTIMAL, (0.0,) * 4, 0.0, 0.0))
    assert verdicts(Assertion(program, frozenset(), best)) == [Verdict.CONFIRMED, Verdict.UNFOUNDED]


def test_no_solution_is_not_believed_where_one_is_known(monkeypatch):
    program, best = SOLVABLE
    stubborn(monkeypatch, Answer(Outcome.INFEASIBLE, (), float("inf"), float("inf")))
    known = ASK(Assertion(program, frozenset(), best + 10**9))[0].values
    with_known = Assertion(program, frozenset(), best, known=known)
    assert verdicts(with_known) == [Verdict.CONFIRMED, Verdict.UNFOUNDED]
    without = Assertion(program, frozenset(), best)
    assert verdicts(without) == [Verdict.CONFIRMED, Verdict.UNDECIDED]


def test_a_solver_that_fails_or_runs_out_of_time_leaves_it_open(monkeypatch):
    program, best = SOLVABLE
    stubborn(monkeypatch, Answer(Outcome.NOTHING, (), float("inf"), float("-inf")))
    assert verdicts(Assertion(program, frozenset(), best))[1] is Verdict.UNDECIDED

    def fails(*_, **__):
        raise LimitError("CBC failed")

    monkeypatch.setattr(crosscheck, "solve_with_cbc", fails)
    assert verdicts(Assertion(program, frozenset(), best))[1] is Verdict.UNDECIDED


@pytest.mark.parametrize(
    ("values", "kept"),
    [
        ((1.0, 2.5), True),
        ((1.0 + 1e-9, 2.5), True),
        ((1.0, 2.4), False),
        ((2.0, 1.5), False),
        ((0.0, 3.5), False),
        ((-1.0, 4.5), False),
    ],
)
def test_rows_and_bounds_are_kept_or_not(values, kept):
    program = Program()
    whole = program.variable("whole", upper=1, integer=True)
    free = program.variable("free", upper=3)
    program.row("sum", {whole: 1.0, free: 1.0}, ">=", 3.5)
    assert keeps_rows(program, values, frozenset()) is kept


def test_a_row_of_whole_variables_must_hold_closely():
    program = Program()
    nodes = program.variable("nodes", integer=True)
    program.row("budget", {nodes: 1_000_000.0}, "<=", 2_999_999.99)
    assert keeps_rows(program, (2.0,), frozenset())
    assert not keeps_rows(program, (3.0,), frozenset())
