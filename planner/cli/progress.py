"""A sign of life on long work: a spinner on a terminal, now and then a line in a pipe."""

from __future__ import annotations

import signal
import sys
import threading
import time
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from types import TracebackType

    from rich.status import Status

__all__ = ["QUIET", "Progress"]

QUIET = "planner.quiet"
"""Under which a command keeps whether nothing is to be said."""

_SHORT_SECONDS = 1.0
"""What takes no longer shows nothing on a terminal."""
_FIRST_LINE_SECONDS, _MOST_SECONDS = 10.0, 60.0
"""Before the first line in a pipe; each pause is twice the one before, up to the most."""


class Progress:
    """Call it with what is being done; it shows the latest, if there is somebody to see it."""

    def __init__(self) -> None:
        self._doing = "planning"
        self._status: Status | None = None
        self._over = threading.Event()
        self._lock = threading.Lock()

    def __enter__(self) -> Progress:
        ctx = click.get_current_context(silent=True)
        if not (ctx and ctx.meta.get(QUIET)):
            shows = self._spin if sys.stderr.isatty() else self._write
            # A thread begins with the mask of whoever starts it, and Ctrl-C is for that one alone.
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            threading.Thread(target=shows, daemon=True).start()
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._lock:
            self._over.set()
            if self._status:
                self._status.stop()

    def __call__(self, doing: str) -> None:
        """Say what is being done now."""
        self._doing = doing
        if self._status:
            self._status.update(doing)

    def _write(self) -> None:
        """A line now and then: what is being done, and for how long all has taken."""
        start, pause = time.monotonic(), _FIRST_LINE_SECONDS
        while not self._over.wait(pause):
            with self._lock:
                if not self._over.is_set():
                    took = time.monotonic() - start
                    click.echo(f"{self._doing} ({took:,.0f} s so far)", err=True)
            pause = min(2 * pause, _MOST_SECONDS)

    def _spin(self) -> None:
        if self._over.wait(_SHORT_SECONDS):
            return
        from rich.console import Console  # noqa: PLC0415 - most runs end before it is needed
        from rich.status import Status  # noqa: PLC0415

        with self._lock:
            if not self._over.is_set():
                self._status = Status(self._doing, console=Console(stderr=True))
                self._status.start()
