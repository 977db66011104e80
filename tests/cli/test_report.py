"""`planner report` as a user meets it."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from planner.errors import ExitCode
from planner.whatif.alternatives import Alternatives
from planner.whatif.results import loads
from planner.whatif.sensitivity import Sensitivity
from tests.sealed import sealed
from tests.stated import changed

FILES = [
    "alternatives.json",
    *(
        f"{name}.{kind}"
        for name in ("justification", "quarterly")
        for kind in ("html", "md", "xlsx")
    ),
]


def test_a_plan_of_an_earlier_version_is_asked_to_be_made_again(run, plan_json):
    stored = json.loads(plan_json.read_text(encoding="utf-8"))
    del stored["settings"], stored["node_types"]
    plan_json.write_text(sealed(json.dumps(stored)), encoding="utf-8")
    result = run("report", plan_json, "--out", "report")
    assert result.exit_code == ExitCode.INPUT
    assert "settings: does not belong in a plan as it stands" in result.stderr
    assert "make the plan again" in result.stderr


def test_a_plan_of_which_nothing_is_left_is_reported(run, tmp_path):
    (tmp_path / "none.yaml").write_text(
        "format: 1\nname: None\nhorizon: {first_quarter: 2027Q1, quarters: 1}\n"
        "offers: {late: {node_type: xe9680-h100, kind: buy, lead_time_weeks: 40}}\n"
        "policies: {shortage: drop}\njobs: {work: {fixed: {gpus: 1}}}\n",
        encoding="utf-8",
    )
    assert run("plan", tmp_path / "none.yaml", "--out", tmp_path).exit_code == 0
    plan = tmp_path / "plan.json"
    done = run("report", plan, "--out", tmp_path / "report", "--what-if", "none")
    assert (done.exit_code, done.stderr.count("error")) == (0, 0), done.stderr


def test_options_of_a_scenario_that_uses_files_of_its_own_are_planned(run, tmp_path, monkeypatch):
    """From another folder than the scenario's, whose files lie in a folder of theirs."""
    monkeypatch.chdir(tmp_path)
    own = Path("asked/own")
    own.mkdir(parents=True)
    own.joinpath("node.yaml").write_text(
        "nodes: {mine: {extends: xe9680-h100, product: Mine}}\n"
        "purchase: {mine: {price_usd: 1000, date: 2026-11-01, basis: published, source: bom}}\n"
        "sources: {bom: {title: A quote}}\n",
        encoding="utf-8",
    )
    scenario = own.parent / "one.yaml"
    scenario.write_text(
        "format: 1\nname: One\nhorizon: {first_quarter: 2027Q1, quarters: 1}\n"
        "use: {catalog: [own/node.yaml]}\noffers: {new: {node_type: mine, kind: buy}}\n"
        "jobs: {work: {fixed: {gpus: 1}}}\n",
        encoding="utf-8",
    )
    assert run("plan", scenario, "--out", "out").exit_code == 0
    done = run("report", "out/plan.json", "--out", "out", "--jobs", "1")
    assert done.exit_code == 0, done.stderr
    assert "| do nothing | " in Path("out/justification.md").read_text(encoding="utf-8")


def test_options_are_planned_once_and_then_found_beside_the_plan(run, plan_json, reported):
    folder = plan_json.parent
    assert sorted(path.name for path in reported.iterdir()) == FILES
    told = (reported / "justification.md").read_text(encoding="utf-8")
    for name in ("do nothing", "reclaim first", "rent only"):
        assert f"| {name} | " in told
    (folder / "alternatives.json").write_bytes((reported / "alternatives.json").read_bytes())
    again = run("report", plan_json, "--out", "second", "--what-if", "none")
    assert again.exit_code == 0
    for name in FILES:
        assert (folder.parent / "second" / name).read_bytes() == (reported / name).read_bytes()


def test_results_of_the_other_commands_are_found_beside_the_plan(run, scenario, plan_json):
    asked = (scenario, "--out", plan_json.parent, "--jobs", "1")
    assert run("alternatives", *asked).exit_code == 0
    assert run("sensitivity", *asked, "--precision", "50%").exit_code == 0
    done = run("report", plan_json, "--out", "out", "--what-if", "none")
    assert done.exit_code == 0
    assert "left out" not in done.stderr
    assert "hint: " not in done.stderr
    told = (plan_json.parent / "justification.md").read_text(encoding="utf-8")
    assert "most headroom (" in told
    assert "| price of energy | $" in told


