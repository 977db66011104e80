"""Pydantic's errors in the user's own words, each at its place in the file."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from planner.inputs.reading.document import Refused, dotted
from planner.inputs.reading.shape import FieldTree
from planner.inputs.text.words import count_of, described, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from pydantic import BaseModel, ValidationError
    from pydantic_core import ErrorDetails

    from planner.errors import Finding
    from planner.inputs.reading.document import Document, Path

__all__ = ["Told", "kept_as_written", "told"]

_MISSING = "missing"
_UNKNOWN = "extra_forbidden"
_FIGURE_WITH_MORE = re.compile(
    r"(?P<currency>[$€]?)\s*(?P<figure>[-+]?[0-9][0-9,_ ]*(\.[0-9]+)?)\s*(?P<unit>[A-Za-z%/$€]*)"
)

_THOUSANDS = re.compile(r"[-+]?[0-9]{1,3}([,_ ][0-9]{3})+(\.[0-9]+)?")
_AFTER_COMMA = re.compile(r"[0-9]{1,3}")
_DECIMAL_COMMA = re.compile(r"[-+]?[0-9]+,[0-9]+")

_TIMES = {"k": 10**3, "K": 10**3, "M": 10**6, "Mio": 10**6, "million": 10**6}
_LENGTHS = ("context", "sequence")
"""Keys of tokens in which `8k` is 8,192 to most."""
_SCALED_KEYS = ("_b", "_gb", "_hours", "_kw", "_weeks", "_years")
"""Endings of keys whose unit is a multiple itself: what `500M` means there is not plain."""
_LETTERS = ("h", "b", "u")
"""Units that are written with their first letter alone."""

_BY_NAME = "write each entry under a name of its own, without a dash: `NAME: {…}`"
_LONGEST_FIGURE = 12
_BINARY_GB = {"MiB": Decimal(2**20) / 10**9, "GiB": Decimal(2**30) / 10**9}

_WANTED = {
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "decimal_type": "a number",
    "decimal_parsing": "a number",
    "is_instance_of": "a number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "string_type": "text",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "date_type": "a date, write it as YYYY-MM-DD",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "tuple_type": "a list",
    "list_type": "a list",
}

_BOUNDS = {
    "greater_than": ("gt", "too small, it must be above"),
    "greater_than_equal": ("ge", "too small, the least is"),
    "less_than": ("lt", "too large, it must be below"),
    "less_than_equal": ("le", "too large, the most is"),
}


class _Mistake(NamedTuple):
    """One error, with its place in the data."""

    path: Path
    kind: str
    value: object
    """As the file has it, before anything was made of it."""
    context: Mapping[str, Any]
    text: str
    at_key: bool


class Told(NamedTuple):
    """What is wrong with a file."""

    findings: tuple[Finding, ...]
    wrong: frozenset[Path]
    """Values of which nothing is known."""
    odd: frozenset[Path]
    """Sections whose values are right one by one, but not together, or under their name."""


def told(document: Document, model: type[BaseModel], error: ValidationError) -> Told:
    """Give one finding for each path with a mistake; what was refused is told already."""
    shape = FieldTree(model)
    by_path: dict[Path, list[_Mistake]] = {}
    for detail in error.errors(include_url=False):
        mistake = _mistake(document.data, detail)
        by_path.setdefault(mistake.path, []).append(mistake)
    clearest = {path: _clearest(mistakes) for path, mistakes in by_path.items()}
    misspelled = {
        (*path[:-1], name)
        for path, mistake in clearest.items()
        if mistake.kind == _UNKNOWN
        for name in shape.meant(path)
        if name not in document.value(path[:-1])
    }
    odd = {path for path, mistake in clearest.items() if _is_odd(shape, mistake)}
    found = [
        _finding(document, shape, mistake)
        for path, mistake in clearest.items()
        if not (mistake.kind == _MISSING and path in misspelled)
        and not isinstance(mistake.value, Refused)
        and not _is_long_enough(mistake)
    ]
    return Told(tuple(found), frozenset((by_path.keys() | misspelled) - odd), frozenset(odd))


def _is_long_enough(mistake: _Mistake) -> bool:
    """Whether entries are missing only because they are wrong, which is told of each."""
    value = mistake.value
    long = isinstance(value, dict | tuple) and len(value) >= mistake.context.get("min_length", 0)
    return mistake.kind == "too_short" and long


def _is_odd(shape: FieldTree, mistake: _Mistake) -> bool:
    contradicts_itself = mistake.kind == "value_error" and isinstance(mistake.value, dict)
    return (contradicts_itself or mistake.at_key) and shape.model(mistake.path) is not None


def kept_as_written(document: Document, error: ValidationError) -> bool:
    """Put each number that stands where text belongs back as it is written; whether any did."""
    found = False
    for detail in error.errors(include_url=False):
        mistake = _mistake(document.data, detail)
        number = isinstance(mistake.value, int | Decimal) and not isinstance(mistake.value, bool)
        if mistake.kind == "string_type" and number:
            written = document.written(mistake.path)
            if written is not None:
                _replace(document, mistake.path, written)
                found = True
    return found


def _replace(document: Document, path: Path, value: object) -> None:
    *outer, last = path
    around = document.value(tuple(outer))
    if isinstance(last, str):
        around[last] = value
    else:
        _replace(document, tuple(outer), (*around[:last], value, *around[last + 1 :]))


def _mistake(data: object, detail: ErrorDetails) -> _Mistake:
    """Follow the location through the data, past the parts that only name pydantic's branches."""
    path: list[str | int] = []
    value = data
    parts = list(detail["loc"])
    at_key = bool(parts) and parts[-1] == "[key]"
    for part in parts:
        if _holds(value, part):
            value = value[part]  # type: ignore[index]
            path.append(part)
    if detail["type"] == _MISSING:
        path.append(parts[-1])
        value = None
    return _Mistake(
        path=tuple(path),
        kind=detail["type"],
        value=path[-1] if at_key and path else value,
        context=detail.get("ctx", {}),
        text=detail["msg"],
        at_key=at_key or detail["type"] == _UNKNOWN,
    )


