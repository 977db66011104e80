"""The YAML parser's complaints in words that say what to change."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from planner.errors import Finding

if TYPE_CHECKING:
    from collections.abc import Sequence

    import yaml

__all__ = ["syntax_finding"]

_LONGEST_NAME = 120
_LONGEST_KEY = 1000
"""The parser looks for the ':' of a key within 1,024 characters alone."""
_BETWEEN_MARKS = re.compile(r"[^,\[\]{}]+")
_END_OF_KEY = re.compile(r":(?=\s|$)")
_AT_START = "start"
_AT_PROBLEM = "problem"

_MEANINGS: tuple[tuple[str, str, str, str | None], ...] = (
    (
        "mapping values are not allowed",
        _AT_PROBLEM,
        "a ':' stands where no key can be",
        "check the indentation here and the line above, and quote a text that holds ': '",
    ),
    (
        "could not find expected ':'",
        _AT_START,
        "a key without ':'",
        "write `key: value`",
    ),
    (
        "did not find expected key",
        _AT_PROBLEM,
        "this line does not continue the block above",
        "indent it like the keys beside it",
    ),
    (
        "did not find expected '-' indicator",
        _AT_PROBLEM,
        "this line does not continue the list above",
        "indent it like the items beside it",
    ),
    ("did not find expected ',' or ']'", _AT_START, "a list '[' is not closed by ']'", None),
    ("did not find expected ',' or '}'", _AT_START, "a mapping '{' is not closed by '}'", None),
    (
        "found unexpected end of stream",
        _AT_START,
        "a text in quotes is not closed before the file ends",
        None,
    ),
    (
        "found unexpected document indicator",
        _AT_START,
        "a text in quotes is not closed before the document ends",
        None,
    ),
    (
        "found unknown escape character",
        _AT_PROBLEM,
        "unknown escape in a text in double quotes",
        "use single quotes, they take a backslash as it is",
    ),
    (
        "expected alphabetic or numeric character",
        _AT_START,
        "anchors and aliases (`&name`, `*name`) are not read",
        "put a text that starts with & or * in quotes",
    ),
    (
        "did not find expected node content",
        _AT_PROBLEM,
        "a value is missing here",
        "write the value, or close the list or mapping",
    ),
    ("found undefined tag handle", _AT_START, "tags (`!name`) are not read", "delete the tag"),
    ("found duplicate", _AT_PROBLEM, "a directive stands twice", None),
)


def syntax_finding(error: yaml.YAMLError, text: str, shown_as: str) -> Finding:
    """One finding for what stopped the parser, at the place a person would mend."""
    fields: dict[str, Any] = vars(error) if hasattr(error, "__dict__") else {}
    problem = str(fields.get("problem") or fields.get("reason") or "unreadable")
    context = str(fields.get("context") or "")
    at_problem, at_start = fields.get("problem_mark"), fields.get("context_mark")
    where, message, hint = _meaning(problem, context)
    mark = (at_start if where == _AT_START else at_problem) or at_problem or at_start
    lines = text.rstrip("\n").split("\n")
    index = min(mark.line, len(lines) - 1) if mark else 0
    column = mark.column if mark and mark.line == index else len(lines[index])
    concerned = [one.line for one in (at_start, at_problem) if one and one.line < len(lines)]
    if long_key := next(filter(None, (_long_key(lines, one) for one in concerned)), None):
        index, column, size = long_key
        message = f"a key of {size:,} characters is too long"
        hint = f"a name has at most {_LONGEST_NAME} characters"
    elif "cannot start any token" in problem or "tab character" in problem:
        message, hint = _bad_character(lines[index], column)
    elif lines[index].lstrip().startswith(":"):
        message, hint = "a key is empty", "write `key: value`"
    elif hint is None and at_problem and at_problem.line >= len(lines) - 1:
        hint = f"the file ends on line {len(lines)}: was it cut off?"
    return Finding(
        message,
        file=shown_as,
        line=index + 1,
        column=column + 1,
        source_line=lines[index],
        hint=hint,
    )


def _meaning(problem: str, context: str) -> tuple[str, str, str | None]:
    for words, where, message, hint in _MEANINGS:
        if words in problem:
            return where, message, hint
    return _AT_PROBLEM, f"not readable as YAML: {' '.join((context, problem)).strip()}", None


def _long_key(lines: Sequence[str], index: int) -> tuple[int, int, int] | None:
    """Line, column and length of a key that is too long to be taken for one."""
    for part in _BETWEEN_MARKS.finditer(lines[index]):
        end = _END_OF_KEY.search(part[0])
        key = part[0][: end.start()] if end else ""
        if len(key) > _LONGEST_KEY:
            return index, part.start() + len(key) - len(key.lstrip()), len(key.strip(" '\""))
    return None


def _bad_character(line: str, column: int) -> tuple[str, str | None]:
    character = line[column] if column < len(line) else ""
    if character == "\t" or "\t" in line[: len(line) - len(line.lstrip())]:
        return "a tab is used for indentation", "use spaces"
    return f"a value cannot start with {character!r}", "put the text in quotes"
