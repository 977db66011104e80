"""A plan.json with the inputs that it was made from: read once, and checked before it is used."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from planner.errors import CheckError, InputError
from planner.inputs.load import Question
from planner.inputs.reading.document import YamlDocument
from planner.inputs.reading.locate import AS_DICT, AS_TEXT, USED
from planner.inputs.settled import Inputs
from planner.planning.plan import Plan, Provenance
from planner.planning.store import loads
from planner.planning.verify import verify
from planner.planning.words import some_of
from planner.sizing.sizers import Sizers

_NAMED = 8
"""Files that a sentence names."""
_UNSOUND = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError),
    *(RuntimeError, StopIteration, TypeError, ValueError),
)
"""What code meets in a plan whose parts do not fit each other."""


@dataclass(frozen=True, slots=True)
class Saved:
    """A plan as it was saved, and what of its inputs is still there."""

    label: str
    plan: Plan
    question: YamlDocument
    """The whole scenario as plain data."""
    inputs: Inputs | None
    """Those that it was made from; None where they are not all as they were."""
    missing: str | None = None
    """Why the plan cannot be made again, or checked; None where it can."""
    changed: tuple[str, ...] = ()
    """Files that differ from those that it was made from."""
    gone: tuple[str, ...] = ()
    """Files that are not there any more, seen from here."""
    asked: Question | None = None
    """The same question, of which variants can be planned."""
    sizers: Sizers = field(default_factory=Sizers)
    """They have its jobs, once it is checked."""

    def told(self, whose: str, *, gone: bool = True) -> tuple[str, ...]:
        """What is not as it was when the plan was made, a sentence each.

        What is `gone` depends on the current folder, and so is left out of files.
        """
        said = []
        for names, verbs in ((self.changed, _CHANGED), (self.gone if gone else (), _GONE)):
            if names:
                said.append(f"{some_of(names, _NAMED)} {verbs[len(names) > 1]} {whose} was made")
        if self.missing:
            said.append(f"{whose} is not checked against its inputs: {self.missing}")
        return tuple(said)


_CHANGED = ("has changed since", "have changed since")
_GONE = ("is no longer where it was when", "are no longer where they were when")


def read_saved(
    text: str, label: str, *, catalog: Sequence[Path] = (), rules: Sequence[Path] = ()
) -> Saved:
    """Read a plan.json and its inputs, unchecked.

    The files are looked for from the current folder, where the plan records them; `catalog` and
    `rules` name those of one's own where they have moved. Raises InputError for what is no plan.
    """
    plan = loads(text, label)
    made_from = plan.provenance
    question = Question(
        scenario_of(made_from),
        catalog=catalog or tuple(map(Path, made_from.options.catalog)),
        rules=rules or tuple(map(Path, made_from.options.rules)),
        text=plan.question,
    )
    (asked,) = question.layers.documents
    changed, gone = _origins(made_from)
    try:
        present = question.inputs()
    except InputError as error:
        return Saved(label, plan, asked, None, _unreadable(label, error), changed, gone, question)
    others, lost = _other_facts(made_from, present)
    missing = _other_files(label, made_from, present)
    inputs = None if missing else present
    differ, lost = (*changed, *others), (*gone, *lost)
    return Saved(label, plan, asked, inputs, missing, differ, lost, question)


def scenario_of(made_from: Provenance) -> Path:
    """The file that a plan was made from, as it was named."""
    return made_from.path_of("scenario") or Path()


def _unreadable(label: str, error: InputError) -> str:
    first = error.findings[0]
    told = f"{label} was made with {first.file}: {first.message}, seen from here"
    return f"{told}; `--catalog` and `--rules` name it"


def _other_files(label: str, made_from: Provenance, present: Inputs) -> str | None:
    names = sorted({name for names in _other_facts(made_from, present) for name in names})
    if not names:
        return None
    told = f"{label} was made from other catalog or rule files than are here now, such as "
    return told + names[0]


def _other_facts(made_from: Provenance, present: Inputs) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Files that a scenario uses that have changed or are new, and those that are gone."""
    now = {(file.role, file.path): file.sha256 for file in present.files if file.role in USED}
    then = {(role, path): digest for role, path, digest in made_from.files if role in USED}
    changed = {path for (role, path), digest in now.items() if then.get((role, path)) != digest}
    return tuple(sorted(changed)), tuple(sorted({path for _, path in then.keys() - now.keys()}))


def _origins(made_from: Provenance) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Files of the question, and an earlier plan that it took over, that have changed or are gone.

    What a base was is not asked where the file that extends it cannot be read.
    """
    asked = _question_now(made_from)
    now = {file.path: file.sha256 for file in asked.scenario_files} if asked else {}
    if earlier := made_from.path_of("placement"):
        with suppress(OSError, UnicodeDecodeError):
            text = earlier.read_text(encoding="utf-8-sig")
            now[str(earlier)] = hashlib.sha256(text.encode()).hexdigest()
    then = {
        path: digest
        for role, path, digest in made_from.files
        if role in ("scenario", "base", "placement") and path not in (AS_DICT, AS_TEXT)
    }
    scenario = str(scenario_of(made_from))
    known = then.keys() if scenario in now else then.keys() - _bases(made_from)
    gone = [path for path in known if path not in now and not Path(path).is_file()]
    changed = [path for path in known if path not in gone and now.get(path) != then[path]]
    return tuple(sorted(changed)), tuple(sorted(gone))


def _bases(made_from: Provenance) -> set[str]:
    return {path for role, path, _ in made_from.files if role == "base"}


def _question_now(made_from: Provenance) -> Question | None:
    """The scenario that a plan names, as its files are now; None where they cannot be read."""
    scenario = made_from.path_of("scenario")
    if scenario is None or not scenario.is_file():
        return None
    try:
        return Question(scenario)
    except InputError:
        return None


def checked(saved: Saved) -> Saved:
    """The same, passed by the independent check where its inputs are all there.

    Raises CheckError where anything disagrees.
    """
    try:
        with sound(saved.label):
            if saved.inputs is not None:
                verify(saved.inputs, saved.plan, saved.sizers)
    except CheckError as error:
        raise CheckError(error.violations, saved.label) from None
    return saved


@contextmanager
def sound(label: str) -> Iterator[None]:
    """Work with a plan whose parts may not fit each other; raises CheckError where they do not."""
    try:
        yield
    except _UNSOUND as error:
        told = f"its parts do not fit each other: {type(error).__name__}: {error}"
        raise CheckError((told,), label) from error
