"""Results that are kept beside a plan: sealed, and with the question that they answer."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, TypeVar

from pydantic import ValidationError

from planner.errors import Finding, InputError
from planner.inputs.base import Frozen
from planner.inputs.layers.composed import stated
from planner.inputs.reading.reader import parse_document
from planner.planning.store import digest_of, each_once

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planner.inputs.settled import Inputs
    from planner.planning.plan import Plan

__all__ = ["StoredResult", "dumps", "loads", "question_behind", "question_of"]

K = TypeVar("K", bound="StoredResult")

FORMAT = "1.0"
"""Minor: additive. Major: readers refuse."""


class StoredResult(Frozen):
    """A result that says what was asked."""

    format: str = FORMAT
    question: str
    """sha256 of the scenario with all its changes, the catalog and the rules."""


def question_of(asked: Inputs) -> str:
    """What is asked, for a result; the same whatever the files are called."""
    return _digest(asked.question, ((file.role, file.sha256) for file in asked.files))


def question_behind(plan: Plan) -> str:
    """What a plan was asked."""
    return _digest(plan.question, ((role, sha) for role, _, sha in plan.provenance.files))


def _digest(question: str, files: Iterable[tuple[str, str]]) -> str:
    # Neither the order of keys nor the place where a value was written is asked about.
    data = parse_document(question, "scenario").data if question else {}
    facts = sorted(file for file in files if file[0] in ("catalog", "rules"))
    return sha256(repr((stated(data), facts)).encode()).hexdigest()


def dumps(found: StoredResult) -> str:
    """Write a result as JSON, with the digest of all else under `digest`."""
    document = found.model_dump(mode="json")
    return json.dumps({**document, "digest": digest_of(document)}, indent=1) + "\n"


def loads(kind: type[K], text: str, shown_as: str) -> K:
    """Read what `dumps` wrote; raises InputError for what is none, or was changed since."""
    try:
        document = json.loads(text, object_pairs_hook=each_once(text, shown_as))
        digest = document.pop("digest")
        if digest != digest_of(document):
            raise InputError(Finding("was changed after the planner had written it", shown_as))
        return kind.model_validate_json(json.dumps(document))
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError, ValidationError):
        words = f"is no {kind.__name__.lower()} as this planner writes it"
        raise InputError(Finding(words, shown_as, hint="make it again")) from None
