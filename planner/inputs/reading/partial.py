"""What is known of a file in which some values are wrong.

A model is built of its sound values; the others are absent from it. Whoever asks for one of those
is stopped by NotKnown, so that nothing is told that may be right once the first mistake is mended.
"""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin

from pydantic import BaseModel, ValidationError, create_model

from planner.inputs.base import Frozen, NotKnown
from planner.inputs.reading.shape import alternatives

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from planner.inputs.reading.document import Path

    _Wrong = Mapping[str | int, "_Wrong | None"]
    """Keys and positions with what is wrong below; None where the value itself is."""

__all__ = ["contradictions", "nothing_of", "partly"]

M = TypeVar("M", bound=BaseModel)

_NOTHING = object()


def partly(
    model: type[M], data: Mapping[str, Any], wrong: Iterable[Path], odd: Iterable[Path] = ()
) -> M:
    """Build a model of all but the values at these paths.

    What is `odd` is kept: its values are right one by one, but not together, or under their name.
    """
    return _model(model, data, _tree(wrong, odd))


def nothing_of(model: type[M]) -> M:
    """A model of which no value is known."""
    nothing = model.model_construct()
    nothing.__dict__.clear()
    return nothing


def contradictions(built: BaseModel, paths: Iterable[Path]) -> Iterator[tuple[Path, str]]:
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
