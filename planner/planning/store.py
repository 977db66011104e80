"""A plan as a file: complete, versioned, and the same bytes for the same plan."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any

from pydantic import TypeAdapter, ValidationError

from planner.errors import Finding, InputError
from planner.planning.plan import FORMAT, Plan
from planner.sizing.candidate import DerivationStep

_STEPS = TypeAdapter(tuple[DerivationStep, ...])
_DEPTH = {"placements": 3, "sizings": 4}
"""How many levels stand on lines of their own; two where nothing is said."""

_WRITES = "`planner plan SCENARIO --out DIR` writes"
_AGAIN = "make the plan again with this version of the planner"


def dumps(plan: Plan) -> str:
    """Write a plan as JSON: one line per job, node or step, keys in the model's order.

    `provenance.digest` seals it: the sha256 of all else, by which `loads` knows an edited file.
    Each step of a sum stands once, in `steps`; a `trace` lists their numbers.
    """
    numbers: dict[DerivationStep, int] = {}
    document = plan.model_dump(mode="json", context={"steps": numbers})
    document["steps"] = _STEPS.dump_python(tuple(numbers), mode="json")
    document["provenance"]["digest"] = digest_of(document)
    parts = (f' "{key}": {_text(value, _DEPTH.get(key, 2), 1)}' for key, value in document.items())
    return "{\n" + ",\n".join(parts) + "\n}\n"


def digest_of(document: dict[str, Any]) -> str:
    """The digest that seals a document: that of its content, whatever its spacing."""
    return _digest(_content(document))


def _digest(content: str) -> str:
    return sha256(content.encode()).hexdigest()


def _content(document: dict[str, Any] | list[Any]) -> str:
    """What is sealed: compact JSON in ASCII, so that line ends and spacing do not matter."""
    return json.dumps(document, separators=(",", ":"), allow_nan=False)


def _text(value: Any, depth: int, indent: int) -> str:  # noqa: ANN401 - whatever JSON can hold
    """JSON with `depth` levels opened up and the rest compact."""
    if depth <= 1 or not value or not isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    brackets = "{}" if isinstance(value, dict) else "[]"
    margin = " " * (indent + 1)
    lines = ",\n".join(f"{margin}{item}" for item in _items(value, depth, indent))
    return f"{brackets[0]}\n{lines}\n{' ' * indent}{brackets[1]}"


def _items(value: list[Any] | dict[str, Any], depth: int, indent: int) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            name = json.dumps(key, ensure_ascii=False)
            yield f"{name}: {_text(item, depth - 1, indent + 1)}"
    else:
        for item in value:
            yield _text(item, depth - 1, indent + 1)


def loads(text: str, shown_as: str) -> Plan:
    """Read a plan that was written by `dumps`.

    Raises InputError, naming the file, for broken JSON, another major format, missing parts, and
    where a hand has changed anything since.
    """
    try:
        document = json.loads(
            text, parse_constant=_refuse_constant, object_pairs_hook=each_once(shown_as)
        )
    except json.JSONDecodeError as error:
        cut = "was the file cut off, or edited by hand?"
        hint = cut if text.startswith("{") else f"a plan is needed, as {_WRITES} it"
        told = f"is not JSON: {error.msg}"
        raise InputError(Finding(told, shown_as, error.lineno, error.colno, hint=hint)) from None
    except (ValueError, RecursionError):
        told = "is not a plan: its JSON is nested too deep or holds no finite number"
        raise InputError(Finding(told, shown_as)) from None
    _require_format(document, shown_as)
    _require_seal(document, shown_as)
    try:
        steps = _STEPS.validate_json(_content(document.pop("steps", [])))
        return Plan.model_validate_json(_content(document), context={"steps": steps})
    except ValidationError as error:
        raise InputError(*_findings(error, shown_as)) from None


def each_once(shown_as: str) -> Callable[[list[tuple[str, Any]]], dict[str, Any]]:
    """What makes an object of JSON out of its keys and values, and refuses a key that is twice.

    Readers of JSON differ in which of the two counts, so a file could tell each another story.
    """

    def made(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            hint = "the planner writes each key once: make the file again"
            raise InputError(Finding(f"has the key {twice!r} twice", shown_as, hint=hint))
        return found

    return made


def _refuse_constant(text: str) -> float:
    raise ValueError(text)


def _require_format(document: object, shown_as: str) -> None:
    parts = document if isinstance(document, dict) else {}
    found = parts.get("format")
    if not isinstance(found, str):
        told, hint = "is not a plan: it states no `format` of one", f"{_WRITES} plan.json"
    elif found.partition(".")[0] != FORMAT.partition(".")[0]:
        told, hint = f"is a plan of format {found}, this planner reads {FORMAT}", _AGAIN
    elif "proof" not in parts:
        told, hint = "is not a plan: it states no `proof`", f"{_WRITES} plan.json"
    else:
        return
    raise InputError(Finding(told, shown_as, hint=hint))


def _require_seal(document: dict[str, Any], shown_as: str) -> None:
    """Take the digest off; raises InputError where the content is not what it sealed."""
    made_by = document.get("provenance")
    digest = made_by.pop("digest", None) if isinstance(made_by, dict) else None
    if digest is None:
        told = "has no digest of its content: it was edited, or made by an earlier version"
        hint = _AGAIN
    elif digest != _digest(_content(document)):
        told = "was changed after the planner had written it: its content is not that of its digest"
        hint = "change the scenario and plan again; a plan itself is never edited"
    else:
        return
    raise InputError(Finding(told, shown_as, path="provenance.digest", hint=hint))


def _findings(error: ValidationError, shown_as: str) -> Iterator[Finding]:
    for detail in error.errors(include_url=False, include_context=False, include_input=False):
        path = ".".join(str(part) for part in detail["loc"])
        told = "does not belong in a plan as it stands"
        yield Finding(told, shown_as, path=path or None, hint=_AGAIN)
