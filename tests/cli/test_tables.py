"""`planner import` and `planner export` as a user meets them."""

from pathlib import Path

import pytest
import yaml
from openpyxl import Workbook


def test_a_portfolio_goes_out_and_comes_back(run, scenario):
    assert run("export", "portfolio", scenario, "--out", "out").exit_code == 0
    result = run("import", "out/portfolio.csv", "--out", "part.yaml")
    assert result.exit_code == 0, result.stderr
    assert "cells are parted by commas" in result.stderr
    whole = yaml.safe_load(scenario.read_text(encoding="utf-8"))
    del whole["jobs"]
    Path("again.yaml").write_text(
        yaml.safe_dump({**whole, "extends": "part.yaml"}), encoding="utf-8"
    )
    compared = run("compare", scenario, "again.yaml", "--exit-code")
    assert compared.exit_code == 0, compared.stdout + compared.stderr


def test_a_section_of_a_table_may_say_true_or_false(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tune = "tune: {model: llama-3.1-8b, method: lora, deploy:"
    Path("s.yaml").write_text(
        "format: 1\nname: s\nhorizon: {first_quarter: 2027Q1, quarters: 1}\n"
        "fleet: {own: {node_type: xe9680-h100, count: 1}}\n"
        f"jobs:\n  a: {{{tune} true}}}}\n  b: {{{tune} false}}}}\n"
        f"  c: {{{tune} {{replicas: 2}}}}}}\n",
        encoding="utf-8",
    )
    assert run("export", "portfolio", "s.yaml", "--out", ".").exit_code == 0
    assert run("import", "portfolio.csv", "--out", "part.yaml").exit_code == 0
    jobs = yaml.safe_load(Path("part.yaml").read_text(encoding="utf-8"))["jobs"]
    assert [job["tune"].get("deploy") for job in jobs.values()] == [{}, None, {"replicas": 2}]


def test_a_workbook_is_known_by_its_content(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    book = Workbook()
    for row in (["job", "fixed.gpus"], ["a", 2]):
        book.worksheets[0].append(row)
    book.save("jobs.csv")
    assert run("import", "jobs.csv", "--out", "part.yaml").exit_code == 0
    assert "a: {fixed: {gpus: 2}}" in Path("part.yaml").read_text(encoding="utf-8")


def test_hidden_rows_of_a_workbook_are_told(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    book = Workbook()
    for row in (["job", "fixed.gpus"], ["a", 2], ["b", 3]):
        book.worksheets[0].append(row)
    book.worksheets[0].row_dimensions[3].hidden = True
    book.save("jobs.xlsx")
    told = run("import", "jobs.xlsx", "--out", "part.yaml")
    assert told.exit_code == 0
    assert "warning: jobs.xlsx: hidden row 3 of sheet 'Sheet': read like all others" in told.stderr


def test_names_that_no_shipped_file_has_are_told_once_each(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("p.csv").write_text(
        "job,serve.model,gpu_types\na,lama-3.1-8b,[h100]\nb,lama-3.1-8b,\nc,llama-3.1-8b,\n",
        encoding="utf-8",
    )
    result = run("import", "p.csv", "--out", "jobs.yaml")
    assert result.exit_code == 0
    told = [line for line in result.stderr.splitlines() if line.startswith("warning")]
    assert len(told) == 2
    types, models = sorted(told)
    assert "jobs.a.gpu_types[0]: GPU type 'h100' is ambiguous in the shipped catalog" in types
    assert "jobs.a.serve.model and of 1 other job: unknown model 'lama-3.1-8b' in the" in models
    assert "did you mean 'llama-3.1-8b'" in models


def test_a_row_of_sums_that_would_be_a_job_is_told(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("p.csv").write_text("job,fixed.gpus\na,1\nb,2\nTotal,3\n", encoding="utf-8")
    result = run("import", "p.csv", "--out", "jobs.yaml")
    assert result.exit_code == 0
    assert "p.csv: 'Total' is read as a job: delete the row there if it sums up" in result.stderr


@pytest.mark.parametrize("name", ["meta-llama/Llama-3.1-8B-Instruct", "Meta-Llama-3.1-8B"])
def test_models_go_by_the_names_that_they_are_published_under(run, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"2027-01-04 10:0{minute}:00,{name},100,20\n" for minute in range(9))
    Path("t.csv").write_text(
        f"timestamp,model,prompt_tokens,completion_tokens\n{rows}", encoding="utf-8"
    )
    assert run("import", "t.csv", "--out", "jobs.yaml").exit_code == 0
    (job,) = yaml.safe_load(Path("jobs.yaml").read_text(encoding="utf-8"))["jobs"].values()
    assert job["serve"]["model"] == "llama-3.1-8b"


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


def test_the_template_is_a_table_to_start_from(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    short, full = (run("import", "--template", *more).stdout for more in ((), ("--full",)))
    columns, every = (set(text.splitlines()[0].split(",")) for text in (short, full))
    assert columns < every
    assert len(columns) <= 16
    Path("mine.csv").write_text(short, encoding="utf-8-sig")
    assert run("import", "mine.csv", "--out", "part.yaml").exit_code == 0
    Path("scenario.yaml").write_text(
        "format: 1\nname: x\nextends: part.yaml\nhorizon: {first_quarter: 2027Q1, quarters: 2}\n"
        "fleet: {a: {node_type: xe9680-h100, count: 3}}\n",
        encoding="utf-8",
    )
    assert run("plan", "scenario.yaml").exit_code == 0
