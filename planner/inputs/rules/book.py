"""The rule book: all rules by id, checked against each other, and which of them speak."""

from __future__ import annotations

import re
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, cast

from planner.errors import Finding, InputError
from planner.inputs.base import Frozen
from planner.inputs.rules.facts import FACTS, SETTINGS, UNITS
from planner.inputs.rules.rule import Rule, RuleCondition, by_result, needs, value_text
from planner.inputs.text.words import did_you_mean, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Set
    from decimal import Decimal

    _Givers = Mapping[str, tuple[Rule, ...]]

__all__ = [
    "PLACEHOLDER",
    "Rule",
    "RuleBook",
]

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


def _condition(rule: Rule, name: str, condition: RuleCondition) -> Iterator[Mistake]:
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


class RuleBook(Frozen):
    """All rules by id, checked against each other."""

    rules: dict[str, Rule]
    own: frozenset[str] = frozenset()
    """Ids of those that come from files of the user's, and are not shipped."""

    @classmethod
    def of(
        cls,
        rules: Iterable[Rule],
        place: Callable[[str, tuple[str, ...], str, str | None], Finding] | None = None,
        own: Iterable[str] = (),
    ) -> RuleBook:
        """Gather rules, later ones replacing earlier ones of the same id, and check them together.

        `place(rule id, path in its file, message, hint)` may point a finding at its file and line.
        Raises InputError with every mistake: unknown names, units that differ, circles.
        """
        by_id = {rule.id: rule for rule in rules}
        by_id = {rule_id: by_id[rule_id] for rule_id in sorted(by_id)}
        found = [(place or unplaced)(*mistake) for mistake in mistakes(by_id)]
        if found:
            raise InputError(*found)
        return cls(rules=by_id, own=frozenset(own))

    @cached_property
    def by_result(self) -> dict[str, tuple[Rule, ...]]:
        """Rules by the result or setting that they give."""
        return by_result(self.rules.values())

    @cached_property
    def exclusions(self) -> tuple[Rule, ...]:
        """Rules that keep jobs off GPU types."""
        return tuple(rule for rule in self.rules.values() if rule.kind == "exclusion")

    @cached_property
    def warnings(self) -> tuple[Rule, ...]:
        """Rules that say where the planner's own figures are weak."""
        return tuple(rule for rule in self.rules.values() if rule.kind == "warning")

    def giving(self, name: str) -> tuple[Rule, ...]:
        """Rules that give this result, whether they speak or not."""
        return self.by_result.get(name, ())

    def setting(self, name: str) -> Rule:
        """The policy rule that gives a setting: its `value`, `unit` and `id`; KeyError if none."""
        for rule in self.by_result.get(name, ()):
            if rule.kind == "policy":
                return rule
        raise KeyError(name)

    def figure(self, name: str) -> Decimal:
        """What the policy rule of a setting says, in its unit; KeyError if there is none."""
        return cast("Decimal", self.setting(name).value)  # no policy is without one

    def using(self, name: str) -> tuple[Rule, ...]:
        """Rules that ask for this name and give a result."""
        return self._users.get(name, ())

    @cached_property
    def asked(self) -> frozenset[str]:
        """Names that any rule asks for, or tells in its message."""
        told = (PLACEHOLDER.findall(rule.message or "") for rule in self.rules.values())
        return frozenset(chain(*map(needs, self.rules.values()), *told))

    @cached_property
    def _users(self) -> dict[str, tuple[Rule, ...]]:
        found: dict[str, list[Rule]] = {}
        for rule in self.rules.values():
            if rule.gives is not None:
                for name in needs(rule):
                    found.setdefault(name, []).append(rule)
        return {name: tuple(users) for name, users in found.items()}

    def ever_depending_on(self, facts: frozenset[str]) -> frozenset[str]:
        """Names of results that these facts change in any situation; found once."""
        if facts not in self._depending:
            self._depending[facts] = self.depending_on(facts)
        return self._depending[facts]

    @cached_property
    def _depending(self) -> dict[frozenset[str], frozenset[str]]:
        return {}

    def depending_on(
        self,
        facts: Iterable[str],
        settled: Container[str] = (),
        speaks: Callable[[Rule], object] = lambda _: True,
    ) -> frozenset[str]:
        """Names of results that change with any of these facts, directly or through other rules.

        What is `settled` changes no more, and a rule for which `speaks` is false passes nothing on.
        """
        found = set(facts)
        waiting = list(found)
        while waiting:
            for rule in self.using(waiting.pop()):
                name = rule.gives
                if name is None or name in found or name in settled or not speaks(rule):
                    continue
                found.add(name)
                waiting.append(name)
        return frozenset(found)