def _holds(value: object, part: str | int) -> bool:
    if isinstance(value, dict):
        return part in value
    return isinstance(value, tuple) and isinstance(part, int) and part < len(value)


def _clearest(mistakes: list[_Mistake]) -> _Mistake:
    """Where several types were tried at one place: the one that got furthest."""
    return next((mistake for mistake in mistakes if mistake.kind not in _WANTED), mistakes[0])


def _finding(document: Document, shape: FieldTree, mistake: _Mistake) -> Finding:
    if mistake.kind == _UNKNOWN:
        message = f"unknown key {mistake.path[-1]!r}"
        hint = _unknown_hint(shape, mistake.path, document.value(mistake.path[:-1]))
    else:
        message, hint = _words(shape, mistake)
    return document.finding(mistake.path, message, hint, at_key=mistake.at_key)


def _words(shape: FieldTree, mistake: _Mistake) -> tuple[str, str | None]:
    kind, value = mistake.kind, mistake.value
    if kind == _MISSING:
        return "is missing", _choice_hint(mistake.path, shape.choices(mistake.path))
    if kind in ("literal_error", "enum"):
        return _not_a_choice(shape.choices(mistake.path), mistake)
    if kind in _WANTED:
        if "value" in shape.keys(mistake.path) and isinstance(value, int | Decimal | str):
            return f"{described(value)} stands bare", (
                f"write {{value: {value}, source: own}}, and list the source in this file: "
                "`sources: {own: {title: …}}`"
            )
        message, hint = _wrong_type(
            _WANTED[kind], value, str(mistake.path[-1]) if mistake.path else ""
        )
        unnamed = kind == "dict_type" and len(mistake.path) == 1 and isinstance(value, tuple)
        return message, _BY_NAME if unnamed else hint
    if kind in _BOUNDS:
        return _out_of_bounds(mistake)
    if kind == "value_error":
        return str(mistake.context["error"]), None
    return _rest(mistake), None


def _unknown_hint(shape: FieldTree, path: Path, beside: Collection[str]) -> str | None:
    if _AFTER_COMMA.fullmatch(str(path[-1])):
        return "within braces a comma ends a value: write a number without commas"
    return shape.hint_for_unknown(path, beside)


def _not_a_choice(choices: list[str], mistake: _Mistake) -> tuple[str, str | None]:
    if not choices:
        choices = re.findall(r"[\w.-]+", str(mistake.context.get("expected", "")))
    allowed = ", ".join(choices)
    among = allowed if len(choices) == 1 else f"one of {allowed}"
    if mistake.value is None:
        return f"is empty, it must be {among}", _choice_hint(mistake.path, choices)
    if len(choices) == 1:
        return f"{described(mistake.value)} is not {allowed}", None
    hint = did_you_mean(str(mistake.value), choices)
    return f"{described(mistake.value)} is not one of {allowed}", hint


def _choice_hint(path: Path, choices: list[str]) -> str | None:
    """What may stand at a key that has a choice, or none."""
    if len(choices) == 1:
        return f"write `{path[-1]}: {choices[0]}`"
    return f"one of {', '.join(choices)}" if choices else None


