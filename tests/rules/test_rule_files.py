"""Rules as data: what a rule file may say, and what is noticed before anything is planned."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from pydantic import ValidationError

from planner.errors import InputError
from planner.inputs.load import load_rules
from planner.inputs.rules.book import RuleBook
from planner.inputs.rules.rule import Rule, RuleCondition

BARE: dict[str, Any] = {"id": "x/y", "title": "Something", "kind": "formula"}
SIZE: dict[str, Any] = BARE | {
    "inputs": {"parameters_b": "10^9 parameters"},
    "result": {"name": "size_gb", "unit": "GB"},
    "formula": "parameters_b * 2",
}
REFUSAL: dict[str, Any] = {
    "id": "x/no",
    "title": "No",
    "kind": "exclusion",
    "applies": {"kind": "tune"},
    "message": "not {gpu_type}",
}
SETTING: dict[str, Any] = {
    "id": "x/pue",
    "title": "Power",
    "kind": "policy",
    "sets": "pue",
    "value": 2,
    "unit": "ratio",
}


def rule(**fields):
    return Rule.model_validate(fields)


def refusals(*rules):
    with pytest.raises(InputError) as error:
        RuleBook.of(Rule.model_validate(fields) for fields in rules)
    return [finding.headline() for finding in error.value.findings]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        (SIZE | {"formula": "parameters_b > 2"}, "must give a number"),
        (SIZE | {"value": 3}, "either `formula` or `value`"),
        (SIZE | {"result": None}, "needs a `result`"),
        (SIZE | {"inputs": SIZE["inputs"] | {"layers": "layers"}}, "which no formula uses"),
        (SIZE | {"sets": "pue"}, "only a policy"),
        (REFUSAL | {"message": None}, "needs a `message`"),
        (REFUSAL | {"formula": "1 + 1"}, "must be a comparison"),
        (REFUSAL | {"applies": {}}, "needs `applies` or a `formula`"),
        (REFUSAL | {"value": 3}, "gives no `result`"),
        (SETTING | {"applies": {"kind": "tune"}}, "holds always"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(fields, says):
    with pytest.raises(ValidationError, match=says):
        Rule.model_validate(fields)


def test_a_quote_has_at_most_25_words():
    source = {"title": "Page", "read": "2026-11-21", "quote": "word " * 26}
    with pytest.raises(ValidationError, match="quote at most 25"):
        Rule.model_validate(SIZE | {"sources": (source,)})


@pytest.mark.parametrize(
    ("written", "value", "holds"),
    [
        ("lora", "lora", True),
        ("lora", "full", False),
        (("lora", "full"), "full", True),
        (16, Fraction(16), True),
        (1, True, False),
        (True, True, True),
        (True, Fraction(1), False),
        ({"min": Decimal("68.6")}, Fraction("68.6"), True),
        ({"min": Decimal("68.6")}, Fraction("68.5"), False),
        ({"max": 8}, Fraction(9), False),
        ({"above": 8}, Fraction(8), False),
        ({"below": 8}, Fraction(7), True),
        ({"below": 8}, "seven", False),
        ({"not_in": ("a100",)}, "h100", True),
        ({"not_in": ("a100",)}, "a100", False),
        ({"not_in": ("a100",)}, None, False),
        ({"known": True}, None, False),
        ({"known": False}, None, True),
        ({"known": False}, "x", False),
        ({"min": 1, "below": 3}, Fraction(3), False),
    ],
)
def test_a_condition_holds_as_it_reads(written, value, holds):
    made = rule(**(REFUSAL | {"applies": {"batch": written}}))
    assert made.applies["batch"].holds(value) is holds


def test_conditions_can_be_said_in_words():
    assert RuleCondition(one_of=("full", "lora")).describe() == "full or lora"
    assert RuleCondition(min=Decimal("68.6")).describe() == "at least 68.6"
    assert RuleCondition(not_in=("a100",), known=True).describe() == "none of a100 and known"


@pytest.mark.parametrize(
    ("rules", "says"),
    [
        (
            (REFUSAL | {"applies": {"method": "lorra"}},),
            "x/no.applies.method: 'lorra' is not one of full, lora, qlora, p-tuning",
        ),
        ((REFUSAL | {"applies": {"method": 3}},), "'3' is no text for method"),
        ((REFUSAL | {"applies": {"method": {"min": 3}}},), "has no minimum or maximum"),
        ((REFUSAL | {"message": "not {gpu}"},), "{gpu} is neither a fact"),
        (
            (SIZE | {"inputs": {"kind": "text"}, "formula": "kind * 2"},),
            "a formula calculates with numbers",
        ),
        (
            (SIZE | {"result": {"name": "memory_gb", "unit": "MB"}},),
            "memory_gb is in 'GB', not in 'MB'",
        ),
        (
            (SIZE, SIZE | {"id": "x/z", "result": {"name": "size_gb", "unit": "MB"}}),
            "gives size_gb in 'MB'",
        ),
        ((SETTING | {"sets": "puee"},), "'puee' is not a setting"),
        ((SETTING | {"unit": "share"},), "pue is in 'ratio', not in 'share'"),
        (
            (
                SIZE | {"inputs": {"b_gb": "GB"}, "formula": "b_gb"},
                SIZE
                | {
                    "id": "x/z",
                    "inputs": {"size_gb": "GB"},
                    "result": {"name": "b_gb", "unit": "GB"},
                    "formula": "size_gb",
                },
            ),
            "goes in a circle",
        ),
        (
            (SIZE | {"examples": ({"name": "One", "given": {"paramters_b": 1}, "expect": 2},)},),
            "'paramters_b' is neither a fact",
        ),
    ],
)
def test_mistakes_between_rules_are_found_before_planning(rules, says):
    assert any(says in headline for headline in refusals(*rules))


def test_a_setting_that_no_policy_gives_is_a_key_error():
    with pytest.raises(KeyError):
        RuleBook.of([rule(**SETTING)]).setting("headroom")


def test_a_file_states_once_what_its_cases_share_and_cites_sources_by_key(tmp_path):
    file = tmp_path / "own.yaml"
    file.write_text(
        """
sources:
  bench: {title: Our bench, url: https://example.org, read: 2026-11-21}
rules:
  house/matmul:
    title: What our products reach
    kind: formula
    applies: {kind: tune, precision: bf16}
    result: {name: matmul_share, unit: share}
    sources:
      - {source: bench, locator: Table 1}
    cases:
      house/matmul-h100: {applies: {gpu_family: h100}, value: 0.8}
      house/matmul-l40s:
        title: What they reach on L40S
        applies: {gpu_family: l40s, precision: fp16}
        value: 0.7
        sources: [{source: bench, read: 2026-11-22}, {source: zero}]
""",
        encoding="utf-8",
    )
    rules = load_rules((file,))[0].rules
    plain, stated = rules["house/matmul-h100"], rules["house/matmul-l40s"]
    assert "house/matmul" not in rules
    assert (plain.title, plain.value) == ("What our products reach", Decimal("0.8"))
    assert {name: one.describe() for name, one in stated.applies.items()} == {
        "kind": "tune",
        "precision": "fp16",
        "gpu_family": "l40s",
    }
    assert plain.source_texts == ("Our bench, Table 1 (https://example.org)",)
    assert [str(source.read) for source in stated.sources] == ["2026-11-22", "2026-11-21"]
    assert stated.source_texts[1] == rules["memory/sharding/data-parallel"].source_texts[0].replace(
        ", section 3.1 and section 5", ""
    )
