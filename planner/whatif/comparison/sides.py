"""The two sides of a comparison: plans as they were saved, or scenarios that are planned now."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from planner.errors import Finding, InfeasibleError, InputError, LimitError
from planner.inputs.load import Question, inputs_from
from planner.inputs.reading.reader import parse_document
from planner.plan.store import loads

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from planner.inputs.catalog.catalog import Catalog
    from planner.inputs.reading.document import Document
    from planner.inputs.rules.book import RuleBook
    from planner.inputs.settled import Inputs
    from planner.plan.plan import Plan, Provenance

__all__ = ["Side", "Source", "inputs_behind", "planned_side", "saved_side", "scenario_of"]


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
    return Side(label, plan, question, Source(question, inputs.catalog_of_files, inputs.rules))


def saved_side(
    label: str, text: str, *, catalog: Sequence[Path] = (), rules: Sequence[Path] = ()
) -> Side:
    """Read a plan.json; it can be planned again if its catalog and rules are as they were.

    They are looked for from the current folder, where the plan records them; `catalog` and `rules`
    name the files of one's own where those have moved. Raises InputError for what is no plan.
    """
    plan = loads(text, label)
    if not plan.question:
        return Side(label, plan, None, None, f"{label} does not record its scenario")
    made_from = plan.provenance
    question = Question(
        scenario_of(made_from),
        catalog=catalog or tuple(map(Path, made_from.options.catalog)),
        rules=rules or tuple(map(Path, made_from.options.rules)),
        text=plan.question,
    )
    (asked,) = question.layers.documents
    try:
        inputs = inputs_behind(label, made_from, question.inputs)
    except InputError as error:
        return Side(label, plan, asked, None, str(error))
    return Side(label, plan, asked, Source(asked, inputs.catalog_of_files, inputs.rules))


def scenario_of(made_from: Provenance) -> Path:
    """The file that a plan was made from, as it was named."""
    return made_from.path_of("scenario") or Path()


def inputs_behind(label: str, made_from: Provenance, read: Callable[[], Inputs]) -> Inputs:
    """Read the inputs that a plan records; raises InputError where they are not as they were."""
    try:
        inputs = read()
    except InputError as error:
        first = error.findings[0]
        told = f"{label} was made with {first.file}: {first.message}, seen from here"
        raise InputError(Finding(f"{told}; `--catalog` and `--rules` name it")) from None
    files = ((file.role, file.path, file.sha256) for file in inputs.files)
    present, recorded = (
        {file for file in some if file[0] in ("catalog", "rules")}
        for some in (files, made_from.files)
    )
    if present != recorded:
        names = sorted({path for _, path, _ in present ^ recorded})
        told = f"{label} was made from other catalog or rule files than are here now, such as "
        raise InputError(Finding(told + names[0]))
    return inputs
