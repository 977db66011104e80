"""A sign of life on long solves: on a terminal's standard error alone, and only after a second."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

    from rich.status import Status

__all__ = ["Progress"]

_QUIET_SECONDS = 1.0


class Progress:
    """Call it with what is being done; it shows the latest, if there is somebody to see it."""

    def __init__(self) -> None:
        self._doing = "planning"
        self._status: Status | None = None
        self._timer: threading.Timer | None = None
        self._over = False
        self._lock = threading.Lock()

    def __enter__(self) -> Progress:
        if sys.stderr.isatty():
            self._timer = threading.Timer(_QUIET_SECONDS, self._show)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._timer:
            self._timer.cancel()
        with self._lock:
            self._over = True
            if self._status:
                self._status.stop()

    def __call__(self, doing: str) -> None:
        """Say what is being done now."""
        self._doing = doing
        if self._status:
            self._status.update(doing)

    def _show(self) -> None:
        from rich.console import Console  # noqa: PLC0415 - most runs end before it is needed
        from rich.status import Status  # noqa: PLC0415

        with self._lock:
            if not self._over:
                self._status = Status(self._doing, console=Console(stderr=True))
                self._status.start()
