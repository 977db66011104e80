"""The public Python API: examples that run, values, errors, and what it promises."""

from __future__ import annotations

import doctest
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest
import yaml

import planner
from planner import api

ROOT = Path(__file__).parents[2]
QUICKSTART = ROOT / "scenarios/quickstart.yaml"
DEARER = {"jobs.support-assistant.count.2027Q3": 12}


@pytest.fixture(scope="module")
def made():
    return planner.plan(QUICKSTART)


@pytest.fixture
def from_root(monkeypatch):
    monkeypatch.chdir(ROOT)


def test_the_examples_of_the_page_run(from_root):
    assert not doctest.testfile(str(ROOT / "docs/python.md"), module_relative=False).failed


def test_the_examples_of_the_functions_run(from_root):
    assert doctest.testmod(api).attempted > 5
    assert not doctest.testmod(api).failed


def test_all_public_names_are_listed_and_there():
    assert set(planner.__all__) <= set(dir(planner))
    for name in planner.__all__:
        assert getattr(planner, name).__doc__, name
    with pytest.raises(AttributeError, match="no attribute 'plans'"):
        planner.plans  # noqa: B018


def test_the_import_alone_loads_no_solver():
    slow = ("pulp", "highspy", "pydantic")
    code = f"import sys, planner; print([name for name in {slow} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout == "[]\n"


def test_a_dict_text_and_a_file_give_the_same_plan(made):
    text = QUICKSTART.read_text(encoding="utf-8")
    for source in (yaml.safe_load(text), text, str(QUICKSTART)):
        assert planner.compare(made, planner.plan(source)).same


def test_values_are_changed_as_on_the_command_line():
    scenario = planner.load(QUICKSTART, {"jobs.support-assistant.count.2027Q3": 4})
    assert scenario.rows()[0]["2027Q3"] == 4
    assert scenario.changed({"policies.headroom": Decimal("0.2")}).rows()[0]["2027Q3"] == 4
    listed = scenario.changed({"jobs.embeddings.gpu_types": ["h100-80gb-sxm"]})
    kept = [row for row in planner.size(listed).rows() if row["job"] == "embeddings"]
    assert {row["gpu_type"] for row in kept if not row["rejected_by"]} == {"h100-80gb-sxm"}


def test_a_mistake_in_a_dict_is_told_by_its_path_and_not_by_a_file():
    document = yaml.safe_load(QUICKSTART.read_text(encoding="utf-8"))
    document["jobs"]["embeddings"]["fixed"]["cpsu"] = 3
    (finding,) = planner.check(document)
    assert finding.headline() == "jobs.embeddings.fixed.cpsu: unknown key 'cpsu'"
    assert finding.hint is not None
    assert "cpus" in finding.hint
    with pytest.raises(planner.InputError, match="cpsu"):
        planner.plan(document)


def test_a_mistake_in_a_file_is_told_with_its_place(tmp_path):
    path = tmp_path / "mine.yaml"
    text = QUICKSTART.read_text(encoding="utf-8").replace("kind: rent", "kind: rnt")
    path.write_text(text, encoding="utf-8")
    finding = planner.check(path)[0]
    assert (finding.file, finding.path) == (str(path), "offers.rent-h200.kind")
    assert finding.line is not None
    assert planner.check(QUICKSTART) == ()


def test_what_no_plan_can_do_is_an_exception_with_its_reasons():
    with pytest.raises(planner.InfeasibleError) as caught:
        planner.plan(QUICKSTART, {"budget.capex_usd": 0, "offers.rent-h200.maximum": 0})
    assert caught.value.headline.startswith("no plan exists")
    assert caught.value.remedies


def test_a_plan_is_written_read_and_not_overwritten(made, tmp_path):
    paths = made.write(tmp_path)
    assert [path.name for path in paths] == ["plan.json", "plan.md"]
    again = planner.read_plan(paths[0])
    assert again.changed_since == ()
    assert again.rows() == made.rows()
    assert made.write(tmp_path) == paths, "what is there already is no other"
    other = planner.plan(QUICKSTART, DEARER)
    with pytest.raises(planner.InputError, match="is there already"):
        other.write(tmp_path)
    other.write(tmp_path, force=True)
    assert planner.read_plan(paths[0]).cost_usd == other.cost_usd != made.cost_usd


