"""What a search may take of the machine: seconds of counted work, and memory.

How far a search goes is limited in seconds of work: what HiGHS and the loops of a search do is
counted, at what it takes on a usual machine. The same work thus comes to the same end, whatever
else the machine does meanwhile. Seconds of the clock only guard against a search that takes far
longer.

Too little memory is refused here, before numpy and HiGHS are loaded: when it runs out, these end
the whole process without a message, or wait for ever.
"""

from __future__ import annotations

import ctypes
import resource
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf

from planner.errors import LimitError

_LEAST_MIB = ((resource.RLIMIT_AS, "v", 400), (resource.RLIMIT_DATA, "d", 250))
"""By limit and its letter in `ulimit`: what planning `scenarios/` took, and a margin."""
_M_ARENA_MAX = -8
"""A parameter of glibc's `mallopt`: the number of heaps, of which each thread's takes 64 MiB at
once."""


def require_memory() -> None:
    """Raise LimitError if the limits of this process leave too little memory; else make it last."""
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


GUARD = 10.0
"""Seconds of the clock after which all work ends, as a multiple of the seconds of work allowed."""
_POLL_S = 5e-4
"""Seconds that a loop takes from one question whether to go on to the next."""


_OVER_S = 1e9


class _Clock(threading.local):
    spent_s = 0.0
    ends = inf
    """When the guard ends all work, by the clock."""
    ended = False
    """Whether it has."""


_clock = _Clock()


def spent() -> float:
    """Return the seconds of work that this thread has done.

    Beyond any limit once the guard has ended it.
    """
    if time.monotonic() > _clock.ends:
        _clock.ended = True
        add(_OVER_S)
    return _clock.spent_s


def add(seconds: float) -> None:
    """Count work that is done."""
    _clock.spent_s += seconds


def polled() -> float:
    """Return the same as `spent`, and count a step of a loop that counts nothing else."""
    add(_POLL_S)
    return spent()


def guarded_s() -> float:
    """Return the seconds of the clock until the guard; infinite without one."""
    return _clock.ends - time.monotonic()


@contextmanager
def guarded(limit_s: float) -> Iterator[_Clock]:
    """Guard work of so many seconds; the context says whether the guard `ended` any of it.

    Within another guard, that one holds.
    """
    if _clock.ends < inf:
        yield _clock
        return
    _clock.ends, _clock.ended = time.monotonic() + GUARD * limit_s, False
    try:
        yield _clock
    finally:
        _clock.ends = inf
