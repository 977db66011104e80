"""`import planner`: what goes in, what comes out, and what is said where it cannot."""

import inspect
import json
import shutil
import subprocess
import sys
import types
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import planner
from planner.planning.store import digest_of

ROOT = Path(__file__).parents[2]
QUICKSTART = ROOT / "scenarios/quickstart.yaml"

SMALL = {
    "format": 1,
    "name": "Two nodes",
    "horizon": {"first_quarter": "2027Q1", "quarters": 2, "as_of": "2026-11-23"},
    "fleet": {"east": {"node_type": "xe9680-h100", "count": 1}},
    "offers": {"rent": {"node_type": "xe9680-h200", "kind": "rent", "maximum": 2}},
    "jobs": {"chat": {"serve": {"model": "llama-3.1-70b", "bits": 8}, "count": 5}},
}


@pytest.fixture(scope="module")
def small() -> planner.PlanResult:
    return planner.plan(SMALL)


def test_importing_it_loads_nothing_else_and_no_module_takes_the_name_of_a_function():
    code = "import sys, planner; print(*(m for m in sys.modules if m.startswith('planner.')))\n"
    code += "import planner.planning.make, planner.reporting.documents\n"
    code += "print(callable(planner.plan), callable(planner.report))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded, functions = done.stdout.splitlines()
    assert set(loaded.split()) == {"planner.errors", "planner.version"}
    assert functions == "True True"


def test_dir_lists_what_is_public_and_star_gives_it():
    given: dict[str, object] = {}
    exec("from planner import *", given)
    assert set(dir(planner)) == set(planner.__all__) == set(given) - {"__builtins__"}
    with pytest.raises(AttributeError, match="no attribute 'pla'"):
        planner.pla  # noqa: B018


def test_what_is_public_says_what_it_is():
    for name in {*planner.__all__} - {"__version__"}:
        given = getattr(planner, name)
        assert inspect.getdoc(given), name
        for method, value in vars(given).items():
            if not method.startswith("_") and callable(value):
                assert inspect.getdoc(getattr(given, method)), f"{name}.{method}"


def test_a_dict_text_and_a_file_ask_the_same(small, tmp_path):
    text = json.dumps(SMALL, indent=1)
    file = tmp_path / "small.yaml"
    file.write_text(text, encoding="utf-8")
    scenarios = [planner.load(source) for source in (text, file, str(file), SMALL)]
    assert {one.rows()[0]["2027Q1"] for one in scenarios} == {5}
    told: list[str] = []
    plan = planner.plan(file, program=True, progress=told.append)
    assert plan.cost_usd == small.cost_usd
    assert plan.to_dict()["question"] == small.to_dict()["question"]
    assert "Minimize" in (plan.program or "")
    assert "sizing jobs" in told


def test_numbers_are_read_as_python_and_pyyaml_have_them():
    stated = {**SMALL, "policies": {"headroom": np.float64(0.1)}}
    stated["jobs"] = {
        "tune": {
            "count": np.int64(1),
            "tune": {
                **{"model": "llama-3.1-8b", "method": "lora", "sequence": 1024, "batch": 4},
                "dataset_tokens": "5e7",  # PyYAML's text for 5e7
            },
        }
    }
    assert "headroom: 0.1 " in planner.load(stated).to_yaml()
    assert "dataset_tokens: 50000000 " in planner.load(stated).to_yaml()


def test_changes_are_a_mapping_or_settings_as_on_the_command_line():
    by_path = planner.load(SMALL, set={"fleet.east.count": 2, "policies.headroom": 0.2})
    as_written = planner.load(SMALL, set=["fleet.east.count=2", "policies.headroom=0.2"])
    assert by_path.changes == as_written.changes
    assert [one["after"] for one in by_path.changes] == ["2", "0.2"]


def test_overrides_of_a_file_are_applied_by_name():
    varied = {**SMALL, "overrides": {"two": {"fleet.east.count": 2}}}
    scenario = planner.load(varied)
    assert scenario.variations == ("two",)
    assert scenario.changed(apply="two").changes[0]["by"] == "override two"
    assert planner.load(varied, apply=["two"]).changes == scenario.changed(apply="two").changes


def test_an_argument_that_there_is_not_is_refused():
    with pytest.raises(TypeError, match="unexpected keyword argument 'sett'"):
        planner.load(SMALL, sett={})  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'gpa'"):
        planner.sensitivity(SMALL, gpa=0.1)  # type: ignore[call-arg]


