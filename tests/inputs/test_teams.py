"""Teams of a scenario: how quotas may be written, and which names and quarters are refused."""

import pytest
from pydantic import ValidationError

from planner.errors import InputError
from planner.inputs.scenario.horizon import Horizon
from planner.inputs.scenario.quarter import Quarter
from planner.inputs.scenario.scenario import Team
from tests.stated import load_inputs

YEAR = Horizon(first_quarter=Quarter(2027, 1), quarters=4)


@pytest.mark.parametrize(
    ("written", "quotas"),
    [
        (None, []),
        (16, [(None, (16, 16, 16, 16))]),
        (16.0, [(None, (16, 16, 16, 16))]),
        ({"2027Q1": 8, "2027Q3": 16}, [(None, (8, 8, 16, 16))]),
        ({"2026Q1": 8, "2027Q4": 0}, [(None, (8, 8, 8, 0))]),
        ({"h100-80gb-sxm": 8}, [("h100-80gb-sxm", (8, 8, 8, 8))]),
        (
            {"l40s-48gb": {"2027Q1": 1, "2027Q2": 2}, "total": 9, "a100": 4},
            [(None, (9, 9, 9, 9)), ("a100", (4, 4, 4, 4)), ("l40s-48gb", (1, 2, 2, 2))],
        ),
    ],
)
def test_a_quota_is_one_figure_or_by_quarter_or_by_gpu_type(written, quotas):
    assert list(Team(quota_gpus=written).quotas(YEAR)) == quotas


@pytest.mark.parametrize(
    "written",
    [-1, 1.5, True, "8", {}, {"2027Q1": 8, "h100": 8}, {"2027-Q1": 8}, {"h100": {}}, {"h100": -1}],
)
def test_other_spellings_are_refused(written):
    with pytest.raises(ValidationError):
        Team(quota_gpus=written)


SCENARIO = """
format: 1
name: teams
horizon: {first_quarter: 2027Q1, quarters: 2}
fleet:
  first: {node_type: xe9680-h100, count: 1}
"""


@pytest.fixture
def refused(tmp_path):
    """What is said of a scenario with these teams and this team of its one job."""

    def told(teams, team="red"):
        path = tmp_path / "teams.yaml"
        jobs = f"jobs:\n  chat: {{fixed: {{gpus: 1}}, team: {team}}}\n"
        path.write_text(f"{SCENARIO}{teams}\n{jobs}", encoding="utf-8")
        try:
            load_inputs(path)
        except InputError as error:
            return [(finding.path, finding.message, finding.hint) for finding in error.findings]
        return []

    return told


def test_without_teams_any_name_will_do(refused):
    assert refused("") == []


def test_with_teams_a_job_names_one_of_them(refused):
    assert refused("teams: {red: {}, blue: {note: ours}}") == []
    assert refused("teams: {customer-care: {}}", team="custmer-care") == [
        ("jobs.chat.team", "unknown team 'custmer-care'", "did you mean 'customer-care'?")
    ]
    assert refused("teams: {blue: {}, green: {}}", team="x") == [
        ("jobs.chat.team", "unknown team 'x'", "known: blue, green")
    ]


def test_a_quota_names_gpu_types_of_the_catalog(refused):
    ((path, message, hint),) = refused("teams: {red: {quota_gpus: {h100-80gb-smx: 4}}}")
    assert path == "teams.red.quota_gpus.h100-80gb-smx"
    assert "unknown GPU type" in message
    assert "h100-80gb-sxm" in hint


@pytest.mark.parametrize("before", ["", "h100-80gb-sxm: {"])
def test_a_quota_by_quarter_covers_the_horizon_and_does_not_lie_after_it(refused, before):
    after = "}" if before else ""
    below = ".h100-80gb-sxm" if before else ""
    path = f"teams.red.quota_gpus{below}"
    stated = f"teams: {{red: {{quota_gpus: {{{before}2027Q2: 4, 2027Q3: 8{after}}}}}}}"
    assert refused(stated) == [
        (
            path,
            "says nothing of 2027Q1: a figure holds from its quarter on",
            "state one for 2027Q1",
        ),
        (f"{path}.2027Q3", "2027Q3 lies after the horizon, which ends with 2027Q2", "leave it out"),
    ]


def test_a_mixture_of_quarters_and_gpu_types_is_told_as_such(refused):
    found = refused("teams: {red: {quota_gpus: {2027Q1: 4, h100-80gb-sxm: 8}}}")
    assert any("'h100-80gb-sxm' is not a calendar quarter" in message for _, message, _ in found)
