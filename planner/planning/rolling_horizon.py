"""The placement of an earlier plan as what runs today."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from pathlib import Path

from planner.errors import Finding, InputError
from planner.inputs.checks.running import not_staying
from planner.inputs.reading.locate import InputFile
from planner.inputs.scenario.places import NodePlace, node_places, plain
from planner.inputs.scenario.scenario import ResolvedScenario, Running
from planner.inputs.settled import Inputs
from planner.planning.plan import Node, Plan
from planner.planning.saved import checked, read_saved


def carried_over(
    inputs: Inputs, text: str, path: Path, warn: Callable[[str], None] = lambda _: None
) -> Inputs:
    """The same question, where units run today as an earlier plan has them before the horizon.

    `text` is that plan's plan.json, read from `path`. What counts is its quarter before the first
    one of the horizon. Jobs that the scenario no longer has, and units beyond those that it has in
    its first quarter, have ended, and so have runs of some hours. A node that it does not own, such
    as a rented one, counts by its pool alone. `warn` is told what of the inputs of that plan is not
    as it was.

    Raises CheckError where that plan does not pass its check, InputError for a file that is no
    plan, one without that quarter, a scenario that says itself what runs, and units that are pinned
    where they may not stay.
    """
    shown_as = str(path)
    saved = checked(read_saved(text, shown_as))
    earlier = saved.plan
    for sentence in saved.told(shown_as):
        warn(sentence)
    label = str(inputs.scenario.horizon.first_quarter + -1)
    _require_fitting(inputs.scenario, earlier, label, shown_as)
    running = tuple(_entries(inputs.scenario, earlier, earlier.quarters.index(label)))
    scenario = inputs.scenario.model_copy(update={"running": running})
    kept_off = [Finding(one.message, shown_as, hint=one.hint) for one in not_staying(scenario)]
    if kept_off:
        raise InputError(*dict.fromkeys(kept_off))
    digest = hashlib.sha256(text.encode()).hexdigest()
    file = InputFile(role="placement", path=shown_as, sha256=digest, location=path)
    return inputs.model_copy(
        update={
            "scenario": scenario,
            "files": (*inputs.files, file),
            "question": _with_running(inputs.question, running, shown_as),
        }
    )


def _require_fitting(scenario: ResolvedScenario, earlier: Plan, label: str, shown_as: str) -> None:
    """Raise InputError where an earlier plan cannot say what runs before the horizon."""
    if scenario.running:
        told = "the scenario says itself what runs today"
        hint = "leave out either `running:` or `--from`"
    elif label not in earlier.quarters:
        span = " to ".join(dict.fromkeys((earlier.quarters[0], earlier.quarters[-1])))
        told = f"plans {span}, and so says nothing of {label}, the quarter before the horizon"
        hint = "begin the horizon in one of its quarters, or right after the last"
    else:
        return
    raise InputError(Finding(told, shown_as, hint=hint))


def _with_running(question: str, running: tuple[Running, ...], shown_as: str) -> str:
    """The question with the entries as they would stand in it, so that the plan records them."""
    if not running:
        return question
    silent = question.replace("\nrunning: []\n", "\n")
    lines = [
        f"  - {json.dumps(entry.model_dump(exclude_defaults=True), ensure_ascii=False)}"
        for entry in running
    ]
    return silent + "\n".join((f"running:  # {shown_as}", *lines, ""))


def _entries(scenario: ResolvedScenario, earlier: Plan, quarter: int) -> Iterator[Running]:
    """One for each sequence of units of a job that are on the same nodes.

    What has run for some hours is over; of a pinned job the first run of each unit says where.
    """
    nodes = {node.id: node for node in earlier.nodes}
    held: dict[str, dict[int, list[Node]]] = defaultdict(lambda: defaultdict(list))
    for use in earlier.placements[quarter]:
        for occupant in use.occupants:
            job = scenario.jobs.get(occupant.job)
            over = occupant.hours is not None and not (job and job.pinned)
            if over or occupant.replica > 1:
                continue
            held[occupant.job][occupant.unit].append(nodes[use.node])
    owned = node_places(scenario)
    for name, asked in sorted(scenario.jobs.items()):
        if asked.load:
            continue
        most = asked.units(scenario.horizon)[0]
        units = [on for unit, on in sorted(held[name].items()) if unit <= most]
        for entry, group in groupby(_entry(name, on, owned) for on in units):
            yield entry.model_copy(update={"count": sum(1 for _ in group)})


def _entry(job: str, on: list[Node], owned: Mapping[str, NodePlace]) -> Running:
    names = tuple(sorted(node.id for node in on))
    if not all(plain(name) in owned for name in names):
        return Running(job=job, pool=f"{on[0].node_type}/{on[0].site}")
    return Running(job=job, node=names if len(names) > 1 else names[0])
