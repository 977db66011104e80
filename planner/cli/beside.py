"""What stands beside a plan in its reports: results that were kept, or are planned now."""

from __future__ import annotations

from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal, TypeVar

import click

from planner.cli.files import plan_text
from planner.cli.options import Asked
from planner.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planner.cli.staff import Staff
    from planner.plan.plan import Plan
    from planner.whatif.found import Alternatives, Sensitivity
    from planner.whatif.kept import Kept

__all__ = ["ALTERNATIVES", "SENSITIVITY", "WhatIf", "results_beside"]

K = TypeVar("K", bound="Kept")

ALTERNATIVES, SENSITIVITY = "alternatives.json", "sensitivity.json"
WhatIf = Literal["none", "options", "all"]


def results_beside(
    plan: Plan, path: Path, folders: Iterable[Path], wanted: WhatIf, staff: Staff
) -> tuple[Alternatives | None, Sensitivity | None]:
    """Alternatives and sensitivity of a plan: as they lie in one of the folders, or made now.

    What is made now is planned from the scenario that the plan records.
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
    why_not = _missing(plan, str(path))
    if why_not:
        click.echo(f"warning: options are not planned: {why_not}", err=True)
        return options, swings
    made = _planned(plan, staff, wanted, *needed)
    return options or made[0], swings or made[1]


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


def _missing(plan: Plan, label: str) -> str | None:
    """Why a plan cannot be asked again from what it records; None where it can."""
    from planner.whatif.sides import side_of  # noqa: PLC0415

    options = plan.provenance.options
    try:
        return side_of(
            label,
            plan,
            catalog=tuple(map(Path, options.catalog)),
            rules=tuple(map(Path, options.rules)),
        ).missing
    except InputError as error:
        return str(error)


def _planned(
    plan: Plan, staff: Staff, wanted: WhatIf, options: bool, swings: bool
) -> tuple[Alternatives | None, Sensitivity | None]:
    from planner.whatif.alternatives import alternatives, standard_alternatives  # noqa: PLC0415
    from planner.whatif.figures import figures_of  # noqa: PLC0415
    from planner.whatif.sensitivity import sensitivity  # noqa: PLC0415

    made_by = plan.provenance.options
    asked = Asked(tuple(map(Path, made_by.catalog)), tuple(map(Path, made_by.rules)))
    with TemporaryDirectory() as folder:
        scenario = Path(folder) / "scenario.yaml"
        scenario.write_text(plan.question, encoding="utf-8")
        _copy_used(plan, scenario.parent)
        with staff.made(scenario, asked) as made:
            found = moved = None
            if options and wanted == "options":
                made.know(figures_of(plan))
                found = standard_alternatives(made)
            elif options:
                found = alternatives(made)
            if swings:
                moved = sensitivity(made)
    return found, moved


def _copy_used(plan: Plan, folder: Path) -> None:
    """Put the catalog and rule files that the scenario names where it now names them."""
    from planner.inputs.reader import parse_document  # noqa: PLC0415
    from planner.whatif.sides import files_used  # noqa: PLC0415

    question = parse_document(plan.question, "scenario.yaml")
    for file in (*files_used(plan, question, "catalog"), *files_used(plan, question, "rules")):
        copy = folder / file.name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copyfile(file.path, copy)
