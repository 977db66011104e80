"""`planner plan` and `planner explain`, whole."""

import json
from pathlib import Path

import highspy
import pytest

from planner.errors import CheckError
from planner.planning.make import make_plan
from tests.stated import changed


def headings(text):
    return [line.split("── ")[1].split(" ─")[0] for line in text.splitlines() if "── " in line]


def test_a_plan_prints_what_one_wants_first_and_says_how_to_see_more(scenario, run):
    result = run("plan", scenario)
    assert (result.exit_code, result.stderr) == (0, "")
    brief, full = result.stdout, run("plan", scenario, "--full").stdout
    assert brief.startswith("Two jobs\n")
    assert "proved optimal for these inputs" in " ".join(brief.split())
    first = ["Purchases and rents", "Node map", "Jobs", "Cost"]
    first += ["What small changes would save", "Warnings"]
    assert headings(brief) == first
    assert set(first) < set(headings(full))
    assert {"Assumptions", "Proof and provenance", "Utilization"} <= set(headings(full))
    assert brief.endswith("schedule, use, assumptions, sources and proof: --full\n")
    assert len(brief.splitlines()) < len(full.splitlines()) / 2
    written = run("plan", scenario, "--out", "out").stdout
    assert written.endswith("assumptions, sources and proof: out/plan.md\n")
    assert written.partition(" Warnings ")[2].count("\n· ") <= 3, "three warnings at the most"


def test_explain_without_a_job_lists_them_with_the_next_best_gpu_type(plan_json, run):
    told = run("explain", plan_json).stdout
    plan = json.loads(plan_json.read_text(encoding="utf-8"))
    for job in plan["jobs"]:
        (line,) = [line for line in told.splitlines() if line.startswith(f"{job['name']} ")]
        taken = {gpu_type for gpu_type, _ in job["gpu_types"]}
        others = [
            (one["extra_cents"], one["way"])
            for one in job["alternatives"]
            if one["gpu_type"] not in taken and one["extra_cents"] is not None
        ]
        assert (min(others)[1] if others else "no other that it may use") in line


def test_every_number_can_be_explained_from_the_saved_plan(plan_json, scenario, run):
    scenario.unlink()
    result = run("explain", plan_json, "assistant")
    assert result.exit_code == 0, result.stderr
    assert "= 30.375 GB" in result.stdout
    assert "serving/peft-16bit" in result.stdout
    assert "[1] " in result.stdout
    unknown = run("explain", plan_json, "asistant")
    assert (unknown.exit_code, unknown.stdout) == (2, "")
    assert "did you mean 'assistant'" in unknown.stderr


def test_a_plan_that_is_not_proved_is_shown_and_exits_with_4(scenario, run, monkeypatch):
    def stopped(*args, **kwargs):
        plan = make_plan(*args, **kwargs)
        proof = changed(plan.proof, status="not proved")
        return changed(plan, proof=proof)

    monkeypatch.setattr("planner.api.planning.make_plan", stopped)
    result = run("plan", scenario)
    assert result.exit_code == 4
    assert "NOT proved" in result.stdout


@pytest.mark.parametrize(
    ("error", "exit_code", "told"),
    [
        (CheckError(("GPU 3 is held twice",)), 5, "GPU 3 is held twice"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
    ],
)
def test_what_ends_planning_leaves_nothing(scenario, run, monkeypatch, error, exit_code, told):
    def ended(*_, **__):
        raise error

    monkeypatch.setattr("planner.api.planning.make_plan", ended)
    result = run("plan", scenario, "--out", "out")
    assert (result.exit_code, result.stdout) == (exit_code, "")
    assert told in result.stderr
    assert not Path("out").exists()


def test_the_program_that_is_written_has_the_bound_as_its_least_value(scenario, run, tmp_path):
    done = run("plan", str(scenario), "--format", "json", "--write-lp", str(tmp_path / "plan.lp"))
    proof = json.loads(done.stdout)["proof"]
    model = highspy.Highs()
    model.setOptionValue("output_flag", False)
    model.setOptionValue("mip_rel_gap", 0.0)
    model.readModel(str(tmp_path / "plan.lp"))
    model.run()
    least_usd = model.getInfo().objective_function_value
    assert least_usd == pytest.approx(proof["bound_cents"] / 100, abs=0.01)
    again = run("plan", str(scenario), "--write-lp", str(tmp_path / "plan.lp"))
    assert again.exit_code == 2
    assert "is there already" in again.stderr


def test_rows_of_an_offer_are_written_under_its_name(scenario, run, tmp_path):
    text = scenario.read_text(encoding="utf-8")
    breaks = "deliveries: 3, price_breaks: [{from_nodes: 2, price_usd: 290000}]"
    offer = f"{{node_type: xe9680-h200, kind: buy, price_usd: 300000, {breaks}}}"
    more = "".join(f"  offer-{number}: {offer}\n" for number in range(4))
    scenario.write_text(text.replace("offers:\n", f"offers:\n{more}"), encoding="utf-8")
    assert run("plan", str(scenario), "--write-lp", str(tmp_path / "plan.lp")).exit_code == 0
    written = (tmp_path / "plan.lp").read_text(encoding="utf-8")
    for number in range(4):
        assert f"deliveries_offer_{number}_2027Q2" in written
        assert f"one_lot_offer_{number}_2027Q2" in written
