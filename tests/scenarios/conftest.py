"""The shipped scenarios, read and planned once for all tests of this folder."""

from functools import cache
from pathlib import Path

import pytest

from planner.inputs.settled import Inputs
from planner.planning.make import make_plan
from planner.planning.plan import Plan
from planner.sizing import SizedJob, Sizer
from planner.sizing.sizers import size_portfolio
from tests.stated import load_inputs

ROOT = Path(__file__).parents[2]


@cache
def _inputs(name: str) -> Inputs:
    return load_inputs(ROOT / "scenarios" / f"{name}.yaml")


@cache
def _sized(name: str) -> dict[str, SizedJob]:
    given = _inputs(name)
    sizer = Sizer(given.catalog, given.rules, given.settings, given.scenario.policies)
    return {job.name: job for job in size_portfolio(sizer, given.scenario)}


@cache
def _planned(name: str) -> Plan:
    shipped = not name.startswith("what-if/")
    return make_plan(_inputs(name), crosscheck=shipped, price_choices=shipped)


@pytest.fixture(scope="session")
def inputs():
    """`inputs("quarterly")`: a shipped scenario with all that it stands on."""
    return _inputs


@pytest.fixture(scope="session")
def sized():
    """`sized("quarterly")["support-assistant"]`: its jobs and their deployments, sized."""
    return _sized


@pytest.fixture(scope="session")
def planned():
    """`planned("quarterly")`: its plan, proved and checked, its bound confirmed."""
    return _planned


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of README.md."""
    return ROOT
