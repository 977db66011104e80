"""Refuses to plan within too little memory, before numpy and HiGHS are loaded.

Where memory gives out, these end the whole process without a word of ours, or wait for ever.
"""

from __future__ import annotations

import ctypes
import resource

from planner.errors import LimitError

_LEAST_MIB = ((resource.RLIMIT_AS, "v", 400), (resource.RLIMIT_DATA, "d", 250))
"""By limit and its letter in `ulimit`: what planning `scenarios/` took, and a margin."""
_M_ARENA_MAX = -8
"""Of glibc's `mallopt`: how many heaps there are, of which each thread's takes 64 MiB at once."""


def require_memory() -> None:
    """Raise LimitError where the limits of this process leave too little; else make it go far."""
    for which, letter, least in _LEAST_MIB:
        limit, _ = resource.getrlimit(which)
        if limit == resource.RLIM_INFINITY:
            continue
        if limit < least << 20:
            raise LimitError(
                f"too little memory: the limit is {limit >> 20} MiB, and planning needs {least} "
                f"MiB; raise it by `ulimit -{letter} {least << 10}` or more"
            )
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:
            mallopt(_M_ARENA_MAX, 1)


require_memory()
