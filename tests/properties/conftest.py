"""Small questions, planned in a few hundredths of a second each."""

from functools import cache

import pytest

from planner.inputs.load import inputs_from, load_catalog, load_rules
from planner.inputs.reading.reader import parse_document
from planner.planning.make import make_plan
from planner.planning.plan import Plan


@cache
def _planned(text: str) -> Plan:
    inputs = inputs_from(parse_document(text, "scenario.yaml"), load_catalog, load_rules)
    return make_plan(inputs, asked_gap=0.0)


@pytest.fixture(scope="session")
def planned():
    """`planned(text)`: the plan of a scenario, proved to the cent."""
    return _planned
