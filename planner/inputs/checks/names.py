"""Names of a scenario that a reader takes for one: they differ in case, spaces or look-alikes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.inputs.text.words import difference, folded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from planner.errors import Finding
    from planner.inputs.reading.document import Document, Path

__all__ = ["alike_names"]

_NAMED = ("sites", "fleet", "offers", "teams", "jobs")
"""Sections whose entries have names of the user's."""
_SITES = (("fleet", "*", "site"), ("offers", "*", "site"))
_TEAMS = (("jobs", "*", "team"),)
_LABELS = (("sites", "*", "labels"),)


def alike_names(scenario: Document) -> Iterator[Finding]:
    """Find each name that another one of its kind looks like, beside the place of the other.

    Works on the file's plain data, so that a mistake elsewhere in it hides none of these.
    """
    for section in _NAMED:
        entries = scenario.data.get(section)
        if isinstance(entries, dict):
            yield from _alike(scenario, (((section, name), name) for name in entries))
    if not scenario.data.get("sites"):
        yield from _alike(scenario, _stated(scenario, _SITES))
    if not scenario.data.get("teams"):
        yield from _alike(scenario, _stated(scenario, _TEAMS))
    yield from _alike(scenario, _stated(scenario, _LABELS))


def _alike(scenario: Document, names: Iterable[tuple[Path, str]]) -> Iterator[Finding]:
    met: dict[str, tuple[Path, str]] = {}
    told: set[str] = set()
    for path, name in names:
        where, first = met.setdefault(folded(name), (path, name))
        if name != first and name not in told:
            told.add(name)
            is_key, place = path[-1] == name, scenario.value_place(where)
            yield scenario.finding(
                path,
                f"{name!r} differs from {first!r} in {difference(name, first)} "
                f"({scenario.origin(where).shown_as}:{place.line})",
                f"{'' if is_key else 'write both alike, or '}give one of them another name",
                at_key=is_key,
            )


def _stated(scenario: Document, patterns: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    """Every name at the patterns: one text, or each of a list."""
    for section, _, key in patterns:
        entries = scenario.data.get(str(section))
        for name, entry in entries.items() if isinstance(entries, dict) else ():
            value = entry.get(key) if isinstance(entry, dict) else None
            if isinstance(value, str):
                yield (section, name, key), value
            for position, item in enumerate(value if isinstance(value, tuple) else ()):
                if isinstance(item, str):
                    yield (section, name, key, position), item
