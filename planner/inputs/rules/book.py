"""The rule book: all rules by id, checked against each other, and which of them apply."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from decimal import Decimal
from functools import cached_property, partial
from graphlib import CycleError, TopologicalSorter
from itertools import chain
from types import MappingProxyType
from typing import Annotated, Any, Final, NamedTuple, cast

from pydantic import BeforeValidator, Field, ValidationError

from planner.errors import Finding, InputError, refuse
from planner.inputs.base import Frozen
from planner.inputs.reading.diagnostics import Attempts, validate
from planner.inputs.reading.document import Branch, Entry, Path, YamlDocument, dotted
from planner.inputs.reading.locate import InputFile, Located, open_documents, shipped_files
from planner.inputs.rules.facts import FACTS, SETTINGS, UNITS
from planner.inputs.rules.rule import (
    Publication,
    Rule,
    RuleCondition,
    RuleId,
    by_result,
    value_text,
)
from planner.inputs.text import described, did_you_mean, nearest

_Givers = Mapping[str, tuple[Rule, ...]]


PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*)\}")
"""A fact named in a message."""


class Mistake(NamedTuple):
    """One mistake: in which rule, where in it, what, and what would mend it."""

    rule: str
    path: tuple[str, ...]
    message: str
    hint: str | None = None

    def finding(self, origin: YamlDocument | None) -> Finding:
        """Return the finding at its place in a file; without one, it names only the rule."""
        if origin is None:
            return Finding(self.message, path=".".join((self.rule, *self.path)), hint=self.hint)
        steps = (int(step) if step.isdigit() else step for step in self.path)
        return origin.finding(("rules", self.rule, *steps), self.message, self.hint)


def mistakes(rules: Mapping[str, Rule]) -> tuple[Mistake, ...]:
    """Check rules by id against each other; empty if all is well."""
    givers = by_result(rules.values())
    known = FACTS.keys() | givers.keys()
    found = [mistake for rule in rules.values() for mistake in _in_rule(givers, known, rule)]
    return (*found, *_together(givers))


def _in_rule(givers: _Givers, known: Set[str], rule: Rule) -> Iterator[Mistake]:
    told = PLACEHOLDER.findall(rule.message or "")
    asked = (
        *((("applies", name), name) for name in rule.applies),
        *((("inputs", name), name) for name in rule.inputs),
        *(
            (("examples", str(number), "given", name), name)
            for number, example in enumerate(rule.examples)
            for name in sorted(example.given)
        ),
        *((("message",), name) for name in told),
    )
    for place, name in asked:
        if name not in known:
            shown = f"{{{name}}}" if place == ("message",) else repr(name)
            message = f"{shown} is neither a fact nor the result of a rule"
            yield Mistake(rule.id, place, message, did_you_mean(name, sorted(known)))
    for name, condition in rule.applies.items():
        yield from _condition(rule, name, condition)
    for number, example in enumerate(rule.examples):
        for name, value in example.given.items():
            place = ("examples", str(number), "given", name)
            yield from _values(rule, place, name, (value,))
    for name, needed in rule.inputs.items():
        yield from _input_unit(givers, rule, name, needed.unit)
    yield from _given(givers, rule)


def _condition(rule: Rule, name: str, condition: RuleCondition) -> Iterator[Mistake]:
    fact, place = FACTS.get(name), ("applies", name)
    if fact is not None and fact.kind != "number" and condition.bounds:
        yield Mistake(rule.id, place, f"{name} is {fact.unit}, it has no minimum or maximum")
    yield from _values(rule, place, name, (*(condition.one_of or ()), *condition.not_in))


_WRITTEN = {
    "number": "write a number; `applies` also takes {min: …}, {max: …}, {above: …} and {below: …}",
    "truth": "write true or false, without quotes",
}


def _values(
    rule: Rule, place: tuple[str, ...], name: str, values: Iterable[bool | Decimal | str]
) -> Iterator[Mistake]:
    """Find values that a fact cannot have."""
    fact = FACTS.get(name)
    kinds = {bool: "truth", str: "text"}
    if fact is None:
        return
    for value in values:
        if kinds.get(type(value), "number") != fact.kind:
            message = f"{value_text(value)!r} is no {fact.unit} for {name}"
            yield Mistake(rule.id, place, message, _WRITTEN.get(fact.kind))
        elif fact.choices and value not in fact.choices:
            message = f"{value_text(value)!r} is not one of {', '.join(fact.choices)}"
            yield Mistake(rule.id, place, message, did_you_mean(str(value), sorted(fact.choices)))


def _input_unit(givers: _Givers, rule: Rule, name: str, unit: str) -> Iterator[Mistake]:
    fact, place = FACTS.get(name), ("inputs", name)
    units = {fact.unit} if fact else {giver.gives_unit for giver in givers.get(name, ())}
    if fact is not None and fact.kind != "number":
        message = f"{name} is {fact.unit}; a formula calculates with numbers, test it in `applies`"
        yield Mistake(rule.id, place, message)
    elif units and unit not in units:
        told = " or ".join(map(repr, sorted(units)))
        yield Mistake(rule.id, place, f"{name} is in {told}, not in {unit!r}")


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
        name: {need for rule in rules for need in rule.asks if need in givers}
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
    own: dict[str, Finding] = Field(default_factory=dict)
    """Ids of the rules that come from the user's files, each with its place there."""

    @classmethod
    def of(
        cls,
        rules: Iterable[Rule],
        own: Iterable[str] = (),
        origin: Mapping[str, YamlDocument] = MappingProxyType({}),
    ) -> RuleBook:
        """Gather rules, later ones replacing earlier ones of the same id, and check them together.

        `origin` is the file of each rule, by id, in which a mistake has its place. Raises
        InputError with every mistake: unknown names, units that differ, circles.
        """
        by_id = {rule.id: rule for rule in rules}
        by_id = {rule_id: by_id[rule_id] for rule_id in sorted(by_id)}
        refuse(mistake.finding(origin.get(mistake.rule)) for mistake in mistakes(by_id))
        places = {one: Mistake(one, (), "").finding(origin.get(one)) for one in own}
        return cls(rules=by_id, own=places)

    def finding(self, rule: Rule, message: str, hint: str | None = None) -> Finding:
        """Return what is wrong with a rule as it is applied, with its place if the user has it."""
        at = self.own.get(rule.id, Finding("", path=rule.id))
        return replace(at, message=message, hint=hint)

    @cached_property
    def by_result(self) -> dict[str, tuple[Rule, ...]]:
        """Return rules by the result or setting that they give."""
        return by_result(self.rules.values())

    @cached_property
    def exclusions(self) -> tuple[Rule, ...]:
        """The rules that keep jobs off GPU types."""
        return tuple(rule for rule in self.rules.values() if rule.kind == "exclusion")

    @cached_property
    def warnings(self) -> tuple[Rule, ...]:
        """The rules that say where the planner's own figures are weak."""
        return tuple(rule for rule in self.rules.values() if rule.kind == "warning")

    def setting(self, name: str) -> Rule:
        """Return the policy rule of a setting: its `value`, `unit` and `id`; KeyError if none."""
        for rule in self.by_result.get(name, ()):
            if rule.kind == "policy":
                return rule
        raise KeyError(name)

    def figure(self, name: str) -> Decimal:
        """Return the value of a setting's policy rule, in its unit; KeyError if there is none."""
        return cast("Decimal", self.setting(name).value)  # no policy is without one

    @cached_property
    def asked(self) -> frozenset[str]:
        """The names that any rule asks for, or tells in its message."""
        told = (PLACEHOLDER.findall(rule.message or "") for rule in self.rules.values())
        return frozenset(chain(*(rule.asks for rule in self.rules.values()), *told))

    @cached_property
    def _asking(self) -> dict[str, list[Rule]]:
        """Rules with a result by the names that they ask for."""
        found: dict[str, list[Rule]] = {}
        for rule in self.rules.values():
            for name in rule.asks if rule.gives else ():
                found.setdefault(name, []).append(rule)
        return found

    def depending_on(
        self, facts: frozenset[str], speaks: Callable[[Rule], object] = bool
    ) -> frozenset[str]:
        """These facts and all results that they change, by rules of which `speaks` is true."""
        found, waiting = set(facts), list(facts)
        while waiting:
            for rule in self._asking.get(waiting.pop(), ()):
                if rule.gives and rule.gives not in found and speaks(rule):
                    found.add(rule.gives)
                    waiting.append(rule.gives)
        return frozenset(found)


