"""Sweeps: variants of a scenario as rows of a table, and the file of their results.

Results are appended as they come, a line each, and rewritten in the order of the rows at the end:
the same bytes however the sweep was run. A sweep that was stopped carries on from them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import prod
from pathlib import Path as FilePath
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from planner.errors import Finding, InputError, refuse
from planner.inputs.base import Format, Frozen, Name
from planner.inputs.layers import base_path
from planner.inputs.override import Override
from planner.inputs.reading.diagnostics import Attempts, read_as
from planner.inputs.reading.document import Path, YamlDocument
from planner.inputs.reading.reader import read_document
from planner.inputs.scenario.scenario import VariationName
from planner.inputs.text import count_of, did_you_mean
from planner.planning.files import write_atomically
from planner.whatif.results import PlanSummary
from planner.whatif.variants import AS_STATED, Executor, Variant, VariantPlanner

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

    document: YamlDocument
    scenario: FilePath
    rows: tuple[Variant, ...]

    def variants(self, planner: VariantPlanner, base: Variant = AS_STATED) -> dict[str, Variant]:
        """The rows by their keys, all on top of a base; of rows that ask the same, the first.

        Raises InputError, each mistake with its place in the file of the sweep, or where that is
        the cause, in the files of the scenario.
        """
        findings = list(unknown_names(self.document, planner, _names(self.document.data)))
        found: dict[str, Variant] = {}
        if not findings:
            for variant in map(base.with_more, self.rows):
                try:
                    found.setdefault(planner.key(variant), variant)
                except InputError as error:
                    findings += error.findings
        if findings:
            raise InputError(*dict.fromkeys(findings))
        return found


def unknown_names(
    document: YamlDocument, planner: VariantPlanner, names: Iterable[tuple[Path, str]]
) -> Iterator[Finding]:
    """Of names with their places in a file, those of no scenario or override."""
    known = planner.question.layers.names
    for place, name in names:
        if name not in known:
            some = f"there are {', '.join(known)}" if known else "it has no `overrides:`"
            message = f"{planner.config.scenario} has no scenario or override {name!r}"
            yield document.finding(place, message, did_you_mean(name, known) or some)


def read_grid(
    path: FilePath, text: str | None = None, scenario: FilePath | None = None
) -> SweepGrid:
    """Read the file of a sweep; raises InputError with all its mistakes.

    `text` stands in for the file, and `scenario` for the one that it names.
    """
    document, asked = read_as(partial(read_document, path, text=text), SweepFile)
    if asked.grid is None and not asked.rows:
        raise InputError(document.finding((), "asks for no row", "write `grid:` or `rows:`"))
    scenario = scenario or base_path(document, asked.scenario, key="scenario")
    if asked.grid is not None:
        number = prod(map(len, (asked.grid.apply, *asked.grid.set.values())))
        if number > _MOST_ROWS:
            message = f"has {number:,} combinations, at most {_MOST_ROWS:,} are planned"
            raise InputError(document.finding(("grid",), message, "leave out values or axes"))
    attempts = Attempts()

    def override(path: str, at: Path) -> Override | None:
        return attempts.take(lambda: Override.written(path, document, at))

    rows = (*_combined(asked.grid, override), *_single(asked, override))
    refuse(attempts.findings)
    return SweepGrid(document, scenario, rows)


def _combined(
    grid: Combinations | None, override: Callable[[str, Path], Override | None]
) -> Iterator[Variant]:
    if grid is None:
        return
    axes = []
    for path, values in grid.set.items():
        places: list[Path] = [("grid", "set", path, place) for place in range(len(values))]
        axes.append(tuple(one for at in places if (one := override(path, at))))
    for apply in grid.apply:
        yield from (Variant(apply, settings) for settings in product(*axes))


def _single(
    asked: SweepFile, override: Callable[[str, Path], Override | None]
) -> Iterator[Variant]:
    for number, row in enumerate(asked.rows):
        settings = (override(path, ("rows", number, "set", path)) for path in row.set)
        yield Variant(row.apply, tuple(filter(None, settings)))


def _names(data: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Names of overrides and scenarios with their places."""
    for number, names in enumerate(data.get("grid", {}).get("apply", ())):
        for place, name in enumerate(names):
            yield ("grid", "apply", number, place), name
    for number, row in enumerate(data.get("rows", ())):
        for place, name in enumerate(row.get("apply", ())):
            yield ("rows", number, "apply", place), name


