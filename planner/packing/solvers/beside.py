"""Work on a thread of its own: what it gives is there when asked for, or too late."""

from __future__ import annotations

import time
from queue import Empty, Queue
from threading import Thread
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Beside"]

T = TypeVar("T")


class Beside(Generic[T]):
    """One result after another. A thread that nobody waits for does not keep the process."""

    def __init__(self, work: Iterator[T]) -> None:
        """Begin the work."""
        self._queue: Queue[T | _End] = Queue()
        self._ended = False
        Thread(target=self._run, args=(work,), daemon=True).start()

    def given(self, seconds: float = 0.0) -> Iterator[T]:
        """What is there and was not given yet, and what comes within so many seconds.

        Ends with the work. Raises what the work raised.
        """
        until = time.monotonic() + seconds
        while not self._ended:
            try:
                result = self._queue.get(timeout=max(until - time.monotonic(), 0.0))
            except Empty:
                return
            if isinstance(result, _End):
                self._ended = True
                if result.error:
                    raise result.error
            else:
                yield result

    def _run(self, work: Iterator[T]) -> None:
        error: BaseException | None = None
        try:
            for result in work:
                self._queue.put(result)
        except BaseException as raised:
            error = raised
        self._queue.put(_End(error))


class _End:
    """The last that is put into the queue."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error
