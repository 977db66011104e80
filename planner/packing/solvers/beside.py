"""Work on a thread of its own: what it gives is there when asked for, or too late."""

from __future__ import annotations

from concurrent.futures import Future
from concurrent.futures import TimeoutError as Late
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["beside"]

T = TypeVar("T")


def beside(work: Callable[[], T]) -> Callable[[float], T | None]:
    """Begin the work; the function returned waits so many seconds at the most for its result.

    It raises what the work raised. A thread that nobody waits for does not keep the process.
    """
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    def result(seconds: float) -> T | None:
        try:
            return done.result(seconds)
        except Late:
            return None

    Thread(target=run, daemon=True).start()
    return result
