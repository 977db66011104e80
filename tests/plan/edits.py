"""Edits of a plan, one thing at a time, and what its check finds wrong then."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from planner.errors import CheckError
from planner.inputs.settled import Inputs
from planner.planning.plan import NodeUse, Occupant, Plan
from planner.planning.verify import check, verify
from planner.sizing.candidate import SizedJob
from tests.stated import changed

Edit = Callable[[Plan], Plan]


_NAMES = ("id", "name", "node_type", "site", "team")


def stating(**changes: Any) -> Edit:
    """Other values of the plan's own fields; a function makes one of the value before."""
    return lambda plan: changed(
        plan,
        **{
            name: value(getattr(plan, name)) if callable(value) else value
            for name, value in changes.items()
        },
    )


def within(field: str, **changes: Any) -> Edit:
    """Another value within one of its parts."""
    return lambda plan: changed(plan, **{field: changed(getattr(plan, field), **changes)})


def entry(field: str, which: int | str | Callable[[Any], bool], **changes: Any) -> Edit:
    """Other values of entries of a list, by place, by how their names end, or by a test of them.

    `field` may be a path, such as `shortage.jobs`.
    """
    first, _, rest = field.partition(".")

    def edited(plan: Any) -> Any:
        if rest:
            return changed(plan, **{first: entry(rest, which, **changes)(getattr(plan, first))})
        return changed(
            plan,
            **{
                field: tuple(
                    changed(one, **changes) if _is(which, place, one) else one
                    for place, one in enumerate(getattr(plan, field))
                )
            },
        )

    return edited


def _is(which: int | str | Callable[[Any], bool], place: int, one: Any) -> bool:
    if callable(which):
        return which(one)
    if isinstance(which, int):
        return place == which
    name = next((str(known) for name in _NAMES if (known := getattr(one, name, None))), "")
    return name.endswith(which)


def pieces(quarter: int, edit: Callable[[Occupant], Occupant | None]) -> Edit:
    """Whoever holds a node in a quarter put through `edit`; None takes it away."""

    def uses(plan: Plan) -> tuple[NodeUse, ...]:
        edited = (
            (use.node, tuple(filter(None, map(edit, use.occupants))))
            for use in plan.placements[quarter]
        )
        return tuple(NodeUse(node=node, occupants=held) for node, held in edited if held)

    return lambda plan: changed(
        plan,
        placements=tuple(
            uses(plan) if place == quarter else before
            for place, before in enumerate(plan.placements)
        ),
    )


def refused(inputs: Inputs, plan: Plan, jobs: tuple[SizedJob, ...] | None = None) -> str:
    """Everything that the check finds wrong; `jobs` as they are sized, where they are known."""
    held = partial(verify, inputs, plan) if jobs is None else partial(check, inputs, jobs, plan)
    with pytest.raises(CheckError) as caught:
        held()
    return "\n".join(caught.value.violations)
