"""A clock of counted work, so that a busy machine finds what an idle one does.

How far a search goes is limited in seconds of work: what HiGHS and the loops of a search do is
counted, at what it takes on a usual machine. The same work comes to the same end, whatever else
the machine does meanwhile. Seconds of the wall only guard against a search that takes far longer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf

GUARD = 10.0
"""Seconds of the wall after which all work ends, as a multiple of the seconds of work allowed."""
_POLL_S = 5e-4
"""What a loop takes from one question whether to go on to the next."""


_OVER_S = 1e9


class _Clock(threading.local):
    spent_s = 0.0
    ends = inf
    """When the guard ends all work, by the wall's clock."""
    ended = False
    """Whether it has."""


_clock = _Clock()


def spent() -> float:
    """Seconds of work that this thread has done; beyond any limit once the guard has ended it."""
    if time.monotonic() > _clock.ends:
        _clock.ended = True
        add(_OVER_S)
    return _clock.spent_s


def add(seconds: float) -> None:
    """Count work that is done."""
    _clock.spent_s += seconds


def polled() -> float:
    """The same as `spent`, asked by a loop that counts nothing else."""
    add(_POLL_S)
    return spent()


def guarded_s() -> float:
    """Seconds of the wall until the guard; infinite without one."""
    return _clock.ends - time.monotonic()


@contextmanager
def guarded(limit_s: float) -> Iterator[_Clock]:
    """Guard work of so many seconds; what is given says whether the guard `ended` any of it.

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