def test_all_options_are_planned_where_only_those_of_every_report_lie_there(
    run, plan_json, reported, monkeypatch
):
    """What they are is planned elsewhere; here, what is asked for, and what is found beside."""
    text = (reported / "alternatives.json").read_text(encoding="utf-8")
    standard = loads(Alternatives, text, "alternatives.json")
    near = changed(standard, within=0.03)
    asked = []

    def told(name, found):
        def plan(*_, **__):
            asked.append(name)
            return found

        return plan

    swings = Sensitivity(
        question=standard.question,
        scenario=standard.scenario,
        swing=0.2,
        weeks=4,
        precision=0.01,
        base=standard.cheapest,
        swings=(),
    )
    monkeypatch.setattr("planner.api.documents.find_alternatives", told("all", near))
    monkeypatch.setattr("planner.api.documents.analyze_sensitivity", told("swings", swings))
    (plan_json.parent / "alternatives.json").write_bytes(
        (reported / "alternatives.json").read_bytes()
    )
    words = ("report", plan_json, "--out", "new", "--jobs", "1", "--what-if")
    assert run(*words, "options").exit_code == 0
    assert asked == []
    assert run(*words, "all", "--force").exit_code == 0
    assert asked == ["all", "swings"]
    written = Path("new/alternatives.json").read_text(encoding="utf-8")
    assert loads(Alternatives, written, "alternatives.json").within == 0.03


def test_results_that_are_not_of_this_plan_are_told_and_left_out(run, scenario, reported):
    """Those that lie beside the plan are of the scenario before its energy got dearer."""
    assert run("plan", scenario, "--out", "out", "--set", "finance.pue=1.9").exit_code == 0
    whole = (reported / "alternatives.json").read_text(encoding="utf-8")
    changed = whole.replace("rent only", "rent", 1)
    Path("report").mkdir()
    Path("report/alternatives.json").write_text(whole, encoding="utf-8")
    Path("out/alternatives.json").write_text(changed, encoding="utf-8")
    Path("out/sensitivity.json").write_text(whole[1:], encoding="utf-8")
    done = run("report", "out/plan.json", "--out", "report", "--what-if", "none")
    assert done.exit_code == 0
    for path, told in (
        ("report/alternatives.json", "is of another scenario than the plan"),
        ("out/alternatives.json:", "was changed after the planner had written it"),
        ("out/sensitivity.json:", "is no sensitivity as this planner writes it"),
    ):
        assert f"left out: {path} {told}" in done.stderr
    drawn = Path("report/justification.md").read_text(encoding="utf-8")
    again = f"planner alternatives {scenario.name} --set finance.pue=1.9 --out DIR"
    assert f"- Do nothing: \\[fill in: `{again}" in drawn
    again = f"`planner sensitivity {scenario} --set finance.pue=1.9 --out out`"
    assert f"{again} finds out" in done.stderr


def test_a_plan_from_other_facts_is_reported_without_options(run, plan_json):
    stored = json.loads(plan_json.read_text(encoding="utf-8"))
    for file in stored["provenance"]["files"]:
        file[2] = "0" * 64 if file[0] == "catalog" else file[2]
    plan_json.write_text(sealed(json.dumps(stored)), encoding="utf-8")
    done = run("report", plan_json, "--out", "report")
    assert done.exit_code == 0
    assert "options are not planned" in done.stderr
    assert "was made from other catalog or rule files than are here now" in done.stderr


def test_since_says_what_changed_and_which_cause_costs_how_much(run, scenario, plan_json):
    scenario.write_text(
        scenario.read_text(encoding="utf-8").replace("replicas: 6", "replicas: 20"),
        encoding="utf-8",
    )
    assert run("plan", scenario, "--out", "new").exit_code == 0
    actuals = scenario.parent / "actuals.csv"
    actuals.write_text("quarter,job,count\n2027Q1,assistant,8\n", encoding="utf-8")
    done = run(
        *("report", "new/plan.json", "--out", "report", "--since", plan_json),
        *("--actuals", actuals, "--what-if", "none"),
    )
    assert done.exit_code == 0, done.stderr
    told = (scenario.parent / "report" / "quarterly.md").read_text(encoding="utf-8")
    assert "### Why the cost differs" in told
    assert "| demand |" in told
    assert "- Forecast error of the demand: 25.0 %\n" in told
    assert "| assistant | 2027Q1 | 6 | 8 | +2 |" in told
    assert "D. What changed since the last plan" in (
        scenario.parent / "report" / "justification.html"
    ).read_text(encoding="utf-8")


def test_both_documents_are_printed_where_weasyprint_is_there(run, plan_json, monkeypatch):
    class Printer:
        def __init__(self, string, url_fetcher):
            assert "<h1>" in string
            with pytest.raises(ValueError, match="outside"):
                url_fetcher("https://outside")

        def write_pdf(self):
            return b"%PDF-1.7"

    monkeypatch.setitem(sys.modules, "weasyprint", SimpleNamespace(HTML=Printer))
    asked = ("--out", "report", "--what-if", "none", "--pdf")
    assert run("report", plan_json, *asked).exit_code == 0
    folder = plan_json.parent.parent / "report"
    assert {path.name for path in folder.glob("*.pdf")} == {"justification.pdf", "quarterly.pdf"}
    assert (folder / "quarterly.pdf").read_bytes() == b"%PDF-1.7"
