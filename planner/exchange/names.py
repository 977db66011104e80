"""Names as a cluster takes them."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

LABELS = "gpu-fit-planner"
"""Prefix of the labels that a plan goes by, and the name of what all its queues share."""
NODE_TYPE_LABEL, SITE_LABEL = f"{LABELS}/node-type", f"{LABELS}/site"
RACK_LABEL = f"{LABELS}/rack"
NAME_ANNOTATION = f"{LABELS}/name"
"""What the scenario calls something whose name no cluster takes."""

_LONGEST = 63
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
"""A label of RFC 1123, which every kind of object takes as its name."""
_MARK = 8
"""Digits of the digest that tells apart what would be called alike."""


def cluster_names(names: Iterable[str]) -> dict[str, str]:
    """A name of at most 63 lower-case letters, digits and hyphens for each, no two alike.

    What is such a name stays; others lose their accents and become one by hyphens, and where that
    is not enough, by a digest of the whole name at their end. The same names give the same names.
    """
    wanted = {name: _slug(name) for name in names}
    taken = Counter(wanted.values())
    return {
        name: slug
        if slug == name or (slug and taken[slug] == 1 and len(slug) <= _LONGEST)
        else _marked(name, slug)
        for name, slug in wanted.items()
    }


def _slug(name: str) -> str:
    if len(name) <= _LONGEST and _NAME.fullmatch(name):
        return name
    plain = (one for one in unicodedata.normalize("NFKD", name) if not unicodedata.combining(one))
    return re.sub(r"[^a-z0-9]+", "-", "".join(plain).casefold()).strip("-")


def _marked(name: str, slug: str) -> str:
    mark = hashlib.sha256(name.encode()).hexdigest()[:_MARK]
    return f"{slug[: _LONGEST - _MARK - 1].strip('-')}-{mark}".lstrip("-")


def as_stated(name: str, names: Mapping[str, str]) -> dict[str, str]:
    """Annotations that tell the name in the scenario, where a cluster has another."""
    return {} if names.get(name, name) == name else {NAME_ANNOTATION: name}


def renamed(what: str, names: Mapping[str, str]) -> list[str]:
    """A line for each of these that a cluster calls otherwise."""
    return [f"The {what} {one!r} is {other} here." for one, other in names.items() if one != other]
