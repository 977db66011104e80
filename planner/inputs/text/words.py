"""Nearest names, look-alike letters, counts and values as a person would call them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from decimal import Decimal
from difflib import SequenceMatcher, get_close_matches
from functools import lru_cache
from operator import ne
from pathlib import Path

from planner.errors import Finding
from planner.inputs.text.scalars import character_name

_UNITS = (
    *("w", "kw", "mw", "wh", "kwh", "mwh", "mb", "gb", "tb", "mib", "gib", "tib"),
    *("ms", "s", "second", "seconds", "minute", "minutes", "hour", "hours", "day", "days"),
    *("week", "weeks", "month", "months", "quarter", "year", "years"),
    *("usd", "eur", "chf", "gbp", "cents", "node", "gpu", "percent"),
)
"""Words of a key that tell the unit of its figure."""
_LOOK_ALIKE = str.maketrans(
    "АВЕЅЗІЈКМНОРСТХУаеѕіјорсухһԁԛԝΑΒΕΖΗΙΚΜΝΟΡΤΥΧονρ‐‑‒–—―−⠀",
    "ABES3IJKMHOPCTXYaesijopcyxhdqwABEZHIKMNOPTYXovp------- ",
    "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"
    + "".join(map(chr, (*range(0x180B, 0x1810), *range(0xFE00, 0xFE10)))),
)
"""Letters of other alphabets that look Latin, dashes of any length, and what is not seen."""
_LONGEST_SHOWN = 60
_MOST_COMPARED = 2000
_NEAR, _NEARER = 0.6, 0.7
"""Of two words: twice the letters that they share in order, over all letters of both."""


def nearest(word: str, choices: Iterable[str], most: int = 3) -> list[str]:
    """Give the choices that a person may have meant, best first; case does not count.

    A choice is near that is spelled much like the word, or less so if one letter slipped, or it is
    the word shortened or continued: `price` is near `price_usd`, and `kind` is not near `pinned`.
    However long it goes on, a key that begins with the word is, and one that has all of its pieces:
    `term_years` of `term`, `usd_per_million_output_tokens` of `output_usd_per_million`.
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
    parts = pieces(asked)
    found += (
        fold
        for fold in by_fold
        if fold.startswith(f"{asked}_") or (len(parts) > 1 and parts <= pieces(fold))
        if fold not in found
    )
    return [by_fold[fold] for fold in found[:most]]


def _slipped(word: str, choice: str) -> bool:
    """Whether short words differ by a letter, or by the order of theirs: `too` and `two`."""
    alike = sum(map(ne, word, choice)) == 1 or sorted(word) == sorted(choice)
    return len(word) == len(choice) and alike


def _continued(word: str, choice: str) -> bool:
    """Whether both begin alike, for half of the shorter, or one has all pieces of the other."""
    half = min(len(word), len(choice)) // 2 + 1
    asked, there = pieces(word), pieces(choice)
    return word[:half] == choice[:half] or asked <= there or there <= asked


def pieces(name: str) -> set[str]:
    """The words and figures that a name is made of: `xe9680-h100` has two."""
    return set(re.findall(r"[^\W_]+", name.casefold()))


def did_you_mean(word: str, choices: Iterable[str], most: int = 1) -> str | None:
    """`did you mean 'qlora'?`, or None where nothing is near."""
    found = nearest(word, choices, most)
    if not found:
        return None
    return f"did you mean {one_of([repr(name) for name in found])}?"


def key_meant(key: str, known: Collection[str]) -> str | None:
    """`did you mean 'power_kw'?`, and of a key with another unit, that its figure changes, too."""
    hint, asked = did_you_mean(key, known), pieces(key)
    meant = {word for name in nearest(key, known, most=1) for word in pieces(name)}
    if (asked - meant).intersection(_UNITS) and (meant - asked).intersection(_UNITS):
        return f"{hint} It has another unit: convert the figure"
    return hint


def one_of(names: Sequence[str]) -> str:
    """`a, b or c`."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} or {names[-1]}"


def foreign_letter(word: str) -> str | None:
    """Name the first non-Latin letter of a word that also has Latin ones or digits, if any."""
    for character in word:
        if not character.isascii() and character.isalpha():
            name = unicodedata.name(character, "")
            if not name.startswith("LATIN"):
                return character_name(character)
    return None


def folded(name: str) -> str:
    """What a name looks like to a reader who minds neither case nor space: `KI  Chat` as `ki chat`.

    Names that are folded alike differ in case, width, dashes, spaces or look-alike letters alone.
    """
    if not name.isascii():
        name = unicodedata.normalize("NFKC", name.translate(_LOOK_ALIKE))
    return " ".join(name.casefold().split())


def difference(one: str, other: str) -> str:
    """In what two names differ that look alike: `case alone`."""
    if one.casefold() == other.casefold():
        return "case alone"
    if one.split() == other.split():
        return "spaces alone"
    letter = foreign_letter(one) or foreign_letter(other)
    return f"look-alike letters alone, such as {letter}" if letter else "what is hardly seen"


def described(value: object) -> str:
    """A value from a file as its writer would recognise it: `'abc'`, `8.5`, `true`, `a list`."""
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
    """`37.5 kW`, from W; `12 U`, `1 port`, from `ports`."""
    if unit == "W":
        return f"{amount / 1000:,.10g} kW"
    return f"{amount:,} {unit.removesuffix('s') if amount == 1 else unit}"


def usd(cents: int, *, short: bool = False) -> str:
    """Dollars and cents: `$1,234,567.89`; if `short`, cents only where there are some."""
    whole, rest = divmod(abs(cents), 100)
    return f"{'-' if cents < 0 else ''}${whole:,}{'' if short and not rest else f'.{rest:02}'}"


def count_of(number: int, singular: str, plural: str | None = None) -> str:
    """A number with its noun: `1 node`, `1,204 nodes`."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def unreadable(path: Path, error: OSError, shown_as: str) -> Finding:
    """Why a file is not read: with the nearest names beside it where there is none."""
    if not isinstance(error, FileNotFoundError):
        reason = error.strerror or "the system gives no reason"
        return Finding(f"cannot be read: {reason}", file=shown_as)
    try:
        beside = sorted(entry.name for entry in path.parent.iterdir())
    except OSError:
        beside = []
    return Finding("no such file", file=shown_as, hint=did_you_mean(path.name, beside))
