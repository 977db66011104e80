"""Copies of this process, which know all that it has loaded and share nothing from then on."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["heed_silently", "interrupts_blocked", "may_copy", "side_by_side"]

T = TypeVar("T")
U = TypeVar("U")


def may_copy() -> bool:
    """Whether this process can be copied: a copy has no threads, for which others might wait."""
    return sys.platform == "linux" and threading.active_count() == 1


@contextmanager
def interrupts_blocked() -> Iterator[None]:
    """Ctrl-C waits, also in processes that begin now: until they unblock it, they keep silent."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def heed_silently() -> None:
    """From now on, Ctrl-C ends this process at once and without words."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def side_by_side(there: Callable[[], T], here: Callable[[], U]) -> tuple[T, U]:
    """What two tasks give: at the same time, the first of them in a copy of this process.

    One after the other where this process may not be copied, and where the copy dies.
    """
    if not may_copy():
        return there(), here()
    reader, writer = os.pipe()
    with interrupts_blocked():
        copy = os.fork()
        if not copy:
            _tell(there, writer)
    os.close(writer)
    with open(reader, "rb") as pipe:  # noqa: PTH123 - no path
        mine = here()
        told = pipe.read()
    _, status = os.waitpid(copy, 0)
    return there() if status else pickle.loads(told), mine


def _tell(task: Callable[[], object], writer: int) -> None:
    """End this process with the task done; whatever goes wrong, its parent will say."""
    code = 1
    try:
        heed_silently()
        with open(writer, "wb") as pipe:
            pickle.dump(task(), pipe)
        code = 0
    finally:
        os._exit(code)
