"""Where shipped data lies: in the wheel, or beside the code in a checkout."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from planner.errors import Finding, InputError

__all__ = ["MODEL_TYPES", "Kind", "shipped"]

MODEL_TYPES = "model-types.yaml"
"""In the folder of the catalog, and no file of it: how configurations are read."""

Kind = Literal["catalog", "rules", "scenarios"]


def shipped(kind: Kind) -> Path:
    """Give the folder of shipped catalog, rules or scenarios; raises InputError if it is gone."""
    package = Path(__file__).resolve().parents[2]
    for folder in (package / "_data" / kind, package.parent / kind):
        if folder.is_dir():
            return folder
    raise InputError(
        Finding(f"the shipped {kind} folder is missing", hint="install gpu-fit-planner again")
    )
