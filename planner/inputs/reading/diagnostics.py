"""Turns data into models, and every mistake in it into a finding in the user's own words."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pydantic import BaseModel, ValidationError

from planner.errors import Finding, InputError
from planner.inputs.reading.document import Document, dotted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from planner.inputs.reading.document import Path

__all__ = ["Attempts", "read_as", "require_kind", "validate", "validate_values"]

M = TypeVar("M", bound=BaseModel)
R = TypeVar("R")

_KINDS = (
    (("proof",), "a saved plan", "`planner report`, `explain`, `compare` and `replay` read it"),
    (("grid", "rows"), "a sweep", "`planner sweep` reads it"),
    (("uncertain",), "futures", "`planner risk` reads them"),
    (("jobs", "horizon"), "a scenario", "`planner plan` reads it, a sweep and futures name it"),
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


def validate(document: Document, model: type[M], *, known_as: type[BaseModel] | None = None) -> M:
    """Build the model; raises InputError with all mistakes of the file, each at its place.

    Numbers where text belongs become text in the document: `2027` and `12e4` as they are written.
    Hints for unknown keys go by `known_as`, where the file may hold more than the model. The error
    knows the model as far as its values are sound.
    """
    require_kind(document, known_as or model)
    built, error = _attempted(document, model)
    if error is not None and _kept_as_written(document, error):
        built, error = _attempted(document, model)
    empty = document.empty_values()
    if built is None or empty:
        raise _refusal(document, model, known_as or model, error, empty)
    return built


def read_as(read: Callable[[], Document], model: type[M]) -> tuple[Document, M]:
    """Read a file and build the model; raises InputError with the mistakes of both."""
    attempts = Attempts()
    document = attempts.known(read)
    built = None if document is None else attempts.known(partial(validate, document, model))
    if document is None or built is None or not attempts.sound:
        raise InputError(*attempts.findings)
    return document, built


def require_kind(document: Document, model: type[BaseModel]) -> None:
    """Raise InputError where most keys are not those of the model, but of another kind of file."""
    known, stated = model.model_fields.keys(), document.data.keys() - {"format"}
    if 2 * len(known & stated) > len(stated):
        return
    for marks, what, reads in _KINDS:
        if any(mark in document.data and mark not in known for mark in marks):
            raise InputError(Finding(f"holds {what}", file=document.shown_as, hint=reads))


def _attempted(document: Document, model: type[M]) -> tuple[M | None, ValidationError | None]:
    try:
        return model.model_validate(document.data), None
    except ValidationError as error:
        return None, error


def _kept_as_written(document: Document, error: ValidationError) -> bool:
    from planner.inputs.reading.mistakes import kept_as_written  # noqa: PLC0415 - seldom needed

    return kept_as_written(document, error)


def _refusal(
    document: Document,
    model: type[M],
    known_as: type[BaseModel],
    error: ValidationError | None,
    empty: Sequence[Path],
) -> InputError:
    """All mistakes: of values, of sections that contradict themselves, and keys without a value."""
    from planner.inputs.reading.mistakes import Told, told  # noqa: PLC0415 - only a mistake needs it
    from planner.inputs.reading.partial import contradictions, partly  # noqa: PLC0415 - likewise

    found = Told((), frozenset(), frozenset())
    if error is not None:
        found = told(document, known_as, error)
    known = partly(model, document.data, (*found.wrong, *empty), found.odd)
    findings = [*found.findings, *_empty(document, model, found.findings, empty)]
    said = {(finding.path, finding.message) for finding in findings}
    findings += (
        document.finding(path, message)
        for path, message in contradictions(known, (*found.wrong, *found.odd, *empty))
        if (dotted(path) or None, message) not in said
    )
    in_order = sorted(findings, key=lambda f: (f.line or 0, f.column or 0))
    return InputError(*in_order, known=known)


def _empty(
    document: Document,
    model: type[BaseModel],
    findings: Sequence[Finding],
    empty: Sequence[Path],
) -> Iterator[Finding]:
    """A finding for each key without a value: it may mean nothing, or all the defaults."""
    from planner.inputs.reading.shape import FieldTree  # noqa: PLC0415 - only a mistake needs it

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
    document = Document(shown_as="", sha256="", data=dict(values), text="", branch={})
    try:
        return model.model_validate(document.data)
    except ValidationError as error:
        refusal = _refusal(document, model, model, error, ())
        findings = refusal.findings
        raise InputError(
            *(Finding(f.message, path=name_of(f.path or ""), hint=f.hint) for f in findings)
        ) from None
