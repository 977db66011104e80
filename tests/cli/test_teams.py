"""Where teams work: the comment on a pull request, its workflow, and the hook of pre-commit."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOW = ROOT / "docs" / "examples" / "pull-request.yml"


# The comment


def test_money_and_nodes_are_open_and_all_else_is_folded(varied, run):
    result = run("compare", varied, "stress", "--format", "github", "--exit-code")
    assert result.exit_code == 1, result.stderr
    opened, *folded = result.stdout.split("<details><summary>")
    assert opened.startswith("### scenario.yaml → stress\n\n**$")
    assert "\n#### Purchases, rents and releases\n" in opened
    assert "\n#### Cost\n" in opened
    assert folded[0].startswith("Inputs that differ</summary>\n\n|")
    assert "fleet.east.count" in folded[0]
    assert all(part.rstrip().endswith("</details>") for part in folded)
    same = run("compare", varied, varied, "--format", "github", "--exit-code")
    assert same.exit_code == 0
    assert same.stdout.count("\n") == 3
    assert "Nothing differs" in same.stdout


# The workflow


@pytest.fixture
def pull_request(scenario, tmp_path):
    """A repository with a change of its scenario, and `step(name)`, which runs as GitHub would."""
    (tmp_path / "repository" / "scenarios").mkdir(parents=True)
    repository = tmp_path / "repository"
    file = repository / "scenarios" / "plan.yaml"
    file.write_text(scenario.read_text(encoding="utf-8"), encoding="utf-8")

    def git(*words):
        who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
        done = subprocess.run(
            ["git", *who, *words], cwd=repository, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "-m", "before")
    base = git("rev-parse", "HEAD")
    (tmp_path / "bin").mkdir()
    for name, line in (
        ("planner", f'exec {shlex.quote(sys.executable)} -m planner.cli "$@"'),
        ("gh", 'echo "$@" >> "$CALLS"; case "$*" in *--paginate*) cat "$IDS";; esac'),
    ):
        program = tmp_path / "bin" / name
        program.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
        program.chmod(0o755)
    workflow = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))
    steps = {one.get("name"): one for one in workflow["jobs"]["compare"]["steps"]}
    known = {
        "github.event.pull_request.base.sha": base,
        "github.event.pull_request.number": "7",
        "github.repository": "we/plans",
        "github.token": "none",
    }

    def step(name):
        stated = {
            key: re.sub(r"\$\{\{ (.*?) \}\}", lambda found: known[found[1]], value)
            for key, value in steps[name].get("env", {}).items()
        }
        env = {
            **os.environ,
            **workflow["env"],
            **stated,
            "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
            "CALLS": str(tmp_path / "calls"),
            "IDS": str(tmp_path / "ids"),
        }
        words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", steps[name]["run"]]
        return subprocess.run(words, cwd=repository, env=env, capture_output=True, check=False)

    return file, step


def test_the_workflow_comments_on_what_a_change_costs(pull_request, tmp_path):
    file, step = pull_request
    changed = file.read_text(encoding="utf-8").replace("count: 1}", "count: 2}", 1)
    file.write_text(changed, encoding="utf-8")
    done = step("Compare")
    assert done.returncode == 0, done.stderr
    comment = (file.parents[1] / "comment.md").read_text(encoding="utf-8")
    assert comment == (tmp_path / "summary.md").read_text(encoding="utf-8")
    marker, heading, *_ = comment.splitlines()
    assert marker == "<!-- planner compare -->"
    assert heading == "### ../before/scenarios/plan.yaml → scenarios/plan.yaml"
    assert "fleet.east.count" in comment
    for ids, called in (("", "api repos/we/plans/issues/7/comments"), ("12\n", "comments/12")):
        (tmp_path / "ids").write_text(ids, encoding="utf-8")
        assert step("Comment").returncode == 0
        assert called in (tmp_path / "calls").read_text(encoding="utf-8").splitlines()[-1]
    file.write_text(changed.replace("count:", "cuont:"), encoding="utf-8")
    done = step("Compare")
    assert done.returncode == 2
    assert b"did you mean 'count'" in done.stderr


# The hook


@pytest.fixture(scope="module")
def hook():
    (found,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    return found


def test_the_hook_is_a_program_that_this_package_installs(hook):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert hook["language"] == "python"
    assert hook["entry"].split()[0] in project["scripts"]
    assert {"id", "name", "entry", "language"} <= set(hook)
