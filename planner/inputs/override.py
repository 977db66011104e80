"""Changes to a scenario by dotted paths, from a file or from `--set`, and what results.

A change sets one value at a key that the scenario states or that the format knows there, or moves
the figure that is there. It never throws a mapping away: `replace:` and `delete:` do. Lists are
values like others, set as a whole.

`+15%` and `-8` move the figure that is there, and `*` is every name. A share (`growth_per_quarter`,
`headroom`) is set as a whole: `+2%` of one could mean two points more or a fiftieth more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, TypeAlias, TypeGuard

from pydantic import GetCoreSchemaHandler
from pydantic_core import core_schema

from planner.errors import Finding, InputError
from planner.inputs.base import Frozen
from planner.inputs.reading.document import (
    Branch,
    Entry,
    Path,
    Refused,
    YamlDocument,
    dotted,
    parts_of,
    settable,
)
from planner.inputs.reading.reader import parse_document
from planner.inputs.reading.shape import FieldTree
from planner.inputs.scenario.scenario import DELETE, REPLACE, ResolvedScenario
from planner.inputs.text import did_you_mean, flow, key_meant

EVERY = "*"
_QUARTER = re.compile(r"[0-9]{4}Q[1-4]")
_MOVE = re.compile(r"([+-][0-9]{1,15}(?:\.[0-9]{1,20})?)\s*(%?)")
_DIGITS = Decimal("0.000001")


@dataclass(frozen=True, slots=True)
class RelativeChange:
    """By how much a figure is moved."""

    text: str
    """As written: `+15%`."""
    by: Decimal
    """The percentage where `percent`, else in the figure's own unit."""
    percent: bool

    def of(self, value: Decimal | int, *, whole: bool) -> Decimal | int:
        """Return the changed figure to six decimals; a percentage of a whole figure is rounded."""
        exact = Fraction(value) * (1 + Fraction(self.by) / 100 if self.percent else 1)
        exact += 0 if self.percent else Fraction(self.by)
        if exact.denominator == 1 or (whole and self.percent):
            return round(exact)
        return six_decimals(exact)


def six_decimals(exact: Fraction) -> Decimal:
    """Format a figure as a scenario states it after a change."""
    decimal = Decimal(exact.numerator) / Decimal(exact.denominator)
    return decimal.quantize(_DIGITS).normalize()


def _move(text: str) -> RelativeChange | None:
    """Parse a value with a sign in front; None for everything else."""
    written = _MOVE.fullmatch(text.strip())
    if written is None:
        return None
    return RelativeChange(f"{written[1]}{written[2]}", Decimal(written[1]), bool(written[2]))


