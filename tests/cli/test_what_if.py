"""`planner compare`, `sweep`, `sensitivity`, `alternatives` and `risk`, whole."""

import json
from pathlib import Path

import pytest

from planner.api.variants import time_left, usable_cores


def test_a_scenario_beside_its_own_variation(varied, run):
    one = run("compare", varied, "stress")
    assert one.exit_code == 0, one.stderr
    assert one.stdout.startswith("scenario.yaml → stress\n")
    other = run("compare", varied, "scenario.yaml:two,dear")
    assert one.stdout.partition("\n")[2] == other.stdout.partition("\n")[2]


def test_all_formats_hold_the_same_comparison(varied, run):
    words = ("compare", varied, "two", "--out", "out")
    result = run(*words, "--format", "json")
    assert result.exit_code == 0
    assert run(*words, "--force", "--exit-code").exit_code == 1
    assert Path("out/compare.json").read_text(encoding="utf-8") == result.stdout
    markdown = Path("out/compare.md").read_text(encoding="utf-8")
    assert markdown.startswith(run(*words, "--format", "markdown").stdout)
    assert "fleet.east.count" in Path("out/compare.html").read_text(encoding="utf-8")
    found = json.loads(result.stdout)
    assert found["inputs"] == [
        {"cause": "fleet", "path": "fleet.east.count", "before": "1", "after": "2"}
    ]
    added = found["after"]["cost_cents"] - found["before"]["cost_cents"]
    assert sum(step["added_cents"] for step in found["waterfall"]["steps"]) == added


GRID = """\
format: 1
scenario: scenario.yaml
grid:
  set:
    finance.pue: [1.2, 1.5]
rows:
  - set: {offers.h200.maximum: 0, offers.l40s.maximum: 0}
"""


@pytest.fixture
def grid(scenario):
    Path("grid.yaml").write_text(GRID, encoding="utf-8")
    return "grid.yaml"


def test_a_sweep_writes_its_table_and_prints_it(grid, run):
    result = run("sweep", grid, "--out", "out", "--jobs", "1")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("Sweep of Two jobs\n3 variants, 2 of them proved; from $")
    assert "1 without a plan" in result.stdout
    assert "infeasible: " in result.stdout
    names = sorted(file.name for file in Path("out").iterdir())
    assert names == ["results.jsonl", "sweep.csv", "sweep.html", "sweep.md"]
    csv = Path("out/sweep.csv").read_text(encoding="utf-8").splitlines()
    assert len(csv) == 4
    assert csv[1].split(",")[1:3] == ["1.2", ""]
    again = run("sweep", grid, "--out", "out", "--jobs", "1", "--force")
    assert again.stdout == result.stdout


def test_what_is_set_on_the_command_line_holds_in_every_row(grid, run):
    words = ("sweep", grid, "--out", "out", "--jobs", "1", "--set", "offers.*.lead_time_weeks=+400")
    result = run(*words)
    assert result.exit_code == 0, result.stderr
    assert "3 variants, 0 of them proved" in result.stdout
    assert "\nIn all of them: offers.*.lead_time_weeks=+400.\n" in result.stdout
    csv = Path("out/sweep.csv").read_text(encoding="utf-8").splitlines()
    assert csv[0].startswith("apply,offers.*.lead_time_weeks,finance.pue,")
    wrong = run("sweep", grid, "--out", "out2", "--set", "offers.*.lead_weeks=+4")
    assert (wrong.exit_code, wrong.stderr.count("there is no 'lead_weeks' in ")) == (2, 1)


def test_the_time_left_is_that_of_the_rows_that_were_planned_here(monkeypatch):
    now = iter((100.0, 110.0, 400.0))
    monkeypatch.setattr("time.monotonic", lambda: next(now))
    said: list[str] = []
    told = time_left(said.append)
    told(4, 4, 10)
    told(5, 4, 10)
    told(6, 4, 50)
    told(50, 4, 50)
    assert said == [
        "planning, 4 of 10 done",
        "planning, 5 of 10 done, about 50 s left",
        "planning, 6 of 50 done, about 110 min left",
        "planning, 50 of 50 done",
    ]
    assert usable_cores() >= 1


def test_table_picture_and_data_say_the_same(scenario, run):
    words = ("sensitivity", scenario, "--jobs", "1", "--precision", "10%", "--out", "out")
    result = run(*words, "--set", "jobs.claims.count=2", "--format", "json")
    assert result.exit_code == 0, result.stderr
    assert Path("out/sensitivity.json").read_text(encoding="utf-8") == result.stdout
    found = json.loads(result.stdout)
    widest = found["swings"][0]["name"]
    assert widest in Path("out/sensitivity.md").read_text(encoding="utf-8")
    assert f">{widest}<" in Path("out/sensitivity.html").read_text(encoding="utf-8")
    asked = {setting for one in found["swings"] for setting in one["low"]["settings"]}
    assert "offers.h200.price_usd=285600" in asked


def test_where_there_is_no_plan_the_reason_is_told_and_no_nodes_are_said_to_be_acquired(
    scenario, run
):
    text = scenario.read_text(encoding="utf-8").partition("offers:")[0]
    jobs = "jobs: {claims: {fixed: {gpus: 6}, count: 9}}\n"
    scenario.write_text(text + jobs, encoding="utf-8")
    result = run("sensitivity", scenario, "--jobs", "1")
    assert (result.exit_code, result.stderr) == (3, "")
    assert "No plan exists as it stands: in 2027Q1 at least 48 GPUs more" in result.stdout
    assert "there is no plan at either end of any." in result.stdout


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


FUTURES = """\
format: 1
scenario: scenario.yaml
uncertain:
  growth: {times: [0, 1, 2], of: [jobs.assistant.growth_per_quarter]}
"""


def test_a_run_writes_its_table_data_and_picture_and_carries_on(scenario, run):
    Path("futures.yaml").write_text(FUTURES, encoding="utf-8")
    words = ("risk", "futures.yaml", "--out", "out", "--jobs", "1", "--samples")
    result = run(*words, "3")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("Risk of Two jobs\n")
    names = sorted(file.name for file in Path("out").iterdir())
    assert names == [
        "results.jsonl",
        "risk.html",
        "risk.json",
        "risk.md",
    ]
    assert len(json.loads(Path("out/risk.json").read_text(encoding="utf-8"))["costs_cents"]) == 3
    first = Path("out/results.jsonl").read_text(encoding="utf-8").splitlines()
    assert run(*words, "4", "--force").exit_code == 0
    assert Path("out/results.jsonl").read_text(encoding="utf-8").splitlines()[:3] == first


def test_what_is_set_on_the_command_line_holds_in_every_future(scenario, run):
    Path("futures.yaml").write_text(FUTURES, encoding="utf-8")
    words = ("risk", "futures.yaml", "--jobs", "1", "--samples", "2")

    def cost(folder, *more):
        assert run(*words, "--out", folder, *more).exit_code == 0
        told = json.loads(Path(folder, "risk.json").read_text(encoding="utf-8"))
        return told["base"]["cost_cents"]

    assert cost("dear", "--set", "finance.pue=2") > cost("as-it-is")
