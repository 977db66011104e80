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
    """Dotted paths, each with its values."""


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
    """A sweep file that was read."""

    document: YamlDocument
    scenario: FilePath
    rows: tuple[Variant, ...]
    names: tuple[tuple[Path, str], ...]
    """The overrides and scenarios that it names, each with its place."""

    def variants(self, planner: VariantPlanner, base: Variant = AS_STATED) -> dict[str, Variant]:
        """Return the rows by their keys, all on top of a base; the first of rows that ask the same.

        Raises InputError, each mistake with its place in the file of the sweep or, if that is
        the cause, in the files of the scenario.
        """
        findings = list(unknown_names(self.document, planner, self.names))
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
    """Return those names, with their places in a file, that are no scenario or override."""
    known = planner.question.layers.names
    for place, name in names:
        if name not in known:
            some = f"there are {', '.join(known)}" if known else "it has no `overrides:`"
            message = f"{planner.config.scenario} has no scenario or override {name!r}"
            yield document.finding(place, message, did_you_mean(name, known) or some)


def read_grid(
    path: FilePath, text: str | None = None, scenario: FilePath | None = None
) -> SweepGrid:
    """Read a sweep file; raises InputError with all its mistakes.

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
    attempts, rows, names = Attempts(), [], list[tuple[Path, str]]()

    def override(path: str, *at: str | int) -> Override | None:
        return attempts.take(lambda: Override.written(path, document, at))

    if asked.grid is not None:
        axes = [
            [one for at in range(len(values)) if (one := override(path, "grid", "set", path, at))]
            for path, values in asked.grid.set.items()
        ]
        for number, apply in enumerate(asked.grid.apply):
            rows += [Variant(apply, settings) for settings in product(*axes)]
            names += ((("grid", "apply", number, at), name) for at, name in enumerate(apply))
    for number, row in enumerate(asked.rows):
        stated = (override(path, "rows", number, "set", path) for path in row.set)
        rows.append(Variant(row.apply, tuple(filter(None, stated))))
        names += ((("rows", number, "apply", at), name) for at, name in enumerate(row.apply))
    refuse(attempts.findings)
    return SweepGrid(document, scenario, tuple(rows), tuple(names))


RESULTS = "results.jsonl"
_BEGINS = '{"key":"'
"""Whatever a row says."""
_HINT = "name another `--out`, or throw them away with `--force`"


class SweepRow(NamedTuple):
    """What was asked, and its result."""

    variant: Variant
    figures: PlanSummary


class _Line(Frozen):
    """One line of the results."""

    key: str
    """The key of everything that the figures depend on."""
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
) -> dict[str, PlanSummary]:
    """Plan the variants that the results in the folder lack; return the results by key.

    `progress` is called with the rows done, those of them that were found, and the total. Raises
    LimitError, and InputError if a file cannot be written, or if it would lose rows that are not
    asked for without `force`.
    """
    file = out / RESULTS
    kept_lines = [row for _, row in _read(file) if row is not None]
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
    return found


@dataclass(frozen=True, slots=True)
class VariantRuns:
    """Plans many variants, each once, and keeps the results in folders."""

    start: Callable[[VariantPlanner], AbstractContextManager[Executor]]
    """Starts the executor of a planner."""
    progress: Callable[[int, int, int], None]
    """Called with what `run_sweep` reports."""

    def figures(
        self, planner: VariantPlanner, asked: Sequence[Variant], out: FilePath, *, force: bool
    ) -> list[PlanSummary]:
        """Return the results of variants, in order; raises what a sweep raises."""
        variants = {planner.key(one): one for one in asked}
        with self.start(planner) as executor:
            found = run_sweep(executor, variants, out, force=force, progress=self.progress)
        return [found[planner.key(one)] for one in asked]


def _line(key: str, variant: Variant, figures: PlanSummary) -> str:
    settings = tuple(map(str, variant.settings))
    line = _Line(key=key, apply=variant.apply, settings=settings, figures=figures)
    return line.model_dump_json() + "\n"


def _lines(asked: Mapping[str, Variant], found: Mapping[str, PlanSummary]) -> str:
    """Return finished rows in order, with the words in which they are asked for now."""
    return "".join(_line(key, one, found[key]) for key, one in asked.items() if key in found)


def require_rows(out: FilePath, *, force: bool) -> None:
    """Raise InputError for results that hold anything else, unless it may be lost.

    The last line may be the beginning of a row that was cut off.
    """
    for line, row in _read(out / RESULTS):
        cut_off = not line.endswith("\n") and line[: len(_BEGINS)] == _BEGINS[: len(line)]
        if row is None and not cut_off and not force:
            message = "holds lines that are no rows of a sweep of this version"
            raise InputError(Finding(message, file=str(out / RESULTS), hint=_HINT))


def _read(file: FilePath) -> Iterator[tuple[str, _Line | None]]:
    """Lines of a file, if it is there, each with its row."""
    if not file.is_file():
        return
    with file.open(encoding="utf-8", errors="replace", newline="\n") as lines:
        for line in lines:
            try:
                yield line, _Line.model_validate_json(line)
            except (ValueError, RecursionError):
                yield line, None
