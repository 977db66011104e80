"""Reads everything that planning needs, reports all mistakes at once, and settles what is open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.errors import InputError
from planner.inputs.catalogs import merged_catalog
from planner.inputs.consistency import inconsistencies
from planner.inputs.diagnostics import Attempts, validate
from planner.inputs.locate import Located, Role, given_files, shipped_files, used_files
from planner.inputs.reader import read_document
from planner.inputs.references import unknown_references
from planner.inputs.rulebooks import gathered_rules
from planner.inputs.scenario import Scenario
from planner.inputs.settle import settled_offers, settled_settings
from planner.inputs.settled import InputFile, Inputs, Settings

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from planner.errors import Finding
    from planner.inputs.catalog import Catalog
    from planner.inputs.document import Document
    from planner.inputs.rules import RuleBook

__all__ = ["default_settings", "load_catalog", "load_inputs", "load_rules"]


def load_catalog(extra: Sequence[Path] = ()) -> tuple[Catalog, tuple[InputFile, ...]]:
    """Load the shipped catalog and the user's files or folders; later entries win by id.

    Raises InputError with the mistakes of all files.
    """
    return merged_catalog([*shipped_files("catalog"), *given_files(extra)])


def load_rules(extra: Sequence[Path] = ()) -> tuple[RuleBook, tuple[InputFile, ...]]:
    """Load the shipped rules and the user's files or folders; later rules win by id.

    Raises InputError with the mistakes of all files, and of all rules seen together.
    """
    return gathered_rules([*shipped_files("rules"), *given_files(extra)])


def default_settings(rules: RuleBook) -> Settings:
    """Settle every setting by the policy rules alone, where there is no scenario."""
    return settled_settings(rules)


def load_inputs(
    scenario: Path, *, catalog: Sequence[Path] = (), rules: Sequence[Path] = ()
) -> Inputs:
    """Read a scenario with all that it stands on: shipped files, its `use:` files, given files.

    Raises InputError with all mistakes of all files, each with its place.
    """
    document = read_document(scenario)
    attempts = Attempts()
    folder = scenario.parent
    facts = attempts.take(lambda: merged_catalog(_all("catalog", catalog, document, folder)))
    book = attempts.take(lambda: gathered_rules(_all("rules", rules, document, folder)))
    question = attempts.take(lambda: validate(document, Scenario))
    if facts and book:
        attempts.findings += unknown_references(document, facts[0], book[0])
        if question:
            attempts.findings += inconsistencies(document, question, facts[0])
    if attempts.findings or not (facts and book and question):
        raise InputError(*_in_order(attempts.findings, document))
    files = (InputFile(role="scenario", path=str(scenario), sha256=document.sha256),)
    return _settled(question, facts[0], book[0], (*files, *facts[1], *book[1]))


def _all(role: Role, given: Sequence[Path], scenario: Document, folder: Path) -> list[Located]:
    """Shipped files first, given ones last: who speaks later wins."""
    return [*shipped_files(role), *used_files(scenario, folder, role), *given_files(given)]


def _settled(
    scenario: Scenario, catalog: Catalog, rules: RuleBook, files: tuple[InputFile, ...]
) -> Inputs:
    horizon = scenario.horizon
    if horizon.as_of is None:
        dated = horizon.model_copy(update={"as_of": horizon.first_quarter.start})
        scenario = scenario.model_copy(update={"horizon": dated})
    settings = settled_settings(rules, scenario.policies, scenario.finance)
    return Inputs(
        scenario=scenario,
        catalog=catalog,
        rules=rules,
        settings=settings,
        offers=settled_offers(scenario, catalog, settings),
        files=files,
    )


def _in_order(findings: Sequence[Finding], scenario: Document) -> list[Finding]:
    """The scenario's findings first, by line; those of other files as they came."""
    return sorted(
        findings,
        key=lambda f: (0, f.line or 0, f.column or 0) if f.file == scenario.shown_as else (1, 0, 0),
    )
