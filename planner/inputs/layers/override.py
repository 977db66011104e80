"""An override: a value with its path, read once where it comes in, such as from `--set`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from planner.errors import Finding, InputError
from planner.inputs.layers.changes import Change
from planner.inputs.layers.written import flow
from planner.inputs.reading.document import Document, Entry, parts_of, settable
from planner.inputs.reading.reader import parse_document

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import core_schema

__all__ = ["OPTION", "Override", "quoted"]

OPTION = "--set"
_WRITTEN = re.compile(r"""((?:'[^'\n]*'|"[^"\n]*"|[^='"\n])*)=(.*)""")
"""A path, in which quoted names may hold anything, and a value on the same line."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where something stands in the one line of an override that nobody wrote."""

    index: int
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Override:
    """One value that is set; in a file of results, and for people, `path=value`."""

    path: tuple[str, ...]
    """Names; `*` stands for every name there."""
    value: Any = field(compare=False)
    text: str
    """As `--set` takes it."""
    document: Document = field(compare=False, repr=False)
    """`text` as a file of one line, whose one key is the path as it was written."""

    @classmethod
    def parse(cls, argument: str) -> Override:
        """Read `path=value`, the value as it would stand in a file: `4`, `10%`, `[a, b]`, `{a: 1}`.

        The first `=` outside quotes parts the two. Raises InputError that points into the argument.
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
            names = parts_of(path)
        except ValueError as error:
            found = document.finding((path,), str(error), at_key=True)
            raise InputError(replace(found, path=None)) from None
        return cls(names, document.data[path], argument, document)

    @classmethod
    def of(cls, path: str | tuple[str, ...], value: Any, text: str | None = None) -> Override:  # noqa: ANN401
        """Set a value that was read already; `text` is how it is written, unless as `flow` does it.

        `path` is names, or these as they are written, where an `=` in a name needs no quotes.
        Raises ValueError for what is no path.
        """
        names = parts_of(path) if isinstance(path, str) else path
        key = quoted(path) if isinstance(path, str) else settable(path)
        line = f"{key}={flow(value) if text is None else text}"
        entry = _entry(value, _Place(len(key) + 1, 0, len(key) + 1))._replace(key=_Place(0, 0, 0))
        document = Document(OPTION, "", {key: value}, line, {key: entry})
        return cls(names, value, line, document)

    def __str__(self) -> str:
        return self.text

    @property
    def path_text(self) -> str:
        """The path as it was written."""
        return next(iter(self.document.data))

    @property
    def value_text(self) -> str:
        """The value as it was written."""
        return self.text[len(self.path_text) + 1 :]

    @property
    def change(self) -> Change:
        """What it does to a scenario."""
        at = (self.path_text,)
        return Change("set", self.path, self.path_text, self.document, at, OPTION)

    @classmethod
    def __get_pydantic_core_schema__(
        cls, _source: object, _handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        from pydantic_core import core_schema  # noqa: PLC0415 - only models of results need it

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
    """A path as `--set` takes it: one in which an `=` is not between quotes, with quotes."""
    written = _WRITTEN.fullmatch(f"{path}=")
    if written and written[1] == path:
        return path
    try:
        return settable(parts_of(path))
    except ValueError:  # no path at all, which is told where it is read
        return path


def _parsed(argument: str, path: str, value: str) -> Document:
    """The argument as a file of one line, in which every column is that of the argument."""
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


def _entry(value: object, place: _Place) -> Entry:
    """A value, and all that is in it, at one place."""
    inner = value if isinstance(value, dict) else {}
    if isinstance(value, tuple):
        inner = dict(enumerate(value))
    branch = {key: _entry(one, place) for key, one in inner.items()}
    return Entry(place, place, branch if isinstance(value, dict | tuple) else None)
