"""What overrides and `--set` changed in a scenario before it was planned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.reporting.document import Block, Column, Table
from planner.reporting.format import shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.inputs.settled import ChangeNote

__all__ = ["changes_section"]

_LONGEST = 60


def changes_section(changes: Sequence[ChangeNote]) -> tuple[Block, ...]:
    """One row for each change, in the order in which they were made."""
    if not changes:
        return ()
    columns = (
        Column("Value", wraps=True),
        Column("Was", wraps=True),
        Column("Is", wraps=True),
        Column("By", wraps=True),
    )
    return (Table(columns, tuple(_row(change) for change in changes)),)


def _row(change: ChangeNote) -> tuple[str, ...]:
    before = "not stated" if change.before is None else shortened(change.before, _LONGEST)
    after = "deleted" if change.after is None else shortened(change.after, _LONGEST)
    return change.path, before, after, change.by
