"""Builds plain data with places from the YAML parser's events, without recursion.

Errors of the parser are explained in words that say what to change.
"""

from __future__ import annotations

import hashlib
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import islice
from os import stat_result
from pathlib import Path as FilePath
from typing import Any, Protocol

import yaml

from planner.errors import Finding, InputError, refuse
from planner.inputs.reading.document import Entry, Mark, Refused, YamlDocument
from planner.inputs.text import (
    ILLEGAL_CHARACTER,
    LONGEST_NAME,
    UNFILLED,
    ScalarError,
    character_name,
    plain_value,
    unreadable,
)

_LONGEST_KEY = 1000
"""The parser looks for the ':' of a key within 1,024 characters only."""
_BETWEEN_MARKS = re.compile(r"[^,\[\]{}]+")
_END_OF_KEY = re.compile(r":(?=\s|$)")
_AT_PROBLEM: dict[str, tuple[str, str | None]] = {
    "mapping values are not allowed": (
        "a ':' stands where no key can be",
        "check the indentation here and the line above, and quote a text that holds ': '",
    ),
    "did not find expected key": (
        "this line does not continue the block above",
        "indent it like the keys beside it",
    ),
    "did not find expected '-' indicator": (
        "this line does not continue the list above",
        "indent it like the items beside it",
    ),
    "found unknown escape character": (
        "unknown escape in a text in double quotes",
        "use single quotes, they take a backslash as it is",
    ),
    "did not find expected ','": ("a ',' is missing before this", "part entries with commas"),
    "did not find expected node content": (
        "a value is missing here",
        "write the value, or close the list or mapping",
    ),
    "did not find expected hexdecimal number": (
        "unknown escape in a text in double quotes",
        "use single quotes, they take a backslash as it is",
    ),
    "found invalid Unicode character escape code": (
        "an escape in double quotes stands for no character",
        "write the character itself",
    ),
    "found duplicate": ("a directive stands twice", None),
    "block sequence entries are not allowed": (
        "a '-' stands where a value is expected",
        "put it in quotes, or begin the list on a line of its own",
    ),
    "mapping keys are not allowed": ("a '?' stands where a value is expected", "put it in quotes"),
    "did not find expected <document start>": (
        "this line does not continue what stands above",
        "write YAML, `key: value` line by line, and nothing around it",
    ),
}
"""The parser's messages about where it stops, with their meaning and a remedy."""
_AT_START: dict[str, tuple[str, str | None]] = {
    "could not find expected ':'": ("a key without ':'", "write `key: value`"),
    "did not find expected ',' or ']'": ("a list '[' is not closed by ']'", None),
    "did not find expected ',' or '}'": ("a mapping '{' is not closed by '}'", None),
    "found unexpected end of stream": (
        "a text in quotes is not closed before the file ends",
        None,
    ),
    "found unexpected document indicator": (
        "a text in quotes is not closed before the document ends",
        None,
    ),
    "expected alphabetic or numeric character": (
        "anchors and aliases (`&name`, `*name`) are not read",
        "put a text that starts with & or * in quotes",
    ),
    "found undefined tag handle": ("tags (`!name`) are not read", "delete the tag"),
}
"""The same for messages about where the problem began."""


_CONFLICT = ("<<<<<<<", "=======", ">>>>>>>")
"""How lines begin that a version control system leaves where two changes meet."""
_FILL_IN = "fill the template in before planning"
_LIKE_A_SIGN = re.compile("[\u00a0\u2000-\u200a\u202f\u3000\uff1a]")
"""Spaces and colons of word processors, which are letters to YAML."""


