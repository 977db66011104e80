"""A plan as a file: complete, versioned, and the same bytes for the same plan.

Before anything is made of a saved plan, it is checked against the inputs that it was made from.
A saved plan may also say what runs today for another.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import date
from itertools import groupby
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from planner.errors import CheckError, Finding, InputError
from planner.inputs.checks.jobs import not_staying
from planner.inputs.load import Question
from planner.inputs.reading.document import YamlDocument
from planner.inputs.reading.locate import AS_DICT, AS_TEXT, USED, InputFile
from planner.inputs.scenario.quarter import Quarter
from planner.inputs.scenario.scenario import (
    NodePlace,
    ResolvedScenario,
    Running,
    node_places,
    plain,
)
from planner.inputs.settled import Inputs
from planner.inputs.text import count_of, some_of
from planner.planning.checks import verify
from planner.planning.plan import FORMAT, Node, Plan, Provenance
from planner.sizing import DerivationStep
from planner.sizing.sizers import Sizers

_STEPS = TypeAdapter(tuple[DerivationStep, ...])
_DEPTH = {"placements": 3, "sizings": 4}
"""How many levels of each part stand on lines of their own; by default two."""

_WRITES = "`planner plan SCENARIO --out DIR` writes"
_AGAIN = "make the plan again with this version of the planner"


def dumps(plan: Plan) -> str:
    """Write a plan as JSON: one line per job, node or step, with keys in the model's order.

    `provenance.digest` seals the file: it is the sha256 of everything else, by which `loads`
    detects an edited file. Each step of a derivation is stored once, in `steps`; a `trace` lists
    their numbers.

    Raises CheckError if reading the text back gives another plan than the one that was checked.
    """
    numbers: dict[DerivationStep, int] = {}
    written, steps = plan.model_dump_json(context={"steps": numbers}), tuple(numbers)
    with suppress(ValidationError):
        if plan == Plan.model_validate_json(written, context={"steps": steps}):
            return _sealed({**json.loads(written), "steps": _STEPS.dump_python(steps, mode="json")})
    raise CheckError(("a file of the plan would not say what was checked",))


def _sealed(document: dict[str, Any]) -> str:
    """Return the plan as plain data with its digest."""
    document["provenance"]["digest"] = digest_of(document)
    parts = (f' "{key}": {_text(value, _DEPTH.get(key, 2), 1)}' for key, value in document.items())
    return "{\n" + ",\n".join(parts) + "\n}\n"


def digest_of(document: dict[str, Any]) -> str:
    """Return the digest that seals a document: that of its content, whatever its spacing."""
    return sha256_of(_content(document))


def sha256_of(text: str) -> str:
    """Return the sha256 of a text in hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def _content(document: dict[str, Any] | list[Any]) -> str:
    """Return what is sealed: compact ASCII JSON, so that line ends and spacing do not matter."""
    return json.dumps(document, separators=(",", ":"), allow_nan=False)


def _text(value: Any, depth: int, indent: int) -> str:  # noqa: ANN401 - whatever JSON can hold
    """Return JSON with `depth` levels opened up and the rest compact."""
    if depth <= 1 or not value or not isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    margin = " " * (indent + 1)
    if isinstance(value, dict):
        names = (f"{json.dumps(key, ensure_ascii=False)}: " for key in value)
        brackets, items = "{}", list(zip(names, value.values(), strict=True))
    else:
        brackets, items = "[]", [("", item) for item in value]
    lines = ",\n".join(
        f"{margin}{name}{_text(item, depth - 1, indent + 1)}" for name, item in items
    )
    return f"{brackets[0]}\n{lines}\n{' ' * indent}{brackets[1]}"


def loads(text: str, shown_as: str) -> Plan:
    """Read a plan that was written by `dumps`.

    Raises InputError, naming the file, for broken JSON, another major format, missing parts, and
    edits by hand.
    """
    try:
        document = json.loads(
            text, parse_constant=_refuse_constant, object_pairs_hook=each_once(shown_as)
        )
        _require_format(document, shown_as)
        _require_seal(document, shown_as)
    except json.JSONDecodeError as error:
        if text.startswith("{"):
            message, hint = f"is not JSON: {error.msg}", "was the file cut off, or edited by hand?"
            raise InputError(
                Finding(message, shown_as, error.lineno, error.colno, hint=hint)
            ) from None
        of = shown_as if shown_as.endswith((".yaml", ".yml")) else "SCENARIO"
        hint = f"`planner plan {of} --out DIR` writes DIR/plan.json, which is read here"
        raise InputError(Finding("is not a plan", shown_as, hint=hint)) from None
    except (ValueError, RecursionError) as error:
        deep = isinstance(error, RecursionError)
        told = "is nested too deep" if deep else "holds no finite number"
        raise InputError(Finding(f"is not a plan: its JSON {told}", shown_as)) from None
    try:
        steps = _STEPS.validate_json(_content(document.pop("steps", [])))
        return Plan.model_validate_json(_content(document), context={"steps": steps})
    except ValidationError as error:
        message = "does not belong in a plan as it stands"
        wrong = error.errors(include_url=False, include_context=False, include_input=False)
        paths = (".".join(map(str, detail["loc"])) or None for detail in wrong)
        findings = (Finding(message, shown_as, path=path, hint=_AGAIN) for path in paths)
        raise InputError(*findings) from None


