"""Nothing is drawn from a saved plan that does not pass its check, or without a word on changes."""

import json
import random
from pathlib import Path

import pytest

import planner
from tests.properties.questions import draws
from tests.sealed import sealed

COMMANDS = {
    "explain": ("explain", "out/plan.json", "assistant"),
    "report": ("report", "out/plan.json", "--what-if", "none", "--out", "new"),
    "option": ("report", "good.json", "--option", "a=out/plan.json", "--out", "new"),
    "since": ("report", "good.json", "--since", "out/plan.json", "--out", "new"),
    "compare": ("compare", "good.json", "out/plan.json", "--out", "new"),
    "watsonx": ("export", "watsonx", "out/plan.json", "--out", "new"),
    "kueue": ("export", "kueue", "out/plan.json", "--out", "new"),
    "kubernetes": ("export", "kubernetes", "out/plan.json", "--out", "new"),
    "from": ("plan", "next.yaml", "--from", "out/plan.json", "--out", "new"),
}


def without_job(plan):
    plan["jobs"] = [job for job in plan["jobs"] if job["name"] != "claims"]


def without_unit(plan):
    uses = plan["placements"][0]
    uses[0]["occupants"].pop()


def without_dollar(plan):
    line = next(line for line in plan["costs"] if line["cents"][0] > 100)
    line["cents"][0] -= 100
    line["total_cents"] -= 100
    line["present_cents"] -= 100
    plan["proof"]["cost_cents"] -= 100
    plan["proof"]["bound_cents"] -= 100
    plan["proof"]["bound_terms"][-1][1] -= 100


def without_node(plan):
    plan["nodes"].pop()


def with_a_move(plan):
    for uses in plan["placements"]:
        uses[0]["occupants"][0]["gpus"] = [7] * len(uses[0]["occupants"][0]["gpus"])
        uses[0]["node"] = uses[-1]["node"]


def without_sizing(plan):
    plan["sizings"].clear()


EDITS = (
    without_job,
    without_unit,
    without_node,
    with_a_move,
    without_sizing,
)


def resealed(path, edit):
    document = json.loads(path.read_text(encoding="utf-8"))
    edit(document)
    path.write_text(sealed(json.dumps(document)), encoding="utf-8")


@pytest.fixture
def good(plan_json, scenario):
    """The plan, a copy of it, and the scenario of a later horizon; the edits are of the first."""
    Path("good.json").write_bytes(plan_json.read_bytes())
    text = scenario.read_text(encoding="utf-8").replace("2027Q1", "2027Q3")
    Path("next.yaml").write_text(text, encoding="utf-8")
    return plan_json


@pytest.mark.parametrize(
    ("command", "edit"),
    [*((command, without_dollar) for command in COMMANDS), *(("explain", edit) for edit in EDITS)],
)
def test_nothing_is_drawn_from_a_plan_that_was_edited_and_sealed_again(run, good, edit, command):
    resealed(good, edit)
    result = run(*COMMANDS[command])
    assert result.exit_code == 5, result.output
    assert "out/plan.json failed its independent check" in result.stderr
    assert result.stdout == ""
    assert not Path("new").exists()


@pytest.mark.parametrize(
    ("command", "place"),
    [("replay", "cost_cents"), ("from", "cost_cents"), ("report", "proof")],
)
def test_a_plan_with_a_key_twice_is_refused_with_the_key(run, good, place, command):
    text = good.read_text(encoding="utf-8")
    at = text.index(f'"{place}":')
    good.write_text(f'{text[:at]}"{place}": 1,\n{text[at:]}', encoding="utf-8")
    result = run(*COMMANDS.get(command, ("replay", good)))
    assert result.exit_code == 2, result.output
    assert f"out/plan.json: has the key '{place}' twice" in result.stderr
    assert not Path("new").exists()


def test_a_result_with_a_key_twice_is_told_and_left_out(run, good, reported):
    assert good.is_file()
    text = (reported / "alternatives.json").read_text(encoding="utf-8")
    twice = text.replace("{", '{"format": "1.0",', 1)
    Path("out/alternatives.json").write_text(twice, encoding="utf-8")
    result = run(*COMMANDS["report"])
    assert result.exit_code == 0
    assert "left out: out/alternatives.json: has the key 'format' twice" in result.stderr


def test_a_scenario_that_has_changed_or_is_gone_is_named(run, good, scenario):
    assert "warning:" not in run(*COMMANDS["explain"]).stderr
    text = scenario.read_text(encoding="utf-8")
    told = "warning: scenario.yaml has changed since out/plan.json was made\n"
    for changed in (text.replace("replicas: 6", "replicas: 7"), "["):
        scenario.write_text(changed, encoding="utf-8")
        for command in ("explain", "kueue", "from"):
            result = run(*COMMANDS[command], *(("--force",) if command != "explain" else ()))
            assert result.exit_code == 0, result.stderr
            assert result.stderr.count(told) == 1
    assert run(*COMMANDS["report"]).stderr.count(told) == 1
    for name in ("justification.md", "quarterly.md"):
        drawn = Path("new", name).read_text(encoding="utf-8")
        assert "scenario.yaml has changed since this plan was made" in drawn
    scenario.unlink()
    gone = "warning: scenario.yaml is no longer where it was when out/plan.json was made\n"
    assert run(*COMMANDS["explain"]).stderr == gone


