"""The two sides of a comparison: plans as they were saved, or scenarios that are planned now."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from planner.errors import InfeasibleError, InputError, LimitError
from planner.inputs.catalogs import merged_catalog
from planner.inputs.load import inputs_from
from planner.inputs.locate import given_files, shipped_files, used_files
from planner.inputs.reader import parse_document
from planner.inputs.rulebooks import gathered_rules
from planner.plan.store import loads

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from planner.inputs.catalog import Catalog
    from planner.inputs.document import Document
    from planner.inputs.locate import Located, Role
    from planner.inputs.rules import RuleBook
    from planner.inputs.settled import Inputs
    from planner.plan.plan import Plan

__all__ = ["Side", "Source", "files_used", "planned_side", "saved_side", "side_of"]


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
    """Read a plan.json; it can be planned again if its catalog and rules are as they were.

    They are looked for from the current folder, where the plan records them; `catalog` and `rules`
    name the files of one's own where those have moved. Raises InputError for what is no plan.
    """
    return side_of(label, loads(text, label), catalog=catalog, rules=rules)


def side_of(
    label: str, plan: Plan, *, catalog: Sequence[Path] = (), rules: Sequence[Path] = ()
) -> Side:
    """The same for a plan that was read."""
    if not plan.question:
        return Side(label, plan, None, None, f"{label} does not record its scenario")
    question = parse_document(plan.question, label)
    try:
        facts = merged_catalog(_files(plan, question, "catalog", catalog))
        book = gathered_rules(_files(plan, question, "rules", rules))
    except InputError as error:
        first = error.findings[0]
        told = f"{label} was made with {first.file}: {first.message}, seen from here"
        return Side(label, plan, question, None, f"{told}; `--catalog` and `--rules` name it")
    present = {(file.role, file.path, file.sha256) for file in (*facts[1], *book[1])}
    recorded = {file for file in plan.provenance.files if file[0] in ("catalog", "rules")}
    if present != recorded:
        names = sorted({path for _, path, _ in present ^ recorded})
        missing = f"{label} was made from other catalog or rule files than are here now, such as "
        return Side(label, plan, question, None, missing + names[0])
    return Side(label, plan, question, Source(question, facts[0], book[0]))


def _files(
    plan: Plan, question: Document, role: Role, given: Sequence[Path]
) -> tuple[Located, ...]:
    """The shipped files and those of one's own, in the order in which they were read."""
    own = given or [Path(name) for name in getattr(plan.provenance.options, role)]
    return (*shipped_files(role), *files_used(plan, question, role), *given_files(own))


def files_used(plan: Plan, question: Document, role: Role) -> list[Located]:
    """Give the files that the scenario of a plan names under `use:`, seen from the current folder.

    Raises InputError where they are not there.
    """
    scenario = next((path for of, path, _ in plan.provenance.files if of == "scenario"), "")
    return used_files(question, Path(scenario).parent, role)
