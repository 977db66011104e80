"""`planner export` as a user meets it."""

from pathlib import Path

import pytest

KINDS = ("watsonx", "kueue", "kubernetes")


def test_fixed_jobs_that_watsonx_does_not_know_are_told(run, tmp_path):
    names = [f"f{number}" for number in range(6)]
    lines = (
        "format: 1",
        "name: fixed jobs",
        "horizon: {first_quarter: 2027Q1, quarters: 1, as_of: 2026-06-01}",
        "offers: {buy: {node_type: xe9680-h100, kind: buy}}",
        "jobs:",
        "  served: {serve: {model: llama-3.1-8b}}",
        *(f"  {name}: {{fixed: {{gpus: 1, cpus: 1, memory_gb: 1}}}}" for name in names),
    )
    scenario = tmp_path / "fixed.yaml"
    scenario.write_text("\n".join(lines), encoding="utf-8")
    planned = run("plan", scenario, "--out", tmp_path / "out")
    assert planned.exit_code == 0, planned.stderr
    new = tmp_path / "new"
    told = run("export", "watsonx", tmp_path / "out" / "plan.json", "--out", new).stderr
    assert "hint: fixed jobs have no specification here: f0, f1, f2, f3, f4 and 1 more" in told
    assert "served" in (new / "used-by.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", KINDS)
def test_what_cannot_be_exported_leaves_no_file(run, plan_json, kind):
    result = run("export", kind, plan_json, "--out", "new", "--quarter", "2027Q3")
    assert result.exit_code == 2
    assert "--quarter: the plan has no quarter '2027Q3'" in result.stderr
    assert not Path("new").exists()
