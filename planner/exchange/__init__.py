"""What other tools read of a plan, and what is read of theirs.

Here: the JSON that another program wrote; what is needed of it is checked, and nothing else read.
"""

from __future__ import annotations

import json
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from planner.errors import Finding, InputError

_MOST_FINDINGS = 20


class Exported(BaseModel):
    """A part of an export, whose keys are in camel case; unknown ones are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True, alias_generator=to_camel)


M = TypeVar("M", bound=Exported)


def parsed(text: str, shown_as: str) -> Any:  # noqa: ANN401 - whatever JSON can hold
    """Parse a file; raises InputError if it is no JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        told = "nested too deep" if isinstance(error, RecursionError) else error
        told = getattr(error, "msg", told)
        raise InputError(Finding(f"is no JSON: {told}", file=shown_as, line=line)) from None


def of_export(model: type[M], data: object, shown_as: str) -> M:
    """Build the model.

    Raises InputError with the first mistakes, each with its path in the file.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise InputError(
            *(
                Finding(
                    f"{one['msg'][:1].lower()}{one['msg'][1:]}",
                    file=shown_as,
                    path="".join(
                        f"[{part}]" if isinstance(part, int) else f".{part}" for part in one["loc"]
                    ).lstrip("."),
                )
                for one in error.errors(include_url=False, include_input=False)[:_MOST_FINDINGS]
            )
        ) from None
