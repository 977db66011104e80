"""The start of a process of the same libraries: what all times are multiples of.

Machines differ twofold in seconds, and far less in multiples of what they take to load Python and
the libraries that every command needs.
"""

from __future__ import annotations

import subprocess
import sys
import time
from functools import cache

__all__ = ["start_seconds", "starts"]

_LIBRARIES = "import pydantic, yaml, rich.console, click"
_TIMES = 7


@cache
def start_seconds() -> float:
    """One start: the median of some, after one that is not counted."""
    taken = []
    for _ in range(_TIMES + 1):
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-c", _LIBRARIES], check=True)
        taken.append(time.perf_counter() - begun)
    return sorted(taken[1:])[_TIMES // 2]


def starts(seconds: float) -> float:
    """Seconds as multiples of a start."""
    return seconds / start_seconds()
