"""What drivers and clusters call the GPU types of the catalog."""

from __future__ import annotations

import re
from functools import cache

from planner.inputs.base import Frozen
from planner.inputs.reading.diagnostics import validate
from planner.inputs.reading.locate import PRODUCT_NAMES, shipped
from planner.inputs.reading.reader import read_document

__all__ = ["gpu_types_by_name", "plain_name"]

_MARKS = re.compile(r"[^a-z0-9.]+")
_MAKERS = re.compile(r"^(nvidia|amd|tesla)-")


class _ProductNames(Frozen):
    gpus: dict[str, tuple[str, ...]]
    """By GPU type."""


def plain_name(product: str) -> str:
    """A product's name without its maker, in small letters with dashes between its words."""
    return _MAKERS.sub("", _MARKS.sub("-", product.casefold()).strip("-"))


@cache
def gpu_types_by_name() -> dict[str, str]:
    """GPU types by the plain names of their products."""
    name = f"catalog/{PRODUCT_NAMES}"
    read = read_document(shipped("catalog") / PRODUCT_NAMES, shown_as=name)
    return {
        plain_name(product): gpu_type
        for gpu_type, products in validate(read, _ProductNames).gpus.items()
        for product in products
    }