def syntax_finding(error: yaml.YAMLError, text: str, shown_as: str) -> Finding:
    """Return one finding for what stopped the parser, at the place a person would mend."""
    fields: dict[str, Any] = vars(error) if hasattr(error, "__dict__") else {}
    problem = str(fields.get("problem") or fields.get("reason") or "unreadable")
    context = str(fields.get("context") or "")
    at_problem, at_start = fields.get("problem_mark"), fields.get("context_mark")
    begun = _meaning(problem, _AT_START)
    lines = text.rstrip("\n").split("\n")
    if at_start and at_problem and at_start.line == at_problem.line < len(lines):
        begun = None if "did not find expected ','" in problem else begun
    message, hint = (
        begun
        or _meaning(problem, _AT_PROBLEM)
        or (
            f"not readable as YAML: {' '.join((context, problem)).strip()}",
            None,
        )
    )
    mark = (at_start if begun else at_problem) or at_problem or at_start
    index = min(mark.line, len(lines) - 1) if mark else 0
    column = mark.column if mark and mark.line == index else len(lines[index])
    concerned = [one.line for one in (at_start, at_problem) if one and one.line < len(lines)]
    if long_key := next(filter(None, (_long_key(lines, one) for one in concerned)), None):
        index, column, size = long_key
        message = f"a key of {size:,} characters is too long"
        hint = f"a name has at most {LONGEST_NAME} characters"
    elif lines[index].startswith(_CONFLICT):
        message, hint = (
            "two versions of the file meet here",
            "keep one of them, without these marks",
        )
    elif lines[index].lstrip().startswith("{%"):
        message, hint = "a statement of a template stands here", _FILL_IN
    elif "cannot start any token" in problem or "tab character" in problem:
        message, hint = _bad_character(lines[index], column)
    elif odd := _LIKE_A_SIGN.search("\n".join(lines[max(0, index - 1) : index + 1])):
        message = f"{message}; {character_name(odd[0])} stands here or a line above"
        hint = "type a plain space or colon in its place"
    elif unfilled := UNFILLED.search(lines[index]):
        message, hint = f"unresolved placeholder {unfilled[0]!r}", _FILL_IN
        column = unfilled.start()
    elif lines[index].lstrip().startswith(":"):
        message, hint = "a key is empty", "write `key: value`"
    elif "did not find expected key" in problem and lines[index][column : column + 1] in ("}", "]"):
        message, hint = f"a {lines[index][column]!r} closes nothing", "delete this sign"
    elif "did not find expected key" in problem and lines[index][:column].endswith(("'", '"')):
        message = "a text in quotes ends here, and more follows"
        hint = "write a quote within it twice, or put the text in quotes of the other kind"
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


def _meaning(
    problem: str, meanings: dict[str, tuple[str, str | None]]
) -> tuple[str, str | None] | None:
    return next((meant for words, meant in meanings.items() if words in problem), None)


def _long_key(lines: Sequence[str], index: int) -> tuple[int, int, int] | None:
    """Return the line, column and length of a key that is too long to be recognized."""
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


_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

DEEPEST_NESTING = 40
MOST_NODES = 2_000_000
MOST_FINDINGS = 100
"""A file with more mistakes than this is the wrong file."""


class _Event(Protocol):
    """The used parts of PyYAML's events; each kind has some of them."""

    start_mark: Mark
    anchor: str | None
    tag: str | None
    value: str
    implicit: tuple[bool, bool]
    """For a scalar, the first says whether it is written without quotes."""
    style: str | None


@dataclass(slots=True)
class _Container:
    """A mapping or list while it is being read."""

    data: dict[str, Any] | list[Any]
    start: Mark
    key_mark: Mark
    is_key: bool
    """Whether it stands in place of a key; that is reported, and it is dropped when it ends."""
    is_whole: bool
    """Whether nothing was left out of it, so that what it lacks is really missing."""
    is_mapping: bool
    key: str | Refused | None = None
    """The key of the entry being read; None while a key is awaited."""
    branch: dict[str | int, Entry] = field(default_factory=dict)

    def awaits_key(self) -> bool:
        return self.key is None and self.is_mapping


_REFUSED = Refused()
"""Also stands for a key that cannot be used, so that reading can go on past it."""


