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