_RULE = re.compile(r"rules\.('[^']*'|[\w-]+)")

_UNKNOWN: Final[dict[str, Any]] = {"title": "unknown", "read": "2000-01-01"}
"""Stands for a source that is reported as wrong elsewhere."""


def _by_their_keys(rules: object) -> object:
    """Give each rule the key that it stands under as its id."""
    if not isinstance(rules, dict):
        return rules
    return {
        rule_id: {"id": rule_id, **rule} if isinstance(rule, dict) else rule
        for rule_id, rule in rules.items()
    }


class RuleFile(Frozen):
    """One file: rules of one subject by their ids, and sources by the keys that rules cite."""

    sources: dict[str, Publication] = Field(default_factory=dict)
    rules: Annotated[dict[RuleId, Rule], BeforeValidator(_by_their_keys)] = Field(
        default_factory=dict
    )


def gathered_rules(files: Sequence[Located]) -> tuple[RuleBook, tuple[InputFile, ...]]:
    """Read rule files; a rule or source of a later file replaces one of the same id.

    Raises InputError with the mistakes of all files, and of all rules seen together.
    """
    attempts = Attempts()
    opened = open_documents(files, "rules", attempts)
    findings = attempts.findings
    shipped = {file.group for file in shipped_files("rules")}
    rules: list[Rule] = []
    own: set[str] = set()
    used: set[str | None] = set()
    """Results that rules which ship give."""
    origin: dict[str, YamlDocument] = {}
    defined: dict[tuple[str, str], YamlDocument] = {}
    documents = [document for _, document, _ in opened]
    sources = _sources(documents)
    for file, written, _ in opened:
        document = _with_sources(_with_cases(written, findings), sources, findings)
        read = attempts.take(partial(_rules, document)) or {}
        for rule_id in read:
            first = defined.setdefault((file.group, rule_id), document)
            if first is not document:
                message = f"{rule_id!r} is defined by {first.shown_as} as well"
                hint = "give one of them another id"
                findings.append(document.finding(("rules", rule_id), message, hint))
            origin[rule_id] = document
        rules += read.values()
        if file.group in shipped:
            used.update(rule.gives for rule in read.values())
        else:
            own.update(read)
    if findings:
        raise InputError(*_as_written(findings, documents))

    try:
        book = RuleBook.of(rules, own, origin)
        refuse(
            origin[one].finding(
                ("rules", one, "result", "name"),
                f"gives {book.rules[one].gives!r}, which no rule and no sizing asks for",
                did_you_mean(book.rules[one].gives or "", sorted(filter(None, used))),
            )
            for one in sorted(own)
            if book.rules[one].gives not in {*used, *book.asked, None}
        )
    except InputError as error:
        raise InputError(*_as_written(error.findings, documents)) from None
    return book, tuple(record for _, _, record in opened)


