"""Turns derivations into the steps that a reader sees, in the order in which they were taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.sizing.candidate import Quantity, Step

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planner.inputs.rules.rule import Rule, Value
    from planner.sizing.engine import Derivation, Known

__all__ = ["Recorder", "rules_of", "walk"]


class Recorder:
    """Writes the steps of one job; what its GPU types have in common is written once and shared."""

    def __init__(self) -> None:
        self._steps: dict[Derivation, Step] = {}
        self._quantities: dict[tuple[str, int], tuple[Known, Quantity]] = {}

    def steps(self, walked: Iterable[Derivation]) -> tuple[Step, ...]:
        """One step per rule that spoke, in the order of the walk."""
        return tuple(
            self._steps.get(derivation) or self._write(derivation.rule, derivation)
            for derivation in walked
            if derivation.rule is not None
        )

    def _write(self, rule: Rule, derivation: Derivation) -> Step:
        step = Step(
            rule=rule.id,
            title=rule.title,
            formula=rule.stated,
            inputs=tuple(self._quantity(name, known) for name, known in derivation.inputs),
            result=self._quantity(rule.gives or rule.id, derivation.known),
            sources=rule.source_texts,
        )
        self._steps[derivation] = step
        return step

    def _quantity(self, name: str, known: Known) -> Quantity:
        """The figure under its name; the same object for the same `known`, which is kept alive."""
        key = (name, id(known))
        if key not in self._quantities:
            quantity = Quantity(
                name=name, value=_plain(known.value), unit=known.unit, origin=known.origin
            )
            self._quantities[key] = (known, quantity)
        return self._quantities[key][1]


def rules_of(walked: Iterable[Derivation]) -> frozenset[str]:
    """Ids of the rules of the steps that would be written."""
    return frozenset(one.rule.id for one in walked if one.rule is not None)


def walk(roots: Iterable[Derivation | None]) -> tuple[Derivation, ...]:
    """Every derivation below these, once, what is needed before what needs it.

    A situation derives each name once, so identity tells whether one was seen.
    """
    seen: set[Derivation] = set()
    found: list[Derivation] = []

    def visit(derivation: Derivation) -> None:
        if derivation not in seen:
            seen.add(derivation)
            for needed in derivation.needs:
                visit(needed)
            found.append(derivation)

    for root in roots:
        if root is not None and root.rule is not None:
            visit(root)
    return tuple(found)


def _plain(value: Value) -> float | str | bool:
    return value if isinstance(value, str | bool) else float(value)
