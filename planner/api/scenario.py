"""Loads, changes and checks scenarios."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from functools import partial
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias, TypedDict, TypeVar, Unpack

from planner.api.result import FilePath, Result, Row, paths
from planner.errors import Finding, InputError, refuse
from planner.inputs.layers import resolved
from planner.inputs.load import Question
from planner.inputs.override import Override, quoted
from planner.inputs.reading.diagnostics import Attempts
from planner.inputs.reading.locate import AS_DICT, AS_TEXT
from planner.inputs.settled import Inputs
from planner.inputs.text import as_yaml, flow, flow_key
from planner.reporting.format import count_of, listed

R = TypeVar("R")

_FOR_PYYAML_TEXT = re.compile(r"[0-9]+(\.[0-9]+)?[eE][0-9]+")
"""Numbers such as `6e8`, which PyYAML reads as text, and this planner as numbers."""


class Changes(TypedDict, total=False):
    """What is asked beside a scenario's own file; each may be left out."""

    apply: str | Sequence[str]
    """Names of its overrides and scenarios, applied in order (`--scenario`)."""
    set: Mapping[str, object] | Sequence[str]
    """Values by dotted path (`--set`): `{"fleet.east.count": 2}`, or `["fleet.east.count=2"]`."""
    catalog: FilePath | Sequence[FilePath]
    """Catalog files or folders of your own, which extend or replace entries by id."""
    rules: FilePath | Sequence[FilePath]
    """Rule files or folders of your own, likewise."""


class Scenario(Result):
    """A question to plan: jobs, fleet, offers and policies, read and without mistakes."""

    _name = "scenario"

    def __init__(
        self, question: Question, apply: tuple[str, ...], set_: tuple[Override, ...]
    ) -> None:
        """Private: `planner.load` gives scenarios."""
        self._question, self._apply, self._set = question, apply, set_
        self._inputs: Inputs = question.inputs(apply, set_)
        super().__init__(self._inputs.scenario.name, question, self._inputs.read_from)

    @property
    def label(self) -> str:
        """The file, and what was changed: `scenarios/quickstart.yaml, fleet.rack-a.count=2`."""
        return ", ".join((str(self._question.path), *self._apply, *map(str, self._set)))

    @property
    def quarters(self) -> tuple[str, ...]:
        """Of its horizon, such as `2027Q1`."""
        return self._inputs.scenario.horizon.labels

    @property
    def variations(self) -> tuple[str, ...]:
        """Names of the overrides and scenarios that it can be changed by."""
        return self._question.layers.names

    @property
    def changes(self) -> list[Row]:
        """What was changed in the files: `path`, `before`, `after` and `by`."""
        return [note.model_dump() for note in self._inputs.changes]

    def _whole(self) -> Question:
        """Its files; with its changes made where there are any."""
        changed = self._apply or self._set
        return self._with_text(self._inputs.question) if changed else self._question

    def _with_text(self, text: str) -> Question:
        """What its file might as well have said, beside the same catalog and rules."""
        given = self._question.given
        return Question(
            self.path, catalog=given["catalog"], rules=given["rules"], text=text, whole=True
        )

    def changed(self, **changes: Unpack[Changes]) -> Scenario:
        """The same scenario with more overrides or values; its files are not read again.

        >>> import planner
        >>> base = planner.load("scenarios/quickstart.yaml")
        >>> dear = base.changed(set={"offers.buy-h200.price_usd": 400_000})
        >>> [(one["path"], one["before"], one["after"]) for one in dear.changes]
        [('offers.buy-h200.price_usd', None, '400000')]

        Raises InputError.
        """
        if changes.get("catalog") or changes.get("rules"):
            raise InputError(Finding("name catalog and rules where the scenario is loaded"))
        names, settings = asked_changes(changes)
        with_names, with_settings = (*self._apply, *names), (*self._set, *settings)
        return placed(lambda: Scenario(self._question, with_names, with_settings))

    def rows(self) -> list[Row]:
        """A row for each job: its name, what is done, the model, team, units in each quarter."""
        horizon = self._inputs.scenario.horizon
        return [
            {
                "job": name,
                "kind": job.kind,
                "model": getattr(getattr(job, job.kind), "model", None),
                "team": job.team,
                **dict(zip(self.quarters, job.units(horizon), strict=True)),
            }
            for name, job in self._inputs.scenario.jobs.items()
        ]

    def to_yaml(self) -> str:
        """The whole scenario as YAML, each value with the file and line, or change, it is from."""
        return resolved(self._question.layers.composed(self._apply, self._set))

    @property
    def path(self) -> Path:
        """Its file, as it was named."""
        return self._question.path

    @property
    def asked(self) -> Changes:
        """What it was changed by: `planner.load(one.path, **one.asked)` is the same again."""
        given = self._question.given
        return {
            "apply": self._apply,
            "set": tuple(map(str, self._set)),
            "catalog": tuple(given["catalog"]),
            "rules": tuple(given["rules"]),
        }

    def to_variant(self, name: str) -> str:
        """Its changes under a name, as a file that extends its own, to lie in the same folder.

        >>> import planner
        >>> base = planner.load("scenarios/quickstart.yaml")
        >>> late = base.changed(set=["offers.*.lead_time_weeks=+4"])
        >>> print(late.to_variant("late"), end="")
        extends: quickstart.yaml
        name: late
        apply: [late]
        overrides:
          late:
            "offers.*.lead_time_weeks": +4
        """
        groups: list[dict[str, str]] = []
        for one in self._set:
            if one.path == ("name",):
                continue
            if not groups or one.path_text in groups[-1]:  # a key stands once in a file
                groups.append({})
            groups[-1][one.path_text] = one.value_text
        names = [name if not place else f"{name}-{place + 1}" for place in range(len(groups))]
        said = {"extends": self.path.name, "name": name, "apply": (*self._apply, *names)}
        lines = ["overrides:"] if groups else []
        for own, group in zip(names, groups, strict=True):
            lines.append(f"  {flow_key(own)}:")
            lines += (f"    {flow_key(path)}: {value}" for path, value in group.items())
        return as_yaml(said) + "".join(f"{line}\n" for line in lines)

    def files(self) -> dict[str, str | bytes]:
        """`scenario.yaml`, whole."""
        return {"scenario.yaml": self.to_yaml()}

    @property
    def summary(self) -> tuple[str, ...]:
        """How much there is to plan, and by which names it can be varied."""
        scenario, changes = self._inputs.scenario, self._inputs.changes
        size = (
            f"{count_of(len(scenario.jobs), 'job')} over "
            f"{count_of(scenario.horizon.quarters, 'quarter')}, "
            f"{count_of(len(scenario.fleet), 'fleet entry', 'fleet entries')} and "
            f"{count_of(len(self._inputs.offers), 'offer')}"
        )
        size += f", with {count_of(len(changes), 'change')}" if changes else ""
        return (size, f"varied by {listed(self.variations)}") if self.variations else (size,)