def test_a_dict_that_holds_itself_is_refused():
    stated = {**SMALL}
    stated["jobs"] = stated
    with pytest.raises(planner.InputError, match="holds itself"):
        planner.load(stated)


def test_what_no_file_can_hold_is_refused_by_its_path():
    fixed = {"gpus": 1, "cpus": b"8"}
    with pytest.raises(planner.InputError, match="no bytes") as caught:
        planner.load({"format": 1, "jobs": {"one": {"fixed": fixed}}})
    assert [one.path for one in caught.value.findings] == ["jobs.one.fixed.cpus"]


def test_a_mistake_in_a_dict_is_told_by_its_path_alone():
    wrong = json.loads(json.dumps(SMALL))
    wrong["jobs"]["chat"]["serve"]["bits"] = "eight"
    wrong["polices"] = {}
    with pytest.raises(planner.InputError) as told:
        planner.load(wrong)
    assert {one.path for one in told.value.findings} == {"jobs.chat.serve.bits", "polices"}
    assert {one.file for one in told.value.findings} == {None}
    assert {one.line for one in told.value.findings} == {None}
    (typo,) = (one for one in told.value.findings if one.path == "polices")
    assert typo.hint == "did you mean 'policies'?"
    assert "polices: unknown key 'polices'\n  hint: did you mean 'policies'?" in str(told.value)


def test_a_mistake_in_text_or_a_file_is_told_with_its_line(tmp_path):
    text = json.dumps(SMALL, indent=1).replace('"bits": 8', '"bits": "eight"')
    file = tmp_path / "wrong.yaml"
    file.write_text(text, encoding="utf-8")
    line = text[: text.index("eight")].count("\n") + 1
    for source, shown_as in ((text, "<text>"), (file, str(file))):
        with pytest.raises(planner.InputError) as told:
            planner.load(source)
        (finding,) = told.value.findings
        assert (finding.file, finding.line, finding.path) == (
            *(shown_as, line),
            "jobs.chat.serve.bits",
        )


def test_checking_tries_overrides_that_loading_does_not_need():
    broken = {**SMALL, "overrides": {"none": {"fleet.east.count": -1}}}
    planner.load(broken)
    with pytest.raises(planner.InputError) as told:
        planner.check(broken)
    assert [one.path for one in told.value.findings] == ["fleet.east.count"]


def test_a_scenario_elsewhere_names_its_own_catalog(tmp_path, monkeypatch):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "prices.yaml").write_text(
        "rent: {xe9680-h200: {usd_per_gpu_hour: 1, date: 2026-11-01, basis: published, "
        "source: 'https://example.com/quote'}}\n",
        encoding="utf-8",
    )
    stated = {**SMALL, "use": {"catalog": ["prices.yaml"]}}
    (folder / "scenario.yaml").write_text(json.dumps(stated, indent=1), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    plan = planner.plan("elsewhere/scenario.yaml", set={"jobs.chat.count": 9})
    assert Path("elsewhere/prices.yaml") in plan.read_from
    assert {one["price_origin"].endswith("example.com/quote") for one in plan.purchases} == {True}


def test_a_plan_says_what_it_comes_to(small):
    document = small.to_dict()
    assert small.status == document["proof"]["status"] == "proved"
    assert small.cost_usd == document["proof"]["cost_cents"] / 100
    assert small.bound_usd <= small.cost_usd
    assert small.quarters == ("2027Q1", "2027Q2")
    assert sum(line["present_usd"] for line in small.costs) == pytest.approx(small.cost_usd)
    assert [job["2027Q1"] for job in small.jobs] == [5]
    assert small.warnings
    assert small.program is None


def test_results_are_told_in_a_few_lines_rows_and_a_page(small):
    results = (small, planner.load(SMALL), planner.explain(small, "chat"), planner.catalog("gpus"))
    for result in results:
        assert 1 <= len(repr(result).splitlines()) <= 5
        rows = result.rows()
        assert len({tuple(row) for row in rows}) == 1, "all rows have the same columns"
        assert all(
            not isinstance(value, list | dict | tuple) for row in rows for value in row.values()
        )
        page = _Page()
        page.feed(result._repr_html_())
        assert not page.open
        assert "html" not in page.met
        assert {"div", "style", "table"} <= page.met
        assert json.loads(result.to_json()) == result.to_dict()


class _Page(HTMLParser):
    """Which elements there are, and whether all of them end."""

    def __init__(self) -> None:
        super().__init__()
        self.met: set[str] = set()
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.met.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_style_of_a_page_in_a_notebook_reaches_nothing_else(small):
    page = small._repr_html_()
    style = page[page.index("<style>") : page.index("</style>")]
    assert style.startswith("<style>@scope (.gpu-fit-planner){")
    assert "body" not in style.replace("tbody", "")
    assert ":root" not in style


def test_frames_are_made_where_the_library_is_installed(small, monkeypatch):
    made = types.SimpleNamespace(DataFrame=lambda rows, **options: ("frame", rows))
    monkeypatch.setitem(sys.modules, "pandas", made)
    assert small.to_pandas() == ("frame", small.rows())
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match="pip install polars"):
        small.to_polars()


