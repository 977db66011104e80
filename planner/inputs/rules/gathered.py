"""The rule book, gathered from files."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

from pydantic import BeforeValidator

from planner.errors import Finding, InputError
from planner.inputs.base import Frozen
from planner.inputs.reading.diagnostics import Attempts, validate
from planner.inputs.reading.locate import Located, open_documents, shipped_files
from planner.inputs.rules.book import Rule, RuleBook
from planner.inputs.rules.rule import RuleId

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.inputs.reading.document import Document
    from planner.inputs.reading.file import InputFile

__all__ = ["gathered_rules"]


def _named(rule: object, rule_id: str) -> object:
    return {"id": rule_id, **rule} if isinstance(rule, dict) else rule


def _by_their_keys(rules: object) -> object:
    """Give each rule the key that it stands under for its id."""
    if not isinstance(rules, dict):
        return rules
    return {rule_id: _named(rule, rule_id) for rule_id, rule in rules.items()}


class RuleFile(Frozen):
    """One file: rules of one subject, by their ids."""

    rules: Annotated[dict[RuleId, Rule], BeforeValidator(_by_their_keys)]


def gathered_rules(files: Sequence[Located]) -> tuple[RuleBook, tuple[InputFile, ...]]:
    """Read rule files; a rule of a later file replaces one of the same id.

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
    for file, document, _ in opened:
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
        raise InputError(*findings)

    def place(rule_id: str, path: tuple[str, ...], message: str, hint: str | None) -> Finding:
        steps = (int(step) if step.isdigit() else step for step in path)
        return origin[rule_id].finding(("rules", rule_id, *steps), message, hint)

    return RuleBook.of(rules, place, own), tuple(record for _, _, record in opened)


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
        for rule_id, rule in document.data["rules"].items()
        if "id" in rule
    ]
    if twice:
        raise InputError(*twice)
    return rules
