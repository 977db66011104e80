"""What the models allow at a path: which keys, which choices, and where a stray key belongs."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel, BeforeValidator
from pydantic.fields import FieldInfo

from planner.inputs.base import share
from planner.inputs.reading.document import Path, dotted
from planner.inputs.reading.hints import NO_COUNTERPART, is_idle, keys_for
from planner.inputs.text import did_you_mean, in_other_unit, key_meant, nearest, one_of


def alternatives(annotation: object) -> list[Any]:
    """Return every type that a value may have, without `Annotated` and unions around it."""
    if isinstance(annotation, type) and not get_args(annotation):
        return [annotation]
    origin = get_origin(annotation)
    if origin is Annotated:
        return alternatives(get_args(annotation)[0])
    if origin in (dict, tuple, list, Literal):
        return [annotation]
    return [one for part in get_args(annotation) for one in alternatives(part)]


def _model(annotation: object) -> type[BaseModel] | None:
    for one in alternatives(annotation):
        if isinstance(one, type) and issubclass(one, BaseModel):
            return one
    return None


_GONE: dict[Path, str] = {("policies", "time"): "delete the line: runs are planned by the hour"}
"""Keys that scenarios no longer have, and what to do."""


_JOINED = re.compile(r"(?P<key>\w+)\s*[:=]\s*(?P<value>\S.*)")
"""A key and its value without a blank between them, or with another sign."""


class FieldTree:
    """The tree of one model's fields."""

    def __init__(self, root: type[BaseModel]) -> None:
        self.root = root

    def _annotation(self, path: Path) -> object | None:
        annotation: object = self.root
        for part in path:
            found = [_within(one, part) for one in alternatives(annotation)]
            annotation = next((one for one in found if one is not None), None)
            if annotation is None:
                return None
        return annotation

    def model(self, path: Path) -> type[BaseModel] | None:
        """Return the model at a path, or None."""
        return _model(self._annotation(path))

    def keys(self, path: Path) -> list[str]:
        """Return the keys allowed at a path, in the model's order; empty if any is."""
        model = self.model(path)
        return list(model.model_fields) if model else []

    def is_text(self, path: Path) -> bool:
        """Return whether only text may stand at a path, whatever it looks like."""
        kinds = set(alternatives(self._annotation(path))) - {type(None)}
        return kinds == {str}

    def is_whole(self, path: Path) -> bool:
        """Return whether a number at a path must be a whole one."""
        kinds = alternatives(self._annotation(path))
        return int in kinds and Decimal not in kinds

    def is_number(self, path: Path) -> bool:
        """Return whether a number may stand at a path, or numbers by key."""
        kinds = alternatives(self._annotation(path))
        kinds += [inner for one in kinds if get_origin(one) is dict for inner in get_args(one)[1:]]
        return any(one in kinds for one in (int, Decimal))

    def _field(self, path: Path) -> FieldInfo | None:
        """Return the field at a path, or None."""
        model = self.model(path[:-1])
        return model.model_fields.get(str(path[-1])) if model else None

    def is_share(self, path: Path) -> bool:
        """Return whether a number at a path may be written as a percentage."""
        field = self._field(path)
        told = (field.annotation, *field.metadata) if field else (self._annotation(path),)
        return any(map(_spells_percent, told))

    def default(self, path: Path) -> object:
        """Return what holds if nothing stands at a path; None if that is not one value."""
        field = self._field(path)
        return None if field is None or field.is_required() else field.default

    def is_optional(self, path: Path) -> bool:
        """Return whether the key of a value may be left out."""
        field = self._field(path)
        return field is not None and not field.is_required()

    def is_by_quarter(self, path: Path) -> bool:
        """Return whether figures by quarter may stand at a path; node types are plain text."""
        kinds = alternatives(self._annotation(path))
        return any(get_origin(one) is dict and get_args(one)[0] is not str for one in kinds)

    def choices(self, path: Path) -> list[str]:
        """Return the words of which one must stand at a path; empty if any may."""
        for one in alternatives(self._annotation(path)):
            if get_origin(one) is Literal:
                return [str(choice) for choice in get_args(one)]
        return []

    def key(self, path: Path) -> str:
        """Return the field of a value, which has its unit: not a quarter, not a position."""
        fields = (
            path[at]
            for at in range(len(path))
            if path[at] in self.keys(path[:at]) and path[at] != "value"
        )
        return str([*path[-1:], *fields][-1]) if path else ""

    def choosing(self, path: Path, word: str) -> str | None:
        """Return a key beside this one of which a word may be the value, or None."""
        keys = (key for key in self.keys(path[:-1]) if word in self.choices((*path[:-1], key)))
        return next(keys, None)

    def meant(self, path: Path, value: object = None) -> list[str]:
        """Return the keys that may have been meant by an unknown one."""
        known, key = self.keys(path[:-1]), str(path[-1])
        same = [name for name in known if name == key.casefold()]
        called = [name.partition(":")[0] for name in keys_for(key, known)]
        near = nearest(key, known, most=1)
        chosen = self.choosing(path, value) if isinstance(value, str) and not called else None
        return same or called or ([chosen] if chosen and chosen not in near else near)

    def hint_for_unknown(self, path: Path, beside: Mapping[str, Any]) -> str:
        """Say where an unknown key belongs, or which unused key may have been meant."""
        container, key = path[:-1], str(path[-1])
        if path in _GONE:
            return _GONE[path]
        known = [name for name in self.keys(container) if name not in beside]
        joined = _JOINED.fullmatch(key)
        if joined and joined["key"] in known:
            return f"write `{joined['key']}: {joined['value']}`, with a colon and a blank"
        is_plural = {key.removesuffix("s"), f"{key}s"} & set(known)
        return (
            self._called_here(path, beside.get(key), known)
            or (did_you_mean(key, known) if is_plural else None)
            or self._place_of(key, container)
            or self._called_elsewhere(path, beside)
            or (NO_COUNTERPART if is_idle(key) else key_meant(key, known))
            or f"known here: {', '.join(self.keys(container))}"
        )

    def _called_here(self, path: Path, value: object, known: Collection[str]) -> str | None:
        """Name the known key that another tool's key stands for; its value may help."""
        here = keys_for(str(path[-1]), known)
        if here and (value is not False or ":" not in here[0]):
            converted = in_other_unit(str(path[-1]), here[0]) and ", in another unit: convert it"
            return f"here that is {one_of([f'`{name}`' for name in here])}{converted or ''}"
        if "set" in known and "." in str(path[-1]):
            return "put it under `set:`"
        chosen = self.choosing(path, value) if isinstance(value, str) else None
        if chosen in known and chosen not in nearest(str(path[-1]), known):
            return f"here that is `{chosen}: {value}`"
        return None

    def _called_elsewhere(self, path: Path, beside: Collection[str]) -> str | None:
        """Name the key one level below, or the stated key, for another tool's key."""
        for name in keys_for(str(path[-1])):
            if fields := [at for at in self._below(name, path[:-1]) if len(at) == len(path)]:
                return f"here that is `{name}`, under {_places(fields)}"
        stated = keys_for(str(path[-1]), beside)
        return f"delete the line: `{stated[0].partition(':')[0]}` says it here" if stated else None

    def _place_of(self, key: str, container: Path) -> str | None:
        """Say where the key belongs: below, or in the nearest place outwards."""
        places: list[str] = []
        for depth in range(len(container), -1, -1):
            outer = container[:depth]
            model = self.model(outer)
            if model is None:
                continue
            if depth < len(container) and key in model.model_fields:
                places.append(f"under `{dotted(outer)}`" if outer else "at the top of the file")
                break
            inside = self._below(key, outer, *container[depth : depth + 1])
            if inside and not places:
                places.append(f"under {_places(inside)}")
            if inside and depth < len(container):
                break
        return f"`{key}` belongs {one_of(places)}" if places else None

    def _below(self, key: str, outer: Path, *but: str | int) -> list[Path]:
        """Return the paths below a place whose models have a key; `but` is left out."""
        model = self.model(outer)
        fields = {} if model is None else model.model_fields
        return [
            (*outer, *below)
            for name, field in fields.items()
            for below, child in _children(name, field.annotation)
            if key in child.model_fields and name not in but
        ]


def _places(paths: Iterable[Path]) -> str:
    return one_of([f"`{dotted(path)}`" for path in paths])


def _spells_percent(part: object) -> bool:
    """Return whether a part of an annotation reads `15%`, at any depth."""
    if isinstance(part, BeforeValidator):
        return part.func is share
    return any(map(_spells_percent, (*get_args(part), *getattr(part, "__metadata__", ()))))


def _children(name: str, annotation: object) -> Iterator[tuple[Path, type[BaseModel]]]:
    """Yield the model of a field, or that of each of its entries, which the user names."""
    for one in alternatives(annotation):
        entry = get_args(one)[1] if get_origin(one) is dict else None
        if child := _model(one if entry is None else entry):
            yield (name,) if entry is None else (name, "NAME"), child


def _within(annotation: object, part: str | int) -> object | None:
    """Return what stands at a key of a type, or at any position of a list."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        field = annotation.model_fields.get(str(part))
        return field.annotation if field else None
    arguments = get_args(annotation)
    if get_origin(annotation) is dict:
        return arguments[1]  # type: ignore[no-any-return]
    if get_origin(annotation) in (tuple, list) and isinstance(part, int):
        return arguments[0]  # type: ignore[no-any-return]
    return None
