"""`planner alternatives`, whole."""

import json
from pathlib import Path


def test_all_formats_hold_the_same_plans(scenario, run):
    jobs = "jobs: {claims: {fixed: {gpus: 6}, count: 2}}\n"
    text = scenario.read_text(encoding="utf-8")
    scenario.write_text(text[: text.index("jobs:")] + jobs, encoding="utf-8")
    words = ("--jobs", "1", "--within", "5%", "--out", "out", "--format", "json")
    result = run("alternatives", scenario, *words)
    assert result.exit_code == 0, result.stderr
    assert Path("out/alternatives.json").read_text(encoding="utf-8") == result.stdout
    found = json.loads(result.stdout)
    names = [one["name"] for one in found["others"]]
    assert names[:3] == ["do nothing", "reclaim first", "rent only"]
    for shown in (Path("out/alternatives.md"), Path("out/alternatives.html")):
        text = shown.read_text(encoding="utf-8")
        assert all(name in text for name in names)


def test_a_scenario_without_a_plan_is_an_answer_of_its_own(scenario, run):
    result = run("alternatives", scenario, "--jobs", "1", "--set", "jobs.claims.count=90")
    assert result.exit_code == 3
    assert "no plan to stand beside" in result.stderr
    assert result.stdout == ""
