"""Reads figures as people write them, for hints: `$3/hr`, `80 GiB`, `2 weeks`, `1.5M tokens`."""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, Decimal
from unicodedata import normalize

from planner.inputs.text import UNITS, pieces

_FIGURE = r"[-+]?[0-9][0-9,_' ]*(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,2})?|[-+]?[0-9.]+,[0-9]+"
_FIGURE_WITH_MORE = re.compile(
    r"(?:(?:~|≈|ca\.?|circa|about|around|approx\.?)\s*)?"
    rf"(?P<currency>[$€£]|[A-Z]{{3}}|)\s*(?P<figure>{_FIGURE})\s*"
    r"(?P<unit>[A-Za-z%/$€£.]*(?:[\s/]+[A-Za-z%$€£.]+)*)"
)
_BETWEEN = re.compile(
    rf"(?P<least>{_FIGURE})\s*(?:-|to|bis|\.\.\.?)\s*(?P<most>{_FIGURE})[\sA-Za-z]*"
)
EXPONENT = re.compile(r"[-+]?[0-9.]+[eE][-+]?[0-9]{3,}")
"""A number with an exponent that is too large to be read."""
_THOUSANDS = re.compile(r"[-+]?[0-9]{1,3}([,_' ][0-9]{3})+(\.[0-9]+)?")
_DECIMAL_COMMA = re.compile(r"[-+]?([0-9]+|[0-9]{1,3}(\.[0-9]{3})+),[0-9]+")
_DASHES = str.maketrans("−–", "--")
_OTHER_MONEY = {"€", "£", "eur", "chf", "gbp", "jpy", "cny", "inr"}
_LONGEST = 12
_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")

_TIMES = {
    **dict.fromkeys(("k", "thousand"), 10**3),
    **dict.fromkeys(("m", "mio", "million", "millions"), 10**6),
    **dict.fromkeys(("b", "bn", "billion", "billions"), 10**9),
    **dict.fromkeys(("t", "trillion"), 10**12),
}
_LENGTHS = ("context", "sequence")
"""Keys of token counts in which `8k` usually means 8,192."""
_SCALED_KEYS = ("_b", "_gb", "_hours", "_kw", "_weeks", "_years", "_ms")
"""Endings of keys whose unit is a multiple itself, so that `500M` is ambiguous there."""
_NAMES = {
    **dict.fromkeys(("h", "hr", "hrs", "std"), "hour"),
    **dict.fromkeys(("d", "tage"), "day"),
    **dict.fromkeys(("w", "wk", "wks", "wochen"), "week"),
    **dict.fromkeys(("mo", "monate"), "month"),
    **dict.fromkeys(("y", "yr", "yrs", "jahre"), "year"),
    **dict.fromkeys(("s", "sec", "secs"), "second"),
    "min": "minute",
    **dict.fromkeys(("$", "dollar"), "usd"),
    "core": "cpu",
    **dict.fromkeys(("rps", "qps"), "request"),
    "u": "unit",
    **{f"{letter}{more}": f"{letter}{more}b" for letter in "kmgt" for more in ("i", "")},
}
"""Other spellings of units; all are compared in lower case and without a plural."""
_COUNTED = {"token", "sequence", "request", "gpu", "node", "cpu", "server", "sample"}
"""What figures count, whatever their key is called."""
_SIZES = tuple(
    {unit: Decimal(size) for unit, size in sizes.items()}
    for sizes in (
        {"ms": 1, "second": 1000, "minute": 60_000, "hour": 3_600_000, "day": 86_400_000}
        | {"week": 604_800_000, "month": 2_620_800_000, "quarter": 7_862_400_000}
        | {"year": 31_449_600_000},
        {"mb": 10**6, "gb": 10**9, "tb": 10**12, "mib": 2**20, "gib": 2**30, "tib": 2**40},
        {"w": 1, "kw": 10**3, "mw": 10**6},
    )
)
"""Units of a kind in multiples of the smallest; a quarter has 13 weeks, a year 52."""


