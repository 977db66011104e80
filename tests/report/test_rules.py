"""A rule as it is shown: what it says and when, whatever it leaves out."""

import pytest

from planner.inputs.load import load_rules
from planner.inputs.rules.rule import Rule
from planner.reporting import markdown
from planner.reporting.knowledge import rule_document

BOOK, _ = load_rules(())


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
        assert ("Known wrong when" in text) is bool(rule.known_wrong_when)
        assert ("ERRATUM" in text) is bool(rule.errata)


def test_a_rule_of_ones_own_that_says_little_is_shown_without_empty_headings():
    said = {"id": "house/never", "title": "Never", "kind": "exclusion", "message": "not here"}
    text = shown(Rule.model_validate({**said, "applies": {"kind": "tune"}}))
    assert "holds whenever it applies" in text
    assert "Says: not here" in text
    for heading in ("Inputs", "Examples", "Known wrong when", "Applies always"):
        assert heading not in text
