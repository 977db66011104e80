"""What only shows when all rules are seen together: unknown names, units that differ, circles."""

from __future__ import annotations

import re
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, NamedTuple

from planner.errors import Finding
from planner.inputs.rules.facts import FACTS, SETTINGS, UNITS
from planner.inputs.rules.rule import Condition, Rule, by_result, needs, value_text
from planner.inputs.text.words import did_you_mean, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Set

    _Givers = Mapping[str, tuple[Rule, ...]]

__all__ = ["PLACEHOLDER", "Mistake", "mistakes", "unplaced"]

PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*)\}")
"""A fact named in a message."""


class Mistake(NamedTuple):
    """One mistake: in which rule, where in it, what, and what would mend it."""

    rule: str
    path: tuple[str, ...]
    message: str
    hint: str | None = None


def unplaced(rule: str, path: tuple[str, ...], message: str, hint: str | None) -> Finding:
    """Give a finding that names the rule but no line."""
    return Finding(message, path=".".join((rule, *path)), hint=hint)


def mistakes(rules: Mapping[str, Rule]) -> tuple[Mistake, ...]:
    """Check rules by id against each other; empty if all is well."""
    givers = by_result(rules.values())
    known = FACTS.keys() | givers.keys()
    found = [mistake for rule in rules.values() for mistake in _in_rule(givers, known, rule)]
    return (*found, *_together(givers))


def _in_rule(givers: _Givers, known: Set[str], rule: Rule) -> Iterator[Mistake]:
    for section, names in (("applies", rule.applies), ("inputs", rule.inputs)):
        for name in names:
            if name not in known:
                yield Mistake(
                    rule.id,
                    (section, name),
                    f"{name!r} is neither a fact nor the result of a rule",
                    did_you_mean(name, sorted(known)),
                )
    for name, condition in rule.applies.items():
        yield from _condition(rule, name, condition)
    for name, needed in rule.inputs.items():
        yield from _input_unit(givers, rule, name, needed.unit)
    yield from _given(givers, rule)
    yield from _message(rule, known)
    for number, example in enumerate(rule.examples):
        for name in sorted(example.given.keys() - known):
            path = ("examples", str(number), "given", name)
            message = f"{name!r} is neither a fact nor the result of a rule"
            yield Mistake(rule.id, path, message, did_you_mean(name, sorted(known)))


def _condition(rule: Rule, name: str, condition: Condition) -> Iterator[Mistake]:
    fact = FACTS.get(name)
    if fact is None:
        return
    place = ("applies", name)
    bounded = any(b is not None for b in (condition.min, condition.max)) or any(
        b is not None for b in (condition.above, condition.below)
    )
    if bounded and fact.kind != "number":
        yield Mistake(rule.id, place, f"{name} is {fact.unit}, it has no minimum or maximum")
    for value in (*(condition.one_of or ()), *condition.not_in):
        kind = (
            "truth" if isinstance(value, bool) else "text" if isinstance(value, str) else "number"
        )
        if kind != fact.kind:
            yield Mistake(rule.id, place, f"{value_text(value)!r} is no {fact.unit} for {name}")
        elif fact.choices and value not in fact.choices:
            message = f"{value_text(value)!r} is not one of {', '.join(fact.choices)}"
            yield Mistake(rule.id, place, message, did_you_mean(str(value), sorted(fact.choices)))


def _input_unit(givers: _Givers, rule: Rule, name: str, unit: str) -> Iterator[Mistake]:
    fact = FACTS.get(name)
    if fact is not None and fact.kind != "number":
        message = f"{name} is {fact.unit}; a formula calculates with numbers, test it in `applies`"
        yield Mistake(rule.id, ("inputs", name), message)
        return
    units = {fact.unit} if fact else {giver.gives_unit for giver in givers.get(name, ())}
    if units and unit not in units:
        known = " or ".join(repr(known) for known in sorted(units))
        yield Mistake(rule.id, ("inputs", name), f"{name} is in {known}, not in {unit!r}")


def _given(givers: _Givers, rule: Rule) -> Iterator[Mistake]:
    if rule.sets is not None and rule.sets not in SETTINGS:
        message = f"{rule.sets!r} is not a setting: {', '.join(SETTINGS)}"
        hint = did_you_mean(rule.sets, sorted(SETTINGS))
        taken = [
            other.id for name in nearest(rule.sets, SETTINGS, 1) for other in givers.get(name, ())
        ]
        if hint and taken:
            hint += f" It is set by {taken[0]}: replace that rule by its id"
        yield Mistake(rule.id, ("sets",), message, hint)
        return
    fact = FACTS.get(rule.gives or "")
    if fact is not None and fact.unit != rule.gives_unit:
        place = ("unit",) if rule.sets else ("result", "unit")
        message = f"{fact.name} is in {fact.unit!r}, not in {rule.gives_unit!r}"
        yield Mistake(rule.id, place, message)
    elif rule.gives_unit not in UNITS:
        message = f"{rule.gives_unit!r} is no unit that rules know"
        known = ", ".join(sorted(UNITS - {"text", "true/false"}))
        hint = did_you_mean(rule.gives_unit, UNITS) or f"take one of {known}"
        yield Mistake(rule.id, ("result", "unit"), message, hint)


def _message(rule: Rule, known: Iterable[str]) -> Iterator[Mistake]:
    for name in PLACEHOLDER.findall(rule.message or ""):
        if name not in known:
            message = f"{{{name}}} is neither a fact nor the result of a rule"
            yield Mistake(rule.id, ("message",), message, did_you_mean(name, sorted(known)))


def _together(givers: _Givers) -> Iterator[Mistake]:
    for name, rules in givers.items():
        first = rules[0]
        for rule in rules[1:]:
            if rule.gives_unit != first.gives_unit:
                message = f"gives {name} in {rule.gives_unit!r}, {first.id} in {first.gives_unit!r}"
                yield Mistake(rule.id, ("result", "unit"), message)
        policies = [rule for rule in rules if rule.kind == "policy"]
        if len(policies) > 1:
            message = f"sets {name}, which {policies[0].id} sets as well"
            yield Mistake(policies[1].id, ("sets",), message, "replace that rule by its id")
    graph = {
        name: {need for rule in rules for need in needs(rule) if need in givers}
        for name, rules in sorted(givers.items())
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        circle = list(reversed(error.args[1]))
        rule = givers[circle[0]][0]
        yield Mistake(rule.id, ("inputs",), f"goes in a circle: {' from '.join(circle)}")
