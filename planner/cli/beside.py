"""What stands beside a plan in its reports: results that were kept, or are planned now."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

import click

from planner.cli.files import plan_text
from planner.cli.options import Asked
from planner.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from planner.cli.staff import Staff
    from planner.plan.plan import Plan
    from planner.whatif.found import Alternatives, Sensitivity
    from planner.whatif.kept import Kept
    from planner.whatif.made import Made

__all__ = ["ALTERNATIVES", "SENSITIVITY", "WhatIf", "results_beside"]

K = TypeVar("K", bound="Kept")

ALTERNATIVES, SENSITIVITY = "alternatives.json", "sensitivity.json"
WhatIf = Literal["none", "options", "all"]


def results_beside(
    plan: Plan,
    path: Path,
    folders: Iterable[Path],
    wanted: WhatIf,
    staff: Staff,
    *,
    meanwhile: Callable[[], object],
) -> tuple[Alternatives | None, Sensitivity | None]:
    """Alternatives and sensitivity of a plan: as they lie in one of the folders, or made now.

    What is made now is planned from the scenario that the plan records; `meanwhile` is done here
    while others plan it.
    """
    from planner.whatif.found import Alternatives, Sensitivity  # noqa: PLC0415 - slow to load

    places = tuple(dict.fromkeys(folders))
    options = _kept(Alternatives, plan, [folder / ALTERNATIVES for folder in places])
    swings = _kept(Sensitivity, plan, [folder / SENSITIVITY for folder in places])
    if wanted == "all" and options is not None and options.within is None:
        options = None
    needed = wanted != "none" and options is None, wanted == "all" and swings is None
    if not any(needed):
        return options, swings
    from planner.whatif.sides import inputs_behind, scenario_of  # noqa: PLC0415 - seldom needed

    made_by = plan.provenance.options
    asked = Asked(tuple(map(Path, made_by.catalog)), tuple(map(Path, made_by.rules)))
    with staff.made(scenario_of(plan), asked, plan.question, meanwhile) as made:
        try:
            inputs_behind(str(path), plan, lambda: made.inputs)
        except InputError as error:
            click.echo(f"warning: options are not planned: {error}", err=True)
            return options, swings
        now = _planned(plan, made, wanted, *needed)
    return options or now[0], swings or now[1]


def _kept(kind: type[K], plan: Plan, paths: Iterable[Path]) -> K | None:
    """The first of these files that answers the same question; others are told and left out."""
    from planner.whatif.kept import loads, question_behind  # noqa: PLC0415 - seldom needed

    for path in paths:
        if not path.is_file():
            continue
        try:
            found = loads(kind, plan_text(path), str(path))
        except InputError as error:
            click.echo(f"warning: left out: {error}", err=True)
            continue
        if found.question == question_behind(plan):
            return found
        click.echo(f"warning: left out: {path} is of another scenario than the plan", err=True)
    return None


def _planned(
    plan: Plan, made: Made, wanted: WhatIf, options: bool, swings: bool
) -> tuple[Alternatives | None, Sensitivity | None]:
    from planner.whatif.alternatives import alternatives, standard_alternatives  # noqa: PLC0415
    from planner.whatif.figures import figures_of  # noqa: PLC0415

    found = moved = None
    if options and wanted == "options":
        made.know(figures_of(plan))
        made.desk.size(made.inputs)
        found = standard_alternatives(made)
    elif options:
        found = alternatives(made)
    if swings:
        from planner.whatif.sensitivity import sensitivity  # noqa: PLC0415

        moved = sensitivity(made)
    return found, moved