class Builder:
    """Reads one file."""

    def __init__(self, text: str, shown_as: str) -> None:
        self.text = text
        self.shown_as = shown_as
        self.stack: list[_Container] = []
        self.findings: list[Finding] = []
        self.top: tuple[Any, Entry] | None = None
        self.nodes = 0
        self.documents = 0
        self.muted_depth: int | None = None
        """While set, a container at that depth has been reported and its content is skipped."""

    def build(self) -> tuple[dict[str, Any], Entry]:
        """Read everything; raises InputError if it is no mapping, or stops before the end.

        Other mistakes are in `findings`, and what they spoil is `Refused`.
        """
        parser = _Loader(self.text)
        try:
            while (event := parser.get_event()) is not None and len(self.findings) < MOST_FINDINGS:
                self._take(event)
        except yaml.YAMLError as error:
            self.findings.append(syntax_finding(error, self.text, self.shown_as))
            raise InputError(*self.findings) from None
        finally:
            parser.dispose()
        if self.top is None or self.top[0] is None:
            nothing = Finding("the file has no content", file=self.shown_as)
            raise InputError(*(self.findings or [nothing]))
        data, entry = self.top
        if isinstance(data, dict) and len(self.findings) < MOST_FINDINGS:
            return data, entry
        if not self.findings:
            self._refuse(entry.value, "a mapping (`key: value` lines) is expected at the top")
        raise InputError(*self.findings)

    def _take(self, event: _Event) -> None:
        kind: type[object] = type(event)
        if kind is yaml.ScalarEvent:
            self._scalar(event)
        elif kind is yaml.MappingStartEvent:
            self._open({}, event)
        elif kind is yaml.SequenceStartEvent:
            self._open([], event)
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            self._close()
        elif kind is yaml.AliasEvent:
            self._refuse(event.start_mark, "aliases (`*name`) are not read", "write the values out")
            self._put(_REFUSED, event.start_mark, None)
        elif kind is yaml.DocumentStartEvent:
            self.documents += 1
            if self.documents == 2:
                self._refuse(
                    event.start_mark, "a second document starts here, one file holds one document"
                )

    def _refuse(self, mark: Mark, message: str, hint: str | None = None) -> None:
        if self.muted_depth is not None:
            return
        self.findings.append(
            Finding(
                message,
                file=self.shown_as,
                line=mark.line + 1,
                column=mark.column + 1,
                source_line=self._lines[mark.line],
                hint=hint,
            )
        )

    @cached_property
    def _lines(self) -> list[str]:
        return self.text.split("\n")

    def _check_node(self, event: _Event) -> None:
        self.nodes += 1
        if event.anchor is None and event.tag is None and self.nodes <= MOST_NODES:
            return
        if self.nodes > MOST_NODES:
            self._stop(event.start_mark, f"too many values, at most {MOST_NODES:,}")
        if event.anchor is not None:
            self._refuse(event.start_mark, "anchors (`&name`) are not read", "write the values out")
        if event.tag is not None:
            self._refuse(event.start_mark, "tags (`!name`) are not read", "delete the tag")

    def _stop(self, mark: Mark, message: str) -> None:
        self._refuse(mark, message)
        raise InputError(*self.findings)

    def _scalar(self, event: _Event) -> None:
        self._check_node(event)
        text, mark, is_plain = event.value, event.start_mark, event.implicit[0]
        unfilled = UNFILLED.search(text) if "{" in text else None
        if unfilled:
            self._refuse_placeholder(mark, unfilled[0])
        if self.stack and (parent := self.stack[-1]).key is None and parent.is_mapping:
            parent.key, parent.key_mark = text, mark
            if unfilled:
                self._leave_out(parent)
            elif text in parent.branch or not (is_plain and _is_usual_key(text)):
                self._check_key(parent, event)
        elif unfilled or event.tag is not None:
            self._put(_REFUSED, mark, None)
        elif is_plain:
            self._put(self._plain(text, mark), mark, None)
        elif event.style == '"' and (illegal := ILLEGAL_CHARACTER.search(text)):
            self._refuse(mark, f"holds {character_name(illegal[0])}")
            self._put(_REFUSED, mark, None)
        else:
            self._put(text, mark, None)

    def _refuse_placeholder(self, mark: Mark, placeholder: str) -> None:
        self._refuse(mark, f"unresolved placeholder {placeholder!r}", _FILL_IN)

    def _plain(self, text: str, mark: Mark) -> object:
        try:
            return plain_value(text)
        except ScalarError as error:
            self._refuse(mark, str(error))
            return _REFUSED

    def _check_key(self, parent: _Container, event: _Event) -> None:
        key: str = event.value
        if not key.strip():
            self._refuse(event.start_mark, "a key is empty")
            self._leave_out(parent)
        elif key == "<<" and event.implicit[0]:
            self._refuse(
                event.start_mark,
                "merge keys (`<<`) are not read",
                "write the values out, or change a base file in `overrides`",
            )
            self._leave_out(parent)
        elif key in parent.branch:
            first = parent.branch[key].key.line + 1
            self._refuse(
                event.start_mark,
                f"the key {key!r} stands twice, first on line {first}",
                "keep one of them",
            )
            parent.key = _REFUSED
            if isinstance(parent.data, dict):
                parent.data[key] = _REFUSED
        elif event.implicit[0] and not _is_usual_key(key):
            self._refuse(event.start_mark, f"the key {key} is not text", f"write '{key}'")
        elif event.style == '"' and (illegal := ILLEGAL_CHARACTER.search(key)):
            self._refuse(event.start_mark, f"the key holds {character_name(illegal[0])}")
            self._leave_out(parent)

    def _leave_out(self, parent: _Container) -> None:
        """Drop the entry whose key was just read; what the mapping says is then unknown."""
        parent.key, parent.is_whole = _REFUSED, False

    def _open(self, data: dict[str, Any] | list[Any], event: _Event) -> None:
        self._check_node(event)
        mark = event.start_mark
        if len(self.stack) >= DEEPEST_NESTING:
            self._stop(mark, f"nested too deep, at most {DEEPEST_NESTING} levels")
        is_key = bool(self.stack) and self.stack[-1].awaits_key()
        placeholder = UNFILLED.match(self.text, mark.index)
        if placeholder:
            self._refuse_placeholder(mark, placeholder[0])
        elif is_key:
            self._refuse(mark, "a key must be text, not a list or a mapping")
        if (placeholder or is_key) and self.muted_depth is None:
            self.muted_depth = len(self.stack)
        whole, mapping = not placeholder, isinstance(data, dict)
        self.stack.append(_Container(data, mark, mark, is_key, whole, mapping))

    def _close(self) -> None:
        done = self.stack.pop()
        if self.muted_depth == len(self.stack):
            self.muted_depth = None
        if done.is_key:
            self._leave_out(self.stack[-1])
        elif not done.is_whole:
            self._put(_REFUSED, done.start, None)
        else:
            value = tuple(done.data) if isinstance(done.data, list) else done.data
            self._put(value, done.start, done.branch)

    def _put(self, value: object, mark: Mark, branch: dict[str | int, Entry] | None) -> None:
        """Place a finished value in the open container, or at the top."""
        if not self.stack:
            if self.top is None:
                self.top = (value, Entry(mark, mark, branch))
            return
        parent = self.stack[-1]
        if isinstance(parent.data, list):
            parent.branch[len(parent.data)] = Entry(mark, mark, branch)
            parent.data.append(value)
        elif parent.key is None:  # an alias where a key is awaited, reported already
            self._leave_out(parent)
        else:
            if isinstance(parent.key, str):
                parent.data[parent.key] = value
                parent.branch[parent.key] = Entry(parent.key_mark, mark, branch)
            parent.key = None


