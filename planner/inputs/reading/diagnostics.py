"""Pydantic's errors in the user's own words, each at its place in the file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any, NamedTuple, TypeVar, cast, get_args, get_origin

from pydantic import BaseModel, ValidationError, create_model
from pydantic_core import ErrorDetails

from planner.errors import Finding, InputError
from planner.inputs.base import Frozen, NotKnown
from planner.inputs.reading.document import Path, Refused, YamlDocument, dotted
from planner.inputs.reading.shape import FieldTree, alternatives
from planner.inputs.text import count_of, described, did_you_mean, one_of

_MOST_HINTED = 200
"""Of so many mistakes it is asked what an unknown key may have been meant to be; it takes long."""
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

_FIGURE = re.compile(r"[0-9]+")
"""Within a word: `fp8` and `Q8_0` name a width."""
_JOINED = re.compile(r"(\w+)\s*[:=]")
"""A key whose value follows without a blank, or after another sign."""
_SAME_AS = {
    **dict.fromkeys(("purchase", "capex"), ("buy",)),
    **dict.fromkeys(("lease", "cloud"), ("rent", "reserve", "hourly")),
    **dict.fromkeys(("on-demand", "ondemand", "on_demand", "hour"), ("hourly",)),
    **dict.fromkeys(("reserved", "commitment"), ("reserve",)),
    **dict.fromkeys(("full-ft", "full_finetune", "fft"), ("full",)),
    "bfloat16": ("bf16",),
}
"""What values are called elsewhere."""
_BY_NAME = "write each entry under a name of its own, without a dash: `NAME: {…}`"
_LONGEST_FIGURE = 12
_BINARY_GB = {"MiB": Decimal(2**20) / 10**9, "GiB": Decimal(2**30) / 10**9}

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


def told(document: YamlDocument, model: type[BaseModel], error: ValidationError) -> Told:
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
        _finding(document, shape, mistake, hinted=number < _MOST_HINTED)
        for number, (path, mistake) in enumerate(clearest.items())
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


def kept_as_written(document: YamlDocument, error: ValidationError) -> bool:
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
    """Where several types were tried at one place: the one that got furthest."""
    return next((mistake for mistake in mistakes if mistake.kind not in _WANTED), mistakes[0])


def _finding(
    document: YamlDocument, shape: FieldTree, mistake: _Mistake, *, hinted: bool
) -> Finding:
    if mistake.kind == _UNKNOWN:
        *outer, key = mistake.path
        message = f"unknown key {key!r}"
        hint: str | None = "within braces a comma ends a value: write a number without commas"
        if not _AFTER_COMMA.fullmatch(str(key)):
            beside = document.value(tuple(outer))
            hint = shape.hint_for_unknown(mistake.path, beside) if hinted else None
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
            _WANTED[kind],
            mistake.context.get("stated", value),
            str(mistake.path[-1]) if mistake.path else "",
        )
        unnamed = kind == "dict_type" and len(mistake.path) == 1 and isinstance(value, tuple)
        return message, _BY_NAME if unnamed else hint
    if kind in _BOUNDS:
        return _out_of_bounds(mistake)
    if kind == "value_error":
        return str(mistake.context["error"]), None
    return _rest(mistake), None


def _not_a_choice(choices: list[str], mistake: _Mistake) -> tuple[str, str | None]:
    if not choices:
        choices = re.findall(r"[\w.-]+", str(mistake.context.get("expected", "")))
    allowed = ", ".join(choices)
    among = allowed if len(choices) == 1 else f"one of {allowed}"
    if mistake.value is None:
        return f"is empty, it must be {among}", _choice_hint(mistake.path, choices)
    if len(choices) == 1:
        return f"{described(mistake.value)} is not {allowed}", None
    said = str(mistake.value)
    meant = [one for one in _SAME_AS.get(said.casefold(), ()) if one in choices]
    called = f"here that is {one_of([f'`{one}`' for one in meant])}"
    figures = set(_FIGURE.findall(said)).intersection(choices)
    if len(figures) == 1:
        return f"{described(mistake.value)} is not one of {allowed}", f"write {figures.pop()}"
    hint = called if meant else did_you_mean(said, choices)
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
    if wanted == "a mapping" and isinstance(value, str) and (joined := _JOINED.match(value)):
        return message, f"write `{joined[1]}: …`, with a colon and a blank"
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
        return f"write {figure}, it is no share" if whole else f"write {Decimal(figure) / 100:f}"
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


_Wrong = Mapping[str | int, "_Wrong | None"]
"""Keys and positions with what is wrong below; None where the value itself is."""


M = TypeVar("M", bound=BaseModel)
R = TypeVar("R")

_KINDS = (
    (("proof",), "a saved plan", "`planner report`, `explain`, `compare` and `replay` read it"),
    (("grid", "rows"), "a sweep", "`planner sweep` reads it"),
    (("uncertain",), "futures", "`planner risk` reads them"),
    (
        ("jobs", "horizon", "extends"),
        "a scenario",
        "`planner plan` reads it, a sweep and futures name it",
    ),
    (("gpus", "nodes", "models", "purchase"), "a catalog", "a scenario names it under `use:`"),
    (("rules",), "rules", "a scenario names them under `use:`"),
)
"""What only one kind of file states at its top, and what reads that."""


class Attempts:
    """Collects the findings of steps that do not depend on each other."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.sound = True
        """Whether every step gave all of its result; what it lacks may have been told before."""

    def take(self, step: Callable[[], R]) -> R | None:
        """Give the step's result, or None where it found mistakes."""
        try:
            return step()
        except InputError as error:
            self.sound = False
            self.findings += error.findings
            return None

    def known(self, step: Callable[[], R]) -> R | None:
        """Give the step's result, or what is known of it where it found mistakes."""
        try:
            return step()
        except InputError as error:
            self.sound = False
            self.findings += error.findings
            return cast("R | None", error.known)


