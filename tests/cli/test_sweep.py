"""`planner sweep`, whole."""

from pathlib import Path

import pytest

from planner.api.variants import time_left, usable_cores

GRID = """\
format: 1
scenario: scenario.yaml
grid:
  set:
    finance.pue: [1.2, 1.5]
rows:
  - set: {offers.h200.maximum: 0, offers.l40s.maximum: 0}
"""
MANY = ("grid.yaml", "--out", "out")


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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("grid.yaml",), "Missing option '--out'"),
        (("grid.yaml", "--out", "scenario.yaml"), "is a file, a folder is needed"),
        (("gird.yaml", "--out", "out"), "gird.yaml: no such file"),
        (("scenario.yaml", "--out", "out"), "scenario.yaml: holds a scenario"),
        (("grid.yaml", "--out", "out", "--jobs", "0"), "--jobs: 0 is not a number of processes"),
        ((*MANY, "--jobs", "2", "--cluster", "tcp://here:1"), "--cluster: is for other"),
        ((*MANY, "--cluster", " "), "--cluster: ' ' is not an address as tcp://HOST:8786"),
        ((*MANY, "--cluster", "nonsense://x"), "no Dask scheduler answers at nonsense://x"),
    ],
)
def test_what_cannot_be_swept_is_refused(grid, run, options, message):
    result = run("sweep", *options)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert not Path("out").exists()


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
