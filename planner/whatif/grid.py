"""The file of a sweep: which variants of a scenario are planned, each a row of its table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from planner.errors import Finding, InputError
from planner.inputs.base import Frozen, Name
from planner.inputs.layers.composed import base_path
from planner.inputs.layers.override import OPTION, Override, move_written
from planner.inputs.reading.diagnostics import Attempts, read_as
from planner.inputs.reading.reader import read_document
from planner.inputs.scenario.scenario import VariationName
from planner.inputs.scenario.spelling import Format
from planner.inputs.text.words import did_you_mean
from planner.whatif.variants.variant_planner import AS_STATED, Variant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path as FilePath

    from planner.inputs.reading.document import Document, Path
    from planner.whatif.variants.variant_planner import VariantPlanner

__all__ = ["SweepGrid", "placed", "read_grid", "unknown_names"]

_MOST_ROWS = 100_000

Several = Annotated[tuple[Any, ...], Field(min_length=1)]


class Combinations(Frozen):
    """Axes of which every combination is a row."""

    apply: Annotated[tuple[tuple[VariationName, ...], ...], Field(min_length=1)] = ((),)
    """Lists of overrides and scenarios; `[]` is the scenario as it is."""
    set: Annotated[dict[str, Several], Field(default_factory=dict)]
    """Dotted paths, each with the values that it takes."""


class Single(Frozen):
    """One row."""

    apply: tuple[VariationName, ...] = ()
    """Overrides and scenarios, in order."""
    set: Annotated[dict[str, Any], Field(default_factory=dict)]
    """Dotted paths with their values."""


class SweepFile(Frozen):
    """A sweep: combinations first, then rows of their own."""

    format: Format
    """Version of this file format."""
    scenario: Name
    """The scenario file, relative to this one."""
    grid: Combinations | None = None
    """Every combination of these values."""
    rows: tuple[Single, ...] = ()
    """Further rows, one by one."""


@dataclass(frozen=True, slots=True)
class SweepGrid:
    """A sweep file, read."""

    document: Document
    scenario: FilePath
    rows: tuple[tuple[Variant, Mapping[str, Path]], ...]
    """Each with the place in the file of each of its settings."""

    def variants(self, planner: VariantPlanner, base: Variant = AS_STATED) -> dict[str, Variant]:
        """The rows by their keys, all on top of a base; of rows that ask the same, the first.

        Raises InputError, each mistake with its place in the file of the sweep, or where that is
        the cause, in the files of the scenario.
        """
        findings = list(unknown_names(self.document, planner, _names(self.document.data)))
        found: dict[str, Variant] = {}
        if not findings:
            for row, places in self.rows:
                variant = base.with_more(row)
                try:
                    found.setdefault(planner.key(variant), variant)
                except InputError as error:
                    findings += (placed(self.document, one, places) for one in error.findings)
        if findings:
            raise InputError(*dict.fromkeys(findings))
        return found


def unknown_names(
    document: Document, planner: VariantPlanner, names: Iterable[tuple[Path, str]]
) -> Iterator[Finding]:
    """Of names with their places in a file, those of no scenario or override."""
    known = planner.question.layers.names
    for place, name in names:
        if name not in known:
            some = f"there are {', '.join(known)}" if known else "it has no `overrides:`"
            message = f"{planner.config.scenario} has no scenario or override {name!r}"
            yield document.finding(place, message, did_you_mean(name, known) or some)


def placed(document: Document, finding: Finding, places: Mapping[str, Path]) -> Finding:
    """A mistake in a setting, at the place in a file that it is from."""
    place = places.get(finding.source_line or "")
    if finding.file != OPTION or place is None:
        return finding
    return document.finding(place, finding.message, finding.hint)


def read_grid(
    path: FilePath, text: str | None = None, scenario: FilePath | None = None
) -> SweepGrid:
    """Read the file of a sweep; raises InputError with all its mistakes.

    `text` stands in for the file, and `scenario` for the one that it names.
    """
    document, sweep = read_as(partial(read_document, path, text=text), SweepFile)
    if sweep.grid is None and not sweep.rows:
        raise InputError(document.finding((), "asks for no row", "write `grid:` or `rows:`"))
    scenario = scenario or base_path(document, sweep.scenario, key="scenario")
    if sweep.grid is not None:
        asked = prod(map(len, (sweep.grid.apply, *sweep.grid.set.values())))
        if asked > _MOST_ROWS:
            message = f"has {asked:,} combinations, at most {_MOST_ROWS:,} are planned"
            raise InputError(document.finding(("grid",), message, "leave out values or axes"))
    attempts = Attempts()

    def override(path: str, at: Path) -> Override | None:
        return attempts.take(lambda: _override(document, path, at))

    rows = (*_combined(sweep.grid, override), *_single(sweep, override))
    if attempts.findings:
        raise InputError(*attempts.findings)
    return SweepGrid(document, scenario, rows)


def _combined(
    grid: Combinations | None, override: Callable[[str, Path], Override | None]
) -> Iterator[tuple[Variant, dict[str, Path]]]:
    if grid is None:
        return
    axes = []
    for path, values in grid.set.items():
        places: list[Path] = [("grid", "set", path, place) for place in range(len(values))]
        axes.append([(one, at) for at in places if (one := override(path, at))])
    for apply in grid.apply:
        for settings in product(*axes):
            variant = Variant(apply, tuple(one for one, _ in settings))
            yield variant, {one.text: at for one, at in settings}


def _single(
    sweep: SweepFile, override: Callable[[str, Path], Override | None]
) -> Iterator[tuple[Variant, dict[str, Path]]]:
    for number, row in enumerate(sweep.rows):
        places: dict[Override, Path] = {}
        for path in row.set:
            at = ("rows", number, "set", path)
            if one := override(path, at):
                places[one] = at
        yield Variant(row.apply, tuple(places)), {one.text: at for one, at in places.items()}


def _override(document: Document, path: str, at: Path) -> Override:
    """What the file sets at a path; raises InputError for what is no path."""
    move = move_written(document, at)
    try:
        return Override.of(path, document.value(at), move.text if move else None)
    except ValueError as error:
        raise InputError(document.finding(at, str(error))) from None


def _names(data: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Names of overrides and scenarios with their places."""
    for number, names in enumerate(data.get("grid", {}).get("apply", ())):
        for place, name in enumerate(names):
            yield ("grid", "apply", number, place), name
    for number, row in enumerate(data.get("rows", ())):
        for place, name in enumerate(row.get("apply", ())):
            yield ("rows", number, "apply", place), name
