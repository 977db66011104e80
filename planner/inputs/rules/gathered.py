"""The rule book, gathered from files."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import BeforeValidator, Field, ValidationError

from planner.errors import Finding, InputError
from planner.inputs.base import Frozen
from planner.inputs.reading.diagnostics import Attempts, validate
from planner.inputs.reading.document import dotted
from planner.inputs.reading.locate import Located, open_documents, shipped_files
from planner.inputs.rules.book import Rule, RuleBook
from planner.inputs.rules.rule import Publication, RuleId
from planner.inputs.text.words import described, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from planner.inputs.reading.document import Branch, Document, Entry, Path
    from planner.inputs.reading.locate import InputFile

__all__ = ["gathered_rules"]

_RULE = re.compile(r"rules\.('[^']*'|[\w-]+)")

_UNKNOWN: Final[dict[str, Any]] = {"title": "unknown", "read": "2000-01-01"}
"""Stands for a source that is told to be wrong elsewhere."""


def _named(rule: object, rule_id: str) -> object:
    return {"id": rule_id, **rule} if isinstance(rule, dict) else rule


def _by_their_keys(rules: object) -> object:
    """Give each rule the key that it stands under for its id."""
    if not isinstance(rules, dict):
        return rules
    return {rule_id: _named(rule, rule_id) for rule_id, rule in rules.items()}


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
    origin: dict[str, Document] = {}
    defined: dict[tuple[str, str], Document] = {}
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
        if file.group not in shipped:
            own.update(read)
    if findings:
        raise InputError(*_as_written(findings, documents))

    def place(rule_id: str, path: tuple[str, ...], message: str, hint: str | None) -> Finding:
        steps = (int(step) if step.isdigit() else step for step in path)
        return origin[rule_id].finding(("rules", rule_id, *steps), message, hint)

    try:
        book = RuleBook.of(rules, place, own)
    except InputError as error:
        raise InputError(*_as_written(error.findings, documents)) from None
    return book, tuple(record for _, _, record in opened)


def _rules(document: Document) -> dict[str, Rule]:
    """The rules of one file by id; raises InputError for what is no file of rules."""
    if "id" in document.data and "rules" not in document.data:
        rule_id = document.data["id"]
        message = "a rule stands under its id, and that under `rules`"
        hint = f"write `rules:`, then `{rule_id}:` indented by 2, and all else of it by 4"
        raise InputError(document.finding(("id",), message, hint, at_key=True))
    rules = validate(document, RuleFile).rules
    again = "is stated already, by the key above"
    twice = [
        document.finding(("rules", rule_id, "id"), again, "delete the line", at_key=True)
        for rule_id, rule in document.data.get("rules", {}).items()
        if "id" in rule
    ]
    if twice:
        raise InputError(*twice)
    return rules


def _with_cases(document: Document, findings: list[Finding]) -> Document:
    """The document with a rule for each case: what all have in common, and what it states itself.

    Conditions, inputs and results of both count; of anything else that of the case.
    """
    rules = document.data.get("rules")
    if not isinstance(rules, dict):
        return document
    places = document.entry(("rules",))
    found: dict[str, Any] = {}
    branch: dict[str | int, Entry] = {}
    for key, rule in rules.items():
        cases = _mapping(rule).get("cases")
        group = document.entry(("rules", key))
        if not isinstance(cases, dict):
            cases, shared, entries = {key: rule}, {}, {key: group}
        else:
            shared = {name: value for name, value in rule.items() if name != "cases"}
            entries = dict((group.branch or {})["cases"].branch or {})
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


def _as_written(findings: Iterable[Finding], documents: Sequence[Document]) -> Iterable[Finding]:
    """Findings under the keys of their files; what is wrong for all cases of a table, once."""
    tables = {
        (document.shown_as, dotted(("rules", case))): (key, case, rule)
        for document in documents
        for key, rule in _mapping(document.data.get("rules")).items()
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
    """Both, with mappings of the same name merged; else what is `own` counts."""
    both = {
        name: shared[name] | value
        for name, value in own.items()
        if isinstance(value, dict) and isinstance(shared.get(name), dict)
    }
    return shared | own | both


def _merged_places(shared: Branch, own: Branch) -> Branch:
    """Places of what `_merged` gives."""
    both = {
        name: entry._replace(branch={**(shared[name].branch or {}), **entry.branch})
        for name, entry in own.items()
        if name in shared and entry.branch and 0 not in entry.branch
    }
    return {**shared, **own, **both}


def _sources(documents: Sequence[Document]) -> dict[str, dict[str, Any]]:
    """What is known of each source by its key; of one that is wrong, as it says itself, nothing."""
    found: dict[str, dict[str, Any]] = {}
    for document in documents:
        entries = document.data.get("sources")
        for key, entry in entries.items() if isinstance(entries, dict) else ():
            try:
                found[key] = Publication.model_validate(entry).model_dump(exclude_none=True)
            except ValidationError:
                found[key] = _UNKNOWN
    return found


def _with_sources(
    document: Document, sources: Mapping[str, dict[str, Any]], findings: list[Finding]
) -> Document:
    """The document with what is known of each source in the place of its key."""

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

    rules = document.data.get("rules")
    if not isinstance(rules, dict):
        return document
    found = dict(rules)
    for rule_id, rule in rules.items():
        if isinstance(rule, dict) and isinstance(rule.get("sources"), tuple):
            path = ("rules", rule_id, "sources")
            citations = (cited((*path, n), one) for n, one in enumerate(rule["sources"]))
            found[rule_id] = rule | {"sources": tuple(citations)}
    return replace(document, data=document.data | {"rules": found})
