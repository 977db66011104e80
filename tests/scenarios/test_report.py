"""The justification of the shipped quarterly scenario: light enough to mail, and traced."""

import json

import pytest

from planner.exchange.kueue import kueue_files
from planner.plan.store import dumps
from planner.report.html.draw import draw
from planner.report.justification.document import justification_document
from tests.report.pages import Page
from tests.report.sums import again

MAILABLE = 1_000_000


@pytest.fixture(scope="module")
def text(planned):
    return draw(justification_document(planned("quarterly")), "Justification")


def test_the_justification_of_a_year_is_below_a_megabyte(text):
    assert len(text.encode()) < MAILABLE


def test_every_figure_of_it_comes_out_again_from_plan_json(planned, text):
    stored = json.loads(dumps(planned("quarterly")))
    page = Page(text)
    assert list(page.loose(stored)) == []
    assert list(Page("<td>12,345,678</td>").loose(stored)) == [("12,345,678", "12,345,678")]
    figures = page.figures
    assert len(figures) > 600
    for figure in figures:
        value = again(stored, figure.sum)
        if isinstance(value, str):
            assert figure.text == value
        else:
            assert float(figure.value) == pytest.approx(float(value), rel=1e-12), figure


def test_the_teams_of_it_get_their_queues(planned):
    text = kueue_files(planned("quarterly"), "2027Q1")["kueue.yaml"]
    for team in ("customer care", "data platform"):
        assert f"# The team '{team}' is {team.replace(' ', '-')} here.\n" in text
    assert "  name: customer-care\n" in text
