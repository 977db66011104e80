"""Formats numbers, dates and names: the same in every output, whatever the locale."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from planner.inputs.scenario.quarter import Quarter, moment
from planner.inputs.text import count_of, listed, some_of, usd

__all__ = ["count_of", "listed", "some_of", "usd"]  # as told elsewhere; and all defined here

_LONG_HOURS = 72
"""From here on, hours are shown as days."""
_CODE_BEGINS, _CODE_ENDS = "\x0e", "\x0f"
_CODE = re.compile(f"{_CODE_BEGINS}(.*?){_CODE_ENDS}")

_QUOTED = re.compile(r"`([a-z_]+(?:\.[a-z_]+)*(?:: [a-z]+)?)`")
"""A key of a scenario, perhaps with its value, as the planner writes it: `kind: hourly`."""

_ONE_OF = {"copies": "copy", "matrices": "matrix", "passes": "pass"}
"""Units that lose more than an `s` where there is one."""

_ONE_FOR_ONE = "×·–—−÷‘’“”─│≈\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}", "x.---/''\"\"-|~  "
_ASCII: dict[int, int | str] = {
    **str.maketrans(*_ONE_FOR_ONE),
    **{ord(one): told for one, told in {"…": "...", "≤": "<=", "≥": ">=", "→": "->"}.items()},
}

Style = Literal[
    "usd",
    "thousands",
    "cents",
    "rate",
    "count",
    "share",
    "per_cent",
    "margin",
    "kw",
    "gb",
    "weeks",
    "more_usd",
    "more_count",
    "tenths",
    "three_digits",
    "seconds",
    "number",
    "gap",
    "day",
]
"""How a figure of plan.json is written: whole dollars, dollars and cents, dollars per hour, …"""


def in_usd(cents: float | None) -> float | None:
    """Convert cents to US dollars; None stays None."""
    return None if cents is None else cents / 100


class WrittenStyle(NamedTuple):
    """How a figure of one style is written."""

    per: int | Fraction
    """How much of plan.json makes one of what a reader sees: 100 cents."""
    text: Callable[[Fraction], str]
    """What a reader sees, in words."""
    excel: str
    """Excel's number format."""


def seen(value: Fraction, style: Style) -> Fraction:
    """A figure in the unit that a reader sees; no margin is told to be larger than it is."""
    if style == "margin":
        return Fraction(int(value * 1000), 1000)
    return value / WRITTEN[style].per


@lru_cache(maxsize=4096, typed=True)  # each document draws the same figure three times
def styled(value: Fraction | date, style: Style) -> str:
    """Return a figure of plan.json as a reader sees it."""
    if isinstance(value, date):
        return value.isoformat()
    return WRITTEN[style].text(seen(value, style))


def dollars(cents: int) -> str:
    """Format whole dollars without the sign, half to even: `1,234,568`."""
    return _rounded(Fraction(cents, 100), 0)


def money_short(cents: int) -> str:
    """Format money for a sentence: `$2.41 M` from a million on, whole dollars below."""
    for size, suffix in ((10**11, "B"), (10**8, "M")):
        if abs(cents) >= size:
            return f"{'-' if cents < 0 else ''}${_rounded(Fraction(abs(cents), size), 2)} {suffix}"
    whole = dollars(cents)
    return f"-${whole[1:]}" if whole.startswith("-") else f"${whole}"


def record(one: object, columns: str) -> dict[str, Any]:
    """Return a value's figures by field name; a column in `_usd` comes from a field in cents."""
    return {
        name: in_usd(getattr(one, f"{name.removesuffix('_usd')}_cents"))
        if name.endswith("_usd")
        else getattr(one, name)
        for name in columns.split()
    }


def numbers(values: Iterable[int]) -> str:
    """List numbers in order, successive ones by their ends: `0–3, 6`."""
    runs: list[list[int]] = []
    for value in sorted(values):
        if runs and value == runs[-1][-1] + 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def percent(share: float | Decimal, digits: int = 1) -> str:
    """Format a share: `93.8 %`."""
    return f"{float(share) * 100:,.{digits}f} %"


def signed_percent(share: float | Decimal) -> str:
    """Format a change: `+20.0 %`, `-3.1 %`."""
    return f"{'-' if share < 0 else '+'}{percent(abs(float(share)))}"


def gap_percent(gap: float) -> str:
    """Format a gap, which is often tiny: `0 %`, `0.0042 %`, `< 0.0001 %`, `1.3 %`."""
    if gap == 0:
        return "0 %"
    if 0 < gap < 1e-6:
        return "< 0.0001 %"
    return f"{gap * 100:.4f}".rstrip("0").rstrip(".") + " %"


