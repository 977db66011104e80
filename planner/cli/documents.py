"""The documents of a plan as files. What draws them takes a while to load."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from planner.reporting import markdown
from planner.reporting.excel.draw import draw as excel
from planner.reporting.html.draw import draw as html
from planner.reporting.justification.document import justification_document
from planner.reporting.quarterly import quarterly_document
from planner.whatif.desk.copies import Copy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from planner.planning.plan import Plan
    from planner.reporting.document import Document
    from planner.reporting.justification.beside import Beside

__all__ = ["drawn"]

_DRAWERS: Mapping[str, Callable[[Document, str], str | bytes]] = {
    "html": html,
    "xlsx": excel,
    "md": lambda document, _: markdown.draw(document),
}
"""By kind of file, what draws a document with a title."""


def drawn(plan: Plan, beside: Beside, *, together: bool) -> dict[str, str | bytes]:
    """Justification and quarterly plan by file name; both at the same time where `together`."""
    justification = partial(_drawn, plan, beside, "justification", justification_document)
    copy: Copy[dict[str, str | bytes], None] = Copy(lambda _: justification(), apart=together)
    with copy:
        quarterly = _drawn(plan, beside, "quarterly", quarterly_document)
        return {**copy.result(), **quarterly}


def _drawn(
    plan: Plan, beside: Beside, name: str, document_of: Callable[[Plan, Beside], Document]
) -> dict[str, str | bytes]:
    document = document_of(plan, beside)
    return {f"{name}.{kind}": draw(document, plan.scenario) for kind, draw in _DRAWERS.items()}