def test_a_changed_plan_is_refused(made, tmp_path):
    path, _ = made.write(tmp_path)
    cost = f'"cost_cents": {made.data.proof.cost_cents}'
    text = path.read_text(encoding="utf-8")
    assert cost in text
    path.write_text(text.replace(cost, '"cost_cents": 1', 1), encoding="utf-8")
    with pytest.raises(planner.PlannerError):
        planner.read_plan(path)
    with pytest.raises(planner.InputError, match="cannot be read"):
        planner.read_plan(tmp_path / "none.json")


def test_every_value_shows_itself(made, tmp_path):
    scenario = planner.load(QUICKSTART)
    values = [
        scenario,
        planner.size(scenario),
        made,
        planner.compare(made, scenario.changed({"jobs.support-assistant.count.2027Q3": 4})),
        planner.alternatives(scenario, all_goals=False, workers=1),
        planner.sensitivity(scenario, pairs=0, workers=1),
    ]
    for value in values:
        assert repr(value).startswith(f"<{type(value).__name__} ")
        assert "\n" not in repr(value)
        assert value._repr_html_().startswith("<h1")
        assert value.to_markdown().startswith("#")
        rows = value.rows()
        assert rows
        assert all(row.keys() == rows[0].keys() for row in rows)
        written = value.write(tmp_path / type(value).__name__)
        assert {path.name for path in written} == set(value.files())


def test_costs_of_a_comparison_add_up(made):
    other = planner.plan(QUICKSTART, DEARER)
    compared = planner.compare(made, other)
    *parts, whole = compared.rows()
    assert sum(row["difference_usd"] for row in parts) == whole["difference_usd"]
    assert whole["difference_usd"] == other.cost_usd - made.cost_usd
    assert compared.cost_difference_usd == whole["difference_usd"] > 0


def test_tables_go_to_libraries_that_are_installed(made, monkeypatch):
    class Frames:
        @staticmethod
        def DataFrame(rows):  # noqa: N802 - as these libraries call it
            return list(rows)

    for name, how in (("pandas", made.to_pandas), ("polars", made.to_polars)):
        monkeypatch.setitem(sys.modules, name, Frames)
        assert how() == made.rows()
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(ImportError, match=f"pip install {name}"):
            how()


def test_documents_and_exports_are_written(made, tmp_path):
    paths = planner.report(made, tmp_path / "report")
    assert {path.name for path in paths} == {
        f"{name}.{kind}"
        for name in ("justification", "quarterly")
        for kind in ("html", "xlsx", "md")
    }
    (flavors,) = planner.export(made, "kueue", tmp_path, quarter="2027Q3")
    assert "ResourceFlavor" in flavors.read_text(encoding="utf-8")
    with pytest.raises(planner.InputError, match="'slurm' is not one of"):
        planner.export(made, "slurm", tmp_path)  # type: ignore[arg-type]


def test_a_sweep_and_futures_are_planned_into_a_folder(tmp_path):
    (tmp_path / "base.yaml").write_bytes(QUICKSTART.read_bytes())
    grid = tmp_path / "grid.yaml"
    grid.write_text(
        "format: 1\nscenario: base.yaml\n"
        "grid: {set: {jobs.support-assistant.count.2027Q3: [4, 6]}}\n",
        encoding="utf-8",
    )
    rows = planner.sweep(grid, tmp_path / "sweep", workers=1).rows()
    assert len(rows) == 2
    assert len(planner.sweep(grid, tmp_path / "sweep", workers=1).rows()) == 2
    futures = tmp_path / "futures.yaml"
    futures.write_text(
        "format: 1\nscenario: base.yaml\nseed: 1\n"
        "uncertain: {rents: {times: [0.9, 1, 1.2], of: [offers.buy-h200.lead_time_weeks]}}\n",
        encoding="utf-8",
    )
    risk = planner.risk(futures, tmp_path / "risk", samples=2, plans=0, workers=1)
    assert risk.data.futures == 2
    assert [row["percentile"] for row in risk.rows()] == list(risk.data.percentiles)
