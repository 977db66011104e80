"""The rule book, gathered from files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.errors import Finding, InputError
from planner.inputs.diagnostics import validate
from planner.inputs.locate import Located, open_documents, shipped_files
from planner.inputs.rules import Rule, RuleBook

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.inputs.document import Document
    from planner.inputs.settled import InputFile

__all__ = ["gathered_rules"]


def gathered_rules(files: Sequence[Located]) -> tuple[RuleBook, tuple[InputFile, ...]]:
    """Read rule files, one rule each; a later one replaces an earlier one of the same id.

    Raises InputError with the mistakes of all files, and of all rules seen together.
    """
    documents, records = open_documents(files, "rules")
    rules: list[Rule] = []
    origin: dict[str, Document] = {}
    defined: dict[tuple[str, str], Document] = {}
    findings: list[Finding] = []
    for file, document in zip(files, documents, strict=True):
        try:
            rule = validate(document, Rule)
        except InputError as error:
            findings += error.findings
            continue
        first = defined.setdefault((file.group, rule.id), document)
        if first is not document:
            message = f"{rule.id!r} is defined by {first.shown_as} as well"
            findings.append(document.finding(("id",), message, "give one of them another id"))
        rules.append(rule)
        origin[rule.id] = document
    if findings:
        raise InputError(*findings)

    def place(rule_id: str, path: tuple[str, ...], message: str, hint: str | None) -> Finding:
        steps = tuple(int(step) if step.isdigit() else step for step in path)
        return origin[rule_id].finding(steps, message, hint)

    shipped = {file.group for file in shipped_files("rules")}
    own = {rule.id for file, rule in zip(files, rules, strict=True) if file.group not in shipped}
    return RuleBook.of(rules, place, own), tuple(records)