def _wrong_type(wanted: str, value: object, key: str) -> tuple[str, str | None]:
    if value is None:
        none = "write `{}` where there is none" if wanted == "a mapping" else None
        return f"is empty, it must be {wanted}", none
    message = f"{described(value)} is not {wanted}"
    if "number" in wanted and isinstance(value, str):
        return message, _figure_hint(value, key, whole="whole" in wanted)
    if wanted == "text" and isinstance(value, bool):
        return message, f"put it in quotes: '{described(value)}'"
    if wanted == "text" and isinstance(value, tuple) and value:
        return message, f"one stands here, such as {described(value[0])}"
    if wanted == "a list" and isinstance(value, str | int | Decimal):
        return message, f"write [{value}]"
    return message, None


def _figure_hint(value: str, key: str, *, whole: bool) -> str | None:
    """What a text that holds a figure should have been, under this key."""
    match = _FIGURE_WITH_MORE.fullmatch(value.strip())
    if not match:
        return None
    written, more = match["figure"].strip(), match["unit"]
    if _DECIMAL_COMMA.fullmatch(written) and not _THOUSANDS.fullmatch(written):
        return f"write {written.replace(',', '.')}, with a decimal point"
    figure = re.sub(r"[,_ ]", "", written)
    if more == "%":
        return f"write {figure}, it is no share" if whole else "a share of 1 % is written 0.01"
    if figure == value.strip():
        stripped = figure.lstrip("0") or "0"
        return f"write it without {'quotes' if stripped == figure else 'leading zeros'}: {stripped}"
    if more in _BINARY_GB and len(figure) <= _LONGEST_FIGURE:
        gb = Decimal(figure) * _BINARY_GB[more]
        return f"memory is in GB of 10^9 bytes: {match[0].strip()} is {gb.normalize():f}"
    if more in _TIMES and len(figure) <= _LONGEST_FIGURE:
        return None if key.endswith(_SCALED_KEYS) else _multiple(Decimal(figure), more, key)
    if not all(_is_unit_of(key, unit) for unit in (match["currency"], *more.split("/")) if unit):
        return "write a number alone, in the unit of the key"
    alone = " alone, the unit stands in the key's name" if more else ""
    return f"write {figure}{alone}"


def _multiple(figure: Decimal, times: str, key: str) -> str:
    """What `300M` is, and both that `8k` may be."""
    several, binary = (f"{(figure * one).normalize():f}" for one in (_TIMES[times], 1024))
    if key in _LENGTHS and times in "kK":
        return f"write {binary}, or {several} if so many are meant"
    return f"write {several}"


def _is_unit_of(key: str, unit: str) -> bool:
    """Whether a unit, in full or as `h`, is one of the words of a key."""
    asked = "usd" if unit == "$" else unit.casefold()
    short = len(asked) == 1 and asked not in _LETTERS
    return not short and any(word.startswith(asked) for word in key.split("_"))


def _out_of_bounds(mistake: _Mistake) -> tuple[str, str | None]:
    limit, words = _BOUNDS[mistake.kind]
    bound = str(mistake.context[limit])
    shown = described(mistake.value)
    if isinstance(mistake.value, str) and "%" in mistake.value:
        shown, bound = mistake.value, f"{Decimal(bound) * 100:f}%"
    return f"{shown} is {words} {bound}", _percent_hint(mistake) or _none_hint(mistake)


def _none_hint(mistake: _Mistake) -> str | None:
    """No entry says that there is none, an entry with a count of 0 is refused."""
    match mistake.path:
        case (*_, str(), "count") if mistake.value == 0:
            entry = dotted(mistake.path[:-1])
            return f"where there is none, leave `{entry}` out; an override says `delete: [{entry}]`"
    return None


def _percent_hint(mistake: _Mistake) -> str | None:
    """`15` where a share is wanted was most likely a percentage."""
    value = mistake.value
    limit = mistake.context.get("lt", mistake.context.get("le"))
    if limit in (1, 10) and isinstance(value, int | Decimal) and 1 <= value <= 100:
        return f"a share is written {value / Decimal(100):f} or {value}%"
    return None


def _rest(mistake: _Mistake) -> str:
    """The rarer kinds, in words that fit any of them."""
    shown = described(mistake.value)
    if mistake.kind == "too_short" and not mistake.value:
        return "is empty, at least one entry is needed"
    if mistake.kind == "too_short":
        found, least = mistake.context["actual_length"], mistake.context["min_length"]
        return f"has {count_of(found, 'entry', 'entries')}, at least {least} are needed"
    if mistake.kind == "string_too_short":
        return "must not be blank"
    if mistake.kind in ("string_too_long", "too_long"):
        return f"{shown} is too long, at most {mistake.context['max_length']} characters"
    if mistake.kind == "string_pattern_mismatch":
        return f"{shown} does not have the form {mistake.context['pattern']}"
    words = mistake.text.replace("Input should be", "it must be").replace("Input should", "it must")
    return f"{shown} is not allowed: {words}"
