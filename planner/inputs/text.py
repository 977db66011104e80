"""Text of values and names: plain values read and written, nearest names, counts in words.

Plain values are the YAML 1.2 core types and no surprises. Only `true` and `false` are booleans,
only decimal digits are numbers, and numbers stay exact; `010`, `0x1F`, `12:30`, `1_000`, `no`, `on`
and dates stay text.
"""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from decimal import Decimal
from difflib import SequenceMatcher, get_close_matches
from fractions import Fraction
from functools import lru_cache
from operator import ne
from pathlib import Path
from typing import Any

from planner.errors import Finding

ILLEGAL_CHARACTER = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\ufeff\ufff9-\uffff\ud800-\udfff\U000e0000-\U000e007f]"
)
"""Control, bidirectional and zero-width characters: what is shown would not be what is read."""

UNFILLED = re.compile(r"\$\{[^}]*\}?|\{\{.*?(\}\}|$)")
"""What a template leaves behind when nobody filled it in."""

LONGEST_NAME = 120
"""Characters of a name."""
FIRST_YEAR, LAST_YEAR = 2000, 2100
"""Days and quarters before or after are slips of the hand."""
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
    """Return rows as CSV, with LF line ends; None is an empty cell.

    Text that a spreadsheet would run begins with an apostrophe; numbers stay as they are.
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
    """Return a cell without the apostrophe that `csv_text` has put before it."""
    return text[1:] if text[:1] == "'" and _FORMULA.match(text.lstrip("'")) else text


_BARE = re.compile(r"[A-Za-z0-9](?:[\w ./%+()-]*[\w.%+()])?", re.ASCII)
"""Words that read the same without quotes, unless they are a number, boolean or nothing."""


def flow(value: object) -> str:
    """Return a value on one line: `8`, `0.15`, `'10%'` without its quotes, `[a, b]`, `{a: 1}`."""
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
    """Return a key of a mapping, in quotes if it needs them."""
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
    """Return plain data as YAML, mapping by mapping, in its own order."""
    return "".join(f"{line}\n" for name, value in data.items() for line in yaml_lines(name, value))


def yaml_lines(key: str, value: object, indent: str = "") -> Iterator[str]:
    """Yield one key and what it holds, line by line."""
    if isinstance(value, dict) and value:
        yield f"{indent}{flow_key(key)}:"
        for inner, held in value.items():
            yield from yaml_lines(inner, held, f"{indent}  ")
    else:
        yield f"{indent}{flow_key(key)}: {flow(value)}"


UNIT_WORDS = {
    *("w", "kw", "mw", "wh", "kwh", "mwh", "mb", "gb", "tb", "mib", "gib", "tib"),
    *("ms", "s", "second", "seconds", "minute", "minutes", "hour", "hours", "day", "days"),
    *("week", "weeks", "month", "months", "quarter", "year", "years"),
    *("sample", "samples", "token", "tokens"),
    *("usd", "eur", "chf", "gbp", "cents", "node", "gpu", "percent", "1k", "million", "1m"),
}
"""Words of a key that tell the unit of its figure."""
_LOOK_ALIKE = str.maketrans(
    "АВЕЅЗІЈКМНОРСТХУаеѕіјорсухһԁԛԝΑΒΕΖΗΙΚΜΝΟΡΤΥΧονρ‐‑‒–—―−⠀",
    "ABES3IJKMHOPCTXYaesijopcyxhdqwABEZHIKMNOPTYXovp------- ",
    "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"
    + "".join(map(chr, (*range(0x180B, 0x1810), *range(0xFE00, 0xFE10)))),
)
"""Letters of other alphabets that look Latin, dashes of any length, and invisible characters."""
_LONGEST_SHOWN = 60
_MOST_COMPARED = 2000
_NEAR, _NEARER = 0.6, 0.7
"""The similarity of two words: twice the letters that they share in order, over all letters of
both."""


def nearest(word: str, choices: Iterable[str], most: int = 3) -> list[str]:
    """Return the choices that may have been meant, best first; case does not count.

    A choice is near if it is spelled much like the word, or less so if one letter slipped, or if
    it is the word shortened or continued: `price` is near `price_usd`, and `kind` is not near
    `pinned`. A key that begins with the word is near however long it goes on, and so is one that
    has all of its pieces: `term_years` for `term`, `usd_per_million_output_tokens` for
    `output_usd_per_million`.
    """
    return list(_nearest(word, tuple(choices), most))


@lru_cache(maxsize=1024)
def _nearest(word: str, choices: tuple[str, ...], most: int) -> Sequence[str]:
    by_fold: dict[str, str] = {}
    for choice in choices:
        by_fold.setdefault(choice.casefold(), choice)
        if len(by_fold) == _MOST_COMPARED:
            break
    asked = word[:_LONGEST_SHOWN].casefold()
    if asked in by_fold:
        return [by_fold[asked]]
    found = [
        fold
        for fold in get_close_matches(asked, by_fold, _MOST_COMPARED, _NEAR)
        if SequenceMatcher(None, fold, asked).ratio() >= _NEARER
        or _slipped(asked, fold)
        or _continued(asked, fold)
    ]
    found.sort(key=lambda fold: not fold.startswith(asked))
    parts = pieces(asked)
    found += (
        fold
        for fold in by_fold
        if fold.startswith(f"{asked}_") or (len(parts) > 1 and parts <= pieces(fold))
        if fold not in found
    )
    return [by_fold[fold] for fold in found[:most]]


def _slipped(word: str, choice: str) -> bool:
    """Return whether short words differ by a letter, or by their order: `too` and `two`."""
    alike = sum(map(ne, word, choice)) == 1 or sorted(word) == sorted(choice)
    return len(word) == len(choice) and alike


def _continued(word: str, choice: str) -> bool:
    """Return whether both begin alike, or one has all pieces of the other.

    Alike for half of the shorter.
    """
    half = min(len(word), len(choice)) // 2 + 1
    asked, there = pieces(word), pieces(choice)
    return word[:half] == choice[:half] or asked <= there or there <= asked


def pieces(name: str) -> set[str]:
    """Return the words and figures that a name is made of: `xe9680-h100` has two."""
    return set(re.findall(r"[^\W_]+", name.casefold()))


def did_you_mean(word: str, choices: Iterable[str], most: int = 1) -> str | None:
    """Return `did you mean 'qlora'?`, or None if nothing is near."""
    found = nearest(word, choices, most)
    if not found:
        return None
    return f"did you mean {one_of([repr(name) for name in found])}?"


def key_meant(key: str, known: Collection[str]) -> str | None:
    """Return `did you mean 'power_kw'?`; for another unit, say that the figure changes, too."""
    hint = did_you_mean(key, known)
    if hint and in_other_unit(key, *nearest(key, known, most=1)):
        return f"{hint} It has another unit: convert the figure"
    return hint


def in_other_unit(key: str, meant: str) -> bool:
    """Return whether two keys name different units."""
    asked, there = ({f"{one.removesuffix('s')}s" for one in pieces(name)} for name in (key, meant))
    units = {f"{unit.removesuffix('s')}s" for unit in UNIT_WORDS}
    return bool((asked - there) & units and (there - asked) & units)


def listed(items: Sequence[str], conjunction: str = "and", most: int | None = None) -> str:
    """Join a list as in a sentence: `a`, `a and b`, `a, b and c`.

    At `most` so many are named, and the others counted: `a, b and 4 more`.
    """
    if most is not None and len(items) > most:
        items = [*items[:most], f"{len(items) - most:,} more"]
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {conjunction} {items[-1]}"


def one_of(names: Sequence[str]) -> str:
    """`a, b or c`."""
    return listed(names, "or")


def some_of(names: Sequence[str], shown: int) -> str:
    """Name the first few and count the others: `a, b, c and 4 more`."""
    return listed(names, most=shown) if len(names) > shown else ", ".join(names)


def foreign_letter(word: str) -> str | None:
    """Name the first non-Latin letter of a word that also has Latin ones or digits, if any."""
    for character in word:
        if not character.isascii() and character.isalpha():
            name = unicodedata.name(character, "")
            if not name.startswith("LATIN"):
                return character_name(character)
    return None


def folded(name: str) -> str:
    """Return what a name looks like regardless of case and spaces: `KI Chat` as `ki chat`.

    Names that are folded alike differ in case, width, dashes, spaces or look-alike letters only.
    """
    if not name.isascii():
        name = unicodedata.normalize("NFKC", name.translate(_LOOK_ALIKE))
    return " ".join(name.casefold().split())


def difference(one: str, other: str) -> str:
    """Say in what two names that look alike differ: `case alone`."""
    if one.casefold() == other.casefold():
        return "case alone"
    if one.split() == other.split():
        return "spaces alone"
    signs = (character_name(sign) for sign in one + other if not sign.isascii())
    letter = foreign_letter(one) or foreign_letter(other) or next(signs, None)
    return f"look-alike letters alone, such as {letter}" if letter else "what is hardly seen"


def described(value: object) -> str:
    """Return a value as its writer would recognize it: `'abc'`, `8.5`, `true`, `a list`."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        shown = value if len(value) <= _LONGEST_SHOWN else value[:_LONGEST_SHOWN] + "…"
        return repr(shown)
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, tuple | list):
        return "a list"
    return str(value)