def test_no_result_overwrites_what_it_was_made_from(tmp_path):
    scenario = tmp_path / "scenario.yaml"
    shutil.copy(QUICKSTART, scenario)
    with pytest.raises(planner.InputError, match="is an input"):
        planner.load(scenario).write(tmp_path, overwrite=True)


def test_a_saved_plan_is_read_from_a_file_text_or_dict_and_checked(small, tmp_path, recwarn):
    small.write(tmp_path)
    for source in (tmp_path / "plan.json", small.to_json(), small.to_dict()):
        assert planner.read_plan(source).to_json() == small.to_json()
    assert not recwarn.list, "a dict has no file that could have changed"
    edited = small.to_dict()
    edited["proof"]["cost_cents"] -= 100
    with pytest.raises(planner.InputError, match="changed"):
        planner.read_plan(edited)


def test_a_report_shows_results_of_its_own_question_only(small, tmp_path):
    alternatives = planner.alternatives(SMALL, within=0.01)
    made = planner.report(small, alternatives=alternatives)
    assert made.alternatives is alternatives
    written = {path.name for path in made.write(tmp_path)}
    assert {"justification.html", "quarterly.xlsx", "alternatives.json"} <= written
    kept = planner.AlternativesResult.read(tmp_path / "alternatives.json")
    assert kept.rows() == alternatives.rows()
    other = planner.plan(SMALL, set={"jobs.chat.count": 2})
    with pytest.raises(planner.InputError, match="another scenario"):
        planner.report(other, alternatives=alternatives)


def test_a_report_plans_no_more_than_it_is_told_to(small):
    assert planner.report(small, what_if="none").alternatives is None
    options = planner.report(small).alternatives
    assert options is not None
    assert not options.whole


def test_a_sweep_in_python_gives_the_table_of_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("scenario.yaml").write_text(json.dumps(SMALL, indent=1), encoding="utf-8")
    asked = {"grid": {"set": {"jobs.chat.count": [2, 5]}}}
    found = planner.sweep(asked, "scenario.yaml", out="out", workers=2)
    assert [row["jobs.chat.count"] for row in found.rows()] == [2, 5]
    table = Path("out/sweep.csv").read_text(encoding="utf-8").splitlines()
    assert table[0].split(",") == list(found.rows()[0])
    again = planner.sweep(asked, SMALL)
    assert [row["cost_usd"] for row in again.rows()] == [row["cost_usd"] for row in found.rows()]
    changed = planner.load(SMALL, set={"jobs.chat.count": 2})
    (kept,) = planner.sweep({"rows": [{}]}, changed).rows()
    assert kept["cost_usd"] == found.rows()[0]["cost_usd"], "what was changed holds in every row"
    with pytest.raises(planner.InputError, match="there already"):
        planner.sweep(asked, "scenario.yaml", out="out")


def test_a_mistake_in_a_grid_or_futures_of_a_dict_is_told_by_its_path():
    grid = {"grid": {"set": {"fleet.east.cuont": [1]}}}
    futures = {"uncertain": {"growth": {"of": ["jobs.chat.cuont"], "times": [1, 2, 3]}}}
    for ask, asked, path in (
        (planner.sweep, grid, "grid.set.'fleet.east.cuont'[0]"),
        (planner.risk, futures, "uncertain.growth.of[0]"),
    ):
        with pytest.raises(planner.InputError) as told:
            ask(asked, SMALL)
        (finding,) = told.value.findings
        assert (finding.file, finding.line, finding.path) == (None, None, path)


