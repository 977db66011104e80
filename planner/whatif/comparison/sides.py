"""The two sides of a comparison: plans as they were saved, or scenarios that are planned now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.errors import InfeasibleError, LimitError
from planner.inputs.load import inputs_from
from planner.inputs.reading.reader import parse_document

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.inputs.catalog.catalog import Catalog
    from planner.inputs.reading.document import Document
    from planner.inputs.rules.book import RuleBook
    from planner.inputs.settled import Inputs
    from planner.planning.plan import Plan
    from planner.planning.saved import Saved

__all__ = ["Side", "SideInputs", "planned_side", "saved_side"]


@dataclass(frozen=True, slots=True)
class SideInputs:
    """All that a plan was made from, so that parts of it can be exchanged."""

    question: Document
    catalog: Catalog
    rules: RuleBook

    def inputs(self) -> Inputs:
        """Inputs to plan from; raises InputError where the parts do not go together."""
        return inputs_from(self.question, lambda: (self.catalog, ()), lambda: (self.rules, ()))


@dataclass(frozen=True, slots=True)
class Side:
    """One plan of a comparison."""

    label: str
    """As the user named it."""
    plan: Plan
    question: Document | None
    """The whole scenario as plain data; None where an old plan does not record it."""
    source: SideInputs | None
    """None where the plan cannot be made again; then `missing` says why."""
    missing: str | None = None


def planned_side(label: str, inputs: Inputs, planner: Callable[[Inputs], Plan]) -> Side:
    """Plan a scenario; what planning raises is raised with the side's name."""
    question = parse_document(inputs.question, label)
    try:
        plan = planner(inputs)
    except InfeasibleError as error:
        raise InfeasibleError(f"{label}: {error.headline}", error.reasons, error.remedies) from None
    except LimitError as error:
        raise LimitError(f"{label}: {error}") from None
    return Side(label, plan, question, SideInputs(question, inputs.catalog_of_files, inputs.rules))


def saved_side(saved: Saved) -> Side:
    """A saved plan; it can be planned again if its catalog and rules are as they were."""
    asked, inputs = saved.question, saved.inputs
    if asked is None or inputs is None:
        return Side(saved.label, saved.plan, asked, None, saved.missing)
    source = SideInputs(asked, inputs.catalog_of_files, inputs.rules)
    return Side(saved.label, saved.plan, asked, source)
