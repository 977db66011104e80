"""Why the plan can be trusted: bound, gap, checks, rules with their sources, inputs by hash."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from planner.reporting.document import Block, Bullets, Column, Paragraph, Table
from planner.reporting.format import code, count_of, gap_percent, listed, money

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.planning.parts import SecondOpinion
    from planner.planning.plan import Plan, RuleUse

__all__ = ["VERDICTS", "proof_section", "rules_section"]

VERDICTS = {
    "confirmed": "confirmed",
    "undecided": "undecided, its time ended before it could say",
    "unfounded": "disagrees without ground: what it says contradicts the program itself",
}
"""What a second opinion means."""

_HASH_SHOWN = 12
_FILES_LISTED = 8
_KIND_OF_FILE = {"rules": "rule"}


_QUESTION = ("scenario", "base")
"""Roles of the files that ask; what others hold is answered with."""


def proof_section(plan: Plan, *, every_check: bool) -> tuple[Block, ...]:
    """Status, bound with its terms, the independent checks, and what the plan was made from."""
    proof = plan.proof
    blocks: list[Block] = [
        Paragraph(
            f"Status: {proof.status}. Cost {money(proof.cost_cents)}, bound "
            f"{money(proof.bound_cents)}: no plan for these inputs costs less than the bound. "
            f"Gap {gap_percent(proof.gap)} (asked: {gap_percent(proof.asked_gap)})."
        ),
        Paragraph(f"Method: {proof.method}", tone="faint"),
        *_second_opinions(proof.second_opinions),
        Table(
            (Column("The bound adds up from", wraps=True), Column("USD", "right")),
            tuple((name, money(cents)) for name, cents in proof.bound_terms),
            ("Bound", money(sum(cents for _, cents in proof.bound_terms))),
        ),
    ]
    if not every_check:
        return (*blocks, Paragraph(_in_short(plan)))
    if proof.checks:
        blocks += [Paragraph("The independent check confirmed:"), Bullets(proof.checks)]
    blocks += [
        Paragraph(f"{_made_by(plan)}, from:"),
        Table(
            (Column("File", wraps=True), Column("Role"), Column("SHA-256 begins")),
            _files(plan.provenance.files),
        ),
    ]
    return tuple(blocks)


def _second_opinions(opinions: Sequence[SecondOpinion]) -> tuple[Block, ...]:
    if not opinions:
        return ()
    return (
        Paragraph("Other solvers were asked for the bound again:"),
        Bullets(tuple(f"{one.solver}: {_opinion(one)}" for one in opinions)),
    )


def _opinion(one: SecondOpinion) -> str:
    said = VERDICTS[one.verdict]
    if one.bound_cents is None:
        return said
    return f"{said}, no plan costs less than {money(one.bound_cents)}"


def _made_by(plan: Plan) -> str:
    made_by = plan.provenance
    return f"Made by gpu-fit-planner {made_by.planner_version} with {made_by.solver}"


def _in_short(plan: Plan) -> str:
    """The same checks and files as numbers, for a page that should stay short."""
    files = plan.provenance.files
    scenarios = ", ".join(
        f"{path} (SHA-256 {digest[:_HASH_SHOWN]}…)"
        for role, path, digest in files
        if role in _QUESTION
    )
    others = Counter(role for role, _, _ in files if role not in _QUESTION)
    counted = (
        count_of(number, f"{_KIND_OF_FILE.get(role, role)} file") for role, number in others.items()
    )
    checked = count_of(len(plan.proof.checks), "statement")
    return (
        f"An independent check confirmed {checked} about this plan, each in plan.json. "
        f"{_made_by(plan)}, from {listed([scenarios, *counted])}."
    )


def _files(files: Sequence[tuple[str, str, str]]) -> tuple[tuple[str, ...], ...]:
    """Each file with its hash; where one role has many, their number."""
    by_role: dict[str, list[tuple[str, str]]] = {}
    for role, path, digest in files:
        by_role.setdefault(role, []).append((path, digest))
    rows: list[tuple[str, ...]] = []
    for role, found in by_role.items():
        if len(found) > _FILES_LISTED:
            rows.append((f"{len(found):,} files, each in plan.json", role, ""))
        else:
            rows += [(path, role, digest[:_HASH_SHOWN]) for path, digest in found]
    return tuple(rows)


def rules_section(plan: Plan, most: int) -> tuple[Block, ...]:
    """The rules that spoke, those with errata first, with where each was read."""
    if not plan.rules:
        return ()
    ordered = sorted(plan.rules, key=lambda rule: (not rule.errata, -rule.used, rule.id))
    blocks: list[Block] = [
        Paragraph(
            f"{count_of(len(ordered), 'rule')} spoke. {code('planner rules show ID')} tells each "
            "with formula, sources and examples; plan.json and plan.md list them."
        )
    ]
    if most:
        blocks.append(
            Table(
                (Column("Rule", wraps=True), Column("Jobs", "right"), Column("Source", wraps=True)),
                tuple(
                    (rule.id, f"{rule.used:,}", "; ".join(rule.sources)) for rule in ordered[:most]
                ),
            )
        )
    errata = tuple(line for rule in ordered for line in _errata(rule))
    if errata:
        blocks += [Paragraph("Errata of the sources that concern this plan:"), Bullets(errata)]
    return tuple(blocks)


def _errata(rule: RuleUse) -> list[str]:
    return [f"{rule.id}: {erratum}" for erratum in rule.errata]