def figure_hint(value: str, key: str, *, whole: bool) -> str | None:
    """Return a hint on what a text that holds a figure should have been, under this key."""
    usual = normalize("NFKC", value).translate(_DASHES).strip()
    word = usual.casefold()
    if word in _WORDS:
        return f"write {_WORDS.index(word) + 1}"
    if span := _BETWEEN.fullmatch(usual):
        return f"one figure stands here: write {span['least'].strip()} or {span['most'].strip()}"
    if not (match := _FIGURE_WITH_MORE.fullmatch(usual)):
        return None
    written = match["figure"].strip()
    if _DECIMAL_COMMA.fullmatch(written) and not _THOUSANDS.fullmatch(written):
        if whole:
            return "one whole number stands here, without a comma"
        return f"write {written.replace('.', '').replace(',', '.')}, with a decimal point"
    figure = re.sub(r"[,_' ]", "", written)
    if figure == value.strip():
        stripped = figure.lstrip("0") or "0"
        return f"write it without {'quotes' if stripped == figure else 'leading zeros'}: {stripped}"
    units = [one for one in re.split(r"[\s/]+", match["unit"]) if one not in ("", "per")]
    return _in_units(figure, [match["currency"].casefold(), *units], key, whole=whole)


def _in_units(figure: str, stated: list[str], key: str, *, whole: bool) -> str | None:
    """Return a hint on a figure stated in a currency and some units, in the unit of its key."""
    currency, *units = stated
    if whole and units == ["%"]:
        return "a whole number stands here, no share"
    if units in (["%"], ["percent"]) and not pieces(key) - {"per", "year"} & UNITS:
        return f"write {Decimal(figure) / 100:f}"
    if "usd" in pieces(key) and {currency, *map(str.casefold, units)} & _OTHER_MONEY:
        return "all money is in USD: write a number alone, converted at your rate"
    if len(figure) <= _LONGEST and units:
        if converted := _converted(Decimal(figure), units, key, whole=whole):
            return converted
        if units[0].casefold() in _TIMES and all(_is_unit_of(key, unit) for unit in units[1:]):
            return _scaled(Decimal(figure), units[0].casefold(), key)
    if not all(_is_unit_of(key, unit) for unit in stated if unit):
        return "write a number alone, in the unit of the key"
    alone = " alone, the unit stands in the key's name" if units else ""
    return f"write {figure}{alone}"


def _unit(word: str) -> str:
    """Return a unit as the names of keys have it: `hrs` is `hour`."""
    one = word.strip(".").casefold()
    alone = one if len(one) < 3 else one.removesuffix("s")
    return _NAMES.get(one) or _NAMES.get(alone, alone)


def _converted(figure: Decimal, units: list[str], key: str, *, whole: bool) -> str | None:
    """Convert a figure into the key's unit if both are of one kind; a rate has no such unit."""
    of_key = _unit(key.rpartition("_")[2])
    sizes: dict[str, Decimal] = next((one for one in _SIZES if of_key in one), {})
    stated = next((one for one in (units[0].casefold(), _unit(units[0])) if one in sizes), of_key)
    if len(units) > 1 or of_key == stated or "per" in pieces(key):
        return None
    there = figure * sizes[stated] / sizes[of_key]
    rounded = there.quantize(Decimal(1 if whole else "0.000001"), ROUND_CEILING)
    shown = f"{rounded.normalize():f}"
    if of_key == "gb" and "i" in stated:
        return f"memory is in GB of 10^9 bytes: {figure:f} {units[0]} is {there.normalize():f}"
    return f"write {shown}, in the unit of the key"


def _scaled(figure: Decimal, times: str, key: str) -> str | None:
    """Return what `300M` is, and both that `8k` may be; `3M` hours are ambiguous."""
    if key == "parameters_b" and times == "b":
        return f"write {figure:f} alone, the unit stands in the key's name"
    if key.endswith(_SCALED_KEYS):
        return None
    several, binary = (f"{(figure * one).normalize():f}" for one in (_TIMES[times], 1024))
    if key in _LENGTHS and times == "k":
        return f"write {binary}, or {several} if so many are meant"
    return f"write {several}"


def _is_unit_of(key: str, unit: str) -> bool:
    """Return whether a unit is one of the words of a key, or what its figures count."""
    meant = _unit(unit)
    of_key = key.split("_")
    if "usd" in of_key and meant in ("node", "server"):
        return "gpu" not in of_key
    counted = meant in _COUNTED and "usd" not in of_key
    return counted or any(word.startswith(meant) for word in of_key if len(meant) > 1)
