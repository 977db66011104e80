"""A saved plan made again from the inputs that it records: identical, or what differs."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from planner.errors import Finding, InputError
from planner.inputs.base import Frozen
from planner.inputs.load import Question
from planner.planning.make import make_plan
from planner.planning.plan import Plan
from planner.planning.rolling_horizon import carried_over
from planner.planning.saved import read_saved
from planner.planning.store import loads
from planner.whatif.causes import planned_side, saved_side
from planner.whatif.compare import FORMAT, Comparison, compare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from planner.inputs.settled import Inputs
    from planner.planning.plan import Provenance


class Origin(Frozen):
    """Something that a plan comes from and that is not as it was."""

    what: Literal["file", "version"]
    name: str
    recorded: str | None
    """sha256 of a file, or a version; None, here and below, where there was or is none."""
    present: str | None


class Replay(Frozen):
    """What came of making a plan again."""

    format: str = FORMAT
    plan: str
    """The file, as it was named."""
    files: int
    """Input files that the plan records."""
    proved: bool
    """Whether the saved plan is; one that is not may come out otherwise on a slower machine."""
    origins: tuple[Origin, ...]
    """Files and versions that differ."""
    parts: tuple[str, ...]
    """Keys of plan.json that differ."""
    comparison: Comparison | None
    """The figures of the saved plan and of the one made now; None where nothing differs."""

    @property
    def identical(self) -> bool:
        """Whether the plan made now is the saved one, byte for byte."""
        return not self.parts


def replay(
    text: str,
    label: str,
    read: Callable[[Path], str],
    progress: Callable[[str], None] | None = None,
) -> Replay:
    """Plan again from the files that a plan.json names, looked for from the current folder.

    `read` gives the text of an earlier plan, where what runs today was taken from one. Raises
    InputError for what is no plan as it was written and for inputs that are not there, and what
    planning raises.
    """
    saved = loads(text, label)
    made_by = saved.provenance
    planner = partial(
        make_plan,
        asked_gap=saved.proof.asked_gap,
        time_limit_s=made_by.time_limit_s,
        crosscheck=made_by.crosscheck,
        progress=progress,
    )
    after = planned_side(f"{label}, made again", _inputs(made_by, label, read), planner)
    parts = tuple(
        key for key in Plan.model_fields if getattr(saved, key) != getattr(after.plan, key)
    )
    return Replay(
        plan=label,
        files=len(made_by.files),
        proved=saved.proof.status == "proved",
        origins=tuple(_origins(made_by, after.plan.provenance)),
        parts=parts,
        comparison=compare(saved_side(read_saved(text, label)), after, planner) if parts else None,
    )


def _inputs(made_by: Provenance, label: str, read: Callable[[Path], str]) -> Inputs:
    options = made_by.options
    scenario, earlier = made_by.path_of("scenario"), made_by.path_of("placement")
    if scenario is None:
        raise InputError(Finding("records no scenario file to plan again", file=label))
    catalog, rules = tuple(map(Path, options.catalog)), tuple(map(Path, options.rules))
    missing = [
        Finding(
            f"{str(path)!r}, from which it was made, is not here",
            file=label,
            hint="name the folder from which it was planned: `--in DIR`",
        )
        for path in (scenario, *catalog, *rules, *filter(None, [earlier]))
        if not path.exists()
    ]
    if missing:
        raise InputError(*missing)
    question = Question(scenario, catalog=catalog, rules=rules)
    inputs = question.inputs(options.variations, options.settings)
    return carried_over(inputs, read(earlier), earlier) if earlier else inputs


def _origins(recorded: Provenance, present: Provenance) -> Iterator[Origin]:
    versions = (
        ("planner", recorded.planner_version, present.planner_version),
        ("solver", recorded.solver, present.solver),
    )
    for name, old, new in versions:
        if old != new:
            yield Origin(what="version", name=name, recorded=old, present=new)
    before, after = (
        {(role, path): digest for role, path, digest in made_by.files}
        for made_by in (recorded, present)
    )
    for key in dict.fromkeys((*before, *after)):
        if before.get(key) != after.get(key):
            yield Origin(what="file", name=key[1], recorded=before.get(key), present=after.get(key))
