"""Runs the worked examples of rules through the same engine that sizes jobs."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from planner.errors import InputError
from planner.inputs.rules.book import RuleBook
from planner.inputs.rules.facts import FACTS
from planner.inputs.rules.rule import Example, Rule, Value, given_values, value_text
from planner.sizing.engine import Known, Reasoning


@dataclass(frozen=True, slots=True)
class ExampleResult:
    """One example of one rule, or the lack of an example or a source."""

    rule: str
    name: str
    """The example's sentence, or what is missing."""
    passed: bool
    message: str
    """What was expected and what came out; empty where it passed."""


def run_examples(rules: RuleBook) -> list[ExampleResult]:
    """Run every example of every rule, by rule id; a rule without source or example fails too."""
    results: list[ExampleResult] = []
    for rule in rules.rules.values():
        if not rule.sources:
            results.append(ExampleResult(rule.id, "source", False, "the rule names no source"))
        if not rule.examples:
            results.append(ExampleResult(rule.id, "example", False, "the rule has no example"))
        results += [_run(rules, rule, example) for example in rule.examples]
    return results


def _run(rules: RuleBook, rule: Rule, example: Example) -> ExampleResult:
    try:
        got = _outcome(rules, rule, example)
    except InputError as error:
        return ExampleResult(rule.id, example.name, False, str(error))
    expected = Fraction(example.expect) if isinstance(example.expect, Decimal) else example.expect
    if _agree(got, expected, Fraction(example.tolerance or 0)):
        return ExampleResult(rule.id, example.name, True, "")
    shown = "nothing" if got is None else value_text(got)
    return ExampleResult(
        rule.id, example.name, False, f"expected {value_text(expected)}, got {shown}"
    )


def _outcome(rules: RuleBook, rule: Rule, example: Example) -> Value | None:
    """What a rule gives for an example; None if it does not speak or lacks a figure.

    Facts that a condition fixes need not be repeated in the example.
    """
    given = _fixed_by_conditions(rule) | given_values(example.given)
    facts = {
        name: Known(value, FACTS[name].unit if name in FACTS else "", "example")
        for name, value in given.items()
    }
    reasoning = Reasoning(rules, facts)
    if rule.kind in ("exclusion", "warning"):
        return reasoning.holds(rule)
    if not rule.speaks(reasoning.value):
        return None
    if rule.kind != "policy" and rule not in reasoning.applicable(rule.gives or ""):
        return None
    derivation = reasoning.step_of(rule)
    return derivation.known.value if derivation else None


def _fixed_by_conditions(rule: Rule) -> dict[str, Value]:
    firsts = {
        name: condition.one_of[0]
        for name, condition in rule.applies.items()
        if condition.one_of is not None
    }
    return given_values(firsts)


def _agree(got: Value | None, expected: Value, tolerance: Fraction) -> bool:
    if isinstance(got, str | bool | None) or isinstance(expected, str | bool):
        return type(got) is type(expected) and got == expected
    return abs(Fraction(got) - expected) <= tolerance
