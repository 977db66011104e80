"""Small questions, planned in a few hundredths of a second each."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest

from planner.inputs.load import inputs_from, load_catalog, load_rules
from planner.inputs.reading.reader import parse_document
from planner.planning.make import make_plan

if TYPE_CHECKING:
    from planner.planning.plan import Plan

_facts = cache(load_catalog)
_book = cache(load_rules)


@cache
def _planned(text: str) -> Plan:
    inputs = inputs_from(parse_document(text, "scenario.yaml"), _facts, _book)
    return make_plan(inputs, asked_gap=0.0)


@pytest.fixture(scope="session")
def planned():
    """`planned(text)`: the plan of a scenario, proved to the cent.

    The shipped catalog and rules are read once for all.
    """
    return _planned
