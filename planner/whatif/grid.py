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
from planner.inputs.layers.relative import move_written
from planner.inputs.layers.setting import OPTION, split_setting
from planner.inputs.layers.written import flow
from planner.inputs.reading.diagnostics import read_as
from planner.inputs.reading.document import parts_of, settable
from planner.inputs.reading.reader import read_document
from planner.inputs.scenario.scenario import VariationName
from planner.inputs.scenario.spelling import Format
from planner.inputs.text.words import did_you_mean
from planner.whatif.variants.variant_planner import AS_STATED, Variant

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
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
    return SweepGrid(
        document, scenario, (*_combined(document, sweep.grid), *_single(document, sweep))
    )


def _combined(
    document: Document, grid: Combinations | None
) -> Iterator[tuple[Variant, dict[str, Path]]]:
    if grid is None:
        return
    axes = [
        [
            (_setting(document, ("grid", "set", path, place), path), ("grid", "set", path, place))
            for place in range(len(values))
        ]
        for path, values in grid.set.items()
    ]
    for apply in grid.apply:
        for settings in product(*axes):
            yield Variant(apply, tuple(text for text, _ in settings)), dict(settings)


def _single(document: Document, sweep: SweepFile) -> Iterator[tuple[Variant, dict[str, Path]]]:
    for number, row in enumerate(sweep.rows):
        places: dict[str, Path] = {
            _setting(document, ("rows", number, "set", path), path): ("rows", number, "set", path)
            for path in row.set
        }
        yield Variant(row.apply, tuple(places)), places


def _setting(document: Document, at: Path, path: str) -> str:
    """`path=value` of a path as the file states it, where an `=` in a name needs no quotes."""
    move = move_written(document, at)
    value = flow(document.value(at)) if move is None else move.text
    written = f"{path}={value}"
    if split_setting(written)[0] == path:
        return written
    try:
        return f"{settable(parts_of(path))}={value}"
    except ValueError:  # no path at all, which is told where it is read
        return written


def _names(data: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Names of overrides and scenarios with their places."""
    for number, names in enumerate(data.get("grid", {}).get("apply", ())):
        for place, name in enumerate(names):
            yield ("grid", "apply", number, place), name
    for number, row in enumerate(data.get("rows", ())):
        for place, name in enumerate(row.get("apply", ())):
            yield ("rows", number, "apply", place), name
