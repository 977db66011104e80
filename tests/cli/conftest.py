import os
import shutil
import subprocess
import sys
from contextlib import chdir
from pathlib import Path

import pytest
from click.testing import CliRunner

from planner.cli.app import planner

ROOT = Path(__file__).parents[2]

SCENARIO = """\
format: 1
name: Two jobs
horizon: {first_quarter: 2027Q1, quarters: 2}
fleet:
  east: {node_type: xe9680-h100, count: 1}
offers:
  h200: {node_type: xe9680-h200, kind: buy, maximum: 4}
  l40s: {node_type: r760xa-l40s, kind: rent, maximum: 4}
jobs:
  assistant:
    serve: {parameters_b: 10, adapters: {count: 2, size_gb: 0.125}, replicas: 6}
    growth_per_quarter: 100%
  claims:
    tune: {model: llama-3.1-70b, method: lora, sequence: 1024, batch: 32}
"""

VARIED = """
overrides:
  two: {fleet.east.count: 2}
  dear: {offers.h200.price_usd: 400000}
  nothing: {delete: [fleet.east, offers.h200]}
scenarios:
  stress: [two, dear]
"""


@pytest.fixture
def scenario(tmp_path, monkeypatch) -> Path:
    """A file in the current folder: one owned node, two offers, a serving and a tuning job."""
    monkeypatch.chdir(tmp_path)
    path = Path("scenario.yaml")
    path.write_text(SCENARIO, encoding="utf-8")
    return path


@pytest.fixture
def varied(scenario: Path) -> Path:
    """The same file with overrides and a scenario."""
    scenario.write_text(SCENARIO + VARIED, encoding="utf-8")
    return scenario


@pytest.fixture(scope="session")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `planner plan scenario.yaml --out out` writes, made once."""
    folder = tmp_path_factory.mktemp("planned")
    (folder / "scenario.yaml").write_text(SCENARIO, encoding="utf-8")
    with chdir(folder):
        words = ("plan", "scenario.yaml", "--out", "out")
        done = CliRunner(catch_exceptions=False).invoke(planner, words, prog_name="planner")
    assert done.exit_code == 0, done.stderr
    return folder / "out"


@pytest.fixture(scope="session")
def reported(planned, tmp_path_factory):
    """The folder of its report, with the options that are planned for it; nothing is shown."""
    folder = tmp_path_factory.mktemp("reported") / "new" / "folder"
    words = ("report", str(planned / "plan.json"), "--out", str(folder), "--jobs", "1")
    done = CliRunner(catch_exceptions=False).invoke(planner, words, prog_name="planner")
    assert (done.exit_code, done.stdout) == (0, "")
    return folder


@pytest.fixture
def plan_json(planned, scenario) -> Path:
    """Its plan, beside the scenario in the current folder."""
    assert not scenario.is_absolute(), "it is in the current folder"
    shutil.copytree(planned, "out")
    return Path("out/plan.json")


@pytest.fixture
def run(monkeypatch):
    """`run("check", "scenario.yaml")` in this process; stdout and stderr apart."""
    monkeypatch.delenv("COLUMNS", raising=False)

    def invoke(*args, env=None):
        return CliRunner(catch_exceptions=False).invoke(
            planner, [str(arg) for arg in args], env=env, prog_name="planner"
        )

    return invoke


@pytest.fixture
def as_others():
    """What to begin a command with so that permissions of files count for root as for others."""
    if os.geteuid() != 0:
        return ()
    if not (setpriv := shutil.which("setpriv")):
        pytest.skip("root may read and write everything: run the tests as another user")
    rights = "-dac_override,-dac_read_search"
    return (setpriv, "--bounding-set", rights, "--inh-caps", rights)


@pytest.fixture
def process():
    """`process("check", "scenario.yaml")` as a process of its own, as a user starts it."""

    def start(*args, code=None, stdout=subprocess.PIPE, before=(), **env):
        launch = ["-m", "planner.cli"] if code is None else ["-c", code]
        return subprocess.run(
            [*before, sys.executable, *launch, *map(str, args)],
            env={
                **{key: value for key, value in os.environ.items() if not key.startswith("LC_")},
                "PYTHONPATH": str(ROOT),
                **env,
            },
            stdout=stdout,
            stderr=subprocess.PIPE,
            timeout=300,
            check=False,
        )

    return start