def _rules(document: YamlDocument) -> dict[str, Rule]:
    """Return the rules of one file by id; raises InputError for what is no file of rules."""
    rules = validate(document, RuleFile).rules
    again = "is stated already, by the key above"
    twice = [
        document.finding(("rules", rule_id, "id"), again, "delete the line", at_key=True)
        for rule_id, rule in document.section("rules").items()
        if "id" in rule
    ]
    refuse(twice)
    return rules


def _with_cases(document: YamlDocument, findings: list[Finding]) -> YamlDocument:
    """Return the document with a rule for each case: the common part, and the case's own.

    Conditions, inputs and results of both count; of anything else, that of the case.
    """
    if not (rules := document.section("rules")):
        return document
    places = document.entry(("rules",))
    found: dict[str, Any] = {}
    branch: dict[str | int, Entry] = {}
    entries: Branch
    for key, rule in rules.items():
        cases = _mapping(rule).get("cases", key)
        group = document.entry(("rules", key))
        if cases is not key and not _mapping(cases):
            message, hint = "is no mapping of rules by id", "write each under its id: {ours/a: {…}}"
            findings.append(document.finding(("rules", key, "cases"), message, hint))
            continue
        if not isinstance(cases, dict):
            cases, shared, entries = {key: rule}, {}, {key: group}
        else:
            shared = {name: value for name, value in rule.items() if name != "cases"}
            entries = (group.branch or {})["cases"].branch or {}
        for rule_id, case in cases.items():
            if rule_id in found:
                message = f"{rule_id!r} is defined above as well"
                path = ("rules", rule_id) if case is rule else ("rules", key, "cases", rule_id)
                findings.append(
                    document.finding(path, message, "give one of them another id", at_key=True)
                )
            found[rule_id], branch[rule_id] = case, entries[rule_id]
            if shared and isinstance(case, dict):
                found[rule_id] = _merged(shared, case)
                inner = _merged_places(group.branch or {}, entries[rule_id].branch or {})
                branch[rule_id] = entries[rule_id]._replace(branch=inner)
    return replace(
        document,
        data=document.data | {"rules": found},
        branch={**document.branch, "rules": places._replace(branch=branch)},
    )


