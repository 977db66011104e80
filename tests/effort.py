"""How much is done: CPU time of this thread, which others on the machine do not lengthen."""

import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def at_most(cpu_s: float) -> Iterator[None]:
    """Fail where what stands inside takes longer; generous, as it is to tell a hang."""
    begun = time.thread_time()
    yield
    taken = time.thread_time() - begun
    assert taken < cpu_s, f"{taken:.2f} s"
