"""Names as a cluster takes them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from planner.errors import Finding, InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["LABELS", "NODE_TYPE_LABEL", "RACK_LABEL", "SITE_LABEL", "require_cluster_names"]

LABELS = "gpu-fit-planner"
"""Prefix of the labels that a plan goes by, and the name of what all its queues share."""
NODE_TYPE_LABEL, SITE_LABEL = f"{LABELS}/node-type", f"{LABELS}/site"
RACK_LABEL = f"{LABELS}/rack"

_LONGEST = 63
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
"""A label of RFC 1123, which every kind of object takes as its name."""


def require_cluster_names(names: Iterable[tuple[str, str]]) -> None:
    """Raise InputError for names, each with what it names, that no cluster takes, all at once."""
    findings = tuple(_faults(names))
    if findings:
        raise InputError(*findings)


def _faults(names: Iterable[tuple[str, str]]) -> Iterator[Finding]:
    for what, name in names:
        if len(name) <= _LONGEST and _NAME.fullmatch(name):
            continue
        small = re.sub(r"[^a-z0-9]+", "-", name.lower())[:_LONGEST].strip("-")
        yield Finding(
            f"{what} {name!r} is no name in a cluster: at most {_LONGEST} lower-case letters, "
            "digits and hyphens, a letter or digit at both ends",
            hint=f"call it {small!r} in the scenario" if small else None,
        )