def _as_written(
    findings: Iterable[Finding], documents: Sequence[YamlDocument]
) -> Iterable[Finding]:
    """Return findings under the keys of their files; what is wrong for all cases, once."""
    tables = {
        (document.shown_as, dotted(("rules", case))): (key, case, rule)
        for document in documents
        for key, rule in document.section("rules").items()
        for case in _mapping(_mapping(rule).get("cases"))
    }

    def renamed(finding: Finding) -> Finding:
        rule = _RULE.match(finding.path or "")
        if rule is None or (finding.file or "", rule[0]) not in tables:
            return finding
        rest = (finding.path or "")[rule.end() :]
        key, case, table = tables[finding.file or "", rule[0]]
        name = rest.lstrip(".").partition(".")[0].partition("[")[0]
        shared = name in table and name not in _mapping(table["cases"][case])
        at = ("rules", key) if shared else ("rules", key, "cases", case)
        return replace(finding, path=dotted(at) + rest)

    return dict.fromkeys(map(renamed, findings))


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _merged(shared: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """Merge both, mappings of the same name recursively; otherwise what is `own` counts."""
    both = {
        name: shared[name] | value
        for name, value in own.items()
        if isinstance(value, dict) and isinstance(shared.get(name), dict)
    }
    return shared | own | both


def _merged_places(shared: Branch, own: Branch) -> Branch:
    """Return the places of what `_merged` gives."""
    both = {
        name: entry._replace(branch={**(shared[name].branch or {}), **entry.branch})
        for name, entry in own.items()
        if name in shared and entry.branch and 0 not in entry.branch
    }
    return {**shared, **own, **both}


def _sources(documents: Sequence[YamlDocument]) -> dict[str, dict[str, Any]]:
    """Return what is known of each source by its key; nothing of one that is wrong."""
    found: dict[str, dict[str, Any]] = {}
    for document in documents:
        for key, entry in document.section("sources").items():
            try:
                found[key] = Publication.model_validate(entry).model_dump(exclude_none=True)
            except ValidationError:
                found[key] = _UNKNOWN
    return found


def _with_sources(
    document: YamlDocument, sources: Mapping[str, dict[str, Any]], findings: list[Finding]
) -> YamlDocument:
    """Return the document with each source in place of its key."""

    def cited(path: Path, citation: object) -> object:
        if not isinstance(citation, dict) or "source" not in citation:
            return citation
        key = citation["source"]
        if not isinstance(key, str) or key not in sources:
            message = f"no file of rules has {described(key)} under `sources`"
            hint = did_you_mean(key, sources) if isinstance(key, str) else None
            findings.append(document.finding((*path, "source"), message, hint))
        own = {name: value for name, value in citation.items() if name != "source"}
        return (sources.get(key, _UNKNOWN) if isinstance(key, str) else _UNKNOWN) | own

    if not (rules := document.section("rules")):
        return document
    found = dict(rules)
    for rule_id, rule in rules.items():
        if isinstance(rule, dict) and isinstance(rule.get("sources"), tuple):
            path = ("rules", rule_id, "sources")
            citations = (cited((*path, n), one) for n, one in enumerate(rule["sources"]))
            found[rule_id] = rule | {"sources": tuple(citations)}
    return replace(document, data=document.data | {"rules": found})
