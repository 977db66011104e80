"""The two sides of a comparison: plans as they were saved, or scenarios that are planned now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.errors import InfeasibleError, LimitError
from planner.inputs.load import inputs_from, load_catalog, load_rules
from planner.inputs.reader import parse_document
from planner.plan.store import loads

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from planner.inputs.catalog import Catalog
    from planner.inputs.document import Document
    from planner.inputs.rules import RuleBook
    from planner.inputs.settled import Inputs
    from planner.plan.plan import Plan

__all__ = ["Side", "Source", "planned_side", "saved_side", "side_of"]


@dataclass(frozen=True, slots=True)
class Source:
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
    source: Source | None
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
    return Side(label, plan, question, Source(question, inputs.catalog, inputs.rules))


def saved_side(
    label: str, text: str, *, catalog: Sequence[Path] = (), rules: Sequence[Path] = ()
) -> Side:
    """Read a plan.json; it can be planned again if its catalog and rules are the present ones.

    Raises InputError for what is no plan.
    """
    return side_of(label, loads(text, label), catalog=catalog, rules=rules)


def side_of(
    label: str, plan: Plan, *, catalog: Sequence[Path] = (), rules: Sequence[Path] = ()
) -> Side:
    """The same for a plan that was read."""
    if not plan.question:
        return Side(label, plan, None, None, f"{label} does not record its scenario")
    question = parse_document(plan.question, label)
    facts, book = load_catalog(catalog), load_rules(rules)
    present = {(file.role, file.path, file.sha256) for file in (*facts[1], *book[1])}
    recorded = {file for file in plan.provenance.files if file[0] in ("catalog", "rules")}
    if "use" in question.data or present != recorded:
        names = sorted({path for _, path, _ in present ^ recorded})
        other = f", such as {names[0]}" if names else ""
        missing = f"{label} was made from other catalog or rule files than are here now{other}"
        return Side(label, plan, question, None, missing)
    return Side(label, plan, question, Source(question, facts[0], book[0]))
