"""A saved plan: made again from what it records, and the same bytes wherever it is made."""

import json
from contextlib import chdir
from pathlib import Path
from shutil import copytree

import pytest
from click.testing import CliRunner

from planner.cli.app import planner
from tests.sealed import sealed

SCENARIO = """\
format: 1
name: A job, and another
horizon: {first_quarter: 2027Q1, quarters: 1}
fleet:
  east: {node_type: xe9680-h100, count: 1}
offers:
  h100: {node_type: xe9680-h100, kind: buy, maximum: 4}
jobs:
  assistant: {fixed: {gpus: 2}, count: 3}
  claims: {fixed: {gpus: 8}}
overrides:
  two: {fleet.east.count: 2}
"""


QUOTES = """\
purchase:
  xe9680-h100: {price_usd: 350000, date: 2026-11-01, basis: published, source: "https://a.b"}
"""


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A folder with a plan made with an override, a setting, a catalog file and another gap."""
    folder = tmp_path_factory.mktemp("planned")
    (folder / "scenario.yaml").write_text(SCENARIO, encoding="utf-8")
    (folder / "quotes.yaml").write_text(QUOTES, encoding="utf-8")
    words = ("--scenario", "two", "--set", "finance.pue=1.9", "--catalog", "quotes.yaml")
    with chdir(folder):
        result = CliRunner(catch_exceptions=False).invoke(
            planner, ["plan", "scenario.yaml", *words, "--gap", "1%", "--out", "out"]
        )
    assert result.exit_code == 0, result.stderr
    return folder


@pytest.fixture
def planned(original, tmp_path, monkeypatch):
    """A copy of it to spoil, as the current folder; gives the scenario."""
    folder = tmp_path / "copy"
    copytree(original, folder)
    monkeypatch.chdir(folder)
    return Path("scenario.yaml")


def edited(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_the_same_files_and_options_give_the_same_plan(planned, run):
    result = run("replay", "out/plan.json")
    assert result.exit_code == 0, result.stderr
    assert "Identical: " in result.stdout
    assert json.loads(run("replay", "out/plan.json", "--format", "json").stdout)["parts"] == []


def test_a_plan_is_replayed_in_the_folder_in_which_it_was_made_alone(planned, run, monkeypatch):
    Path("elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    missing = run("replay", "../out/plan.json")
    assert missing.exit_code == 2
    assert "'scenario.yaml', from which it was made, is not here" in missing.stderr
    assert "'quotes.yaml', from which it was made, is not here" in missing.stderr
    assert "hint: replay it in the folder from which it was planned" in missing.stderr


def test_a_changed_input_is_named_with_the_figures_that_follow(planned, run):
    edited(planned, "count: 3", "count: 5")
    result = run("replay", "out/plan.json")
    assert result.exit_code == 1, result.stderr
    assert "Not identical: these parts of the plan differ: " in result.stdout
    assert "file          scenario.yaml  sha256 " in result.stdout
    assert "jobs.assistant.count" in result.stdout
    assert "Jobs that run" in result.stdout


def test_a_remark_and_another_order_in_an_input_change_nothing(planned, run):
    edited(planned, "name: A job", "# agreed in May\nname: A job")
    lines = planned.read_text(encoding="utf-8").splitlines(keepends=True)
    planned.write_text("".join([*lines[1:], lines[0]]), encoding="utf-8")
    result = run("replay", "out/plan.json")
    assert result.exit_code == 0, result.stdout


def test_a_catalog_file_of_the_users_is_an_input_as_well(planned, run):
    edited(Path("quotes.yaml"), "350000", "360000")
    found = json.loads(run("replay", "out/plan.json", "--format", "json").stdout)
    assert [one["name"] for one in found["origins"]] == ["quotes.yaml"]


def test_other_versions_are_named(planned, run, monkeypatch):
    monkeypatch.setattr("planner.version.__version__", "9.9")
    result = run("replay", "out/plan.json", "--format", "markdown")
    assert result.exit_code == 1
    assert "| version | planner | " in result.stdout
    assert " | 9.9 |" in result.stdout


def test_a_plan_edited_by_hand_is_refused_by_every_reader(planned, run):
    edited(Path("out/plan.json"), '"kind":', '"kind": ')
    assert run("replay", "out/plan.json").exit_code == 0, "spacing is no content"
    edited(Path("out/plan.json"), '"xe9680-h100"', '"xe9680-h200"')
    readers = (
        ("replay", "out/plan.json"),
        ("explain", "out/plan.json", "claims"),
        ("compare", "out/plan.json", "scenario.yaml"),
        ("report", "out/plan.json", "--out", "report"),
    )
    for words in readers:
        result = run(*words)
        assert result.exit_code == 2, words
        assert "was changed after the planner had written it" in result.stderr
        assert result.stdout == ""


def test_parts_that_do_not_fit_each_other_fail_the_check_of_a_replay(planned, run):
    path = Path("out/plan.json")
    document = json.loads(path.read_text(encoding="utf-8"))
    document["quarters"] = []
    path.write_text(sealed(json.dumps(document)), encoding="utf-8")
    result = run("replay", path)
    assert (result.exit_code, result.stdout) == (5, "")
    assert "its parts do not fit each other" in result.stderr


def test_a_forged_figure_with_a_right_digest_does_not_survive_the_replay(planned, run):
    path = Path("out/plan.json")
    document = json.loads(path.read_text(encoding="utf-8"))
    document["proof"]["cost_cents"] -= 100
    path.write_text(sealed(json.dumps(document)), encoding="utf-8")
    result = run("replay", path)
    assert result.exit_code == 1
    assert "these parts of the plan differ: proof" in result.stdout
    assert "All input files and versions are as recorded." in result.stdout


def test_the_earlier_plan_that_says_what_runs_today_is_an_input(planned, run):
    Path("next.yaml").write_text(SCENARIO.replace("2027Q1", "2027Q2"), encoding="utf-8")
    result = run("plan", "next.yaml", "--from", "out/plan.json", "--out", "next")
    assert result.exit_code == 0, result.stderr
    assert run("replay", "next/plan.json").exit_code == 0
    assert run("plan", planned, "--out", "out", "--force").exit_code == 0
    found = json.loads(run("replay", "next/plan.json", "--format", "json").stdout)
    assert [one["name"] for one in found["origins"]] == ["out/plan.json"]


def test_inputs_that_have_no_plan_any_more_end_as_planning_does(planned, run):
    edited(planned, "count: 3", "count: 30")
    edited(planned, "maximum: 4", "maximum: 1")
    result = run("replay", "out/plan.json")
    assert result.exit_code == 3, result.stderr
    assert "out/plan.json, made again: no plan exists" in result.stderr
    assert result.stdout == ""


ALONE = ("--jobs", "1")


NOBODY = "import os; os.environ.pop('HOME', None)\nfrom planner.cli.app import main\nmain()"


@pytest.fixture
def written(scenario, process, tmp_path, monkeypatch):
    """`written("here", TZ="UTC")`: files of plan and report, and what plan says."""
    text = scenario.read_text(encoding="utf-8")

    def write(folder, **env):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        Path("scenario.yaml").write_text(text, encoding="utf-8")
        printed = []
        for command in (("plan", "scenario.yaml"), ("report", "out/plan.json", *ALONE)):
            result = process(*command, "--out", "out", code=NOBODY, **env)
            assert result.returncode == 0, result.stderr
            printed.append(result.stdout)
        return {path.name: path.read_bytes() for path in Path("out").iterdir()}, printed[0]

    return write


def test_folder_hash_seed_time_zone_and_locale_change_no_byte_of_any_document(written):
    first, _ = written("one", PYTHONHASHSEED="1", TZ="Pacific/Chatham")
    plain = {"LC_ALL": "C", "TZ": "UTC", "COLUMNS": "40"}
    second, narrow = written("two", PYTHONHASHSEED="2", **plain)
    assert narrow.isascii()
    assert max(map(len, narrow.splitlines())) <= 40
    assert {Path(name).suffix for name in first} >= {".json", ".md", ".html", ".xlsx"}
    assert [name for name in first if first[name] != second[name]] == []
    assert json.loads(first["plan.json"])["provenance"]["files"][0][1] == "scenario.yaml"
