"""What stands beside a plan in its reports: results that were kept, or are planned now."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

import click

from planner.cli.files import plan_text
from planner.cli.progress import Progress
from planner.errors import InputError
from planner.whatif.desk.copies import Copy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from planner.cli.files import Target
    from planner.cli.staff import Staff
    from planner.planning.plan import Plan, Provenance
    from planner.whatif.desk.figures import Figures
    from planner.whatif.desk.made import Made
    from planner.whatif.found import Alternatives, Sensitivity
    from planner.whatif.kept import Kept

__all__ = ["ALTERNATIVES", "SENSITIVITY", "WhatIf", "options_ahead", "results_beside"]

K = TypeVar("K", bound="Kept")

ALTERNATIVES, SENSITIVITY = "alternatives.json", "sensitivity.json"
WhatIf = Literal["none", "options", "all"]
_MADE: dict[WhatIf, tuple[str, ...]] = {
    "none": (),
    "options": (ALTERNATIVES,),
    "all": (ALTERNATIVES, SENSITIVITY),
}
"""What is planned where it is not there yet."""


def options_ahead(
    text: str, path: Path, out: Target, wanted: WhatIf, staff: Staff
) -> Copy[Alternatives, Figures]:
    """Do nothing, reclaim first and rent only, beside the plan that a file holds.

    Where nothing lies beside the plan or the documents that may be them, a copy of this process
    begins at once, while the plan is read here; it is to be told the plan's figures.
    """
    folders = (path.parent, out.folder)
    needed = wanted == "options" and not any((one / ALTERNATIVES).is_file() for one in folders)
    task = partial(_options, text, str(path), staff)
    return Copy(task, apart=needed and staff.jobs > 1)


def results_beside(
    plan: Plan,
    path: Path,
    out: Target,
    wanted: WhatIf,
    staff: Staff,
    ahead: Copy[Alternatives, Figures],
    *,
    read: Iterable[Path],
) -> tuple[Alternatives | None, Sensitivity | None]:
    """Alternatives and sensitivity of a plan: as they lie beside it or its documents, or made now.

    What is made now is planned from the scenario that the plan records; `ahead` are its options.
    Raises InputError where it would overwrite others in the folder of the documents, or what was
    `read`.
    """
    from planner.whatif.desk.figures import figures_of  # noqa: PLC0415 - slow to load
    from planner.whatif.found import Alternatives, Sensitivity  # noqa: PLC0415 - likewise
    from planner.whatif.kept import dumps  # noqa: PLC0415 - likewise

    places = tuple(dict.fromkeys((path.parent, out.folder)))
    options = _kept(Alternatives, plan, [folder / ALTERNATIVES for folder in places])
    swings = _kept(Sensitivity, plan, [folder / SENSITIVITY for folder in places])
    if wanted == "all" and options is not None and options.within is None:
        options = None
    known = {ALTERNATIVES: dumps(options)} if options else {}
    known |= {SENSITIVITY: dumps(swings)} if swings else {}
    unmade = [name for name in _MADE[wanted] if name not in known]
    out.require_free((*out.changed(known), *unmade), read)
    try:
        if wanted == "options" and options is None:
            ahead.tell(figures_of(plan))
            with Progress() as progress:
                progress("planning do nothing, reclaim first and rent only")
                options = ahead.result()
        if wanted == "all" and (options is None or swings is None):
            from planner.whatif.alternatives import alternatives  # noqa: PLC0415 - seldom needed
            from planner.whatif.sensitivity.sensitivity import sensitivity  # noqa: PLC0415 - likewise

            made_from = plan.provenance
            with Progress() as say, _made(str(path), plan.question, made_from, staff, say) as made:
                options = options or alternatives(made)
                swings = swings or sensitivity(made)
    except InputError as error:
        left_out = "options are" if options is None else "the sensitivity is"
        click.echo(f"warning: {left_out} not planned: {error}", err=True)
    return options, swings


def _options(text: str, label: str, staff: Staff, told: Callable[[], Figures]) -> Alternatives:
    """Options beside the plan that a text holds, whose figures are told later."""
    from planner.planning.store import origin_of  # noqa: PLC0415 - slow to load
    from planner.whatif.alternatives import standard_alternatives  # noqa: PLC0415 - likewise

    question, made_from = origin_of(text)
    with _made(label, question, made_from, staff, lambda _: None) as made:
        made.desk.size(made.inputs)
        made.know(told())
        return standard_alternatives(made)


@contextmanager
def _made(
    label: str,
    question: str,
    made_from: Provenance,
    staff: Staff,
    progress: Callable[[str], None],
) -> Iterator[Made]:
    """Plans beside a plan; raises InputError where its inputs are not as they were."""
    from planner.planning.saved import inputs_behind, scenario_of  # noqa: PLC0415 - slow to load
    from planner.whatif.desk.desk import Variant  # noqa: PLC0415 - slow to load
    from planner.whatif.desk.made import Made  # noqa: PLC0415 - likewise

    catalog, rules = made_from.options.catalog, made_from.options.rules
    files = tuple(map(Path, catalog)), tuple(map(Path, rules))
    desk = staff.desk(scenario_of(made_from), *files, question)
    with staff.crew(desk) as crew:
        made = Made(desk, crew, Variant(), progress)
        inputs_behind(label, made_from, lambda: made.inputs)
        yield made


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
