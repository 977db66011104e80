"""A YAML file as plain data that still knows the place of every key and value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path as FilePath
from typing import Any, NamedTuple, Protocol

from planner.errors import Finding

Path = tuple[str | int, ...]
"""Keys and list positions from the top of a file to one value."""

_PLAIN_KEY = re.compile(r"[\w-]+")
_WRITTEN_PART = re.compile(r"""'((?:[^']|'')*)'|"([^"]*)"|([^.'"\[\]]+)""")
_WRITTEN_WORD = re.compile(r"[^\s,\[\]{}]+")
_LONGEST_KEY_SHOWN = 60


class Refused:
    """Stands for a value that cannot be read and was reported: no field accepts it."""


class TextPosition(NamedTuple):
    """Where something begins; both figures are 1-based."""

    line: int
    column: int


class Mark(Protocol):
    """A place as PyYAML gives it; all figures are 0-based."""

    @property
    def index(self) -> int:
        """The index in the whole text."""

    @property
    def line(self) -> int:
        """The line."""

    @property
    def column(self) -> int:
        """The column in the line."""


class Entry(NamedTuple):
    """The places of one entry of a mapping or list."""

    key: Mark
    """For an item of a list, its value's place."""
    value: Mark
    branch: Mapping[str | int, Entry] | None
    """The entries within, if the value is a mapping or list."""
    origin: YamlDocument | None = None
    """The document that it and all within it was written in, if that is not the one around it."""


Branch = Mapping[str | int, Entry]


def dotted(path: Path) -> str:
    """Write a path as `jobs.chat-tune.gpu_types[0]`; unusual keys stand in quotes."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
            continue
        if len(part) > _LONGEST_KEY_SHOWN:
            part = part[:_LONGEST_KEY_SHOWN] + "…"  # noqa: PLW2901 - shown, not used
        shown = _quoted(part) if part.isprintable() else repr(part)
        text += f".{shown}" if text else shown
    return text


def parts_of(text: str) -> tuple[str, ...]:
    """Read the keys of a dotted path.

    Between quotes a key may hold anything; between single quotes, a single quote is written
    twice. Raises ValueError, in words for a user, for what is no path.
    """
    parts: list[str] = []
    at = 0
    while match := _WRITTEN_PART.match(text, at):
        quoted, *others = match.groups()
        found = next((part for part in others if part is not None), "")
        parts.append(found if quoted is None else quoted.replace("''", "'"))
        at = match.end()
        if at == len(text):
            return tuple(parts)
        if text[at] != ".":
            break
        at += 1
    if "[" in text[at:]:
        raise ValueError(
            f"{text!r} reaches into a list, which is only set as a whole; what is no list has "
            "names, as in offers.NAME.maximum"
        )
    raise ValueError(f"{text!r} is not a path, write keys with dots between them")


def settable(path: tuple[str, ...]) -> str:
    """Write keys so that `parts_of` and `--set` read them back, whole."""
    return ".".join(map(_quoted, path))


def _quoted(key: str) -> str:
    if _PLAIN_KEY.fullmatch(key):
        return key
    if "'" in key and '"' not in key:
        return f'"{key}"'
    return "'{}'".format(key.replace("'", "''"))


@dataclass(frozen=True)
class YamlDocument:
    """One file, read: data, places and text.

    Mappings are dicts, lists are tuples, numbers are int or exact Decimal.
    """

    shown_as: str
    """The file's name as the user wrote it."""
    sha256: str
    """The digest of the bytes, with line ends as LF."""
    data: dict[str, Any]
    text: str
    branch: Branch
    """The places, in the shape of the data."""
    path: FilePath | None = None
    """The file, if it was read from one."""

    @cached_property
    def _lines(self) -> list[str]:
        return self.text.split("\n")

    def source_line(self, line: int) -> str | None:
        """Return the line as written, 1-based; None past the end."""
        return self._lines[line - 1] if 1 <= line <= len(self._lines) else None

    def section(self, name: str) -> dict[str, Any]:
        """Return the mapping under a key at the top; empty if no mapping stands there."""
        found = self.data.get(name)
        return found if isinstance(found, dict) else {}

    def empty_values(self) -> list[Path]:
        """Return the paths of all keys and items that have no value."""
        found: list[Path] = []
        open_values: list[tuple[Path, Any]] = [((), self.data)]
        while open_values:
            path, value = open_values.pop()
            inner = value.items() if isinstance(value, dict) else enumerate(value)
            for key, item in inner:
                if item is None:
                    found.append((*path, key))
                elif isinstance(item, dict | tuple):
                    open_values.append(((*path, key), item))
        return found

    def _entry(self, path: Path) -> tuple[Entry | None, int, YamlDocument]:
        """Return the entry of the longest existing part of a path, its length, and its origin."""
        branch: Branch | None = self.branch
        found: Entry | None = None
        origin: YamlDocument = self
        for depth, part in enumerate(path):
            if branch is None or part not in branch:
                return found, depth, origin
            found = branch[part]
            origin = found.origin or origin
            branch = found.branch
        return found, len(path), origin

    def origin(self, path: Path) -> YamlDocument:
        """Return the file or argument in which a value, or its nearest parent, was written."""
        return self._entry(path)[2]

    def entry(self, path: Path) -> Entry:
        """Return the entry at a path, with its origin; raises KeyError if there is none."""
        entry, depth, origin = self._entry(path)
        if entry is None or depth < len(path):
            raise KeyError(dotted(path))
        return entry._replace(origin=origin)

    def states(self, path: Path) -> bool:
        """Return whether there is a value at a path."""
        entry, depth, _ = self._entry(path)
        return entry is not None and depth == len(path)

    def value(self, path: Path) -> Any:  # noqa: ANN401 - whatever a file can hold
        """Return the value at a path; raises KeyError, IndexError or TypeError if there is none."""
        value: Any = self.data
        for part in path:
            value = value[part]
        return value

    def key_place(self, path: Path) -> TextPosition:
        """Return where the key begins, or that of the nearest parent if there is no such key."""
        entry, _, _ = self._entry(path)
        return (
            TextPosition(entry.key.line + 1, entry.key.column + 1) if entry else TextPosition(1, 1)
        )

    def value_place(self, path: Path) -> TextPosition:
        """Return where a plain value begins; for others, the key's place."""
        entry, depth, _ = self._entry(path)
        if entry is None or depth < len(path) or entry.branch is not None:
            return self.key_place(path)
        return TextPosition(entry.value.line + 1, entry.value.column + 1)

    def written(self, path: Path) -> str | None:
        """Return an unquoted word as the file has it; None if no text stands behind the path."""
        entry, depth, origin = self._entry(path)
        if entry is None or depth < len(path):
            return None
        found = _WRITTEN_WORD.match(origin._lines[entry.value.line], entry.value.column)
        return found[0] if found else None

    def finding(
        self, path: Path, message: str, hint: str | None = None, *, at_key: bool = False
    ) -> Finding:
        """Return a mistake at a path of this file: at the value, or with `at_key` at the key."""
        place = self.key_place(path) if at_key else self.value_place(path)
        origin = self.origin(path)
        return Finding(
            message=message,
            file=origin.shown_as,
            line=place.line,
            column=place.column,
            path=dotted(path) or None,
            source_line=origin.source_line(place.line),
            hint=hint,
        )
