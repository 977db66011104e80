"""Reads everything that planning needs, reports all mistakes at once, and settles what is open."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from functools import cache, cached_property, lru_cache, partial
from pathlib import Path
from typing import Literal, TypeVar

from planner.errors import Finding, InputError, refuse
from planner.inputs.base import NotKnown
from planner.inputs.catalog.catalog import Catalog
from planner.inputs.catalog.merged import merged_catalog
from planner.inputs.checks.consistency import inconsistencies
from planner.inputs.checks.faults import alike_names, unknown_references
from planner.inputs.layers import read_layers, stated
from planner.inputs.measured import MeasuredRuns, Measurement, ServingMeasurement, read_measured
from planner.inputs.override import Override
from planner.inputs.reading.diagnostics import Attempts, nothing_of, validate
from planner.inputs.reading.document import Path as DocumentPath
from planner.inputs.reading.document import YamlDocument
from planner.inputs.reading.locate import (
    AS_DICT,
    AS_TEXT,
    InputFile,
    Located,
    UsedRole,
    given_files,
    named_twice,
    names_from,
    shipped_files,
    used_files,
)
from planner.inputs.reading.reader import read_bytes
from planner.inputs.rules.book import RuleBook, gathered_rules
from planner.inputs.scenario.scenario import ResolvedScenario, ScenarioFile
from planner.inputs.settled import (
    Inputs,
    Options,
    settled_catalog,
    settled_offers,
    settled_settings,
)

R = TypeVar("R")

_LEAST_KEPT, _MOST_KEPT, _MOST_JOBS_KEPT = 4, 256, 20_000
"""How many variants' inputs are kept for whoever asks again: by number, and by all of their
jobs."""


def load_catalog(extra: Sequence[Path] = ()) -> tuple[Catalog, tuple[InputFile, ...]]:
    """Load the shipped catalog and the user's files or folders; later entries win by id.

    Raises InputError with the mistakes of all files.
    """
    return merged_catalog([*shipped_files("catalog"), *_given_once(extra)])


def load_rules(extra: Sequence[Path] = ()) -> tuple[RuleBook, tuple[InputFile, ...]]:
    """Load the shipped rules and the user's files or folders; later rules win by id.

    Raises InputError with the mistakes of all files, and of all rules seen together.
    """
    return gathered_rules([*shipped_files("rules"), *_given_once(extra)])


def _given_once(paths: Sequence[Path]) -> list[Located]:
    files = given_files(paths)
    refuse(named_twice(files))
    return files


class Question:
    """A scenario of which any number of variants can be asked for; its files are read once."""

    def __init__(
        self,
        scenario: Path,
        *,
        catalog: Sequence[Path] = (),
        rules: Sequence[Path] = (),
        text: str | None = None,
        whole: bool = False,
    ) -> None:
        """Read the scenario and what it extends; raises InputError.

        `text` is the content of the file, if it is known: then the file need no longer exist. It
        is the `whole` scenario if the planner put it together from several files.
        """
        self.path, self.text, self.whole = scenario, text, whole
        self.layers = replace(read_layers(scenario, text), listed=self._listed)
        self._folder = scenario.parent
        self.given: dict[UsedRole, Sequence[Path]] = {"catalog": catalog, "rules": rules}
        jobs = sum(len(one.section("jobs")) for one in self.layers.documents)
        kept = min(_MOST_KEPT, max(_LEAST_KEPT, _MOST_JOBS_KEPT // (jobs or 1)))
        self._asked = lru_cache(kept)(self._inputs)
        self._facts = cache(merged_catalog)
        self._book = cache(gathered_rules)

    def inputs(self, variations: Sequence[str] = (), settings: Sequence[Override] = ()) -> Inputs:
        """Return one variant with all that it needs; raises InputError with every mistake."""
        return self._asked(tuple(variations), tuple(settings))

    def _inputs(self, variations: tuple[str, ...], settings: tuple[Override, ...]) -> Inputs:
        attempts = Attempts()
        composed = attempts.known(lambda: self.layers.composed(variations, settings))
        assert composed is not None
        document = composed.document
        inputs = attempts.known(
            lambda: inputs_from(
                document,
                lambda: self._read("catalog", document, self._facts),
                lambda: self._read("rules", document, self._book),
                lambda catalog: self._read("measured", document, partial(_measured_runs, catalog)),
            )
        )
        if attempts.findings or not attempts.sound or inputs is None:
            raise InputError(*self.in_order(attempts.findings))
        said = {
            "files": (*self.scenario_files, *inputs.files),
            "changes": composed.applied,
            "question": stated(names_from(document, self._folder)),
            "options": Options(
                variations=variations,
                settings=settings,
                catalog=tuple(map(str, self.given["catalog"])),
                rules=tuple(map(str, self.given["rules"])),
            ),
        }
        return inputs.model_copy(update=said)

    def _listed(self, document: YamlDocument, path: DocumentPath) -> Decimal | None:
        """Return the price book's figure for an offer's price, which a relative change moves."""
        if len(path) != 3 or path[0] != "offers":
            return None
        with suppress(InputError):  # what is wrong with the catalog is told where it is read
            catalog, _ = self._read("catalog", document, self._facts)
            return catalog.prices.usd_of(document.value(path[:2]), path[2])
        return None

    def in_order(self, findings: Iterable[Finding]) -> list[Finding]:
        """Return each finding once: those of its files first, file by file and by line."""
        files = [one.shown_as for one in reversed(self.layers.documents)]

        def place(finding: Finding) -> tuple[int, int, int]:
            if finding.file not in files:
                return len(files), 0, 0
            return files.index(finding.file), finding.line or 0, finding.column or 0

        return sorted(dict.fromkeys(findings), key=place)

    def _read(
        self,
        role: UsedRole,
        scenario: YamlDocument,
        read: Callable[[tuple[Located, ...]], tuple[R, tuple[InputFile, ...]]],
    ) -> tuple[R, tuple[InputFile, ...]]:
        """Read shipped files first and given ones last: later entries win.

        Raises InputError. If a file cannot be read, nothing is known of what it says.
        """
        attempts = Attempts()
        found = [
            *(attempts.known(lambda: self._used(scenario, role)) or ()),
            *(attempts.known(lambda: given_files(self.given.get(role, ()))) or ()),
        ]
        own = () if role == "measured" else shipped_files(role)
        untold = bool(attempts.findings)
        attempts.findings += named_twice(found, scenario)
        gathered = attempts.known(lambda: read((*own, *found)))
        if attempts.findings or not attempts.sound or gathered is None:
            raise InputError(*attempts.findings, known=None if untold else gathered)
        return gathered

    def _used(self, scenario: YamlDocument, role: UsedRole) -> list[Located]:
        return used_files(scenario, self._folder, role, whole=self.whole)

    @cached_property
    def scenario_files(self) -> tuple[InputFile, ...]:
        """The scenario and what it extends, with the digests of what they state."""
        *bases, scenario = self.layers.documents
        roles: list[tuple[Literal["scenario", "base"], YamlDocument]] = [("scenario", scenario)]
        roles += [("base", base) for base in reversed(bases)]
        return tuple(
            InputFile(
                role=role,
                path=document.shown_as,
                sha256=hashlib.sha256(stated(document.data).encode()).hexdigest(),
                location=None if document.shown_as in (AS_DICT, AS_TEXT) else document.path,
            )
            for role, document in roles
        )


def _measured_runs(
    catalog: Catalog, files: Sequence[Located]
) -> tuple[MeasuredRuns, tuple[InputFile, ...]]:
    """Return the runs of all these tables; raises InputError."""
    attempts = Attempts()
    runs: list[Measurement | ServingMeasurement] = []
    records = []
    for file in files:
        read = partial(read_measured, file.path, catalog, shown_as=file.shown_as)
        runs += attempts.take(read) or ()
        digest = hashlib.sha256(read_bytes(file.path, file.shown_as)).hexdigest()
        records.append(file.record("measured", digest))
    refuse(attempts.findings)
    return tuple(runs), tuple(records)


def inputs_from(
    document: YamlDocument,
    facts: Callable[[], tuple[Catalog, tuple[InputFile, ...]]],
    book: Callable[[], tuple[RuleBook, tuple[InputFile, ...]]],
    runs: Callable[[Catalog], tuple[MeasuredRuns, tuple[InputFile, ...]]] | None = None,
) -> Inputs:
    """Build the inputs of a question from its catalog, rules and measured runs.

    Each comes with its files. Raises InputError with all mistakes of all of them.
    """
    attempts = Attempts()
    known, ruled = attempts.known(facts), attempts.known(book)
    asked = attempts.known(lambda: validate(document, ResolvedScenario, known_as=ScenarioFile))
    catalog, rules = known and known[0], ruled and ruled[0]
    if asked is None:
        raise InputError(*attempts.findings)
    attempts.findings += alike_names(document)
    unknown = unknown_references(document.data, catalog, rules)
    attempts.findings += (fault.finding(document) for fault in unknown)
    catalog = catalog or nothing_of(Catalog)
    with suppress(NotKnown):
        catalog = settled_catalog(asked, catalog)
    attempts.findings += inconsistencies(document, asked, catalog)
    known_catalog = catalog
    measured = attempts.take(lambda: runs(known_catalog)) if runs and known else None
    if attempts.findings or not (attempts.sound and known and ruled):
        raise InputError(*attempts.findings)
    settings = settled_settings(ruled[0], asked.policies, asked.finance)
    return Inputs(
        scenario=asked,
        catalog=settled_catalog(asked, known[0]),
        catalog_of_files=known[0],
        rules=ruled[0],
        settings=settings,
        offers=settled_offers(asked, known[0], settings),
        measured=measured[0] if measured else (),
        files=(*known[1], *ruled[1], *(measured[1] if measured else ())),
    )
