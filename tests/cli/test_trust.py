"""`planner doctor` and `planner plan --crosscheck`: what a user sees when a solver lies."""

import json
from pathlib import Path

from planner.packing import crosscheck, doctor
from planner.packing.solver import Answer, Outcome, solve_with_cbc

NONE = Answer(Outcome.INFEASIBLE, (), float("inf"), float("inf"))


def test_the_doctor_trusts_this_installation(run):
    result = run("doctor")
    assert result.exit_code == 0, result.stderr
    assert "plans may rest on it" in result.stdout
    assert "github.com/ERGO-Code/HiGHS/issues/3043" in result.stdout


def test_the_doctor_condemns_a_solver_that_lies(run, monkeypatch):
    monkeypatch.setattr(doctor, "solve_integer", lambda *_, **__: NONE)
    result = run("doctor")
    assert result.exit_code == 5
    assert result.stdout.splitlines()[1].startswith("Do not plan with this installation")


def test_other_solvers_confirm_the_bound_and_the_plan_says_so(scenario, run):
    result = run("plan", scenario, "--crosscheck", "--full", "--out", "out")
    assert result.exit_code == 0, result.stderr
    proof = json.loads(Path("out/plan.json").read_text(encoding="utf-8"))["proof"]
    assert [one["verdict"] for one in proof["second_opinions"]] == ["confirmed", "confirmed"]
    assert {one["bound_cents"] for one in proof["second_opinions"]} == {proof["bound_cents"]}
    shown = " ".join(result.stdout.split())
    assert "without presolve: confirmed, no plan costs less than $" in shown


def test_a_refuted_proof_is_no_plan_and_leaves_program_and_answers(scenario, run, monkeypatch):
    monkeypatch.setattr(crosscheck, "keeps_rows", lambda *_: True)
    free = Answer(Outcome.OPTIMAL, (0.0,), -1e9, -1e9)
    monkeypatch.setattr(crosscheck, "solve_with_cbc", lambda *_, **__: free)
    result = run("plan", scenario, "--crosscheck", "--out", "out")
    assert result.exit_code == 5
    assert result.stdout == ""
    assert "another solver refutes it" in result.stderr
    assert "planner doctor" in result.stderr
    assert sorted(path.name for path in Path("out").iterdir()) == [
        "disagreement.json",
        "disagreement.mps",
    ]
    assert json.loads(Path("out/disagreement.json").read_text(encoding="utf-8"))["rows"]


def test_that_there_is_no_plan_is_confirmed_before_it_is_said(scenario, run, monkeypatch):
    asked = []

    def asking(program, **how):
        asked.append(program)
        return solve_with_cbc(program, **how)

    monkeypatch.setattr(crosscheck, "solve_with_cbc", asking)
    text = scenario.read_text(encoding="utf-8").replace("maximum: 4", "maximum: 1")
    scenario.write_text(text.replace("replicas: 6", "replicas: 600"), encoding="utf-8")
    result = run("plan", scenario, "--crosscheck")
    assert result.exit_code == 3, result.stderr
    assert len(asked) == 1
