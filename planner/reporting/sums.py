"""Sums as a person would write them: the formula, the figures put in, the result, the source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.reporting.document import (
    Block,
    Bullets,
    Column,
    Heading,
    Paragraph,
    Table,
    Verbatim,
)
from planner.reporting.format import with_unit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planner.sizing.candidate import DerivationStep, Quantity

__all__ = ["Sums"]


class Sums:
    """Draws steps and numbers their sources, so that each is written out once."""

    def __init__(self) -> None:
        self._number_of: dict[str, int] = {}

    def of(self, steps: Iterable[DerivationStep]) -> tuple[Block, ...]:
        """Every step in its order, with the numbers of its sources."""
        return tuple(block for step in steps for block in self._step(step))

    def brief(self, steps: Iterable[DerivationStep]) -> Table:
        """One line per step: what came out, the sum with its figures, and the rule."""
        return Table(
            (Column("Result", wraps=True), Column("Sum", wraps=True), Column("Rule", wraps=True)),
            tuple(
                (f"{step.result.name} = {_amount(step.result)}", _worked(step), step.rule)
                for step in steps
            ),
        )

    def numbered(self, steps: Iterable[DerivationStep], caption: str) -> Table:
        """One line per step with the numbers of its sources: for a page that has many jobs."""
        columns = ("Result", "Sum", "With", "Rule", "Source")
        return Table(
            tuple(Column(title, wraps=True) for title in columns),
            tuple(
                (
                    f"{step.result.name} = {_amount(step.result)}",
                    _worked(step) or step.formula,
                    "; ".join(f"{given.name}: {given.origin}" for given in step.inputs),
                    step.rule,
                    self._marks(step).strip(),
                )
                for step in steps
            ),
            caption=caption,
        )

    def sources(self, level: int = 2) -> tuple[Block, ...]:
        """The sources of all steps drawn so far."""
        if not self._number_of:
            return ()
        lines = tuple(f"[{number}] {source}" for source, number in self._number_of.items())
        return (Heading("Sources", level), Bullets(lines))

    def _step(self, step: DerivationStep) -> tuple[Block, ...]:
        blocks: list[Block] = [
            Heading(f"{step.title} ({step.rule}){self._marks(step)}", 3),
            Verbatim(_sum_lines(step)),
        ]
        if step.inputs:
            blocks.append(Paragraph(f"with {'; '.join(map(_given, step.inputs))}", tone="faint"))
        return tuple(blocks)

    def _marks(self, step: DerivationStep) -> str:
        """` [1] [4]`: the numbers of a step's sources."""
        numbers = [
            self._number_of.setdefault(source, len(self._number_of) + 1) for source in step.sources
        ]
        return "".join(f" [{number}]" for number in sorted(set(numbers)))


def _sum_lines(step: DerivationStep) -> tuple[str, ...]:
    """The formula, the same with figures, the result; a bare figure before it says nothing new."""
    name, result = step.result.name, _amount(step.result)
    told = dict.fromkeys((step.formula, step.worked))
    stages = [*(stage for stage in told if not _is_figure(stage) and stage != result), result]
    return (
        f"{name} = {stages[0]}",
        *(f"{' ' * len(name)} = {stage}" for stage in stages[1:]),
    )


def _worked(step: DerivationStep) -> str:
    worked = step.worked
    return "" if _is_figure(worked) else worked


def _is_figure(stage: str) -> bool:
    return stage.replace(".", "", 1).replace(",", "").isdecimal()


def _given(quantity: Quantity) -> str:
    return f"{quantity.name} = {_amount(quantity)} ({quantity.origin})"


def _amount(quantity: Quantity) -> str:
    return with_unit(quantity.value, quantity.unit)
