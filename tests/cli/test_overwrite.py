"""No command overwrites a file unless that is asked for, whoever has written it."""

import os
from contextlib import chdir
from pathlib import Path
from shutil import copytree

import click
import pytest
from click.testing import CliRunner

from planner.cli.app import planner
from planner.packing import solver
from tests.cli.test_commands import all_commands

MINE = "written by hand\n"
SCENARIO = """\
format: 1
name: One job
horizon: {first_quarter: 2027Q1, quarters: 1, as_of: 2026-07-01}
fleet: {east: {node_type: xe9680-h100, count: 1}}
offers: {h200: {node_type: xe9680-h200, kind: buy}}
jobs: {claims: {fixed: {gpus: 4}, count: 3}}
"""
GRID = "format: 1\nscenario: scenario.yaml\ngrid: {set: {finance.pue: [1.2, 1.5]}}\n"
FUTURES = """\
format: 1
scenario: scenario.yaml
uncertain: {demand: {times: [1, 1, 2], of: [jobs.claims.count]}}
"""
TABLE = "job,fixed.gpus\na,1\n"
ALONE = ("--jobs", "1")
COMMANDS = {
    "plan": ("plan", "scenario.yaml"),
    "compare": ("compare", "scenario.yaml", "scenario.yaml"),
    "sweep": ("sweep", "grid.yaml", *ALONE),
    "risk": ("risk", "futures.yaml", "--samples", "2", *ALONE),
    "sensitivity": ("sensitivity", "scenario.yaml", "--precision", "50%", *ALONE),
    "alternatives": ("alternatives", "scenario.yaml", *ALONE),
    "report": ("report", "out/plan.json", "--since", "out/plan.json", *ALONE),
    "watsonx": ("export", "watsonx", "out/plan.json"),
    "kueue": ("export", "kueue", "out/plan.json"),
    "kubernetes": ("export", "kubernetes", "out/plan.json"),
    "portfolio": ("export", "portfolio", "scenario.yaml"),
}
TO = ("--out", "new")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A scenario with its plan, made once, and files that other commands read."""
    folder = tmp_path_factory.mktemp("asked")
    texts = {"scenario": SCENARIO, "grid": GRID, "futures": FUTURES}
    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    (folder / "table.csv").write_text(TABLE, encoding="utf-8")
    with chdir(folder):
        done = CliRunner().invoke(planner, ["plan", "scenario.yaml", "--out", "out"])
    assert done.exit_code == 0, done.stderr
    return folder


@pytest.fixture
def scenario(folder, tmp_path, monkeypatch):
    copytree(folder, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")
    return Path("scenario.yaml")


@pytest.fixture
def asked(scenario, run, monkeypatch):
    """`asked("plan")` runs a command into `new`; with `solving=False` none may begin to plan."""
    assert scenario.is_file()
    stops = [solver._WatchedHighs, "callSolver", lambda *_: pytest.fail("planned")]

    def start(name, *words, solving=True):
        with monkeypatch.context() as patched:
            if not solving:
                patched.setattr(*stops)
            return run(*COMMANDS[name], *TO, *words)

    return start


def contents(folder="new"):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file()
    }


def test_every_command_that_writes_can_be_told_to_overwrite():
    for words, command in all_commands():
        options = {one.name: one for one in command.params if isinstance(one, click.Option)}
        assert ("out" in options) == ("force" in options), words


@pytest.mark.parametrize("name", COMMANDS)
def test_a_file_that_is_there_already_stays_and_is_told_before_anything_is_planned(name, asked):
    first = asked(name)
    assert first.exit_code == 0, first.stderr
    written = contents()
    there = [one for one in written if "results" not in one]
    for one in there:
        Path("new", one).write_text(MINE, encoding="utf-8")
    Path("new/notes.txt").write_text(MINE, encoding="utf-8")
    before = contents()
    refused = asked(name, solving=False)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert contents() == before
    told = refused.stderr
    assert told.count("error:") == 1
    assert " there already\n" in told
    assert "`--force`" in told
    for one in set(there) - {"alternatives.json"}:
        assert f"new/{one}" in told, told
    again = asked(name, "--force")
    assert again.exit_code == 0, again.stderr
    assert contents() == {**written, "notes.txt": MINE.encode()}


def test_an_import_overwrites_nothing_either(asked, run):
    words = ("import", "table.csv", "--out", "jobs.yaml")
    Path("jobs.yaml").write_text(MINE, encoding="utf-8")
    refused = run(*words)
    assert refused.exit_code == 2
    assert "jobs.yaml is there already" in refused.stderr
    assert "hint: name another `--out`, or overwrite with `--force`" in refused.stderr
    assert Path("jobs.yaml").read_text(encoding="utf-8") == MINE
    assert run(*words, "--force").exit_code == 0
    assert "a: {fixed: {gpus: 1}}" in Path("jobs.yaml").read_text(encoding="utf-8")


def test_what_a_refuted_proof_would_leave_is_not_overwritten_either(scenario, run):
    Path("disagreement.json").write_text(MINE, encoding="utf-8")
    refused = run("plan", scenario, "--crosscheck")
    assert refused.exit_code == 2
    assert "disagreement.json is there already" in refused.stderr
    assert run("plan", scenario).exit_code == 0


def test_options_that_are_known_stay_as_they_are_and_a_link_to_them_a_link(asked):
    assert asked("alternatives").exit_code == 0
    Path("new/alternatives.json").rename("kept.json")
    Path("new/alternatives.json").symlink_to("../kept.json")
    before = contents()
    done = asked("report", "--what-if", "options", solving=False)
    assert done.exit_code == 0, done.stderr
    assert before.items() <= contents().items()
    assert Path("new/alternatives.json").is_symlink()


def test_a_file_that_comes_while_is_planned_stays(asked, monkeypatch):
    from planner.planning.files import Folder  # noqa: PLC0415

    def mine(self):
        self.path.mkdir(exist_ok=True)
        (self.path / "plan.md").write_text(MINE, encoding="utf-8")

    write = Folder.write
    monkeypatch.setattr(Folder, "write", lambda *asked: mine(asked[0]) or write(*asked))
    refused = asked("plan")
    assert refused.exit_code == 2
    assert "new/plan.md is there already" in refused.stderr
    assert contents() == {"plan.md": MINE.encode()}


def spoilt(kind):
    """Something at `new/plan.md` that no plan is written to."""
    path = Path("new/plan.md")
    path.parent.mkdir()
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "read-only":
        path.write_text(MINE, encoding="utf-8")
        path.chmod(0o444)
    else:
        path.symlink_to({"link": "mine.md", "dangling": "no.md", "input": "../scenario.yaml"}[kind])
        Path("new/mine.md").write_text(MINE, encoding="utf-8")


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("folder", "new/plan.md: is a folder, and a file is to be written there"),
        ("pipe", "new/plan.md: is no ordinary file"),
        ("read-only", "new/plan.md: is write-protected"),
        ("link", "new/plan.md: is a link to mine.md, and nothing is written through links"),
        ("dangling", "new/plan.md: is a link to no.md, and nothing is written through links"),
        ("input", "new/plan.md: is an input and would be overwritten"),
    ],
)
def test_what_no_file_is_written_to_stays_whatever_is_asked(asked, kind, told):
    spoilt(kind)
    before = sorted(Path("new").iterdir())
    for words in ((), ("--force",)):
        refused = asked("plan", *words, solving=False)
        assert refused.exit_code == 2
        assert told in refused.stderr
        assert refused.stderr.endswith("1 mistake\n")
    assert sorted(Path("new").iterdir()) == before
    assert "jobs:" in Path("scenario.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("out", "told"),
    [
        ("table.csv/jobs.yaml", "table.csv: cannot be written: table.csv is a file"),
        ("-", "- stands for standard output, a file is needed"),
        ("map.yaml", "map.yaml: is an input and would be overwritten"),
    ],
)
def test_a_file_to_write_is_an_ordinary_one_and_no_input(asked, run, out, told):
    Path("map.yaml").write_text("always: {fixed.cpus: 1}\n", encoding="utf-8")
    before = contents(".")
    for words in ((), ("--force",)):
        refused = run("import", "table.csv", "--mapping", "map.yaml", "--out", out, *words)
        assert refused.exit_code == 2
        assert told in refused.stderr
    assert contents(".") == before


def test_every_file_that_is_read_is_safe_also_from_force(scenario, run):
    """A base of the scenario, and a price file that it uses, called as what is written."""
    scenario.rename("alternatives.md")
    Path("alternatives.html").write_text("purchase: {}\n", encoding="utf-8")
    Path("mine.yaml").write_text(
        "format: 1\nextends: alternatives.md\nuse: {catalog: [alternatives.html]}\n",
        encoding="utf-8",
    )
    refused = run("alternatives", "mine.yaml", "--out", ".", "--force", *ALONE)
    assert refused.exit_code == 2
    for one in ("alternatives.md", "alternatives.html"):
        assert f"{one}: is an input and would be overwritten" in refused.stderr


@pytest.mark.parametrize(
    ("name", "file", "output"),
    [
        ("plan", "scenario.yaml", "plan.md"),
        ("compare", "scenario.yaml", "compare.md"),
        ("sweep", "grid.yaml", "sweep.md"),
        ("sweep", "grid.yaml", "results.jsonl"),
        ("risk", "futures.yaml", "risk.json"),
        ("report", "out/plan.json", "quarterly.md"),
        ("portfolio", "scenario.yaml", "portfolio.csv"),
    ],
)
def test_an_input_that_is_called_like_an_output_is_safe_also_from_force(
    scenario, run, name, file, output
):
    assert scenario.is_file()
    Path(file).rename(output)
    before = contents(".")
    words = [output if word == file else word for word in COMMANDS[name]]
    refused = run(*words, "--out", ".", "--force")
    assert refused.exit_code == 2
    assert f"{output}: is an input and would be overwritten" in refused.stderr
    assert contents(".") == before


# Results that a stopped sweep carries on from


def test_a_stopped_sweep_carries_on_without_being_asked_to_overwrite(asked):
    assert asked("sweep").exit_code == 0
    whole = contents()
    for name in whole:
        Path("new", name).unlink()
    Path("new/results.jsonl").write_bytes(whole["results.jsonl"][:-400])
    again = asked("sweep")
    assert again.exit_code == 0, again.stderr
    assert contents() == whole
    Path("new/sweep.csv").write_text(MINE, encoding="utf-8")
    assert asked("sweep", "--force", solving=False).exit_code == 0, "nothing is planned again"
    assert contents() == whole


def test_rows_that_others_have_planned_are_not_thrown_away(asked):
    assert asked("sweep").exit_code == 0
    for path in Path("new").iterdir():
        if path.name != "results.jsonl":
            path.unlink()
    before = contents()
    Path("grid.yaml").write_text(GRID.replace("1.2, 1.5", "1.5, 1.9"), encoding="utf-8")
    refused = asked("sweep", solving=False)
    assert refused.exit_code == 2
    told = "new/results.jsonl: holds 1 row that this does not ask for, or asked otherwise"
    assert told in refused.stderr
    assert "throw them away with `--force`" in refused.stderr
    assert contents() == before
    assert asked("sweep", "--force").exit_code == 0
    assert len(contents()["results.jsonl"].splitlines()) == 2


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("sweep", "results.jsonl"),
        ("risk", "results.jsonl"),
    ],
)
@pytest.mark.parametrize("text", [MINE, '{"key":"x","key":"y"}\n'], ids=["mine", "a key twice"])
def test_a_file_that_is_called_like_results_and_holds_something_else_stays(asked, name, file, text):
    path = Path("new", file)
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    refused = asked(name, solving=False)
    assert refused.exit_code == 2
    assert f"new/{file}: holds lines that are no rows of a sweep of this version" in refused.stderr
    assert contents() == {file: text.encode()}
    if name == "sweep":
        assert asked(name, "--force").exit_code == 0
        assert contents()["results.jsonl"] != text.encode()
