"""Who measured, and what their runs have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pydantic import Field

from planner.inputs.base import Frozen, Number
from planner.inputs.reading.diagnostics import validate
from planner.inputs.reading.reader import read_document

__all__ = ["HERE", "Origin", "read_origins"]

HERE: Final = Path(__file__).parent


class Origin(Frozen):
    """Who measured."""

    fitted: bool
    """Whether constants of the memory rules were fitted on their figures."""
    what: str
    unit: str
    evaluation_share: Number = Field(default=0, validate_default=True)
    """Time spent on evaluation beside the training steps, where the figure includes it."""


class Origins(Frozen):
    """The file of origins."""

    origins: dict[str, Origin]
    left_out: dict[str, str]
    """Which of their runs are not compared, and why."""


def read_origins() -> dict[str, Origin]:
    """Read who measured; raises InputError."""
    document = read_document(HERE / "origins.yaml", shown_as="benchmarks/accuracy/origins.yaml")
    return validate(document, Origins).origins