def matching(data: object, pattern: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield every path that a pattern such as `offers.*.price_usd` stands for, in file order.

    A name in place of `*` must be stated; what follows the last of them need not be.
    """
    paths: list[tuple[str, ...]] = [()]
    for part in pattern:
        paths = [
            (*path, name)
            for path in paths
            for name in (names_at(data, path) if part == EVERY else (part,))
        ]
    yield from paths


def names_at(data: Any, path: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ANN401 - what files hold
    """Return the names that are stated at a path."""
    for part in path:
        data = data.get(part) if isinstance(data, dict) else None
    return tuple(data) if isinstance(data, dict) else ()


_VERBS = {REPLACE: "mapping", DELETE: "list"}
_SHAPE = FieldTree(ResolvedScenario)
_FIXED = ("format",)
"""Keys that say how to read the file, and so are not changed."""


OPTION = "--set"
_WRITTEN = re.compile(r"""((?:'[^'\n]*'|"[^"\n]*"|[^='"\n])*)=(.*)""")
"""A path, in which quoted names may hold anything, and a value on the same line."""


@dataclass(frozen=True, slots=True)
class Override:
    """One value that is set, or replaced or deleted; in results, and for people, `path=value`."""

    path: tuple[str, ...]
    """Names; `*` stands for every name there."""
    path_text: str
    """The path as it was written."""
    value_text: str
    """The value as `--set` takes it."""
    value: Any = field(compare=False)
    document: YamlDocument = field(compare=False, repr=False)
    """What it is written in, and mistakes of it are told at: a file, or an argument."""
    at: Path = field(compare=False)
    """Where it stands there."""
    by: str = OPTION
    """`override price-up` or `--set`."""
    verb: Literal["set", "replace", "delete"] = "set"

    @classmethod
    def parse(cls, argument: str) -> Override:
        """Read `path=value`, the value as it would stand in a file: `4`, `10%`, `[a, b]`, `{a: 1}`.

        The first `=` outside quotes separates the two. Raises InputError that points into the
        argument.
        """
        written = _WRITTEN.fullmatch(argument)
        path, value = written.groups() if written else ("", "")
        if not path.strip() or not value.strip():
            raise InputError(
                Finding(
                    f"{argument!r} is not a change",
                    path=OPTION,
                    hint="write path=value, such as offers.buy-h200.price_usd=380000",
                )
            )
        document = _parsed(argument, path, value)
        try:
            return cls(parts_of(path), path, value, document.data[path], document, (path,))
        except ValueError as error:
            found = document.finding((path,), str(error), at_key=True)
            raise InputError(replace(found, path=None)) from None

    @classmethod
    def of(cls, path: tuple[str, ...], value: Any) -> Override:  # noqa: ANN401 - as in a file
        """Set a value that was read already."""
        return cls.parse(f"{settable(path)}={flow(value)}")

    @classmethod
    def written(
        cls,
        path_text: str,
        document: YamlDocument,
        at: Path,
        by: str = OPTION,
        verb: Literal["set", "replace", "delete"] = "set",
    ) -> Override:
        """Set, replace or delete what a file says at a place; raises InputError for no path.

        Numbers lose their sign when YAML reads them, so for a relative change the text counts.
        """
        value = document.value(at)
        word = value if isinstance(value, str) else document.written(at)
        move = None if word is None or isinstance(value, bool | dict | tuple) else _move(word)
        text = move.text if move else flow(value)
        try:
            path = parts_of(path_text)
        except ValueError as error:
            found = document.finding(at, str(error), at_key=verb != "delete")
            raise InputError(found) from None
        return cls(path, quoted(path_text), text, value, document, at, by, verb)

    @property
    def text(self) -> str:
        """Return the change as `--set` takes it."""
        return f"{self.path_text}={self.value_text}"

    @property
    def move(self) -> RelativeChange | None:
        """Return the relative change, for a value with a sign in front."""
        return _move(self.value if isinstance(self.value, str) else self.value_text)

    def __str__(self) -> str:
        return self.text

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the file and the place, which no other process needs."""
        return Override.parse, (self.text,)

    def finding(self, message: str, hint: str | None = None) -> Finding:
        """Say what is wrong with the path, where it is written."""
        found = self.document.finding(self.at, message, hint, at_key=self.verb != "delete")
        # The argument of `--set` is nothing but the path, which its line shows already.
        return found if self.document.path else replace(found, path=None)

    @classmethod
    def __get_pydantic_core_schema__(
        cls, _source: object, _handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        def read(value: object) -> Override:
            if isinstance(value, Override):
                return value
            try:
                return cls.parse(str(value))
            except InputError as error:
                raise ValueError(str(error)) from None

        return core_schema.no_info_plain_validator_function(
            read,
            serialization=core_schema.to_string_ser_schema(),
            json_schema_input_schema=core_schema.str_schema(),
        )


def quoted(path: str) -> str:
    """Return a path as `--set` takes it: quoted if it contains a bare `=`."""
    written = _WRITTEN.fullmatch(f"{path}=")
    if written and written[1] == path:
        return path
    try:
        return settable(parts_of(path))
    except ValueError:  # no path at all, which is told where it is read
        return path


def _parsed(argument: str, path: str, value: str) -> YamlDocument:
    """Read the argument as a file of one line, in which every column is that of the argument."""
    line = "v:".ljust(max(len(path) + 1, 3)) + value
    try:
        read = parse_document(line, OPTION)
    except InputError as error:
        found = (replace(finding, line=1, source_line=argument) for finding in error.findings)
        raise InputError(*found) from None
    entry = read.branch["v"]
    document = replace(read, text=argument, data={path: read.data["v"]}, branch={path: entry})
    if empty := document.empty_values():
        raise InputError(*(document.finding(one, "is empty", "write a value") for one in empty))
    return document


class AppliedChange(Frozen):
    """A change that was made to the scenario of the files."""

    path: str
    """Dotted."""
    before: str | None
    """As it would be written in a file; None where nothing was stated."""
    after: str | None
    """None where it was deleted."""
    by: str
    """`override price-up` or `--set`."""


@dataclass(frozen=True)
class Composed:
    """A whole question, each value of which still knows where it was written."""

    document: YamlDocument
    applied: tuple[AppliedChange, ...] = ()
    """Every change, in the order in which they were made."""


Listed: TypeAlias = "Callable[[YamlDocument, Path], Decimal | None]"
"""The price book's figure for a price that a document leaves open; None where there is none."""


def changes_of(
    document: YamlDocument, override: str, findings: list[Finding]
) -> Iterator[Override]:
    """Return the changes of one override of a file, in order; add to `findings` what is none."""
    for verb, path, at in _verbs(document, ("overrides", override)):
        try:
            yield Override.written(path, document, at, f"override {override}", verb)
        except InputError as error:
            findings += error.findings


def _verbs(
    document: YamlDocument, at: Path
) -> Iterator[tuple[Literal["set", "replace", "delete"], str, Path]]:
    """Yield each change of an override: what it does, its path as written, and its place."""
    stated = document.value(at)
    for key, value in stated.items() if isinstance(stated, dict) else ():
        if key == REPLACE and isinstance(value, dict):
            yield from (("replace", path, (*at, key, path)) for path in value)
        elif key == DELETE and isinstance(value, tuple):
            yield from (("delete", str(one), (*at, key, n)) for n, one in enumerate(value))
        elif value is not None:  # what is empty is told by its place in the override
            yield "set", key, (*at, key)


def changed(
    composed: Composed, changes: Iterable[Override], findings: list[Finding], listed: Listed
) -> Composed:
    """Make changes in order; later ones win.

    `listed` knows prices that the scenario leaves to the price book. Paths that lead nowhere and
    values that would discard others are added to `findings`; these changes are not made.
    """
    for change in changes:
        try:
            composed = _made(composed, change, listed)
        except InputError as error:
            findings += error.findings
    return composed


def _made(composed: Composed, change: Override, listed: Listed) -> Composed:
    document = composed.document
    if change.path_text in _VERBS and change.verb == "set":
        message = f"must be a {_VERBS[change.path_text]} of paths"
        raise InputError(change.document.finding(change.at, message))
    paths = _paths(document, change)
    move = change.move if change.verb == "set" else None
    value = None if change.verb == "delete" else change.value
    values: list[tuple[Path, Any]] = [(path, value) for path in paths]
    if move is not None and any(map(_SHAPE.is_number, paths)):
        values = list(_moved(document, paths, change, move, listed))
    done = []
    for path, after in values:
        document, one = _put(document, path, after, change)
        done.append(one)
    return Composed(document, (*composed.applied, *done))


def _put(
    document: YamlDocument, path: Path, value: object, change: Override
) -> tuple[YamlDocument, AppliedChange]:
    """Return the document with one value set, replaced or deleted."""
    stated = document.states(path)
    before = document.value(path) if stated else None
    if change.verb == "set":
        _require_nothing_lost(document, path, before, change)
    elif not stated:
        message = f"{dotted(path)} is stated nowhere, there is nothing to {change.verb}"
        hint = "set it among the plain changes" if change.verb == "replace" else None
        raise InputError(change.finding(message, hint))
    entry = None if change.verb == "delete" else change.document.entry(change.at)
    data, branch = grafted(document.data, document.branch, path, value, entry)
    was, now = (None if one is None else flow(one) for one in (before, value))
    made = AppliedChange(path=dotted(path), before=was, after=now, by=change.by)
    return replace(document, data=data, branch=branch), made


def _paths(document: YamlDocument, change: Override) -> list[Path]:
    """Return where a change is made; raises InputError for a path that leads nowhere."""
    found = list(matching(document.data, change.path))
    if EVERY not in change.path:
        return [_path(document, change, *found)]
    known: list[Path] = []
    for path in found:
        if change.verb == "set" and not document.states(path[:-1]):
            continue  # such as `jobs.*.serve.context`, of a job that is tuned
        if change.verb == "set" or document.states(path):
            known.append(_path(document, change, path))
    if not known:
        raise InputError(change.finding(f"{change.path_text} stands for nothing that is stated"))
    return known


def _moved(
    document: YamlDocument,
    paths: list[Path],
    change: Override,
    move: RelativeChange,
    listed: Listed,
) -> Iterator[tuple[Path, Any]]:
    """Yield figures after a relative change, one by one; raises InputError if there is none."""
    found = False
    for path in paths:
        if _SHAPE.is_share(path):
            if move.by < 0:  # a share may be less than nothing: growth is
                found = True
                yield path, change.value
                continue
            message = f"{move.text} of a share may mean points or a part of it"
            hint = f"write the share itself: {dotted(path)} as {move.text[1:]}"
            raise InputError(change.finding(message, hint))
        for inner, value in _figures(document, path, listed):
            found = True
            yield inner, move.of(value, whole=_SHAPE.is_whole(inner))
            yield from _price_breaks(document, inner, move)
    if not found:
        message = f"{change.path_text} is stated nowhere, {move.text} has nothing to change"
        raise InputError(change.finding(message, "set the figure itself"))


def _figures(
    document: YamlDocument, path: Path, listed: Listed
) -> Iterator[tuple[Path, Decimal | int]]:
    """Return the figures at a path: stated, by quarter, by the price book, or by default."""
    value = document.value(path) if document.states(path) else None
    if isinstance(value, dict):
        for key in value:
            yield from _figures(document, (*path, key), listed)
        return
    if value is None:
        value = listed(document, path)
    if value is None:
        value = _SHAPE.default(path)
    if _counts(value):
        yield path, value


def _counts(value: object) -> TypeGuard[int | Decimal]:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _price_breaks(
    document: YamlDocument, path: Path, move: RelativeChange
) -> Iterator[tuple[Path, Any]]:
    """Yield the lower prices for larger orders, which move with an offer's price."""
    if path[0] != "offers" or path[2:] != ("price_usd",):
        return
    breaks = document.value(path[:2]).get("price_breaks")
    if not isinstance(breaks, tuple):
        return
    prices = [one.get("price_usd") if isinstance(one, dict) else None for one in breaks]
    if all(map(_counts, prices)):
        yield (
            (*path[:2], "price_breaks"),
            tuple({**one, "price_usd": move.of(one["price_usd"], whole=False)} for one in breaks),
        )


def _path(document: YamlDocument, change: Override, parts: tuple[str, ...]) -> Path:
    """Return the path of a change.

    Raises InputError if a part of it is neither stated nor known.
    """
    if parts[0] in _FIXED:
        raise InputError(change.finding(f"`{parts[0]}` cannot be changed"))
    here: Any = document.data
    for depth, part in enumerate(parts):
        outer = parts[:depth]
        if isinstance(here, Refused):  # told where it stands
            raise InputError
        if here is not None and not isinstance(here, dict):
            place = document.value_place(outer)
            where = f"{document.origin(outer).shown_as}:{place.line}:{place.column}"
            message = f"{dotted(outer)} is one value ({where}), there is no {part!r} in it"
            raise InputError(change.finding(message, f"set {dotted(outer)} as a whole"))
        stated = here or {}
        keys = _SHAPE.keys(outer)
        if part not in stated and part not in keys and not _another_quarter(part, stated):
            raise InputError(change.finding(*_nowhere(outer, part, change.path_text, stated, keys)))
        here = stated.get(part)
    return parts


def _another_quarter(part: str, stated: Iterable[str]) -> bool:
    """Return whether a change adds one more quarter to figures that hold until the next."""
    return all(any(map(_QUARTER.fullmatch, keys)) for keys in ([part], stated))


def _nowhere(
    outer: Path, part: str, text: str, stated: dict[str, Any], keys: list[str]
) -> tuple[str, str | None]:
    known = [*stated, *(key for key in keys if key not in stated)]
    where = f"in `{dotted(outer)}`" if outer else "at the top of a scenario"
    parted = [key for key in known if key.startswith(f"{part}=")]
    parted += [key for key in known if "." in key and key.startswith(part) and key in text]
    if parted:
        return f"there is no {part!r} {where}", f"put the name in quotes: {settable((parted[0],))}"
    hint = key_meant(part, known) if keys else did_you_mean(part, known)
    if hint is None and 0 < len(known) <= 12:
        hint = f"known here: {', '.join(known)}"
    return f"there is no {part!r} {where}", hint


def _require_nothing_lost(
    document: YamlDocument, path: Path, before: object, change: Override
) -> None:
    if not isinstance(before, dict) or not before:
        return
    place = document.key_place(path)
    where = f"{document.origin(path).shown_as}:{place.line}"
    key = settable(tuple(map(str, (*path, next(iter(before), "KEY")))))
    raise InputError(
        change.finding(
            f"{dotted(path)} is a mapping ({where}) that this would throw away",
            f"set its keys by their own paths, such as {key}=..., "
            "or put this under `replace:` in an override",
        )
    )


def grafted(
    data: dict[str, Any], branch: Branch, path: Path, value: object, entry: Entry | None
) -> tuple[dict[str, Any], dict[str | int, Entry]]:
    """Return data and places with one value put at a path, or removed if there is no entry for it.

    Mappings on the way that do not exist come from where the value does.
    """
    data, places = dict(data), dict(branch)
    key, rest = str(path[0]), path[1:]
    if rest:
        there = places.get(key)
        inner, inner_places = grafted(
            data.get(key, {}), (there and there.branch) or {}, rest, value, entry
        )
        outer = there or entry
        data[key] = inner
        if outer is not None:
            places[key] = outer._replace(branch=inner_places)
    elif entry is None:
        del data[key], places[key]
    else:
        data[key], places[key] = value, entry
    return data, places
