"""Builds a model from a file: finds all mistakes, and keeps what is known in spite of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any, TypeVar, cast, get_args, get_origin

from pydantic import BaseModel, ValidationError, create_model

from planner.errors import Finding, InputError
from planner.inputs.base import Frozen, NotKnown
from planner.inputs.reading.document import Path, YamlDocument, dotted
from planner.inputs.reading.reader import MOST_FINDINGS
from planner.inputs.reading.shape import FieldTree, alternatives
from planner.inputs.reading.words import Told, kept_as_written, told

_Wrong = Mapping[str | int, "_Wrong | None"]
"""Keys and positions with what is wrong below; None if the value itself is."""


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
"""Keys that only one kind of file has at its top, and the commands that read it."""


class Attempts:
    """Collects the findings of steps that do not depend on each other."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.sound = True
        """Whether every step gave its full result; what is missing may have been reported
        before."""

    def take(self, step: Callable[[], R]) -> R | None:
        """Return the step's result, or None if it found mistakes."""
        try:
            return step()
        except InputError as error:
            self.sound = False
            self.findings += error.findings
            return None

    def known(self, step: Callable[[], R]) -> R | None:
        """Return the step's result, or what is known of it if it found mistakes."""
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

    Numbers in place of text become text in the document: `2027` and `12e4` as they are written.
    Hints for unknown keys use `known_as`, if the file may hold more than the model. The error
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
    """Raise InputError if most keys belong to another kind of file, or none is known."""
    shape, known = FieldTree(model), model.model_fields.keys()
    stated = document.data.keys() - {"format"}
    if 2 * len(known & stated) > len(stated):
        return
    for marks, what, reads in _KINDS:
        if any(mark in document.data and mark not in known for mark in marks):
            raise InputError(Finding(f"holds {what}", file=document.shown_as, hint=reads))
    if stated and not known & document.data.keys() and not any(shape.meant((k,)) for k in stated):
        place, message = (min(stated),), "belongs to another kind of file, as do all others here"
        raise InputError(
            document.finding(
                place, message, f"one that is read here has {', '.join(known)}", at_key=True
            )
        )


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
    """Return all mistakes: of values, of contradictory sections, and keys without a value."""
    found = Told((), frozenset(), frozenset())
    if error is not None:
        found = told(document, known_as, error)
    if error is not None and error.error_count() > MOST_FINDINGS:
        return InputError(*_in_order(found.findings))
    known = _model(model, document.data, _tree((*found.wrong, *empty), found.odd))
    findings = [*found.findings, *_empty(document, model, found.findings, empty)]
    said = {(finding.path, finding.message) for finding in findings}
    findings += (
        document.finding(path, message)
        for path, message in _contradictions(known, (*found.wrong, *found.odd, *empty))
        if (dotted(path) or None, message) not in said
    )
    return InputError(*_in_order(findings), known=known)


def _in_order(findings: Iterable[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda f: (f.line or 0, f.column or 0))


def _empty(
    document: YamlDocument,
    model: type[BaseModel],
    findings: Sequence[Finding],
    empty: Sequence[Path],
) -> Iterator[Finding]:
    """Yield a finding for each key without a value: it may mean nothing, or all the defaults."""
    shape = FieldTree(model)
    reported = {finding.path for finding in findings}
    for path in empty:
        if reported.isdisjoint(dotted(path[:length]) for length in range(1, len(path) + 1)):
            value = "`{}` for its defaults" if shape.model(path) else "a value"
            yield document.finding(path, "is empty", f"write {value} or delete the line")


def validate_values(values: Mapping[str, Any], model: type[M], name_of: Callable[[str], str]) -> M:
    """Build the model from values that come from no file, such as command-line options.

    `name_of` turns a dotted path into what the user wrote, such as `--batch`. Raises InputError
    with all mistakes, each under that name.
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
    """Return a model of which no value is known."""
    nothing = model.model_construct()
    nothing.__dict__.clear()
    return nothing


def _contradictions(built: BaseModel, paths: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    """Yield contradictions in the models on the way to these paths, each with its place."""
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
    """Return these paths as a tree.

    `odd` ones are kept, since their values are right one by one.
    """
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
    """Build a model of some of the fields, each as it is in the whole."""
    fields: dict[str, Any] = {
        name: (field.annotation, field)
        for name, field in model.model_fields.items()
        if name in names
    }
    return create_model(model.__name__, __base__=Frozen, **fields)


def _value(annotation: object, value: object, wrong: _Wrong) -> object:
    """Return what is known of a partly wrong value; of figures by key, nothing is."""
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
    """Return whether it holds models, mappings or lists, so that one entry alone may be wrong."""
    inner = get_args(container)[1 if get_origin(container) is dict else 0]
    kinds = [one for one in alternatives(inner) if one is not type(None)]
    return len(kinds) == 1 and (_is_model(kinds[0]) or get_origin(kinds[0]) in (dict, tuple))


def _is_model(kind: Any) -> bool:  # noqa: ANN401 - whatever an annotation holds
    return isinstance(kind, type) and issubclass(kind, BaseModel)