def amount_text(amount: int, unit: str) -> str:
    """Format an amount: `37.5 kW`, from W; `12 U`, `1 port`, from `ports`."""
    if unit == "W":
        return f"{amount / 1000:,.10g} kW"
    return f"{amount:,} {unit.removesuffix('s') if amount == 1 else unit}"


def amount(value: Decimal | int, unit: str) -> str:
    """Format a figure with its unit, and a share as per cent: `2,190 h`, `10 %`."""
    exact = Decimal(value)
    if unit == "share":
        return f"{(exact * 100).normalize():,f} %"
    return f"{exact.normalize():,f} {unit}"


def gpus_text(gpus: Fraction) -> str:
    """Format a number of GPUs: `1 GPU`, `2.5 GPUs`."""
    whole = gpus.denominator == 1
    return count_of(int(gpus), "GPU") if whole else f"{float(gpus):,.6g} GPUs"


def price(usd: Decimal) -> str:
    """Format a price as it is stated, without needless zeros: `$2.5`, `$310,000`."""
    return f"${usd.normalize():,f}"


def usd(cents: int, *, short: bool = False) -> str:
    """Format dollars and cents: `$1,234,567.89`; with `short`, cents only if there are some."""
    whole, rest = divmod(abs(cents), 100)
    return f"{'-' if cents < 0 else ''}${whole:,}{'' if short and not rest else f'.{rest:02}'}"


def count_of(number: int, singular: str, plural: str | None = None) -> str:
    """Format a number with its noun: `1 node`, `1,204 nodes`."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def unreadable(path: Path, error: OSError, shown_as: str) -> Finding:
    """Say why a file cannot be read, with the nearest names beside it if it does not exist."""
    if not isinstance(error, FileNotFoundError):
        reason = error.strerror or "the system gives no reason"
        return Finding(f"cannot be read: {reason}", file=shown_as)
    try:
        beside = sorted(entry.name for entry in path.parent.iterdir())
    except OSError:
        beside = []
    return Finding("no such file", file=shown_as, hint=did_you_mean(path.name, beside))
