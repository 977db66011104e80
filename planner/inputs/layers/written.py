"""Values as a person would write them in a scenario, and a whole scenario with its origins."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from planner.inputs.text.scalars import ScalarError, plain_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.inputs.layers.composed import Composed
    from planner.inputs.reading.document import Document, Path

__all__ = ["as_yaml", "flow", "resolved", "stated"]

_BARE = re.compile(r"[A-Za-z0-9](?:[\w ./%+()-]*[\w.%+()])?", re.ASCII)
"""Words that read the same without quotes, as long as they are no number, boolean or nothing."""


def flow(value: object) -> str:
    """A value on one line: `8`, `0.15`, `'10%'` without its quotes, `[a, b]`, `{a: 1}`."""
    if isinstance(value, dict):
        inside = ", ".join(f"{_key(key)}: {flow(item)}" for key, item in value.items())
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


def _key(key: str) -> str:
    return key if _reads_as_text(key) else json.dumps(key, ensure_ascii=False)


@lru_cache(maxsize=4096)
def _reads_as_text(text: str) -> bool:
    if not _BARE.fullmatch(text):
        return False
    try:
        return plain_value(text) == text
    except ScalarError:
        return False


_IN_ORDER = frozenset({"apply", "catalog", "overrides", "price_breaks", "rules", "scenarios"})
"""Keys of, or under, which the order of a list says something; all other lists are sets."""


def stated(data: dict[str, Any]) -> str:
    """What a scenario says, as YAML: sections in the order of the format, all else sorted.

    However keys and sets were ordered, and whatever was remarked: what says the same is the same.
    """
    from planner.inputs.scenario.scenario import ScenarioFile  # noqa: PLC0415 - slow to load

    sections = [name for name in ScenarioFile.model_fields if name in data]
    ordered = ((name, _in_order(data[name], is_set=name not in _IN_ORDER)) for name in sections)
    lines = (line for name, value in ordered for line in _stated(name, value, ""))
    return "".join(f"{line}\n" for line in lines)


def as_yaml(data: dict[str, Any]) -> str:
    """Plain data as YAML, mapping by mapping, in its own order."""
    return "".join(f"{line}\n" for name, value in data.items() for line in _stated(name, value, ""))


def _stated(key: str, value: object, indent: str) -> Iterator[str]:
    if isinstance(value, dict) and value:
        yield f"{indent}{_key(key)}:"
        for inner, held in value.items():
            yield from _stated(inner, held, f"{indent}  ")
    else:
        yield f"{indent}{_key(key)}: {flow(value)}"


def _in_order(value: object, *, is_set: bool) -> object:
    if isinstance(value, dict):
        return {
            key: _in_order(value[key], is_set=is_set and key not in _IN_ORDER)
            for key in sorted(value)
        }
    if isinstance(value, tuple):
        items = tuple(_in_order(item, is_set=is_set) for item in value)
        return tuple(sorted(items, key=flow)) if is_set else items
    return value


def resolved(composed: Composed) -> str:
    """The whole scenario as YAML, each value with the file and line, or the change, it is from."""
    by_path = {one.path: one.by for one in composed.applied}
    lines = _lines(composed.document, by_path)
    return "".join(f"{line}\n" for line in lines)


def _lines(document: Document, by_path: dict[Path, str]) -> Iterator[str]:
    for path, value in _values((), document.data):
        indent = "  " * (len(path) - 1)
        key = _key(str(path[-1]))
        if isinstance(value, dict) and value:
            yield f"{indent}{key}:"
        else:
            yield f"{indent}{key}: {flow(value)}  # {_origin(document, path, by_path)}"


def _values(outer: Path, data: dict[str, object]) -> Iterator[tuple[Path, object]]:
    for key, value in data.items():
        path = (*outer, key)
        yield path, value
        if isinstance(value, dict):
            yield from _values(path, value)


def _origin(document: Document, path: Path, by_path: dict[Path, str]) -> str:
    by = next((by_path[path[:n]] for n in range(len(path), 0, -1) if path[:n] in by_path), None)
    origin = document.origin(path)
    if origin.path is None:
        return f"{by} {origin.text}" if by else origin.shown_as
    place = f"{origin.shown_as}:{document.value_place(path).line}"
    return f"{place} ({by})" if by else place