RESULTS = "results.jsonl"
_BEGINS = '{"key":"'
"""Whatever a row says."""
_HINT = "name another `--out`, or throw them away with `--force`"


class SweepRow(NamedTuple):
    """What was asked, and what it comes to."""

    variant: Variant
    figures: PlanSummary


class _Line(Frozen):
    """One line of the results."""

    key: str
    """Of everything that the figures depend on."""
    apply: tuple[str, ...]
    settings: tuple[str, ...]
    """As they were asked for then; nothing is read from them."""
    figures: PlanSummary


def run_sweep(
    executor: Executor,
    variants: Mapping[str, Variant],
    out: FilePath,
    *,
    force: bool = False,
    progress: Callable[[int, int, int], None],
) -> tuple[SweepRow, ...]:
    """Plan the variants that the results in the folder do not have yet; all their rows, in order.

    `progress` is told how many rows are done, how many of these were found, and how many there
    are. Raises what planning a whole sweep can: LimitError, InputError where a file cannot be
    written, or without `force` would lose rows that are not asked for.
    """
    file = out / RESULTS
    kept_lines = list(_read(file))
    lost = sum(line.key not in variants for line in kept_lines)
    if lost and not force:
        message = f"holds {count_of(lost, 'row')} that this does not ask for, or asked otherwise"
        raise InputError(Finding(message, file=str(file), hint=_HINT))
    found = {line.key: line.figures for line in kept_lines if line.key in variants}
    write_atomically({file: _lines(variants, found)})
    kept = len(found)
    progress(kept, kept, len(variants))
    with file.open("a", encoding="utf-8", newline="\n") as results:

        def done(key: str, figures: PlanSummary) -> None:
            found[key] = figures
            results.write(_line(key, variants[key], figures))
            results.flush()
            progress(len(found), kept, len(variants))

        executor.plan({key: one for key, one in variants.items() if key not in found}, done)
    write_atomically({file: _lines(variants, found)})
    return tuple(SweepRow(variant, found[key]) for key, variant in variants.items())


@dataclass(frozen=True, slots=True)
class VariantRuns:
    """Plans many variants, each once, and keeps the results in folders."""

    start: Callable[[VariantPlanner], AbstractContextManager[Executor]]
    """Begins the executor of a planner."""
    progress: Callable[[int, int, int], None]
    """Is told what `sweep` tells."""

    def figures(
        self, planner: VariantPlanner, asked: Sequence[Variant], out: FilePath, *, force: bool
    ) -> list[PlanSummary]:
        """What variants come to, in their order; raises what a sweep raises."""
        keys = [planner.key(one) for one in asked]
        with self.start(planner) as executor:
            variants = dict(zip(keys, asked, strict=True))
            rows = run_sweep(executor, variants, out, force=force, progress=self.progress)
        by_key = {key: row.figures for key, row in zip(variants, rows, strict=True)}
        return [by_key[key] for key in keys]


def _line(key: str, variant: Variant, figures: PlanSummary) -> str:
    settings = tuple(map(str, variant.settings))
    line = _Line(key=key, apply=variant.apply, settings=settings, figures=figures)
    return line.model_dump_json() + "\n"


def _lines(asked: Mapping[str, Variant], found: Mapping[str, PlanSummary]) -> str:
    """Rows that are done, in order, with the words in which they are asked for now."""
    return "".join(_line(key, one, found[key]) for key, one in asked.items() if key in found)


def require_rows(out: FilePath, *, force: bool) -> None:
    """Raise InputError for results that hold anything else, unless it may be lost."""
    file = out / RESULTS
    if not force and not all(map(_is_row, _lines_of(file))):
        message = "holds lines that are no rows of a sweep of this version"
        raise InputError(Finding(message, file=str(file), hint=_HINT))


def _is_row(line: str) -> bool:
    """Whether a line is a row, or the beginning of one that was cut off."""
    cut_off = not line.endswith("\n") and line[: len(_BEGINS)] == _BEGINS[: len(line)]
    return cut_off or _parsed(line) is not None


def _read(file: FilePath) -> Iterator[_Line]:
    """Rows of a file, if it is there; a line that was cut off is no row."""
    return filter(None, map(_parsed, _lines_of(file)))


def _lines_of(file: FilePath) -> list[str]:
    if not file.is_file():
        return []
    with file.open(encoding="utf-8", errors="replace", newline="\n") as lines:
        return list(lines)


def _parsed(line: str) -> _Line | None:
    try:
        return _Line.model_validate_json(line)
    except (ValueError, RecursionError):
        return None
