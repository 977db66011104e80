"""How much is done: CPU time of this thread, which others on the machine do not lengthen."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def at_most(cpu_s: float) -> Iterator[None]:
    """Fail where what stands inside takes longer; generous, as it is to tell a hang."""
    begun = time.thread_time()
    yield
    taken = time.thread_time() - begun
    assert taken < cpu_s, f"{taken:.2f} s"
