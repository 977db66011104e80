"""Plain values, read and written: the YAML 1.2 core types and no surprises.

Only `true` and `false` are booleans, only decimal digits are numbers, and numbers stay exact;
`010`, `0x1F`, `12:30`, `1_000`, `no`, `on` and dates stay text.
"""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any

ILLEGAL_CHARACTER = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\ufeff\ufff9-\uffff\ud800-\udfff\U000e0000-\U000e007f]"
)
"""Control, bidirectional and zero-width characters: what is shown would not be what is read."""

PLACEHOLDER = re.compile(r"\$\{[^}]*\}?|\{\{.*?(\}\}|$)")
"""What a template leaves behind when nobody filled it in."""

_LONGEST_NUMBER = 30
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_DECIMAL = re.compile(r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]{1,2})?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_NUMERIC_START = frozenset("0123456789+-.")
_WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}


class ScalarError(ValueError):
    """A number that no field could take; `str()` is the message."""


def plain_value(text: str) -> str | int | bool | Decimal | None:
    """Read an unquoted word; raises ScalarError for `.nan`, `.inf` and endless digits."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMERIC_START:
        return text
    if _NOT_FINITE.fullmatch(text):
        raise ScalarError(f"{text} is not a finite number")
    is_integer = _INTEGER.fullmatch(text)
    if not is_integer and not _DECIMAL.fullmatch(text):
        return text
    if len(text) > _LONGEST_NUMBER:
        raise ScalarError(
            f"a number of {len(text):,} characters is too long, at most {_LONGEST_NUMBER}"
        )
    return int(text) if is_integer else Decimal(text)


def character_name(character: str) -> str:
    """Name a character so that it can be searched for: `U+200B ZERO WIDTH SPACE`."""
    name = unicodedata.name(character, "control character")
    return f"U+{ord(character):04X} {name}"


_FORMULA = re.compile(r"[=+\-@\t\r＝＋－＠]")
"""What makes a spreadsheet run a cell (CWE-1236), full-width forms included."""
_NUMBER = re.compile(r"[-+]?[0-9]+(\.[0-9]+)?")


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    """Rows as CSV, lines end in LF; None is an empty cell.

    Text that a spreadsheet would run begins with an apostrophe, numbers stay as they are.
    """
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue()


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    runs = _FORMULA.match(text.lstrip("'")) and not _NUMBER.fullmatch(text)
    return f"'{text}" if runs else text


def plain_cell(text: str) -> str:
    """A cell without the apostrophe that `csv_text` has put before it."""
    return text[1:] if text[:1] == "'" and _FORMULA.match(text.lstrip("'")) else text


_BARE = re.compile(r"[A-Za-z0-9](?:[\w ./%+()-]*[\w.%+()])?", re.ASCII)
"""Words that read the same without quotes, as long as they are no number, boolean or nothing."""


def flow(value: object) -> str:
    """A value on one line: `8`, `0.15`, `'10%'` without its quotes, `[a, b]`, `{a: 1}`."""
    if isinstance(value, dict):
        inside = ", ".join(f"{flow_key(key)}: {flow(item)}" for key, item in value.items())
        return f"{{{inside}}}"
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(flow, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return f"{value:f}"
    if value is None:
        return "null"
    if isinstance(value, str):
        return value if _reads_as_text(value) else json.dumps(value, ensure_ascii=False)
    return str(value)


def flow_key(key: str) -> str:
    """A key of a mapping, in quotes where it needs them."""
    return key if _reads_as_text(key) else json.dumps(key, ensure_ascii=False)


@lru_cache(maxsize=4096)
def _reads_as_text(text: str) -> bool:
    if not _BARE.fullmatch(text):
        return False
    try:
        return plain_value(text) == text
    except ScalarError:
        return False


def as_yaml(data: dict[str, Any]) -> str:
    """Plain data as YAML, mapping by mapping, in its own order."""
    return "".join(f"{line}\n" for name, value in data.items() for line in yaml_lines(name, value))


def yaml_lines(key: str, value: object, indent: str = "") -> Iterator[str]:
    """One key and what it holds, line by line."""
    if isinstance(value, dict) and value:
        yield f"{indent}{flow_key(key)}:"
        for inner, held in value.items():
            yield from yaml_lines(inner, held, f"{indent}  ")
    else:
        yield f"{indent}{flow_key(key)}: {flow(value)}"
