"""How much is done, counted in calls: the same on any machine, however busy it is."""

from __future__ import annotations

import gc
import sys
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def at_most(calls: int) -> Iterator[None]:
    """Fail where what stands inside calls functions more often, those of C among them."""
    seen: Counter[str] = Counter()
    before, collects = sys.getprofile(), gc.isenabled()
    gc.disable()  # what others have left is cleared away at any time
    sys.setprofile(lambda _frame, event, _argument: seen.update((event,)))
    try:
        yield
    finally:
        sys.setprofile(before)
        if collects:
            gc.enable()
    assert seen["call"] + seen["c_call"] <= calls, seen