def validate(
    document: YamlDocument, model: type[M], *, known_as: type[BaseModel] | None = None
) -> M:
    """Build the model; raises InputError with all mistakes of the file, each at its place.

    Numbers where text belongs become text in the document: `2027` and `12e4` as they are written.
    Hints for unknown keys go by `known_as`, where the file may hold more than the model. The error
    knows the model as far as its values are sound.
    """
    require_kind(document, known_as or model)
    built, error = _attempted(document, model)
    if error is not None and kept_as_written(document, error):
        built, error = _attempted(document, model)
    empty = document.empty_values()
    if built is None or empty:
        raise _refusal(document, model, known_as or model, error, empty)
    return built


def read_as(read: Callable[[], YamlDocument], model: type[M]) -> tuple[YamlDocument, M]:
    """Read a file and build the model; raises InputError with the mistakes of both."""
    attempts = Attempts()
    document = attempts.known(read)
    built = None if document is None else attempts.known(partial(validate, document, model))
    if document is None or built is None or not attempts.sound:
        raise InputError(*attempts.findings)
    return document, built


def require_kind(document: YamlDocument, model: type[BaseModel]) -> None:
    """Raise InputError where most keys are not those of the model, but of another kind of file."""
    known, stated = model.model_fields.keys(), document.data.keys() - {"format"}
    if 2 * len(known & stated) > len(stated):
        return
    for marks, what, reads in _KINDS:
        if any(mark in document.data and mark not in known for mark in marks):
            raise InputError(Finding(f"holds {what}", file=document.shown_as, hint=reads))


def _attempted(document: YamlDocument, model: type[M]) -> tuple[M | None, ValidationError | None]:
    try:
        return model.model_validate(document.data), None
    except ValidationError as error:
        return None, error


def _refusal(
    document: YamlDocument,
    model: type[M],
    known_as: type[BaseModel],
    error: ValidationError | None,
    empty: Sequence[Path],
) -> InputError:
    """All mistakes: of values, of sections that contradict themselves, and keys without a value."""
    found = Told((), frozenset(), frozenset())
    if error is not None:
        found = told(document, known_as, error)
    known = _model(model, document.data, _tree((*found.wrong, *empty), found.odd))
    findings = [*found.findings, *_empty(document, model, found.findings, empty)]
    said = {(finding.path, finding.message) for finding in findings}
    findings += (
        document.finding(path, message)
        for path, message in _contradictions(known, (*found.wrong, *found.odd, *empty))
        if (dotted(path) or None, message) not in said
    )
    in_order = sorted(findings, key=lambda f: (f.line or 0, f.column or 0))
    return InputError(*in_order, known=known)


def _empty(
    document: YamlDocument,
    model: type[BaseModel],
    findings: Sequence[Finding],
    empty: Sequence[Path],
) -> Iterator[Finding]:
    """A finding for each key without a value: it may mean nothing, or all the defaults."""
    shape = FieldTree(model)
    reported = {finding.path for finding in findings}
    for path in empty:
        if dotted(path) not in reported:
            value = "`{}` for its defaults" if shape.model(path) else "a value"
            yield document.finding(path, "is empty", f"write {value} or delete the line")


def validate_values(values: Mapping[str, Any], model: type[M], name_of: Callable[[str], str]) -> M:
    """Build the model from values that come from no file, such as options of the command line.

    `name_of` turns a dotted path into what the user wrote, such as `--batch`.
    Raises InputError with all mistakes, each under that name.
    """
    document = YamlDocument(shown_as="", sha256="", data=dict(values), text="", branch={})
    try:
        return model.model_validate(document.data)
    except ValidationError as error:
        refusal = _refusal(document, model, model, error, ())
        findings = refusal.findings
        raise InputError(
            *(Finding(f.message, path=name_of(f.path or ""), hint=f.hint) for f in findings)
        ) from None


