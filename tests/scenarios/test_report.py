"""The justification of shipped scenarios: light enough to mail, and traced."""

import json

import pytest

from planner.planning.store import dumps
from planner.reporting.documents import justification_document
from planner.reporting.html import render
from tests.report.pages import Page, justification, plan_page

MAILABLE = 1_000_000


@pytest.fixture(scope="module", params=["quarterly", "data-centre"])
def written(request, planned):
    """A plan and its justification: of teams and growth; of halls, racks and budgets."""
    plan = planned(request.param)
    return plan, render(justification_document(plan), "Justification")


def test_the_justification_of_a_year_is_below_a_megabyte(written):
    _, text = written
    assert len(text.encode()) < MAILABLE


def test_every_figure_of_it_comes_out_again_from_plan_json(written):
    plan, text = written
    stored = json.loads(dumps(plan))
    page = Page(text)
    assert list(page.loose(stored)) == []
    assert len(page.come_out_again({"": stored})) > 500


def test_the_facility_of_the_data_centre_stands_beside_its_limits(planned):
    """Two halls: what their nodes take of power, height and racks, and what is left."""
    plan = planned("data-centre")
    page = plan_page(plan)
    drawn = justification(plan)
    for site in plan.sites:
        for place, taken in enumerate(site.taken["power_w"]):
            assert f"| {taken / 1000:g} | {site.allowed['power_w'][place] / 1000:g} |" in page
            assert f"| {site.racks_used[place]} | {site.racks} |" in page
            assert taken <= site.allowed["power_w"][place]
        limit_kw = site.power_per_rack_w / 1000
        assert f"{site.racks} racks of {site.units_per_rack} U and {limit_kw:g} kW" in page
        assert f"| {site.site} 1 | xe9680-a100/{site.site}/01" in drawn
    assert "| capital | 2027Q" in drawn
