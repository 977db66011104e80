"""How nodes are named in a map: alone, in a row, or scattered."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["range_of_ids"]


def range_of_ids(ids: Sequence[str]) -> str:
    """`type/site/01`, `type/site/01–38 (×38)` for nodes in a row, `01… (×5)` for others."""
    if len(ids) == 1:
        return ids[0]
    stem, _, first = ids[0].rpartition("/")
    last = ids[-1].rpartition("/")[2]
    adjacent = _number(last) - _number(first) == len(ids) - 1
    return f"{stem}/{first}{'–' + last if adjacent else '…'} (×{len(ids):,})"


def _number(label: str) -> int:
    digits = "".join(char for char in label if char.isdigit())
    return int(digits or 0)
