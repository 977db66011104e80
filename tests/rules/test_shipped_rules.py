"""The rules that ship: sourced, exampled, correct, and documented."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.inputs.facts import FACTS, SETTINGS
from planner.inputs.load import load_rules
from planner.inputs.rule import Rule
from planner.inputs.rules import RuleBook
from planner.inputs.settled import Settings
from planner.sizing.selftest import run_examples

ROOT = Path(__file__).parents[2]
BOOK, FILES = load_rules(())


@pytest.mark.parametrize("rule", BOOK.rules.values(), ids=BOOK.rules.keys())
def test_a_rule_has_a_source_an_example_and_a_file_of_its_name(rule):
    assert rule.sources
    assert rule.examples
    assert (ROOT / "rules" / f"{rule.id}.yaml").is_file()


def test_every_example_comes_out_as_its_source_says():
    failed = [result for result in run_examples(BOOK) if not result.passed]
    assert failed == []


def test_every_file_holds_a_rule_that_is_in_the_book():
    assert len(FILES) == len(BOOK.rules) == len(list((ROOT / "rules").rglob("*.yaml")))


def test_every_setting_has_a_policy():
    assert {BOOK.setting(name).sets for name in SETTINGS} == set(SETTINGS)
    assert set(Settings.model_fields) <= set(SETTINGS)


def test_the_contradictions_of_the_sources_are_on_record():
    record = {
        rule.id: " ".join(erratum.arithmetic for erratum in rule.errata)
        for rule in BOOK.rules.values()
        if rule.errata
    }
    assert "15.384" in record["serving/peft-8bit"]
    assert "160 GB is less" in record["serving/plain"]
    assert "applies the quantization twice" in record["serving/plain"]


def test_a_wrong_example_is_noticed():
    rule = BOOK.rules["serving/plain"]
    wrong = rule.examples[0].model_copy(update={"expect": rule.examples[1].expect})
    broken = rule.model_copy(update={"examples": (wrong,)})
    failed = [r for r in run_examples(RuleBook.of([*BOOK.rules.values(), broken])) if not r.passed]
    assert [result.rule for result in failed] == ["serving/plain"]
    assert failed[0].message == "expected 84, got 168"


def test_a_rule_that_does_not_speak_in_its_own_example_fails():
    rule = BOOK.rules["serving/plain"]
    elsewhere = rule.examples[0].model_copy(update={"given": {"kind": "tune"}})
    broken = rule.model_copy(update={"examples": (elsewhere,)})
    failed = [r for r in run_examples(RuleBook.of([*BOOK.rules.values(), broken])) if not r.passed]
    assert failed[0].message == "expected 168, got nothing"


def test_a_rule_without_source_or_example_fails():
    bare = Rule.model_validate(
        {
            "id": "x/bare",
            "title": "Bare",
            "kind": "formula",
            "result": {"name": "x", "unit": "GB"},
            "value": 1,
        }
    )
    failed = [result for result in run_examples(RuleBook.of([bare])) if not result.passed]
    assert [result.message for result in failed] == [
        "the rule names no source",
        "the rule has no example",
    ]


def facts_table():
    lines = ["| fact | known from | unit | meaning |", "|---|---|---|---|"]
    for fact in FACTS.values():
        meaning = fact.meaning
        if fact.choices:
            meaning += f": {', '.join(f'`{choice}`' for choice in fact.choices)}"
        lines.append(f"| `{fact.name}` | {fact.origin} | {fact.unit} | {meaning} |")
    return "\n".join(lines)


def test_the_documentation_lists_every_fact():
    page = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
    assert facts_table() in page


def test_the_documentation_names_every_rule_with_an_erratum():
    page = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
    for rule in BOOK.rules.values():
        if rule.errata:
            assert f"`{rule.id}`" in page
