"""The GPUs of a server, from `nvidia-smi -q -x`."""

from __future__ import annotations

from collections import Counter
from xml.etree import ElementTree
from xml.parsers import expat

from planner.errors import Finding, InputError
from planner.exchange.inventory import Server

_ROOT = "nvidia_smi_log"
_ONE_FILE = "write one file for each server: `nvidia-smi -q -x > SERVER.xml`"
_NAME, _BEGINNING = b"NVIDIA-SMI", 400
_STARTS = (b"<", b"\xff\xfe<", b"\xfe\xff\0<")


def is_report(content: bytes) -> bool:
    """Whether this is XML, as it should be, or what nvidia-smi prints else."""
    xml = content.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(_STARTS)
    return xml or _NAME in content[:_BEGINNING]


def server_of(content: bytes, name: str, shown_as: str) -> tuple[Server, frozenset[str]]:
    """A server and the UUIDs of its GPUs; raises InputError for what is no such report.

    nvidia-smi names the file of its document type, which is never opened; one that declares
    entities itself is refused.
    """
    if b"!ENTITY" in content.replace(b"\0", b""):
        told = "declares a document type of its own, which is not read"
        raise InputError(Finding(told, file=shown_as, hint=_ONE_FILE))
    try:
        root = ElementTree.fromstring(content)
    except ElementTree.ParseError as error:
        told = f"is no XML: {expat.errors.messages[error.code]}"
        line, _ = error.position
        raise InputError(Finding(told, file=shown_as, line=line, hint=_ONE_FILE)) from None
    if root.tag != _ROOT:
        told = f"is XML of another kind: <{root.tag[:40]}>"
        raise InputError(Finding(told, file=shown_as, hint=_ONE_FILE))
    products = [(one.findtext("product_name") or "").strip() for one in root.iterfind("gpu")]
    if not products:
        raise InputError(Finding("has no GPU", file=shown_as, hint=_ONE_FILE))
    uuids = ((one.findtext("uuid") or "").strip() for one in root.iterfind("gpu"))
    return Server(name, tuple(sorted(Counter(products).items()))), frozenset(filter(None, uuids))