@lru_cache(maxsize=4096)
def _is_usual_key(word: str) -> bool:
    """Return whether it reads as text and stands for itself, as most keys do."""
    try:
        return isinstance(plain_value(word), str) and word != "<<"
    except ScalarError:
        return False


LARGEST_FILE_BYTES = 16 * 1024 * 1024


def read_document(
    path: FilePath, *, shown_as: str | None = None, text: str | None = None
) -> YamlDocument:
    """Read a file, or the `text` in its place; raises InputError with all YAML mistakes."""
    name = str(path) if shown_as is None else shown_as
    return parse_document(read_bytes(path, name) if text is None else text, name, path)


def read_bytes(path: FilePath, shown_as: str) -> bytes:
    """Read an ordinary file of at most 16 MiB; anything else is refused without opening it."""
    try:
        status = path.stat()
        _refuse_unless_ordinary(status, shown_as)
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE_BYTES + 1)
    except OSError as error:
        raise InputError(unreadable(path, error, shown_as)) from None
    except ValueError:  # a NUL in the name
        raise InputError(Finding("is not a usable file name", file=repr(shown_as))) from None
    if len(content) > LARGEST_FILE_BYTES:
        raise InputError(_too_large(len(content), shown_as))
    return content


def _refuse_unless_ordinary(status: stat_result, shown_as: str) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise InputError(Finding("is a directory, a file is needed", file=shown_as))
    if not stat.S_ISREG(status.st_mode):
        raise InputError(Finding("is not an ordinary file, so it is not opened", file=shown_as))
    if status.st_size > LARGEST_FILE_BYTES:
        raise InputError(_too_large(status.st_size, shown_as))


