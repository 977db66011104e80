"""The rule book for a reader: the list, one rule whole, and how its examples came out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.reporting.document import (
    Block,
    Bullets,
    Column,
    Document,
    Heading,
    Paragraph,
    Table,
    Verbatim,
)
from planner.reporting.format import code, count_of, figure

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from planner.inputs.rules.rule import Erratum, Example, Rule, RuleInput, RuleSource
    from planner.sizing.selftest import ExampleResult

__all__ = ["examples_document", "rule_document", "rules_document"]


def rules_document(rules: Iterable[Rule]) -> Document:
    """All rules, a line each; those with errata are marked."""
    rows = tuple((rule.id, rule.kind, f"{rule.title}{_mark(rule)}") for rule in rules)
    return (
        Table(
            (Column("Rule"), Column("Kind"), Column("Title", wraps=True)),
            rows,
        ),
        Paragraph(
            f"{code('planner rules show ID')} prints one whole, with its sources.", tone="faint"
        ),
    )


def _mark(rule: Rule) -> str:
    return " [erratum]" if rule.errata else ""


def rule_document(rule: Rule) -> Document:
    """One rule: what it says, when, who says so, worked cases, errata, and where it is wrong."""
    trust = "" if rule.basis == "published" else f", basis: {rule.basis}"
    blocks: list[Block] = [
        Heading(rule.title, 1),
        Paragraph(f"{rule.id} ({rule.kind}{trust})", tone="faint"),
        Verbatim(_statement(rule)),
    ]
    if rule.message:
        blocks.append(Paragraph(f"Says: {' '.join(rule.message.split())}"))
    blocks += _applies(rule)
    if rule.inputs:
        blocks += [Heading("Inputs"), _inputs(rule)]
    blocks += _errata(rule.errata)
    blocks += [Heading("Sources"), Bullets(tuple(map(_source, rule.sources)))]
    if rule.examples:
        blocks += [Heading("Examples"), Bullets(tuple(_example(rule, e) for e in rule.examples))]
    if rule.known_wrong_when:
        blocks += [Heading("Known wrong when"), Bullets(rule.known_wrong_when)]
    return tuple(blocks)


def _statement(rule: Rule) -> tuple[str, ...]:
    if rule.gives is None:
        return (f"if {rule.formula}",) if rule.formula else ("holds whenever it applies",)
    unit = f"   [{rule.gives_unit}]" if rule.gives_unit else ""
    return (f"{rule.gives} = {rule.stated}{unit}",)


def _applies(rule: Rule) -> list[Block]:
    if not rule.applies:
        return [Paragraph("Applies always.")]
    words = tuple(f"{name} is {when.describe()}" for name, when in rule.applies.items())
    fallback = ", and no other rule speaks" if rule.fallback else ""
    return [Heading("Applies when"), Bullets((*words[:-1], f"{words[-1]}{fallback}"))]


def _inputs(rule: Rule) -> Table:
    return Table(
        (
            Column("Name"),
            Column("Unit", wraps=True),
            Column("If unknown", wraps=True),
            Column("Meaning", wraps=True),
        ),
        tuple(
            (name, given.unit, _stand_in(given), given.meaning or "")
            for name, given in rule.inputs.items()
        ),
    )


def _stand_in(given: RuleInput) -> str:
    if given.default is not None:
        return f"{figure(given.default)}, listed as an assumption"
    return f"{figure(given.otherwise)}" if given.otherwise is not None else "needed"


def _errata(errata: tuple[Erratum, ...]) -> list[Block]:
    blocks: list[Block] = []
    for erratum in errata:
        blocks += [
            Heading("ERRATUM of the source"),
            Paragraph(f"It says: {erratum.says}", tone="warning"),
            Paragraph(f"The arithmetic: {erratum.arithmetic}"),
            Paragraph(f"Decision: {erratum.decision}", tone="strong"),
        ]
    return blocks


def _source(source: RuleSource) -> str:
    quote = f": “{source.quote}”" if source.quote else ""
    return f"{source.text}, read {source.read.isoformat()}{quote}"


def _example(rule: Rule, example: Example) -> str:
    given = ", ".join(f"{name} = {figure(value)}" for name, value in example.given.items())
    expected = f"{figure(example.expect)} {rule.gives_unit if rule.gives else ''}".rstrip()
    within = f" (± {figure(example.tolerance)})" if example.tolerance else ""
    return f"{example.name}: {f'with {given}, ' if given else ''}{expected}{within}"


def examples_document(results: Sequence[ExampleResult]) -> Document:
    """What failed, then one sentence that counts."""
    failed = [result for result in results if not result.passed]
    rules = len({result.rule for result in results})
    if not failed:
        return (
            Paragraph(
                f"{count_of(len(results), 'example')} of {count_of(rules, 'rule')}: all as stated"
            ),
        )
    lines = tuple(f"{result.rule}: {result.name}: {result.message}" for result in failed)
    return (
        Bullets(lines, tone="warning"),
        Paragraph(f"{len(failed):,} of {count_of(len(results), 'example')} failed"),
    )