Source: TypeAlias = Scenario | str | PathLike[str] | Mapping[str, Any]
"""A scenario that was loaded, a path, YAML text (of several lines), or the same as a dict."""


def load(source: Source, **changes: Unpack[Changes]) -> Scenario:
    """Read a scenario with all that it stands on.

    `source` is a path, a dict, or YAML text of several lines; names of other files in a dict or
    text are looked for from the current folder. `apply` names overrides and scenarios of it, `set`
    gives values by dotted path; `catalog` and `rules` name files of your own.

    >>> import planner
    >>> planner.load("scenarios/quickstart.yaml", set={"fleet.rack-a.count": 2})
    <Scenario 'Quickstart': 5 jobs over 3 quarters, 1 fleet entry and 3 offers, with 1 change>

    Raises InputError with every mistake of every file, each with its place: file, line and column,
    or its path alone in a dict.
    """
    if isinstance(source, Scenario):
        return source.changed(**changes) if any(changes.values()) else source
    return placed(lambda: Scenario(*_read(source, changes)))


def check(source: Source, **changes: Unpack[Changes]) -> Scenario:
    """Load a scenario, and try every override and scenario that it names as well.

    >>> import planner
    >>> planner.check("scenarios/quickstart.yaml")
    <Scenario 'Quickstart': 5 jobs over 3 quarters, 1 fleet entry and 3 offers>
    >>> try:
    ...     planner.check("scenarios/quickstart.yaml", set={"fleet.rack-a.cuont": 2})
    ... except planner.InputError as error:
    ...     print(error.findings[0].message, error.findings[0].hint, sep="; ")
    there is no 'cuont' in `fleet.rack-a`; did you mean 'count'?

    Raises InputError as `load` does.
    """
    return placed(lambda: _checked(source, changes))


