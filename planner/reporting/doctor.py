"""What the installed solvers say of programs on which released ones have lied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.reporting.document import Block, Bullets, Column, Heading, Paragraph, Table
from planner.reporting.format import code, count_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.packing.solvers.doctor import Examined
    from planner.reporting.document import Document

__all__ = ["doctor_document"]


def doctor_document(examined: Sequence[Examined]) -> Document:
    """One row for each solver and case, then what follows from it."""
    deciding = [one for one in examined if one.decides]
    second = [one for one in examined if not one.decides]
    lies = [one for one in deciding if one.wrong]
    verdict = (
        "Do not plan with this installation: " + _advice(deciding[0].solver)
        if lies
        else f"{deciding[0].solver} gives the right answer to each; plans may rest on it."
    )
    return (
        Heading("Solvers of this installation", 1),
        Paragraph(verdict, tone="warning" if lies else "strong"),
        Heading("The solver that plans rest on"),
        _table(deciding),
        Heading(f"Asked for a second opinion alone ({code('planner plan --crosscheck')})"),
        _table(second),
        Paragraph(
            "What it says against a proof is believed only where its own solution keeps every row "
            "of the program, counted in fractions.",
            tone="faint",
        ),
        Heading("Where each was reported"),
        Bullets(tuple(_reported(one) for one in deciding)),
    )


def _advice(solver: str) -> str:
    return f"{solver} is known to lie; install the versions that pyproject.toml asks for."


def _table(examined: Sequence[Examined]) -> Block:
    return Table(
        (
            Column("Program", wraps=True),
            Column("Truth", "right"),
            Column("Says", wraps=True),
            Column("Right"),
        ),
        tuple(
            (one.case.name, f"{one.case.optimum:,.6g}", one.said, _right(one)) for one in examined
        ),
    )


def _right(one: Examined) -> str:
    orders = len(one.case.programs)
    if orders == 1:
        return "no" if one.wrong else "yes"
    told = count_of(orders, "order")
    return f"no, wrong in {one.wrong} of {told}" if one.wrong else f"yes, in {told}"


def _reported(one: Examined) -> str:
    return f"{one.case.name}: {one.case.what} ({one.case.source})"
