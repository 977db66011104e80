"""`planner report` as a user meets it."""

import hashlib
import json
import sys
from types import SimpleNamespace

import pytest

from planner.errors import ExitCode
from tests.sealed import sealed

FILES = [
    f"{name}.{kind}" for name in ("justification", "quarterly") for kind in ("html", "md", "xlsx")
]


@pytest.fixture
def plan_json(run, scenario):
    assert run("plan", scenario, "--out", "out").exit_code == 0
    return scenario.parent / "out" / "plan.json"


def test_a_report_is_written_beside_nothing_else(run, plan_json, tmp_path):
    result = run("report", plan_json, "--out", tmp_path / "new" / "folder")
    assert result.exit_code == 0
    assert result.stdout == ""
    assert sorted(path.name for path in (tmp_path / "new" / "folder").iterdir()) == FILES


def test_reports_are_the_same_bytes_whatever_the_hash_seed_and_folder(process, plan_json, tmp_path):
    digests = set()
    for seed in ("1", "2"):
        out = tmp_path / f"seed-{seed}"
        done = process("report", plan_json, "--out", out, PYTHONHASHSEED=seed)
        assert done.returncode == 0, done.stderr
        digests.add(tuple(hashlib.sha256((out / name).read_bytes()).hexdigest() for name in FILES))
    assert len(digests) == 1


def test_a_plan_of_an_earlier_version_is_asked_to_be_made_again(run, plan_json):
    stored = json.loads(plan_json.read_text(encoding="utf-8"))
    del stored["settings"], stored["node_types"]
    plan_json.write_text(sealed(json.dumps(stored)), encoding="utf-8")
    result = run("report", plan_json, "--out", "report")
    assert result.exit_code == ExitCode.INPUT
    assert "lacks the settings and node types" in result.stderr
    assert "make the plan again" in result.stderr


def test_a_scenario_is_no_plan(run, scenario):
    result = run("report", scenario, "--out", "report")
    assert result.exit_code == ExitCode.INPUT
    assert "is not JSON" in result.stderr


def test_a_file_in_place_of_the_folder_is_refused_before_anything_is_written(run, plan_json):
    result = run("report", plan_json, "--out", plan_json)
    assert result.exit_code == ExitCode.INPUT
    assert "`--out` takes a folder" in result.stderr


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
        *("--actuals", actuals),
    )
    assert done.exit_code == 0, done.stderr
    told = (scenario.parent / "report" / "quarterly.md").read_text(encoding="utf-8")
    assert "### Why the cost differs" in told
    assert "| demand |" in told
    assert "Net present cost, from the plan before to the one after" in told
    assert "| Forecast error of the demand | 25.0 % |" in told
    assert "D. What changed since the last plan" in (
        scenario.parent / "report" / "justification.html"
    ).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("--actuals", "actuals.csv"), "`--actuals` stands beside the plan that `--since` names"),
        (("--option", "rent only"), "is not NAME=PLAN.json"),
        (("--option", "rent only=missing.json"), "missing.json"),
        (("--since", "scenario.yaml"), "is not JSON"),
        (("--pdf",), "pip install 'gpu-fit-planner[pdf]'"),
    ],
)
def test_what_does_not_go_together_is_refused_and_nothing_written(
    run, plan_json, given, told, monkeypatch
):
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    result = run("report", plan_json, "--out", "report", *given)
    assert result.exit_code == ExitCode.INPUT
    assert told in result.stderr
    assert not (plan_json.parent.parent / "report").exists()


def test_both_documents_are_printed_where_weasyprint_is_there(run, plan_json, monkeypatch):
    class Printer:
        def __init__(self, string, url_fetcher):
            assert "<h1>" in string
            with pytest.raises(ValueError, match="outside"):
                url_fetcher("https://outside")

        def write_pdf(self):
            return b"%PDF-1.7"

    monkeypatch.setitem(sys.modules, "weasyprint", SimpleNamespace(HTML=Printer))
    assert run("report", plan_json, "--out", "report", "--pdf").exit_code == 0
    folder = plan_json.parent.parent / "report"
    assert {path.name for path in folder.glob("*.pdf")} == {"justification.pdf", "quarterly.pdf"}
    assert (folder / "quarterly.pdf").read_bytes() == b"%PDF-1.7"
