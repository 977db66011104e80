"""`planner sensitivity`, whole."""

import json
from pathlib import Path

import pytest


def test_table_picture_and_data_say_the_same(scenario, run):
    words = ("sensitivity", scenario, "--jobs", "1", "--precision", "10%", "--out", "out")
    result = run(*words, "--set", "jobs.claims.count=2", "--format", "json")
    assert result.exit_code == 0, result.stderr
    assert Path("out/sensitivity.json").read_text(encoding="utf-8") == result.stdout
    found = json.loads(result.stdout)
    widest = found["swings"][0]["name"]
    assert widest in Path("out/sensitivity.md").read_text(encoding="utf-8")
    assert f">{widest}<" in Path("out/tornado.svg").read_text(encoding="utf-8")
    asked = {setting for one in found["swings"] for setting in one["low"]["settings"]}
    assert "offers.h200.price_usd=285600" in asked


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--swing", "0"), "--swing: 0 is not a share above 0"),
        (("--swing", "120%"), "--swing: 1.2 is not a share"),
        (("--swing", "1_0%"), "'1_0%' is not a share, write 0.0001 or 0.01%"),
        (("--swing", "ten"), "'ten' is not a share"),
        (("--weeks", "0"), "--weeks: 0 is not a number"),
        (("--scenario", "no"), "has no scenario or override 'no'"),
        (("--out", "scenario.yaml"), "is a file, a folder is needed"),
    ],
)
def test_what_cannot_be_moved_is_refused(scenario, run, options, message):
    result = run("sensitivity", scenario, *options)
    assert result.exit_code == 2
    assert message in result.stderr


def test_where_there_is_no_plan_the_reason_is_told_and_no_nodes_are_said_to_be_acquired(
    scenario, run
):
    text = scenario.read_text(encoding="utf-8").partition("offers:")[0]
    jobs = "jobs: {claims: {fixed: {gpus: 6}, count: 9}}\n"
    scenario.write_text(text + jobs, encoding="utf-8")
    result = run("sensitivity", scenario, "--jobs", "1")
    assert (result.exit_code, result.stderr) == (3, "")
    assert "No plan exists as it stands: in 2027Q1 at least 48 GPUs more" in result.stdout
    assert "there is no plan at either end of any." in result.stdout
