"""Many variants of a scenario, each a row, in a file that a stopped sweep carries on from.

Results are appended as they come, a line each, and rewritten in the order of the rows at the end:
the same bytes however the sweep was run.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from planner.errors import Finding, InputError
from planner.inputs.base import Frozen
from planner.inputs.text.words import count_of
from planner.planning.store import each_once, write_atomically
from planner.whatif.variants.plan_summary import PlanSummary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from planner.whatif.variants.executor import Executor
    from planner.whatif.variants.variant_planner import Variant, VariantPlanner

    Hire = Callable[[VariantPlanner], AbstractContextManager[Executor]]

__all__ = ["RESULTS", "Shard", "SweepRow", "all_figures", "require_rows", "results_name", "sweep"]

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


@dataclass(frozen=True, slots=True)
class Shard:
    """One of several parts of a sweep: every n-th row."""

    number: int
    """From 1."""
    of: int

    def part(self, variants: Mapping[str, Variant]) -> dict[str, Variant]:
        """The variants of this part."""
        every = list(variants.items())
        return dict(every[self.number - 1 :: self.of])


def results_name(shard: Shard | None) -> str:
    """Name of the file of results; a shard has one of its own."""
    return f"results-{shard.number}-of-{shard.of}.jsonl" if shard else RESULTS


def sweep(
    executor: Executor,
    variants: Mapping[str, Variant],
    out: Path,
    *,
    shard: Shard | None = None,
    force: bool = False,
    progress: Callable[[int, int, int], None],
) -> tuple[SweepRow, ...]:
    """Plan the variants that no file of results in the folder has yet; all their rows, in order.

    `progress` is told how many rows are done, how many of these were found, and how many there
    are. Raises what planning a whole sweep can: LimitError, InputError where a file cannot be
    written, or without `force` would lose rows that are not asked for.
    """
    asked = shard.part(variants) if shard else dict(variants)
    file = out / results_name(shard)
    lost = sum(line.key not in asked for line in _read(file))
    if lost and not force:
        message = f"holds {count_of(lost, 'row')} that this does not ask for, or asked otherwise"
        raise InputError(Finding(message, file=str(file), hint=_HINT))
    every = (line for one in _files(out) for line in _read(one))
    found = {line.key: line.figures for line in every if line.key in asked}
    write_atomically(file, _lines(asked, found))
    kept = len(found)
    progress(kept, kept, len(asked))
    with file.open("a", encoding="utf-8", newline="\n") as results:

        def done(key: str, figures: PlanSummary) -> None:
            found[key] = figures
            results.write(_line(key, asked[key], figures))
            results.flush()
            progress(len(found), kept, len(asked))

        executor.plan({key: one for key, one in asked.items() if key not in found}, done)
    write_atomically(file, _lines(asked, found))
    return tuple(SweepRow(variant, found[key]) for key, variant in asked.items())


def all_figures(
    planner: VariantPlanner,
    asked: Sequence[Variant],
    out: Path,
    *,
    force: bool,
    hire: Hire,
    progress: Callable[[int, int, int], None],
) -> list[PlanSummary]:
    """What variants come to, in their order; those that are alike are planned once, as a sweep."""
    keys = [planner.key(one) for one in asked]
    with hire(planner) as executor:
        variants = dict(zip(keys, asked, strict=True))
        rows = sweep(executor, variants, out, force=force, progress=progress)
    by_key = {key: row.figures for key, row in zip(variants, rows, strict=True)}
    return [by_key[key] for key in keys]


def _line(key: str, variant: Variant, figures: PlanSummary) -> str:
    settings = tuple(map(str, variant.settings))
    line = _Line(key=key, apply=variant.apply, settings=settings, figures=figures)
    return line.model_dump_json() + "\n"


def _lines(asked: Mapping[str, Variant], found: Mapping[str, PlanSummary]) -> str:
    """Rows that are done, in order, with the words in which they are asked for now."""
    return "".join(_line(key, one, found[key]) for key, one in asked.items() if key in found)


def require_rows(out: Path, *, force: bool) -> None:
    """Raise InputError for files of results that hold anything else, unless it may be lost."""
    foreign = [file for file in _files(out) if not all(map(_is_row, _lines_of(file)))]
    if foreign and not force:
        message = "holds lines that are no rows of a sweep of this version"
        raise InputError(*(Finding(message, file=str(file), hint=_HINT) for file in foreign))


def _is_row(line: str) -> bool:
    """Whether a line is a row, or the beginning of one that was cut off."""
    cut_off = not line.endswith("\n") and line[: len(_BEGINS)] == _BEGINS[: len(line)]
    return cut_off or _parsed(line) is not None


def _files(out: Path) -> list[Path]:
    return sorted(out.glob("results*.jsonl"))


def _read(file: Path) -> Iterator[_Line]:
    """Rows of a file, if it is there; a line that was cut off is no row."""
    return filter(None, map(_parsed, _lines_of(file)))


def _lines_of(file: Path) -> list[str]:
    if not file.is_file():
        return []
    with file.open(encoding="utf-8", errors="replace", newline="\n") as lines:
        return list(lines)


def _parsed(line: str) -> _Line | None:
    try:
        json.loads(line, object_pairs_hook=each_once(line, RESULTS))
        return _Line.model_validate_json(line)
    except (InputError, ValueError, RecursionError):
        return None
