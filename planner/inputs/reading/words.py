"""Translates pydantic's errors into the user's words, each at its place in the file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from planner.errors import Finding
from planner.inputs.reading.document import Path, Refused, YamlDocument, dotted
from planner.inputs.reading.hints import EXPONENT, figure_hint, is_nothing, values_for
from planner.inputs.reading.reader import MOST_FINDINGS
from planner.inputs.reading.shape import FieldTree
from planner.inputs.text import count_of, described, nearest, one_of, pieces

_MOST_HINTED = 200
"""The most mistakes for which to look for a hint on an unknown key, which takes long."""
_MISSING = "missing"
_UNKNOWN = "extra_forbidden"
_AFTER_COMMA = re.compile(r"[0-9]{1,3}(\.[0-9]+)?")
_IN_BRACES = "within braces a comma ends a value: write a number without commas"

_TRUTHS = {
    **dict.fromkeys(("yes", "y", "on", "true", "1"), "true"),
    **dict.fromkeys(("no", "n", "off", "false", "0"), "false"),
}

_FIGURE = re.compile(r"[0-9]+")
"""A number within a word: `fp8` and `Q8_0` name a width."""
_JOINED = re.compile(r"(\w+)\s*[:=]")
"""A key whose value follows without a blank, or after another sign."""
_NO_LINE = "delete the line where there is none"
_BY_NAME = "write each entry under a name of its own, without a dash: `NAME: {…}`"

_WANTED = {
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "a whole number"),
    **dict.fromkeys(("decimal_type", "decimal_parsing", "is_instance_of"), "a number"),
    **dict.fromkeys(("float_type", "float_parsing"), "a number"),
    "finite_number": "a finite number",
    "string_type": "text",
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    "date_type": "a date, write it as YYYY-MM-DD",
    "quarter_type": "a calendar quarter, write it as 2027Q1",
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "a mapping"),
    **dict.fromkeys(("tuple_type", "list_type"), "a list"),
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
    """As the file has it, before validation."""
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


def told(document: YamlDocument, model: type[BaseModel], error: ValidationError) -> Told:
    """Return one finding for each path with a mistake that was not reported before."""
    shape = FieldTree(model)
    by_path: dict[Path, list[_Mistake]] = {}
    for detail in error.errors(include_url=False)[:MOST_FINDINGS]:
        mistake = _mistake(document.data, detail)
        by_path.setdefault(mistake.path, []).append(mistake)
    clearest = {path: _clearest(mistakes) for path, mistakes in by_path.items()}
    misspelled = {
        (*path[:-1], name)
        for path, mistake in clearest.items()
        if mistake.kind == _UNKNOWN
        for name in shape.meant(path, mistake.value)
        if name not in document.value(path[:-1])
    }
    odd = {path for path, mistake in clearest.items() if _is_odd(shape, mistake)}
    found = [
        _finding(document, shape, mistake, hinted=number < _MOST_HINTED)
        for number, (path, mistake) in enumerate(clearest.items())
        if not (mistake.kind == _MISSING and path in misspelled)
        and not isinstance(mistake.value, Refused)
        and not _is_long_enough(mistake)
    ]
    return Told(tuple(found), frozenset((by_path.keys() | misspelled) - odd), frozenset(odd))


def _is_long_enough(mistake: _Mistake) -> bool:
    """Return whether entries are missing only because they are wrong, which is reported."""
    value = mistake.value
    long = isinstance(value, dict | tuple) and len(value) >= mistake.context.get("min_length", 0)
    return mistake.kind == "too_short" and long


def _is_odd(shape: FieldTree, mistake: _Mistake) -> bool:
    contradicts_itself = mistake.kind == "value_error" and isinstance(mistake.value, dict)
    return (contradicts_itself or mistake.at_key) and shape.model(mistake.path) is not None


def kept_as_written(document: YamlDocument, error: ValidationError) -> bool:
    """Restore numbers in place of text as they are written; return whether there were any."""
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


def _replace(document: YamlDocument, path: Path, value: object) -> None:
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
    """Return the error that got furthest, if several types were tried at one place."""
    return next((mistake for mistake in mistakes if mistake.kind not in _WANTED), mistakes[0])


def _finding(
    document: YamlDocument, shape: FieldTree, mistake: _Mistake, *, hinted: bool
) -> Finding:
    if mistake.kind == _UNKNOWN:
        *outer, key = mistake.path
        message, hint = f"unknown key {key!r}", None
        if hinted:
            hint = shape.hint_for_unknown(mistake.path, document.value(tuple(outer)))
    else:
        message, hint = _words(shape, mistake)
    if _cut_by_a_comma(document, mistake):
        hint = _IN_BRACES
    return document.finding(mistake.path, message, hint, at_key=mistake.at_key)


def _cut_by_a_comma(document: YamlDocument, mistake: _Mistake) -> bool:
    """Return whether a key is the rest of a number, or the one after it is."""
    *outer, last = mistake.path or ("",)
    around = document.value(tuple(outer))
    keys = [str(key) for key in around] if isinstance(around, dict) else []
    after = keys[keys.index(str(last)) + 1 :][:1] if str(last) in keys else []
    rest = [str(last)] if mistake.at_key else after
    return any(map(_AFTER_COMMA.fullmatch, rest))


def _words(shape: FieldTree, mistake: _Mistake) -> tuple[str, str | None]:
    kind, value = mistake.kind, mistake.value
    if kind == _MISSING:
        return "is missing", _choice_hint(mistake.path, shape.choices(mistake.path))
    if kind in ("literal_error", "enum"):
        return _not_a_choice(shape, mistake)
    if kind in _WANTED:
        if "value" in shape.keys(mistake.path) and isinstance(value, int | Decimal | str):
            return f"{described(value)} stands bare", (
                f"write {{value: {value}, source: own}}, and list the source in this file: "
                "`sources: {own: {title: …}}`"
            )
        return _wrong_type(shape, mistake, _WANTED[kind])
    if kind in _BOUNDS:
        return _out_of_bounds(mistake)
    if kind == "value_error":
        return str(mistake.context["error"]), None
    return _rest(mistake), None


def _not_a_choice(shape: FieldTree, mistake: _Mistake) -> tuple[str, str | None]:
    choices = shape.choices(mistake.path)
    if not choices:
        choices = re.findall(r"[\w.-]+", str(mistake.context.get("expected", "")))
    allowed = ", ".join(choices)
    among = allowed if len(choices) == 1 else f"one of {allowed}"
    if mistake.value is None:
        hint = _choice_hint(mistake.path, choices) if len(choices) == 1 else None
        return f"is empty, it must be {among}", hint
    return f"{described(mistake.value)} is not {among}", _choice_meant(shape, mistake, choices)


def _choice_meant(shape: FieldTree, mistake: _Mistake, choices: Sequence[str]) -> str | None:
    """Say which choice was meant, or which key beside it has such a value."""
    if isinstance(mistake.value, tuple):
        stated = [one for one in map(str, mistake.value) if one in choices]
        return f"one stands here, such as {(stated or choices)[0]}"
    said = str(mistake.value)
    figures = set(_FIGURE.findall(said)).intersection(choices)
    if len(figures) == 1 and isinstance(mistake.value, str) and not EXPONENT.fullmatch(said):
        return f"write {figures.pop()}"
    if meant := values_for(mistake.value, choices):
        return f"here that is {one_of([f'`{one}`' for one in meant])}"
    if near := nearest(said, choices, most=1):
        is_number = isinstance(mistake.value, Decimal)
        return f"write {near[0]}" if is_number else f"did you mean {near[0]!r}?"
    if is_nothing(said):
        return _NO_LINE if shape.is_optional(mistake.path) else None
    for word in (said, *(() if said.casefold() in _TRUTHS else values_for(said))):
        if beside := shape.choosing(mistake.path, word):
            return f"here that is `{beside}: {word}`"
    parts = [one for one in choices if pieces(one) <= pieces(said)]
    return f"did you mean {max(parts, key=len)!r}?" if parts else None


def _choice_hint(path: Path, choices: list[str]) -> str | None:
    """Say what may stand at a key that has choices, or return None."""
    if len(choices) == 1:
        return f"write `{path[-1]}: {choices[0]}`"
    return f"one of {', '.join(choices)}" if choices else None


def _wrong_type(shape: FieldTree, mistake: _Mistake, wanted: str) -> tuple[str, str | None]:
    value = mistake.context.get("stated", mistake.value)
    if value is None:
        return f"is empty, it must be {wanted}", _nothing_meant(shape, mistake.path, wanted)
    if isinstance(value, str) and "number" in wanted and EXPONENT.fullmatch(value):
        return f"{described(value)} is beyond every number that is read here", None
    if meant := mistake.context.get("meant"):
        wanted = f"a calendar quarter, write it as {meant}"
    return f"{described(value)} is not {wanted}", _hint_for(shape, mistake, wanted, value)


def _hint_for(shape: FieldTree, mistake: _Mistake, wanted: str, value: object) -> str | None:
    """Say what a value of another type should have been."""
    if isinstance(value, str) and is_nothing(value) and shape.is_optional(mistake.path):
        return _NO_LINE
    if "number" in wanted:
        return _number_meant(shape, mistake.path, value, whole="whole" in wanted)
    if wanted == "a mapping":
        return _mapping_meant(shape, mistake.path, value)
    hint = None
    match wanted, value:
        case "true or false", str() | int() if meant := _TRUTHS.get(str(value).casefold()):
            hint = f"write {meant}{', without quotes' if isinstance(value, str) else ''}"
        case "true or false", Decimal() if value > 0:
            hint = "write true"
        case "text", bool():
            hint = f"put it in quotes: '{described(value)}'"
        case "text", dict():
            hint = "put the text in quotes"
        case "text", (first, *_):
            hint = f"one stands here, such as {described(first)}"
        case "a list", str() if (choices := shape.choices((*mistake.path, 0))) and (
            value not in choices
        ):
            hint = f"a list of {', '.join(choices)} stands here"
        case "a list", str() | int() | Decimal() if not isinstance(value, bool):
            hint = f"write [{value if isinstance(value, str) else described(value)}]"
        case "a list", dict() if keys := shape.keys((*mistake.path, 0)):
            hint = f"its items are {{{', '.join(f'{one}: …' for one in keys)}}}"
        case "a list", dict() if value:
            hint = f"write [{', '.join(value)}]"
    return hint


def _number_meant(shape: FieldTree, path: Path, value: object, *, whole: bool) -> str | None:
    """Say which number a text holds, or which is nearest."""
    match value:
        case str():
            return figure_hint(value, shape.key(path), whole=whole)
        case Decimal() if value > 0:
            return f"write {int(value)} or {int(value) + 1}" if value > 1 else "write 1"
        case dict() | tuple():
            return _one_figure(shape, path)
    return None


def _mapping_meant(shape: FieldTree, path: Path, value: object) -> str | None:
    """Say which keys a mapping has, and which of them holds what stands in its place."""
    keys = shape.keys(path)
    if isinstance(value, str) and (joined := _JOINED.match(value)):
        return f"write `{joined[1]}: …`, with a colon and a blank"
    if isinstance(value, str) and "model" in keys and not is_nothing(value):
        return f"write {{model: {value}}}"
    if keys:
        return f"its keys are {', '.join(keys)}"
    if isinstance(value, tuple) and len(path) == 1:
        return _BY_NAME
    if isinstance(value, tuple) and all(isinstance(one, str) for one in value):
        return f"write a value for each: {{{', '.join(f'{one}: …' for one in value)}}}"
    if "." in str(path[-1]):
        return f"a change stands under a name of its own: `NAME: {{{path[-1]}: {value}}}`"
    by_name = len(path) > 1 and isinstance(value, str) and not is_nothing(value)
    return f"write it by name: {{NAME: {value}}}" if by_name else None


def _nothing_meant(shape: FieldTree, path: Path, wanted: str) -> str | None:
    """Say what to write in place of an empty value."""
    if wanted == "a mapping" and len(path) == 1:
        return "write `{}` where there is none"
    if shape.is_optional(path):
        return _NO_LINE
    keys = shape.keys(path)
    return f"its keys are {', '.join(keys)}" if keys else None


def _one_figure(shape: FieldTree, path: Path) -> str:
    """Say what may stand in place of a list of figures, or of some by quarter."""
    if shape.is_by_quarter(path):
        return "one figure stands here, or some by quarter: {2027Q1: …, 2027Q3: …}"
    for key in ("quarters", "available"):
        if key in shape.keys(path[:-1]) and key != path[-1]:
            return (
                "one figure stands here, the same in all quarters; where it changes, write an "
                f"entry for each figure, with the `{key}` in which it holds"
            )
    return "one figure stands here"


def _out_of_bounds(mistake: _Mistake) -> tuple[str, str | None]:
    limit, words = _BOUNDS[mistake.kind]
    most = Decimal(str(mistake.context[limit]))
    bound = f"{most:,f}"
    shown = described(mistake.value)
    if isinstance(mistake.value, str) and "%" in mistake.value:
        shown, bound = mistake.value, f"{most * 100:f}%"
    hint = _percent_hint(mistake) or _none_hint(mistake) or _watts_hint(mistake)
    return f"{shown} is {words} {bound}", hint


def _none_hint(mistake: _Mistake) -> str | None:
    """Say that an entry is left out where there is none: a count of 0 is refused."""
    match mistake.path:
        case (*_, str(), "count") if mistake.value == 0:
            entry = dotted(mistake.path[:-1])
            return f"where there is none, leave `{entry}` out; an override says `delete: [{entry}]`"
    return None


def _watts_hint(mistake: _Mistake) -> str | None:
    """Say that a power beyond every node was probably stated in W."""
    value, most = mistake.value, mistake.context.get("le")
    if isinstance(value, int | Decimal) and any(str(key).endswith("_kw") for key in mistake.path):
        there = Decimal(value) / 1000
        if most is not None and 0 < there <= most:
            return f"write {there.normalize():f}, where that is in W: the key takes kW"
    return None


def _percent_hint(mistake: _Mistake) -> str | None:
    """Say that `15` in place of a share was probably a percentage."""
    value = mistake.value
    limit = mistake.context.get("lt", mistake.context.get("le"))
    if limit in (1, 10) and isinstance(value, int | Decimal) and 1 <= value <= 100:
        return f"a share is written {value / Decimal(100):f} or {value}%"
    return None


def _rest(mistake: _Mistake) -> str:
    """Say the rarer kinds in words that fit any of them."""
    shown = described(mistake.value)
    if mistake.kind == "too_short" and not mistake.value:
        return "is empty, at least one entry is needed"
    if mistake.kind == "too_short":
        found, least = mistake.context["actual_length"], mistake.context["min_length"]
        return f"has {count_of(found, 'entry', 'entries')}, at least {least} are needed"
    if mistake.kind == "string_too_short":
        return "must not be blank"
    if mistake.kind == "too_long" and not isinstance(mistake.value, str):
        found, most = mistake.context["actual_length"], mistake.context["max_length"]
        return f"has {count_of(found, 'entry', 'entries')}, at most {most} may stand"
    if mistake.kind in ("string_too_long", "too_long"):
        return f"{shown} is too long, at most {mistake.context['max_length']} characters"
    if mistake.kind == "string_pattern_mismatch":
        return f"{shown} does not have the form {mistake.context['pattern']}"
    words = mistake.text.replace("Input should be", "it must be").replace("Input should", "it must")
    return f"{shown} is not allowed: {words}"