def memory(megabytes: int) -> str:
    """Format memory or storage in MB: `53 MB`, `30.4 GB`, `640 GB`, `12.5 TB`."""
    if 0 < megabytes < 1000:
        return f"{megabytes} MB"
    if megabytes >= 10_000_000:
        return f"{_trimmed(Fraction(megabytes, 1_000_000), 1)} TB"
    return f"{gigabytes(megabytes)} GB"


def gigabytes(megabytes: int) -> str:
    """Format the bare figure for a column in GB: `30.4`."""
    return _trimmed(Fraction(megabytes, 1000), 1)


def gibibytes(megabytes: int) -> str:
    """Format the bare figure for a column in GiB, the unit of drivers and frameworks: `28.3`."""
    return _rounded(Fraction(megabytes * 1_000_000, 2**30), 1)


def hours(value: float | None) -> str:
    """Format hours: `3.4 h`, `1,204 h`; a dash if there are none."""
    if value is None:
        return "–"
    if 0 < value < 0.05:
        return "< 0.1 h"
    return f"{_trimmed(Fraction(repr(value)), 1 if value < 100 else 0)} h"


def figure(value: object) -> str:
    """Format any figure: at most six decimals, separated thousands, no trailing zeros."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float | Decimal):
        number = value if isinstance(value, Decimal) else Decimal(repr(value))
        if number and abs(number) < Decimal("0.0001"):
            return f"{number:.3g}"
        return _trimmed(Fraction(number), 6)
    return str(value)


def with_unit(value: object, unit: str) -> str:
    """Format a figure with its unit in the right number.

    `1 GPU of 80 GB`, `2 GPUs of 80 GB`, `0.5 GB`.
    """
    noun, space, rest = unit.partition(" ")
    if value == 1 and not isinstance(value, bool):
        counted = noun.isalpha() and len(noun) > len("ms")
        noun = _ONE_OF.get(noun, noun.removesuffix("s") if counted else noun)
    return f"{figure(value)} {noun}{space}{rest}".rstrip()


def copies_of(number: int, amount: int, prefill: int = 0) -> str:
    """Format copies: `3 × 2` is three copies of two; just `2` if there is one copy.

    `3 × (1+3)`: of the four GPUs of each, one only processes prompts.
    """
    told = f"({prefill:,}+{amount - prefill:,})" if prefill else f"{amount:,}"
    return told if number == 1 else f"{number:,} × {told}"


def cells_of(text: str) -> int:
    """Return the terminal cells of a text: two for a wide letter, none for an accent."""
    return sum(
        0 if unicodedata.combining(char) else 1 + (unicodedata.east_asian_width(char) in "WF")
        for char in text
    )


def filled(text: str, cells: int) -> str:
    """Return the text with spaces after it, so many cells wide."""
    return text + " " * (cells - cells_of(text))


def shortened(text: str, most: int) -> str:
    """Return the text if it has at most so many characters, else its beginning and `…`."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def range_of(values: Iterable[int]) -> str:
    """Format smallest to largest: `2–4`, or `3` if all are alike."""
    found = sorted(values)
    return f"{found[0]:,}" if found[0] == found[-1] else f"{found[0]:,}–{found[-1]:,}"


def duration(hours: float) -> str:
    """Format a duration: `14 h`, and from three days on `3.5 d`."""
    return f"{hours:,.0f} h" if hours < _LONG_HOURS else f"{hours / 24:,.1f} d"


def moments(quarter: str, hours: tuple[int, int]) -> str:
    """Format a time span in a quarter: `4 Jan 08:00 – 5 Jan 22:00`."""
    start = Quarter.parse(quarter)
    return " – ".join(moment(start, hour) for hour in hours)


def quarter_span(first: str, last: str) -> str:
    """Format a span of quarters: `2027Q1`, `2027Q1–Q3`, `2027Q3–2028Q1`."""
    if first == last:
        return first
    year, _, number = last.partition("Q")
    return f"{first}–Q{number}" if first.startswith(f"{year}Q") else f"{first}–{last}"


def quarter_runs(all_quarters: Sequence[str], chosen: Iterable[str]) -> str:
    """Format some of the horizon's quarters, joining successive ones: `2027Q1–Q2, 2027Q4`."""
    return ", ".join(_spans(all_quarters, chosen))


def quarter_words(all_quarters: Sequence[str], chosen: Iterable[str]) -> str:
    """Format them for a sentence: `2027Q1–Q2 and 2027Q4`."""
    return listed(_spans(all_quarters, chosen))


def _spans(all_quarters: Sequence[str], chosen: Iterable[str]) -> list[str]:
    wanted = set(chosen)
    runs: list[tuple[str, str]] = []
    previous: str | None = None
    for quarter in all_quarters:
        if quarter in wanted and previous in wanted:
            runs[-1] = (runs[-1][0], quarter)
        elif quarter in wanted:
            runs.append((quarter, quarter))
        previous = quarter
    return [quarter_span(first, last) for first, last in runs]


