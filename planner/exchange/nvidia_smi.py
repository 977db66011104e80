"""The GPUs of a server, from `nvidia-smi -q -x`."""

from __future__ import annotations

from collections import Counter
from xml.parsers import expat

from planner.errors import Finding, InputError
from planner.exchange.inventory import Server

_ROOT = "nvidia_smi_log"
_PRODUCT, _UUID = (_ROOT, "gpu", "product_name"), (_ROOT, "gpu", "uuid")
_ONE_FILE = "write one file for each server: `nvidia-smi -q -x > SERVER.xml`"
_NAME, _BEGINNING = b"NVIDIA-SMI", 400
_STARTS = (b"<", b"\xff\xfe<", b"\xfe\xff\0<")


def is_report(content: bytes) -> bool:
    """Whether this is XML, as it should be, or what nvidia-smi prints else."""
    xml = content.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(_STARTS)
    return xml or _NAME in content[:_BEGINNING]


class _RefusedError(Exception):
    """What a report of nvidia-smi never holds."""


class _Reader:
    """Takes the text of a few elements; a document type that declares anything is refused.

    nvidia-smi names the file of its document type, which is never opened.
    """

    def __init__(self) -> None:
        self.products: list[str] = []
        self.uuids: list[str] = []
        self._path: list[str] = []
        self._text = ""
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters
        self.parser.StartDoctypeDeclHandler = self._document_type
        self.parser.EntityDeclHandler = self.parser.SkippedEntityHandler = self._entity

    def _document_type(self, *declared: object) -> None:
        *_, has_declarations = declared
        if has_declarations:
            raise _RefusedError("declares a document type of its own, which is not read")

    def _entity(self, *declared: object) -> None:  # noqa: ARG002
        raise _RefusedError("holds entities, which are not read")

    def _start(self, name: str, attributes: object) -> None:  # noqa: ARG002
        if not self._path and name != _ROOT:
            raise _RefusedError(f"is XML of another kind: <{name[:40]}>")
        self._path.append(name)
        self._text = ""

    def _characters(self, text: str) -> None:
        if tuple(self._path) in (_PRODUCT, _UUID):
            self._text += text

    def _end(self, _: str) -> None:
        path = tuple(self._path)
        if path == _PRODUCT:
            self.products.append(self._text.strip())
        elif path == _UUID:
            self.uuids.append(self._text.strip())
        self._path.pop()


def server_of(content: bytes, name: str, shown_as: str) -> tuple[Server, frozenset[str]]:
    """A server and the UUIDs of its GPUs; raises InputError for what is no such report."""
    reader = _Reader()
    try:
        reader.parser.Parse(content, True)
    except _RefusedError as error:
        found = Finding(str(error), file=shown_as, hint=_ONE_FILE)
        raise InputError(found) from None
    except expat.ExpatError as error:
        told = expat.errors.messages[error.code]
        found = Finding(f"is no XML: {told}", file=shown_as, line=error.lineno, hint=_ONE_FILE)
        raise InputError(found) from None
    if not reader.products:
        raise InputError(Finding("has no GPU", file=shown_as, hint=_ONE_FILE))
    gpus = tuple(sorted(Counter(reader.products).items()))
    return Server(name, gpus), frozenset(filter(None, reader.uuids))
