"""Copies of this process, which know all that it has loaded and share nothing from then on."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Generic, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Copy", "heed_silently", "interrupts_blocked", "may_copy"]

T = TypeVar("T")
U = TypeVar("U")

_PR_SET_PDEATHSIG = 1
"""Of Linux's `prctl`: the signal that a process gets when its parent ends."""


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


class Copy(Generic[T, U]):
    """A task that a copy of this process does from now on, and what it is told later.

    Done here, once its result is asked for, where this process may not be copied or the copy dies.
    """

    def __init__(self, task: Callable[[Callable[[], U]], T], *, apart: bool = True) -> None:
        """`task` is given what waits until it is told; without `apart` nothing is copied."""
        self._task = task
        self._news: list[U] = []
        self._process = 0
        if apart and may_copy():
            self._begin()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End it, if nobody has waited for it."""
        if self._process:
            os.kill(self._process, signal.SIGKILL)
            self._ended()

    def _begin(self) -> None:
        hears, tells = os.pipe()
        reads, answers = os.pipe()
        here = os.getpid()
        with interrupts_blocked():
            self._process = os.fork()
            if not self._process:
                os.close(tells)
                os.close(reads)
                self._answer(hears, answers, parent=here)
        os.close(hears)
        os.close(answers)
        self._tells, self._reads = os.fdopen(tells, "wb"), os.fdopen(reads, "rb")

    def _answer(self, hears: int, answers: int, parent: int) -> None:
        """End this process with the task done; whatever goes wrong, its parent will say."""
        code = 1
        try:
            heed_silently()
            _end_with(parent)
            with os.fdopen(hears, "rb") as news, os.fdopen(answers, "wb") as answer:
                pickle.dump(self._task(lambda: pickle.load(news)), answer)
            code = 0
        finally:
            os._exit(code)

    def _ended(self) -> int:
        """Wait for its end, and give the status."""
        with suppress(BrokenPipeError):
            self._tells.close()
        self._reads.close()
        _, status = os.waitpid(self._process, 0)
        self._process = 0
        return status

    def tell(self, news: U) -> None:
        """What the task waits for, if it does."""
        self._news.append(news)
        if self._process:
            with suppress(BrokenPipeError):  # it is dead, or has no need of it
                pickle.dump(news, self._tells)
                self._tells.flush()

    def result(self) -> T:
        """What the task gives; raises what it raises."""
        if self._process:
            answer = self._reads.read()
            if not self._ended():
                done: T = pickle.loads(answer)
                return done
        return self._task(self._news.pop)


def _end_with(parent: int) -> None:
    """Let this process be killed when its parent ends, without a thread that watches."""
    import ctypes  # noqa: PLC0415 - in a copy alone

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
