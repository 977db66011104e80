"""Values as a person would write them in a scenario."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from planner.inputs.text.scalars import ScalarError, plain_value

if TYPE_CHECKING:
    from collections.abc import Iterator


_BARE = re.compile(r"[A-Za-z0-9](?:[\w ./%+()-]*[\w.%+()])?", re.ASCII)
"""Words that read the same without quotes, as long as they are no number, boolean or nothing."""


def flow(value: object) -> str:
    """A value on one line: `8`, `0.15`, `'10%'` without its quotes, `[a, b]`, `{a: 1}`."""
    if isinstance(value, dict):
        inside = ", ".join(f"{flow_key(key)}: {flow(item)}" for key, item in value.items())
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


def flow_key(key: str) -> str:
    """A key of a mapping, in quotes where it needs them."""
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
        yield f"{indent}{flow_key(key)}:"
        for inner, held in value.items():
            yield from _stated(inner, held, f"{indent}  ")
    else:
        yield f"{indent}{flow_key(key)}: {flow(value)}"


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
