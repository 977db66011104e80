"""Reads everything that planning needs, reports all mistakes at once, and settles what is open."""

from __future__ import annotations

import hashlib
from functools import cache, cached_property
from typing import TYPE_CHECKING, Literal

from planner.errors import InputError
from planner.inputs.catalog.merged import merged_catalog
from planner.inputs.checks.consistency import inconsistencies
from planner.inputs.checks.references import unknown_references
from planner.inputs.layers.composed import read_layers
from planner.inputs.layers.written import flow, stated
from planner.inputs.reading.diagnostics import Attempts, validate
from planner.inputs.reading.document import dotted
from planner.inputs.reading.file import InputFile
from planner.inputs.reading.locate import Located, Role, given_files, shipped_files, used_files
from planner.inputs.rules.gathered import gathered_rules
from planner.inputs.scenario.scenario import Scenario, ScenarioFile
from planner.inputs.settle import settled_offers, settled_settings
from planner.inputs.settled import ChangeNote, Inputs, Options

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from planner.errors import Finding
    from planner.inputs.catalog.catalog import Catalog
    from planner.inputs.layers.composed import Composed
    from planner.inputs.reading.document import Document
    from planner.inputs.rules.book import RuleBook

__all__ = [
    "Question",
    "inputs_from",
    "load_catalog",
    "load_inputs",
    "load_rules",
]


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


def load_inputs(
    scenario: Path,
    *,
    catalog: Sequence[Path] = (),
    rules: Sequence[Path] = (),
    variations: Sequence[str] = (),
    settings: Sequence[str] = (),
) -> Inputs:
    """Read a scenario with all that it stands on: shipped files, its `use:` files, given files.

    `variations` are names of its overrides and scenarios, `settings` are written `path=value`;
    both are applied in order. Raises InputError with all mistakes of all files, each in its place.
    """
    return Question(scenario, catalog=catalog, rules=rules).inputs(variations, settings)


class Question:
    """A scenario of which any number of variants can be asked for; its files are read once."""

    def __init__(
        self,
        scenario: Path,
        *,
        catalog: Sequence[Path] = (),
        rules: Sequence[Path] = (),
        text: str | None = None,
    ) -> None:
        """Read the scenario and what it extends; raises InputError.

        `text` is what the file said, where that is known: then it need no longer be there.
        """
        self.layers = read_layers(scenario, text)
        self._folder = scenario.parent
        self._given: dict[Role, Sequence[Path]] = {"catalog": catalog, "rules": rules}
        self._facts = cache(merged_catalog)
        self._book = cache(gathered_rules)

    def inputs(self, variations: Sequence[str] = (), settings: Sequence[str] = ()) -> Inputs:
        """One variant with everything it stands on; raises InputError as `load_inputs` does."""
        composed = self.layers.composed(variations, settings)
        document = composed.document
        inputs = inputs_from(
            document,
            lambda: self._facts(self._all("catalog", document)),
            lambda: self._book(self._all("rules", document)),
            bases=self.layers.documents[:-1],
        )
        files = (*self._scenario_files, *inputs.files)
        said = {
            "files": files,
            "changes": _notes(composed),
            "question": stated(document.data),
            "options": self._options(variations, settings),
        }
        return inputs.model_copy(update=said)

    def _options(self, variations: Sequence[str], settings: Sequence[str]) -> Options:
        return Options(
            variations=tuple(variations),
            settings=tuple(settings),
            catalog=tuple(map(str, self._given["catalog"])),
            rules=tuple(map(str, self._given["rules"])),
        )

    def _all(self, role: Role, scenario: Document) -> tuple[Located, ...]:
        """Shipped files first, given ones last: who speaks later wins."""
        used = used_files(scenario, self._folder, role)
        return (*shipped_files(role), *used, *given_files(self._given[role]))

    @cached_property
    def _scenario_files(self) -> tuple[InputFile, ...]:
        *bases, scenario = self.layers.documents
        roles: list[tuple[Literal["scenario", "base"], Document]] = [("scenario", scenario)]
        roles += [("base", base) for base in reversed(bases)]
        return tuple(
            InputFile(
                role=role,
                path=document.shown_as,
                sha256=hashlib.sha256(stated(document.data).encode()).hexdigest(),
                location=document.path,
            )
            for role, document in roles
        )


def inputs_from(
    document: Document,
    facts: Callable[[], tuple[Catalog, tuple[InputFile, ...]]],
    book: Callable[[], tuple[RuleBook, tuple[InputFile, ...]]],
    *,
    bases: Sequence[Document] = (),
) -> Inputs:
    """Inputs of a whole question and of what gives its catalog and rules, with the files of these.

    Raises InputError with all mistakes of all three; those of the scenario and its bases first.
    """
    attempts = Attempts()
    known, ruled = attempts.take(facts), attempts.take(book)
    asked = attempts.take(lambda: validate(document, Scenario, known_as=ScenarioFile))
    if known and ruled:
        attempts.findings += unknown_references(document, known[0], ruled[0])
        if asked:
            attempts.findings += inconsistencies(document, asked, known[0])
    if attempts.findings or not (known and ruled and asked):
        order = [document.shown_as, *(base.shown_as for base in reversed(bases))]
        raise InputError(*_in_order(attempts.findings, order))
    return _settled(asked, known[0], ruled[0], (*known[1], *ruled[1]))


def _in_order(findings: Sequence[Finding], files: Sequence[str]) -> list[Finding]:
    """The findings of these files first, file by file and by line; the others as they came."""

    def place(finding: Finding) -> tuple[int, int, int]:
        if finding.file not in files:
            return len(files), 0, 0
        return files.index(finding.file), finding.line or 0, finding.column or 0

    return sorted(findings, key=place)


def _notes(composed: Composed) -> tuple[ChangeNote, ...]:
    return tuple(
        ChangeNote(
            path=dotted(one.path),
            before=None if one.before is None else flow(one.before),
            after=None if one.after is None else flow(one.after),
            by=one.by,
        )
        for one in composed.applied
    )


def _settled(
    scenario: Scenario,
    catalog: Catalog,
    rules: RuleBook,
    files: tuple[InputFile, ...],
) -> Inputs:
    settings = settled_settings(rules, scenario.policies, scenario.finance)
    return Inputs(
        scenario=scenario,
        catalog=catalog,
        rules=rules,
        settings=settings,
        offers=settled_offers(scenario, catalog, settings),
        files=files,
    )