def test_units_stay_as_they_are_numbered_in_the_order_in_which_they_run():
    running = [{"job": "chat", "node": f"xe9680-h100/main/{number}"} for number in ("03", "01")]
    stated = {
        **SMALL,
        "fleet": {"east": {"node_type": "xe9680-h100", "count": 3}},
        "jobs": {"chat": {"fixed": {"gpus": 8}, "count": 2, "pinned": True}},
    }
    made = planner.plan({**stated, "running": running})
    assert planner.read_plan(made.to_json()).checked
    other = planner.plan({**stated, "running": running[::-1]})
    assert [one["path"] for one in planner.compare(made, other).inputs] == ["running"]


BASE_WITH_PRICES = """\
format: 1
name: base
horizon: {first_quarter: 2027Q1, quarters: 2}
use: {catalog: [own/prices.yaml]}
offers: {rent: {node_type: xe9680-h200, kind: rent}}
jobs: {chat: {fixed: {gpus: 8}}}
"""


@pytest.fixture(params=["base.yaml", "deep/base.yaml", "../base.yaml"])
def extended(request, tmp_path, monkeypatch):
    """A scenario whose base lies beside it, below it or above it, and names a catalog."""
    monkeypatch.chdir(tmp_path)
    base = Path("here", request.param)
    (base.parent / "own").mkdir(parents=True)
    Path("here").mkdir(exist_ok=True)
    base.write_text(BASE_WITH_PRICES, encoding="utf-8")
    (base.parent / "own/prices.yaml").write_text(
        "rent: {xe9680-h200: {usd_per_gpu_hour: 1, date: 2026-11-01, basis: published, "
        "source: 'https://example.com/quote'}}\n",
        encoding="utf-8",
    )
    path = Path("here/scenario.yaml")
    path.write_text(f"extends: {request.param}\nname: extended\n", encoding="utf-8")
    return path


def test_a_plan_finds_the_files_that_a_base_in_another_folder_uses(extended, recwarn):
    made = planner.plan(extended)
    assert planner.read_plan(made.to_json()).checked
    assert planner.replay(made).identical
    changed = planner.load(extended).changed(set={"jobs.chat.fixed.gpus": 4})
    (row,) = planner.sweep({"rows": [{}]}, changed, workers=2).rows()
    assert row["cost_usd"] == made.cost_usd
    assert not recwarn.list


def test_no_text_but_a_plan_names_files_in_the_folder_above(tmp_path, monkeypatch):
    (tmp_path / "below").mkdir()
    (tmp_path / "prices.yaml").write_text("rent: {}\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path / "below")
    with pytest.raises(planner.InputError, match="leads out of"):
        planner.load({**SMALL, "use": {"catalog": ["../prices.yaml"]}})


def test_a_plan_in_memory_that_another_continues_is_recorded_as_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("first.yaml").write_text(json.dumps(SMALL, indent=1), encoding="utf-8")
    later = {**SMALL, "horizon": {"first_quarter": "2027Q2", "quarters": 2}}
    first = planner.plan("first.yaml")
    recorded = []
    for previous in (first, first.to_dict(), planner.read_plan(first.write(tmp_path)[0])):
        files = planner.plan(later, previous=previous).to_dict()["provenance"]["files"]
        recorded += [path for role, path, _ in files if role == "placement"]
    assert recorded == ["<dict>", "<dict>", str(tmp_path / "plan.json")]


def test_units_of_a_scenario_are_those_of_its_plan():
    jobs = {"chat": {"serve": {"model": "llama-3.1-8b", "replicas": 3}, "count": 2}}
    scenario = planner.load({**SMALL, "jobs": jobs})
    (row,) = scenario.rows()
    (job,) = planner.plan(scenario).to_dict()["jobs"]
    assert [row["2027Q1"], row["2027Q2"]] == job["units"] == [6, 6]


def test_a_plan_as_a_dict_is_compared(small):
    assert planner.compare(small.to_dict(), small).added_usd == 0


def test_a_result_of_another_major_format_is_refused(tmp_path):
    file = tmp_path / "alternatives.json"
    planner.alternatives(SMALL, within=0.01).write(tmp_path)
    document = json.loads(file.read_text(encoding="utf-8"))
    del document["digest"]
    document["format"] = "9.0"
    file.write_text(json.dumps({**document, "digest": digest_of(document)}), encoding="utf-8")
    with pytest.raises(planner.InputError, match=r"has format 9\.0, this planner reads 2\.0"):
        planner.AlternativesResult.read(file)