def each_once(shown_as: str) -> Callable[[list[tuple[str, Any]]], dict[str, Any]]:
    """Build a JSON object from its pairs, and refuse a key that stands twice.

    Readers of JSON differ in which of the two counts, so the file could mean different things.
    """

    def made(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            hint = "the planner writes each key once: make the file again"
            raise InputError(Finding(f"has the key {twice!r} twice", shown_as, hint=hint))
        return found

    return made


def _refuse_constant(text: str) -> float:
    raise ValueError(text)


def _require_format(document: object, shown_as: str) -> None:
    parts = document if isinstance(document, dict) else {}
    found = parts.get("format")
    if not isinstance(found, str):
        message, hint = "is not a plan: it states no `format` of one", f"{_WRITES} plan.json"
    elif "proof" not in parts:
        message, hint = "is not a plan: it states no `proof`", f"{_WRITES} plan.json"
    elif found.partition(".")[0] != FORMAT.partition(".")[0]:
        message, hint = f"is a plan of format {found}, this planner reads {FORMAT}", _AGAIN
    else:
        return
    raise InputError(Finding(message, shown_as, hint=hint))


def _require_seal(document: dict[str, Any], shown_as: str) -> None:
    """Remove the digest. Raises InputError if the content is not what it sealed."""
    made_by = document.get("provenance")
    digest = made_by.pop("digest", None) if isinstance(made_by, dict) else None
    if digest is None:
        message = "has no digest of its content: it was edited, or made by an earlier version"
        hint = _AGAIN
    elif digest != digest_of(document):
        message = (
            "was changed after the planner had written it: its content is not that of its digest"
        )
        hint = "change the scenario and plan again; a plan itself is never edited"
    else:
        return
    raise InputError(Finding(message, shown_as, path="provenance.digest", hint=hint))


_NAMED = 8
"""The most files that a sentence names."""
_UNSOUND = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError),
    *(RuntimeError, StopIteration, TypeError, ValueError),
)
"""The errors that code meets in a plan whose parts do not fit each other."""


@dataclass(frozen=True, slots=True)
class Saved:
    """A saved plan, and what is still there of its inputs."""

    label: str
    plan: Plan
    question: YamlDocument
    """The whole scenario as plain data."""
    inputs: Inputs | None
    """The inputs that it was made from; None unless all are as they were."""
    missing: str | None = None
    """Why the plan cannot be made or checked again; None if it can."""
    changed: tuple[str, ...] = ()
    """Files that differ from those that it was made from."""
    gone: tuple[str, ...] = ()
    """Files that no longer exist, seen from the current folder."""
    asked: Question | None = None
    """The same question, of which variants can be planned."""
    sizers: Sizers = field(default_factory=Sizers)
    """They hold its sized jobs, once it is checked."""

    def stale_inputs(self, whose: str, *, gone: bool = True) -> tuple[str, ...]:
        """One sentence for each input that has changed since the plan was made.

        What is `gone` depends on the current folder, so it is left out of files.
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
    """Read a plan.json and its inputs, without checking it.

    The files are looked for where the plan records them, from the current folder; `catalog` and
    `rules` name the user's own files if they have moved. Raises InputError for what is no plan.
    """
    plan = loads(text, label)
    made_from = plan.provenance
    question = Question(
        scenario_of(made_from),
        catalog=catalog or tuple(map(Path, made_from.options.catalog)),
        rules=rules or tuple(map(Path, made_from.options.rules)),
        text=plan.question,
        whole=True,
    )
    (asked,) = question.layers.documents
    changed, gone = _origins(made_from)
    try:
        present = question.inputs()
    except InputError as error:
        first = error.findings[0]
        told = f"{label} was made with {first.file}: {first.message}, seen from here"
        told += "; `--catalog` and `--rules` name it"
        return Saved(label, plan, asked, None, told, changed, gone, question)
    others, lost = _other_facts(made_from, present)
    missing = None
    if other := sorted({*others, *lost}):
        missing = (
            f"{label} was made from other catalog or rule files than are here now, such as "
            f"{other[0]}"
        )
    inputs = None if missing else present
    differ, lost = (*changed, *others), (*gone, *lost)
    return Saved(label, plan, asked, inputs, missing, differ, lost, question)


def scenario_of(made_from: Provenance) -> Path:
    """Return the file that a plan was made from, as it was named."""
    return made_from.path_of("scenario") or Path()


def _other_facts(made_from: Provenance, present: Inputs) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the scenario's files that have changed or are new, and those that are gone."""
    now = {(file.role, file.path): file.sha256 for file in present.files if file.role in USED}
    then = {(role, path): digest for role, path, digest in made_from.files if role in USED}
    changed = {path for (role, path), digest in now.items() if then.get((role, path)) != digest}
    return tuple(sorted(changed)), tuple(sorted({path for _, path in then.keys() - now.keys()}))


