"""Edits of a plan, one thing at a time, and what its check finds wrong then."""

from collections.abc import Callable, Mapping
from functools import partial, reduce
from pathlib import Path
from typing import Any

import pytest
import yaml

from planner.errors import CheckError
from planner.inputs.settled import Inputs
from planner.planning.checks import check, verify
from planner.planning.plan import NodeUse, Occupant, Plan
from planner.sizing.candidate import SizedJob
from tests.stated import changed

Edit = Callable[[Plan], Plan]

_NOTICED = yaml.safe_load(Path(__file__).with_name("noticed.yaml").read_text(encoding="utf-8"))
_NAMES = ("id", "name", "node", "offer", "node_type", "site", "team", "job")


def put(plan: Plan, place: str, value: Any) -> Plan:
    """The plan with another value at a place, which is written as in noticed.yaml."""
    *way, last = place.split(" > ")
    edited: Plan = _within(plan, way, lambda outer: _with(outer, last, value))
    return edited


def _within(whole: Any, way: list[str], edit: Callable[[Any], Any]) -> Any:
    if not way:
        return edit(whole)
    first, *rest = way
    return _with(whole, first, _within(_at(whole, first), rest, edit))


def _at(whole: Any, step: str) -> Any:
    if isinstance(whole, tuple):
        return whole[_number(whole, step)]
    return whole[step] if isinstance(whole, Mapping) else getattr(whole, step)


def _with(whole: Any, step: str, value: Any) -> Any:
    if isinstance(whole, tuple):
        at = _number(whole, step)
        return (*whole[:at], value, *whole[at + 1 :])
    return {**whole, step: value} if isinstance(whole, Mapping) else changed(whole, **{step: value})


def _number(entries: tuple[Any, ...], step: str) -> int:
    if step.isdecimal():
        return int(step)
    names = (next(filter(None, (getattr(one, key, "") for key in _NAMES)), "") for one in entries)
    return next(number for number, name in enumerate(names) if str(name).endswith(step))


def _without(outer: Any, step: str) -> Any:
    if isinstance(outer, Mapping):
        return {key: value for key, value in outer.items() if key != step}
    at = _number(outer, step)
    return (*outer[:at], *outer[at + 1 :])


def _twice(outer: Any, step: str) -> Any:
    return _added(outer, _at(outer, step))


def _added(outer: Any, entry: Any) -> Any:
    return (*outer, entry)


def _edited(plan: Plan, changes: dict[str, Any]) -> Plan:
    for place, value in changes.items():
        if place == "copied":
            source, target = (one.split(" > ") for one in value)
            plan = _within(plan, target, partial(_added, entry=reduce(_at, source, plan)))
        elif place in ("without", "twice"):
            *way, last = value.split(" > ")
            edit = _without if place == "without" else _twice
            plan = _within(plan, way, partial(edit, step=last))
        else:
            plan = put(plan, place, _frozen(value))
    return plan


def _frozen(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_frozen, value))
    if isinstance(value, dict):
        return {key: _frozen(one) for key, one in value.items()}
    return value


def noticed(plan: str) -> Any:
    """A test takes `told` and `edit`: each row of noticed.yaml for this plan."""
    rows = [(told, partial(_edited, changes=changes)) for told, changes in _NOTICED[plan].items()]
    return pytest.mark.parametrize(("told", "edit"), rows, ids=[told for told, _ in rows])


def pieces(quarter: int, edit: Callable[[Occupant], Occupant | None]) -> Edit:
    """Whoever holds a node in a quarter put through `edit`; None takes it away."""

    def uses(before: tuple[NodeUse, ...]) -> tuple[NodeUse, ...]:
        edited = ((use.node, tuple(filter(None, map(edit, use.occupants)))) for use in before)
        return tuple(NodeUse(node=node, occupants=held) for node, held in edited if held)

    return lambda plan: put(plan, f"placements > {quarter}", uses(plan.placements[quarter]))


def refused(inputs: Inputs, plan: Plan, jobs: tuple[SizedJob, ...] | None = None) -> str:
    """Everything that the check finds wrong; `jobs` as they are sized, where they are known."""
    held = partial(verify, inputs, plan) if jobs is None else partial(check, inputs, jobs, plan)
    with pytest.raises(CheckError) as caught:
        held()
    return "\n".join(caught.value.violations)
