"""`--set path=value`: one change on the command line, with its places in the argument."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from planner.errors import Finding, InputError
from planner.inputs.layers.changes import Change
from planner.inputs.reading.reader import parse_document

if TYPE_CHECKING:
    from planner.inputs.reading.document import Document

__all__ = ["OPTION", "setting_change", "split_setting"]

OPTION = "--set"
_WRITTEN = re.compile(r"""((?:'[^'\n]*'|"[^"\n]*"|[^='"\n])*)=(.*)""")
"""A path, in which quoted names may hold anything, and a value on the same line."""


def split_setting(setting: str) -> tuple[str, str]:
    """Path and value of `path=value`: the first `=` outside quotes parts them; both empty: none."""
    written = _WRITTEN.fullmatch(setting)
    path, value = written.groups() if written else ("", "")
    return path, value


def setting_change(argument: str) -> Change:
    """Read `path=value`, the value as it would stand in a file: `4`, `10%`, `[a, b]`, `{a: 1}`.

    Raises InputError that points into the argument.
    """
    path, value = split_setting(argument)
    if not path.strip() or not value.strip():
        raise InputError(
            Finding(
                f"{argument!r} is not a change",
                path=OPTION,
                hint="write path=value, such as offers.buy-h200.price_usd=380000",
            )
        )
    return Change("set", path, _as_document(argument, path, value), (path,), OPTION)


def _as_document(argument: str, path: str, value: str) -> Document:
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
