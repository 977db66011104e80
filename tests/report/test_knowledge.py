"""Rules and catalog for a reader: those that are shipped, and a rule of one's own."""

import re

import pytest

from planner.inputs.load import load_catalog, load_rules
from planner.inputs.rules.rule import Rule
from planner.reporting import markdown
from planner.reporting.knowledge import (
    catalog_document,
    entry_document,
    entry_ids,
    examples_document,
    rule_document,
    rules_document,
)
from planner.reporting.terminal import TerminalOptions, render
from planner.sizing.engine import ExampleResult

BOOK, CATALOG = load_rules(())[0], load_catalog()[0]


def shown(rule: Rule) -> str:
    return " ".join(markdown.render(rule_document(rule)).replace("\\", "").split())


@pytest.mark.parametrize("kind", sorted({rule.kind for rule in BOOK.rules.values()}))
def test_each_rule_of_the_book_says_what_it_says_when_and_who_says_so(kind):
    for rule in (rule for rule in BOOK.rules.values() if rule.kind == kind):
        text = shown(rule)
        assert f"{rule.id} ({kind}" in text
        said = rule.message or rule.formula or ""
        assert " ".join(said.split()).replace("\\", "") in text, rule.id
        assert ("Applies always." in text) is (not rule.applies)
        for name in (*rule.applies, *rule.inputs):
            assert name in text
        for source in rule.sources:
            assert " ".join(source.title.split()) in text
        for one in rule.examples:
            assert f"{' '.join(one.name.split())}: " in text
        assert ("Known wrong when" in text) is bool(rule.known_wrong_when)
        assert ("ERRATUM" in text) is bool(rule.errata)


def test_a_rule_of_ones_own_that_says_little_is_shown_without_empty_headings():
    said = {"id": "house/never", "title": "Never", "kind": "exclusion", "message": "not here"}
    text = shown(Rule.model_validate({**said, "applies": {"kind": "tune"}}))
    assert "holds whenever it applies" in text
    assert "Says: not here" in text
    for heading in ("Inputs", "Examples", "Known wrong when", "Applies always"):
        assert heading not in text


def test_a_rule_is_shown_with_its_formula_and_an_erratum_before_its_sources():
    rule = BOOK.rules["serving/plain"]
    text = render(rule_document(rule), TerminalOptions(100))
    assert f"{rule.gives} = {rule.stated}   [{rule.gives_unit}]" in text
    assert "· kind is serve" in text
    assert "168 GB: with parameters_b = 70, weight_bits = 16, 168 GB" in text
    heads = ("ERRATUM of the source", "It says: ", "The arithmetic: ", "Decision: ", "── Sources")
    assert [text.index(one) for one in heads] == sorted(text.index(one) for one in heads)
    assert f"{rule.title} [erratum]" in render(rules_document([rule]), TerminalOptions(120))
    given = next(one for one in BOOK.rules.values() if one.inputs and any(
        of.default is not None for of in one.inputs.values()))  # fmt: skip
    assert "listed as an assumption" in shown(given)


def test_examples_that_pass_are_counted_and_failures_are_named():
    good = ExampleResult("a", "one", True, "")
    bad = ExampleResult("b", "two", False, "expected 3, got 4")
    assert render(examples_document([good, good]), TerminalOptions(80)) == (
        "2 examples of 1 rule: all as stated\n"
    )
    assert render(examples_document([good, bad]), TerminalOptions(80)) == (
        "· b: two: expected 3, got 4\n\n1 of 2 examples failed\n"
    )


def test_lists_mark_estimates_and_show_the_notice_of_the_prices():
    text = render(catalog_document(CATALOG, ("gpus", "nodes", "models", "prices")),
                  TerminalOptions(100))  # fmt: skip
    assert re.search(r"^h100-80gb-sxm +80 +81,559 ", text, re.M)
    assert re.search(r"^xe9680-a100 +8 × a100-80gb-sxm +112\* +2,048\* ", text, re.M)
    assert re.search(r"^xe9680-h200 +357,000 +4\.954$", text, re.M)
    assert re.search(r"^llama-3\.1-8b +8\.030261 +32 +4,096 +32 / 8 +131,072$", text, re.M)
    assert CATALOG.prices.header.notice in " ".join(text.split())
    only = render(catalog_document(CATALOG, ("models",)), TerminalOptions(100))
    assert f"Models ({len(CATALOG.models)})" in only
    assert "Node types" not in only


def test_each_figure_of_an_entry_shows_basis_source_and_note():
    text = render(entry_document(CATALOG, "h100-80gb-sxm"), TerminalOptions(160))
    assert re.search(r"driver memory, MiB +81,559 +measured +nvidia-smi output", text)
    assert re.search(r"MIG 1g\.10gb +1 compute, 1 memory slices", text)
    node = render(entry_document(CATALOG, "xe9680-h200"), TerminalOptions(160))
    assert re.search(r"price, USD +357,000", node)
    assert "Source of all (derived): Public on-demand prices" in node
    assert "about; low trust" in node


def test_every_entry_can_be_shown():
    names = entry_ids(CATALOG)
    assert {"h100-80gb-sxm", "xe9680-h100", "llama-3.1-8b"} <= set(names)
    for name in names:
        assert f"# {name}\n" in markdown.render(entry_document(CATALOG, name)).replace("\\", "")
    with pytest.raises(KeyError):
        entry_document(CATALOG, "nothing")