_NOTHING = object()


def nothing_of(model: type[M]) -> M:
    """A model of which no value is known."""
    nothing = model.model_construct()
    nothing.__dict__.clear()
    return nothing


def _contradictions(built: BaseModel, paths: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    """What contradicts itself in the models on the way to these paths, with the place of each."""
    outer = {path[:depth] for path in paths for depth in range(len(path) + 1)}
    for path in sorted(outer, key=lambda path: tuple(map(str, path))):
        with suppress(NotKnown, KeyError, IndexError):
            found = _at(built, path)
            if isinstance(found, BaseModel):
                yield from ((path, message) for message in _messages(found))


def _messages(model: BaseModel) -> Iterator[str]:
    for check in type(model).__pydantic_decorators__.model_validators.values():
        if check.info.mode == "after":
            try:
                getattr(model, check.cls_var_name)()
            except NotKnown:
                continue
            except ValueError as error:
                yield str(error)


def _at(value: Any, path: Path) -> Any:  # noqa: ANN401 - whatever a model holds
    for part in path:
        if isinstance(value, BaseModel):
            value = getattr(value, str(part), None)
        elif isinstance(value, dict) or (isinstance(value, tuple) and isinstance(part, int)):
            value = value[part]  # type: ignore[index]
        else:
            return None
    return value


def _tree(wrong: Iterable[Path], odd: Iterable[Path]) -> _Wrong:
    """These paths as a tree: what is `odd` is kept, as its values are right one by one."""
    tree: dict[str | int, Any] = {}
    for paths, is_odd in ((wrong, False), (odd, True)):
        for path in sorted(paths, key=len):
            inner: dict[str | int, Any] | None = tree
            for part in path[:-1]:
                inner = None if inner is None else inner.setdefault(part, {})
            if inner is not None and path:
                inner.setdefault(path[-1], {} if is_odd else None)
    return tree


def _model(model: type[M], data: Mapping[str, Any], wrong: _Wrong) -> M:
    """Build a model of all but the values that are wrong."""
    fields = model.model_fields
    stated = frozenset(name for name in fields if name in data and name not in wrong)
    sound = _of_fields(model, stated).model_validate({name: data[name] for name in stated})
    known = {name: getattr(sound, name) for name in stated}
    for name, below in wrong.items():
        if name in fields and name in data and below is not None:
            value = _value(fields[str(name)].annotation, data[str(name)], below)
            if value is not _NOTHING:
                known[str(name)] = value
    built = model.model_construct(set(known), **known)
    for name, field in fields.items():
        if name not in known and (name in wrong or field.is_required()):
            built.__dict__.pop(name, None)
    return built


@lru_cache(maxsize=1024)
def _of_fields(model: type[BaseModel], names: frozenset[str]) -> type[BaseModel]:
    """A model of some of the fields, each of which is what it is in the whole."""
    fields: dict[str, Any] = {
        name: (field.annotation, field)
        for name, field in model.model_fields.items()
        if name in names
    }
    return create_model(model.__name__, __base__=Frozen, **fields)


def _value(annotation: object, value: object, wrong: _Wrong) -> object:
    """What is known of a value in which something is wrong; of figures by key, nothing is."""
    with suppress(ValidationError):
        for one in alternatives(annotation):
            if isinstance(value, dict) and _is_model(one):
                return _model(one, value, wrong)
            if isinstance(value, dict) and get_origin(one) is dict and _has_parts(one):
                entries = get_args(one)[1]
                return {key: _entry(entries, key, item, wrong) for key, item in value.items()}
            if isinstance(value, tuple) and get_origin(one) is tuple and _has_parts(one):
                items = get_args(one)[0]
                return tuple(_entry(items, at, item, wrong) for at, item in enumerate(value))
    return _NOTHING


def _entry(annotation: object, key: str | int, value: object, wrong: _Wrong) -> object:
    (kind,) = (one for one in alternatives(annotation) if one is not type(None))
    if key not in wrong:
        return kind.model_validate(value) if _is_model(kind) else value
    below = wrong[key]
    known = _NOTHING if below is None else _value(annotation, value, below)
    if known is not _NOTHING:
        return known
    return nothing_of(kind) if _is_model(kind) else get_origin(kind)()


def _has_parts(container: object) -> bool:
    """Whether what it holds are models, mappings or lists: one entry may be wrong by itself."""
    inner = get_args(container)[1 if get_origin(container) is dict else 0]
    kinds = [one for one in alternatives(inner) if one is not type(None)]
    return len(kinds) == 1 and (_is_model(kinds[0]) or get_origin(kinds[0]) in (dict, tuple))


def _is_model(kind: Any) -> bool:  # noqa: ANN401 - whatever an annotation holds
    return isinstance(kind, type) and issubclass(kind, BaseModel)