def _origins(made_from: Provenance) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the files of the question that have changed or are gone.

    These include an earlier plan that it took over. A base is skipped if the file that extends
    it cannot be read.
    """
    scenario, now = scenario_of(made_from), dict[str, str]()
    if scenario.is_file():
        with suppress(InputError):
            now = {file.path: file.sha256 for file in Question(scenario).scenario_files}
    if earlier := made_from.path_of("placement"):
        with suppress(OSError, UnicodeDecodeError):
            now[str(earlier)] = sha256_of(earlier.read_text(encoding="utf-8-sig"))
    roles = {path: role for role, path, _ in made_from.files}
    then = {
        path: digest
        for role, path, digest in made_from.files
        if role in ("scenario", "base", "placement") and path not in (AS_DICT, AS_TEXT)
    }
    known = [path for path in then if str(scenario) in now or roles[path] != "base"]
    gone = [path for path in known if path not in now and not Path(path).is_file()]
    changed = [path for path in known if path not in gone and now.get(path) != then[path]]
    return tuple(sorted(changed)), tuple(sorted(gone))


def checked(saved: Saved) -> Saved:
    """Return the saved plan after the independent check, if its inputs are all there.

    Raises CheckError if anything disagrees.
    """
    try:
        with sound(saved.label):
            if saved.inputs is not None:
                verify(saved.inputs, saved.plan, saved.sizers)
    except CheckError as error:
        raise CheckError(error.violations, saved.label) from None
    return saved


@contextmanager
def sound(label: str, *, unless: bool = False) -> Iterator[None]:
    """Call a function on a plan whose parts may not fit; raises CheckError if they do not.

    `unless` the plan has passed its check: then an error is a fault of the function, and passes.
    """
    try:
        yield
    except _UNSOUND as error:
        if unless:
            raise
        message = f"its parts do not fit each other: {type(error).__name__}: {error}"
        raise CheckError((message,), label) from error


def carried_over(
    inputs: Inputs, text: str, path: Path, warn: Callable[[str], None] = lambda _: None
) -> Inputs:
    """Return the question with the units running today as an earlier plan has them.

    `text` is the earlier plan.json, read from `path`. What counts is its quarter before the first
    one of this horizon. Jobs that the scenario no longer has, units beyond those of its first
    quarter, and runs of some hours have ended. Nodes that the scenario does not own, such as rented
    ones, count by their pool. Notes tell what it ordered before the day of this plan and the fleet
    lacks, and growth that begins anew. `warn` is called with each input of that plan that has
    changed.

    Raises CheckError if that plan fails its check, and InputError for a file that is no plan, a
    plan without that quarter, a scenario that states what runs itself, and pinned units that may
    not stay.
    """
    shown_as = str(path)
    saved = checked(read_saved(text, shown_as))
    earlier = saved.plan
    for sentence in saved.stale_inputs(shown_as):
        warn(sentence)
    label = str(inputs.scenario.horizon.first_quarter + -1)
    _require_fitting(inputs.scenario, earlier, label, shown_as)
    running = tuple(_entries(inputs.scenario, earlier, earlier.quarters.index(label)))
    scenario = inputs.scenario.model_copy(update={"running": running})
    kept_off = [
        Finding(one.message, shown_as, hint=one.hint)
        for one in not_staying(scenario, inputs.catalog)
    ]
    if kept_off:
        raise InputError(*dict.fromkeys(kept_off))
    file = InputFile(role="placement", path=shown_as, sha256=sha256_of(text), location=path)
    return inputs.model_copy(
        update={
            "scenario": scenario,
            "files": (*inputs.files, file),
            "question": _with_running(inputs.question, running, shown_as),
            "since_earlier": (
                *((text, "fleet") for text in _not_in_fleet(scenario, earlier)),
                *((text, "jobs") for text in _growing_anew(scenario, saved.inputs)),
                *((text, "jobs") for text in _no_longer_served(scenario, earlier, saved.inputs)),
            ),
        }
    )


def _require_fitting(scenario: ResolvedScenario, earlier: Plan, label: str, shown_as: str) -> None:
    """Raise InputError if an earlier plan cannot say what runs before the horizon."""
    if scenario.running:
        message = "the scenario says itself what runs today"
        hint = "leave out either `running:` or `--from`"
    elif label not in earlier.quarters:
        span = " to ".join(dict.fromkeys((earlier.quarters[0], earlier.quarters[-1])))
        message = f"plans {span}, and so says nothing of {label}, the quarter before the horizon"
        hint = "begin the horizon in one of its quarters, or right after the last"
    else:
        return
    raise InputError(Finding(message, shown_as, hint=hint))


def _not_in_fleet(scenario: ResolvedScenario, earlier: Plan) -> Iterator[str]:
    """Name nodes that were bought or are still reserved, but that the scenario does not own."""
    first, day = scenario.horizon.first_quarter, scenario.horizon.earliest_order
    label = str(first) if str(first) in earlier.quarters else earlier.quarters[-1]
    lines = {(line.offer, line.quarter): line for line in earlier.acquisitions}
    held, ordered = Counter[tuple[str, str]](), defaultdict[tuple[str, str], list[str]](list)
    for node in earlier.nodes:
        pool = (node.node_type, node.site)
        if node.origin == "owned":
            held[pool] += label in (*node.in_service, *node.off)
        elif node.origin in ("buy", "reserve"):
            line = lines[node.entry, node.in_service[0]]
            ends = line.term_quarters and Quarter.parse(line.quarter) + line.term_quarters
            if date.fromisoformat(line.order_by) < day and (not ends or ends > first):
                held[pool] += 1
                ordered[pool].append(node.entry)
    for pool, offers in sorted(ordered.items()):
        owned = sum(
            entry.count
            for entry in scenario.fleet.values()
            if (entry.node_type, entry.site) == pool
        )
        if owned < held[pool]:
            lacking = count_of(held[pool] - owned, "node")
            yield (
                f"`fleet` lacks {lacking} of {pool[0]} @ {pool[1]} that the earlier plan ordered "
                f"before {day} ({some_of(sorted(set(offers)), 3)}): this plan acquires anew what "
                "they would do; add those that were ordered, reserved ones with `retires`"
            )


def _growing_anew(scenario: ResolvedScenario, before: Inputs | None) -> Iterator[str]:
    """Name jobs that are stated as before, so that they ask for less in the first quarter."""
    horizon = scenario.horizon
    if before is None or horizon.first_quarter not in before.scenario.horizon.all_quarters:
        return
    then = before.scenario.horizon.all_quarters.index(horizon.first_quarter)
    anew = []
    for name, job in sorted(scenario.jobs.items()):
        was = before.scenario.jobs.get(name)
        if was is not None and (job.count, job.load) == (was.count, was.load):
            fewer = job.counts(horizon)[0] < was.counts(before.scenario.horizon)[then]
            less = job.peaks(horizon)[:1] < was.peaks(before.scenario.horizon)[then : then + 1]
            if fewer or less:
                anew.append(name)
    if anew:
        yield (
            f"{some_of(anew, 3)}: growth begins anew in {horizon.first_quarter}, so that less is "
            "asked there than the earlier plan had; state what it has grown to"
        )


def _no_longer_served(
    scenario: ResolvedScenario, earlier: Plan, before: Inputs | None
) -> Iterator[str]:
    """Name deployments of what was tuned before the horizon, if no job serves such a model."""
    if before is None:
        return
    first = str(scenario.horizon.first_quarter)
    at = earlier.quarters.index(first) if first in earlier.quarters else -1
    models = {job.serve.model for job in scenario.jobs.values() if job.serve} - {None}
    ended = [
        job.name
        for job in earlier.jobs
        if job.derived_from and job.units[at] and job.name not in scenario.jobs
        if (tune := before.scenario.jobs[job.derived_from].tune) and tune.model not in models
    ]
    if ended:
        yield (
            f"{some_of(ended, 3)}: what was tuned before {first} is not served there any more, as "
            "it was in the earlier plan; state such endpoints as jobs of their own (`serve`)"
        )


def _with_running(question: str, running: tuple[Running, ...], shown_as: str) -> str:
    """Return the question with these entries, so that the plan records them."""
    if not running:
        return question
    silent = question.replace("\nrunning: []\n", "\n")
    lines = [
        f"  - {json.dumps(entry.model_dump(exclude_defaults=True), ensure_ascii=False)}"
        for entry in running
    ]
    return silent + "\n".join((f"running:  # {shown_as}", *lines, ""))


def _entries(scenario: ResolvedScenario, earlier: Plan, quarter: int) -> Iterator[Running]:
    """Return one entry for each sequence of a job's units on the same nodes.

    Runs of some hours are over; for a pinned job, the first run of each unit counts.
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