def code(text: str) -> str:
    """Mark what is typed as it stands, or looked up: `planner size`, a key.

    It is put between backticks, and in a font of its own if the page has one. A backtick in any
    other words, such as a name, has no meaning.
    """
    return f"{_CODE_BEGINS}{text}{_CODE_ENDS}"


def with_code(text: str) -> str:
    """Return a warning with the scenario keys in it, which stand between backticks, marked as code.

    What else stands between backticks may be part of a name, and stays as it is.
    """
    return _QUOTED.sub(f"{_CODE_BEGINS}\\1{_CODE_ENDS}", text)


def code_and_words(text: str) -> list[str]:
    """Split the text into words and code in turn, words first."""
    return _CODE.split(text)


def visible(text: str) -> str:
    """Return the text with control characters written out, so that no name steers a terminal."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in _CODE.sub(r"`\1`", text)
    )


def ascii_only(text: str) -> str:
    """Return the text for an ASCII output: `×` becomes `x`, foreign letters are escaped."""
    return text.translate(_ASCII).encode("ascii", "backslashreplace").decode("ascii")


def _rounded(value: Fraction, digits: int) -> str:
    """Round half to even, with separated thousands; never `-0`."""
    number = round(value * 10**digits)
    sign = "-" if number < 0 else ""
    whole, rest = divmod(abs(number), 10**digits)
    return f"{sign}{whole:,}.{rest:0{digits}}" if digits else f"{sign}{whole:,}"


def _trimmed(value: Fraction, digits: int) -> str:
    text = _rounded(value, digits)
    return text.rstrip("0").rstrip(".") if "." in text else text


def _signed(text: str) -> str:
    return text if text.startswith("-") or not text.strip("0.") else f"+{text}"


_TENTH = Fraction(1, 10)
"""From here on, dollars are shown to the cent and seconds to a tenth; below, to a hundredth of
these."""
WRITTEN: Mapping[Style, WrittenStyle] = {
    "usd": WrittenStyle(100, lambda dollars: _rounded(dollars, 0), "#,##0"),
    "thousands": WrittenStyle(100_000, lambda thousands: _rounded(thousands, 0), "#,##0"),
    "cents": WrittenStyle(100, lambda dollars: _rounded(dollars, 2), "#,##0.00"),
    "rate": WrittenStyle(
        100,
        lambda dollars: _rounded(dollars, 2 if abs(dollars) >= _TENTH or not dollars else 4),
        "[=0]0.00;[<0.1]0.0000;#,##0.00",
    ),
    "count": WrittenStyle(1, lambda number: _rounded(number, 0), "#,##0"),
    "share": WrittenStyle(1, lambda share: f"{_rounded(share * 100, 1)} %", "0.0 %"),
    "per_cent": WrittenStyle(1, lambda share: f"{_rounded(share * 100, 0)} %", "0 %"),
    "margin": WrittenStyle(
        1, lambda share: f"{_signed(_rounded(share * 100, 1))} %", "+0.0 %;-0.0 %;0.0 %"
    ),
    "kw": WrittenStyle(1000, lambda kw: _trimmed(kw, 3), "#,##0.0##"),
    "gb": WrittenStyle(1000, lambda gb: _trimmed(gb, 1), "#,##0.0"),
    "weeks": WrittenStyle(
        1,
        lambda weeks: f"{_rounded(weeks, 0)} {'week' if abs(weeks) == 1 else 'weeks'}",
        '0 "weeks"',
    ),
    "more_usd": WrittenStyle(100, lambda dollars: _signed(_rounded(dollars, 0)), "+#,##0;-#,##0;0"),
    "more_count": WrittenStyle(1, lambda number: _signed(_rounded(number, 0)), "+#,##0;-#,##0;0"),
    "tenths": WrittenStyle(1, lambda number: _trimmed(number, 1), "#,##0.0"),
    "three_digits": WrittenStyle(
        1, lambda number: f"{float(number):{',.0f' if abs(number) >= 100 else '.3g'}}", "General"
    ),
    "seconds": WrittenStyle(
        1000,
        lambda seconds: _rounded(seconds, 1 if seconds >= _TENTH else 3),
        "[<0.1]0.000;#,##0.0",
    ),
    "number": WrittenStyle(1, lambda number: _trimmed(number, 4), "General"),
    "gap": WrittenStyle(1, lambda gap: gap_percent(float(gap)), "0.0000 %"),
    "day": WrittenStyle(1, str, "yyyy-mm-dd"),
}
"""Every style, once for all outputs."""