QUOTES = """\
purchase:
  xe9680-h200: {price_usd: 350000, date: 2026-11-01, basis: published, source: "https://a.b"}
"""


@pytest.fixture
def layered(scenario, run):
    """A plan from a base, an override, an earlier plan and prices in files of their own."""
    Path("quotes.yaml").write_text(QUOTES, encoding="utf-8")
    base = scenario.read_text(encoding="utf-8") + "overrides: {two: {fleet.east.count: 2}}\n"
    Path("base.yaml").write_text(base, encoding="utf-8")
    scenario.write_text("format: 1\nextends: base.yaml\nname: x\n", encoding="utf-8")
    later = base.replace("2027Q1", "2027Q2")
    Path("later.yaml").write_text(later, encoding="utf-8")
    words = ("--scenario", "two", "--catalog", "quotes.yaml")
    assert run("plan", scenario, *words, "--out", "out").exit_code == 0
    again = run("plan", "later.yaml", *words, "--from", "out/plan.json", "--out", "later")
    assert again.exit_code == 0, again.stderr


def test_bases_overrides_and_earlier_plans_are_read_again_and_named(run, layered):
    for folder in ("out", "later"):
        result = run("explain", f"{folder}/plan.json", "assistant")
        assert (result.exit_code, result.stderr) == (0, "")
    for name in ("base.yaml", "out/plan.json"):
        with Path(name).open("a", encoding="utf-8") as file:
            file.write("\ndescription: other\n" if name == "base.yaml" else "\n")
    assert "base.yaml has changed since" in run("explain", "out/plan.json", "claims").stderr
    told = run("explain", "later/plan.json", "claims").stderr
    assert told == "warning: out/plan.json has changed since later/plan.json was made\n"
    Path("out/plan.json").unlink()
    told = run("explain", "later/plan.json", "claims").stderr
    assert "out/plan.json is no longer where it was when" in told


def test_prices_that_have_changed_or_are_gone_leave_the_plan_unchecked(run, layered):
    text = QUOTES.replace("350000", "1")
    Path("quotes.yaml").write_text(text, encoding="utf-8")
    result = run("report", "out/plan.json", "--what-if", "none", "--out", "new")
    assert result.exit_code == 0, result.stderr
    assert "warning: quotes.yaml has changed since out/plan.json was made" in result.stderr
    told = "warning: out/plan.json is not checked against its inputs: out/plan.json was made from"
    assert f"{told} other catalog or rule files than are here now" in result.stderr
    assert "quotes.yaml has changed since" in Path("new/quarterly.md").read_text(encoding="utf-8")
    Path("quotes.yaml").unlink()
    result = run("explain", "out/plan.json", "claims")
    assert result.exit_code == 0
    assert "warning: out/plan.json is not checked against its inputs: " in result.stderr
    assert "quotes.yaml" in result.stderr


def test_parts_that_do_not_fit_are_a_sentence_also_where_nothing_can_be_checked(run, layered):
    def without_facts(plan):
        without_sizing(plan)
        plan["jobs"][0]["units"] = []

    Path("quotes.yaml").unlink()
    path = Path("out/plan.json")
    resealed(path, without_facts)
    for command in ("explain", "report"):
        result = run(*COMMANDS[command])
        assert (result.exit_code, result.stdout) == (5, ""), result.output
        assert "its parts do not fit each other" in result.stderr
        assert not Path("new").exists()


def damaged(draw, value):
    """A document with one value in it taken out, repeated or exchanged."""
    while True:
        key = draw.choice(list(value) if isinstance(value, dict) else range(len(value)))
        inner = value[key]
        if isinstance(inner, dict | list) and inner and draw.random() < 0.9:
            value = inner
            continue
        how = draw.choice(("out", "again", "other"))
        if how == "out":
            del value[key]
        elif how == "again" and isinstance(value, list):
            value.append(inner)
        else:
            others = {str: "x", int: 3, float: 0.5, list: [], dict: {}, bool: True}
            value[key] = others.get(type(inner), 1)
        return


@pytest.mark.parametrize("seed", range(draws(10, 30)))
def test_a_plan_damaged_anywhere_and_sealed_again_is_drawn_or_refused_in_words(run, good, seed):
    resealed(good, lambda plan: damaged(random.Random(seed), plan))
    result = run(*COMMANDS["explain"])
    assert result.exit_code in {0, 2, 5}, result.output
    assert result.exit_code == 0 or result.stderr.startswith("error: ")


def test_a_fault_of_a_drawing_is_not_told_as_a_failed_check(good, monkeypatch):
    monkeypatch.setattr("planner.api.planning.explain_job", {}.__getitem__)
    with pytest.raises(TypeError):
        planner.explain(good, "assistant")
