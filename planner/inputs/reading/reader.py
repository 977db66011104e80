"""Reads YAML into plain data with places, and refuses all that reads differently than it looks.

Duplicate keys, anchors, aliases, merge keys, tags, several documents, invisible characters,
placeholders, endless numbers and bottomless nesting are mistakes, each with its line.
"""

from __future__ import annotations

import hashlib
import stat
from itertools import islice
from typing import TYPE_CHECKING

from planner.errors import Finding, InputError
from planner.inputs.reading.builder import MOST_FINDINGS, Builder
from planner.inputs.reading.document import Document
from planner.inputs.text.scalars import ILLEGAL_CHARACTER, character_name

if TYPE_CHECKING:
    from os import stat_result
    from pathlib import Path as FilePath

__all__ = ["parse_document", "read_bytes", "read_document", "read_text"]

LARGEST_FILE_BYTES = 16 * 1024 * 1024


def read_document(
    path: FilePath, *, shown_as: str | None = None, text: str | None = None
) -> Document:
    """Read a file, or the `text` in its place; raises InputError for all that is wrong as YAML."""
    name = str(path) if shown_as is None else shown_as
    return parse_document(read_bytes(path, name) if text is None else text, name, path)


def read_bytes(path: FilePath, shown_as: str) -> bytes:
    """Read an ordinary file of at most 16 MiB; anything else is refused without opening it."""
    try:
        status = path.stat()
        _refuse_unless_ordinary(status, shown_as)
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE_BYTES + 1)
    except FileNotFoundError:
        raise InputError(_not_found(path, shown_as)) from None
    except OSError as error:
        reason = error.strerror or "the system gives no reason"
        raise InputError(Finding(f"cannot be read: {reason}", file=shown_as)) from None
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
    return Finding(f"is too large ({size / 2**20:,.0f} MiB), at most {limit} MiB", file=shown_as)


def _not_found(path: FilePath, shown_as: str) -> Finding:
    from planner.inputs.text.words import did_you_mean  # noqa: PLC0415 - only a mistake needs it

    try:
        beside = sorted(entry.name for entry in path.parent.iterdir())
    except OSError:
        beside = []
    return Finding("no such file", file=shown_as, hint=did_you_mean(path.name, beside))


def parse_document(content: bytes | str, shown_as: str, path: FilePath | None = None) -> Document:
    """Parse the content of a file; raises InputError with every mistake found.

    The error knows the document where reading came to its end: what is wrong in it is `Refused`.
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
    document = Document(
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
    """Read a file that is no YAML, its lines ended by LF; raises InputError where it is no text."""
    text = _decoded(read_bytes(path, shown_as).replace(b"\r\n", b"\n"), shown_as)
    if unseen := _illegal_characters(text, shown_as):
        raise InputError(*unseen)
    return text


def _decoded(raw: bytes, shown_as: str) -> str:
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
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