def _too_large(size: int, shown_as: str) -> Finding:
    limit = LARGEST_FILE_BYTES // 2**20
    return Finding(f"is too large ({size / 2**20:,.1f} MiB), at most {limit} MiB", file=shown_as)


def parse_document(
    content: bytes | str, shown_as: str, path: FilePath | None = None
) -> YamlDocument:
    """Parse the content of a file; raises InputError with every mistake found.

    If reading came to the end, the error knows the document: what is wrong in it is `Refused`.
    """
    raw = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    raw = raw.replace(b"\r\n", b"\n")
    text = _decoded(raw, shown_as)
    unseen = _illegal_characters(text, shown_as)
    if len(unseen) == MOST_FINDINGS:
        raise InputError(*unseen)
    # Without these characters it reads as it looks, and as it will once they are deleted.
    builder = Builder(ILLEGAL_CHARACTER.sub("", text) if unseen else text, shown_as)
    try:
        data, entry = builder.build()
    except InputError as error:
        raise InputError(*unseen, *error.findings) from None
    document = YamlDocument(
        shown_as=shown_as,
        sha256=hashlib.sha256(raw).hexdigest(),
        data=data,
        text=builder.text,
        branch=entry.branch or {},
        path=path,
    )
    if unseen or builder.findings:
        raise InputError(*unseen, *builder.findings, known=document)
    return document


def read_text(path: FilePath, shown_as: str) -> str:
    """Read a text file that is not YAML, with line ends as LF.

    Raises InputError if it is no text.
    """
    text = _decoded(read_bytes(path, shown_as).replace(b"\r\n", b"\n"), shown_as)
    refuse(_illegal_characters(text, shown_as))
    return text


def _decoded(raw: bytes, shown_as: str) -> str:
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")) or 3 * raw.count(b"\0") > len(raw):
        raise InputError(
            Finding(
                "is written in UTF-16, UTF-8 is needed",
                file=shown_as,
                hint="convert it: `iconv -f utf-16 -t utf-8 OLD > NEW`",
            )
        )
    try:
        return raw.decode("utf-8-sig").replace("\r", "\n")
    except UnicodeDecodeError as error:
        if b"\0" in raw or raw.startswith(b"%PDF"):
            raise InputError(Finding("is no text, but a binary file", file=shown_as)) from None
        before = raw[: error.start].decode("utf-8", "replace")
        line_start = before.rfind("\n") + 1
        raise InputError(
            Finding(
                f"byte 0x{raw[error.start]:02X} is not UTF-8, the file looks like Latin-1",
                file=shown_as,
                line=before.count("\n") + 1,
                column=len(before) - line_start + 1,
                hint="convert it: `iconv -f latin1 -t utf-8 OLD > NEW`",
            )
        ) from None


def _illegal_characters(text: str, shown_as: str) -> list[Finding]:
    findings = []
    for match in islice(ILLEGAL_CHARACTER.finditer(text), MOST_FINDINGS):
        before = text[: match.start()]
        findings.append(
            Finding(
                f"holds {character_name(match[0])}, which cannot be seen",
                file=shown_as,
                line=before.count("\n") + 1,
                column=match.start() - before.rfind("\n"),
                hint="delete the character",
            )
        )
    return findings