def _checked(source: Source, changes: Changes) -> Scenario:
    if isinstance(source, Scenario):
        scenario = source.changed(**changes)
        question, names, settings = scenario._question, scenario._apply, scenario._set
    else:
        question, names, settings = _read(source, changes)
    attempts = Attempts()
    found = attempts.take(partial(Scenario, question, names, settings))
    for case in question.layers.cases:
        attempts.take(partial(question.inputs, (case,)))
    if attempts.findings or found is None:
        raise InputError(*question.in_order(attempts.findings))
    return found


def _read(
    source: str | PathLike[str] | Mapping[str, Any], changes: Changes
) -> tuple[Question, tuple[str, ...], tuple[Override, ...]]:
    """The files of a scenario; and names and overrides that are asked for."""
    path, text = as_text(source)
    catalog, rules = paths(changes.get("catalog", ())), paths(changes.get("rules", ()))
    question = Question(path, catalog=catalog, rules=rules, text=text)
    return question, *asked_changes(changes)


def asked_changes(changes: Changes) -> tuple[tuple[str, ...], tuple[Override, ...]]:
    """Names of overrides and scenarios of the files, and further overrides; raises InputError."""
    require_known_keys(changes, Changes)
    names, values = changes.get("apply", ()), changes.get("set", ())
    if isinstance(values, Mapping):
        values = [f"{quoted(path)}={flow(plain_data(value))}" for path, value in values.items()]
    attempts = Attempts()
    overrides = [attempts.take(partial(Override.parse, one)) for one in values]
    refuse(attempts.findings)
    return (names,) if isinstance(names, str) else tuple(names), tuple(filter(None, overrides))


def require_known_keys(given: Mapping[str, object], known: type) -> None:
    """Raise TypeError for an argument that there is not, as Python does."""
    for name in given:
        if name not in known.__annotations__:
            raise TypeError(f"unexpected keyword argument {name!r}")


def as_text(source: str | PathLike[str] | Mapping[str, Any]) -> tuple[Path, str | None]:
    """A path, and the text that stands in for its file; None: the file is read."""
    if isinstance(source, Mapping):
        try:
            return Path(AS_DICT), as_yaml(plain_data(source))
        except RecursionError:
            message = "holds itself, or is nested without end"
            raise InputError(Finding(message, file=AS_DICT)) from None
    if isinstance(source, str) and "\n" in source:
        return Path(AS_TEXT), source
    return Path(source), None


def plain_data(value: object, path: str = "") -> Any:  # noqa: ANN401 - what YAML can hold
    """A value of Python as a file would state it; raises InputError for what no file can hold."""
    if isinstance(value, Mapping):
        below = f"{path}." if path else ""
        return {str(key): plain_data(item, f"{below}{key}") for key, item in value.items()}
    if isinstance(value, set | frozenset):
        value = sorted(value, key=str)  # the same bytes in each process
    if isinstance(value, list | tuple):
        return tuple(plain_data(item, f"{path}[{at}]") for at, item in enumerate(value))
    if isinstance(value, bool):
        return value
    if isinstance(value, Integral):  # NumPy's as well
        return int(value)
    if isinstance(value, Real):
        return Decimal(repr(float(value)))
    if isinstance(value, str) and _FOR_PYYAML_TEXT.fullmatch(value):
        return Decimal(value)
    if value is None or isinstance(value, Decimal):
        return value
    if not isinstance(value, str | date | PathLike):
        named = type(value).__name__
        hint = "write text, a number, a date, a list or a mapping"
        raise InputError(Finding(f"a scenario holds no {named}", path=path or None, hint=hint))
    return str(value)


def placed(read: Callable[[], R]) -> R:
    """Do this; a mistake in a dict is told by its path alone, as no file has its place."""
    try:
        return read()
    except InputError as error:
        raise InputError(
            *(
                Finding(one.message, path=one.path, hint=one.hint)
                if one.file == AS_DICT and (one.path or one.line == 1)
                else one
                for one in error.findings
            )
        ) from None
