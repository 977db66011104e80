"""Turns derivations into the steps that a reader sees, in the order in which they were taken."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from planner.sizing.candidate import Quantity, Step

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from planner.inputs.rule import Rule, Value
    from planner.sizing.engine import Derivation, Known

__all__ = ["Recorder"]


class Recorder:
    """Writes steps; equal steps of many jobs and GPU types are written once and shared."""

    def __init__(self) -> None:
        self._steps: dict[tuple[str, tuple[tuple[str, Known], ...]], Step] = {}

    def steps(self, walked: Iterable[Derivation]) -> tuple[Step, ...]:
        """One step per rule that spoke, in the order of the walk."""
        return tuple(
            self._step(derivation.rule, derivation)
            for derivation in walked
            if derivation.rule is not None
        )

    def _step(self, rule: Rule, derivation: Derivation) -> Step:
        key = (rule.id, derivation.inputs)
        if key not in self._steps:
            self._steps[key] = _write(rule, derivation)
        return self._steps[key]


def walk(roots: Iterable[Derivation | None]) -> Iterator[Derivation]:
    """Every derivation below these, once, what is needed before what needs it.

    A situation derives each name once, so identity tells whether one was seen.
    """
    seen: set[int] = set()

    def visit(derivation: Derivation) -> Iterator[Derivation]:
        if id(derivation) in seen:
            return
        seen.add(id(derivation))
        for needed in derivation.needs:
            yield from visit(needed)
        yield derivation

    for root in roots:
        if root is not None and root.rule is not None:
            yield from visit(root)


def _write(rule: Rule, derivation: Derivation) -> Step:
    figures = {
        name: known.value for name, known in derivation.inputs if isinstance(known.value, Fraction)
    }
    worked = rule.expression.worked(figures) if rule.expression else rule.stated
    return Step(
        rule=rule.id,
        title=rule.title,
        formula=rule.stated,
        worked=worked,
        inputs=tuple(_quantity(name, known) for name, known in derivation.inputs),
        result=_quantity(rule.gives or rule.id, derivation.known),
        sources=tuple(source.text for source in rule.sources),
    )


def _quantity(name: str, known: Known) -> Quantity:
    return Quantity(name=name, value=_plain(known.value), unit=known.unit, origin=known.origin)


def _plain(value: Value) -> float | str | bool:
    return float(value) if isinstance(value, Fraction) else value
