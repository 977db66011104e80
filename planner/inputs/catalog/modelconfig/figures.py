"""Figures of a configuration by their usual names, whatever a type calls them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from planner.inputs.catalog.modelconfig.section import Section
    from planner.inputs.catalog.modelconfig.types import ModelType

__all__ = ["MOST_LAYERS", "WIDEST", "Reader"]

MOST_LAYERS = 10_000
WIDEST = 10_000_000


class Reader:
    """Asks the configuration for figures by their usual names."""

    def __init__(self, section: Section, kind: ModelType) -> None:
        self.section = section
        self.kind = kind

    def must(self, name: str, most: int = WIDEST) -> int:
        """Give a figure that must be there or have a default."""
        found = self.may(name, most)
        return self.section.count(*self._keys(name), most=most) if found is None else found

    def may(self, name: str, most: int = WIDEST) -> int | None:
        """Give a figure, what its absence stands for, or None."""
        found = self.section.optional(*self._keys(name), most=most)
        if found is None and all(self.section.data.get(key) is None for key in self._keys(name)):
            return self.kind.defaults.get(name)
        return found

    def _keys(self, name: str) -> tuple[str, ...]:
        return self.kind.names.get(name, (name,))
