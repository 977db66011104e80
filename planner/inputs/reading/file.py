"""A file that was read, as a plan records it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from planner.inputs.base import Frozen

__all__ = ["InputFile"]


class InputFile(Frozen):
    """A file that shaped the plan."""

    role: Literal["scenario", "base", "catalog", "rules", "placement"]
    """`base`: a scenario that the scenario extends; `placement`: an earlier plan, whose units run
    today."""
    path: str
    """As named on the command line or in the scenario; shipped files by their name alone."""
    sha256: str
    """Of its bytes; of a scenario and its bases what they state, whatever the order of their keys,
    their remarks and line ends."""
    location: Path | None = None
    """Where it was read, so that no output overwrites it; it stands in no output itself."""
