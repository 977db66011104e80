"""`planner compare`, whole."""

import json
from pathlib import Path

import pytest


def test_a_scenario_beside_its_own_variation(varied, run):
    one = run("compare", varied, "stress")
    assert one.exit_code == 0, one.stderr
    assert one.stdout.startswith("scenario.yaml → stress\n")
    other = run("compare", varied, "scenario.yaml:two,dear")
    assert one.stdout.partition("\n")[2] == other.stdout.partition("\n")[2]


def test_all_formats_hold_the_same_comparison(varied, run):
    words = ("compare", varied, "two", "--out", "out")
    result = run(*words, "--format", "json")
    assert result.exit_code == 0
    assert run(*words, "--force", "--exit-code").exit_code == 1
    assert Path("out/compare.json").read_text(encoding="utf-8") == result.stdout
    markdown = Path("out/compare.md").read_text(encoding="utf-8")
    assert markdown.startswith(run(*words, "--format", "markdown").stdout)
    assert markdown.endswith("](waterfall.svg)\n")
    assert ">demand<" not in Path("out/waterfall.svg").read_text(encoding="utf-8")
    assert ">fleet<" in Path("out/waterfall.svg").read_text(encoding="utf-8")
    assert ">fleet<" in Path("out/compare.html").read_text(encoding="utf-8")
    found = json.loads(result.stdout)
    assert found["inputs"] == [
        {"cause": "fleet", "path": "fleet.east.count", "before": "1", "after": "2"}
    ]
    added = found["after"]["cost_cents"] - found["before"]["cost_cents"]
    assert sum(step["added_cents"] for step in found["waterfall"]["steps"]) == added


def test_settings_of_the_command_line_hold_on_both_sides(varied, run):
    result = run("compare", varied, "two", "--set", "finance.pue=1.9", "--format", "json")
    assert [one["path"] for one in json.loads(result.stdout)["inputs"]] == ["fleet.east.count"]


@pytest.mark.parametrize(
    ("sides", "exit_code", "words"),
    [
        (("scenario.yaml", "too"), 2, "is neither a file nor a scenario or override"),
        (("scenario.yaml", "too"), 2, "did you mean 'two'?"),
        (("scenari.yaml", "two"), 2, "scenari.yaml: no such file"),
        (("scenario.yaml", "nothing"), 3, "nothing: no plan exists"),
        (("no.json", "scenario.yaml"), 2, "no.json: no such file"),
        (("scenario.yaml:too", "scenario.yaml"), 2, "has no scenario or override 'too'"),
    ],
)
def test_a_broken_side_is_an_error_and_prints_no_figure(varied, run, sides, exit_code, words):
    result = run("compare", *sides)
    assert result.exit_code == exit_code
    assert words in result.stderr
    assert result.stdout == ""
