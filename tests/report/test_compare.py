"""A comparison as people read it."""

import re

import pytest

from planner.report import markdown
from planner.report.compare import comparison_document
from planner.report.terminal import Look, draw
from planner.whatif.actuals import Outcome
from planner.whatif.compare import compare
from planner.whatif.comparison import Amount, InputChange, JobMove
from planner.whatif.sides import Side
from planner.whatif.waterfall import Step, Waterfall


def never(_):
    raise AssertionError("nothing is planned for a picture")


@pytest.fixture
def compared(plan):
    """A plan beside one that lacks its last purchase and a warning, with made-up causes."""
    *kept, _ = plan.acquisitions
    cost = plan.proof.cost_cents
    proof = plan.proof.model_copy(update={"cost_cents": cost - 4_000_000})
    changes = {"acquisitions": tuple(kept), "warnings": plan.warnings[1:], "proof": proof}
    other = plan.model_copy(update=changes)
    found = compare(
        Side("last.json", plan, None, None, "old"),
        Side("now.yaml:busy", other, None, None, "old"),
        never,
    )
    steps = (
        Step(causes=("demand",), added_cents=9, cost_cents=cost + 9, status="proved"),
        Step(
            causes=("offers", "prices"),
            added_cents=-4_000_009,
            cost_cents=cost - 4_000_000,
            status="not proved",
        ),
    )
    quarter = plan.quarters[1]
    return found.model_copy(
        update={
            "waterfall": Waterfall(steps=steps),
            "unread": (),
            "inputs": (
                InputChange(cause="demand", path="jobs.chat.count", before="2", after="3"),
                InputChange(cause="offers", path="offers.old", before="{kind: buy}", after=None),
                InputChange(cause="prices", path="finance.pue", before=None, after="1.5"),
            ),
            "moves": (
                JobMove(job="chat", quarters=plan.quarters, before=None, after="2 on a @ b"),
            ),
            "gpus": (
                Amount(name="h100-80gb-sxm", quarter=quarter, unit="GPUs", before=8, after=16),
            ),
            "utilization": (
                Amount(
                    name="GPU-hours in use", quarter=quarter, unit="share", before=0.9, after=0.456
                ),
            ),
            "power": (Amount(name="east", quarter=quarter, unit="W", before=61200, after=51000),),
            "demand": (Outcome(quarter=quarter, name="chat", planned=2, actual=None),),
            "deliveries": (Outcome(quarter=quarter, name="xe9680-h200", planned=3, actual=1),),
        }
    )


@pytest.mark.parametrize("width", [80, 120])
def test_the_comparison_is_drawn_as_before(compared, golden, width):
    golden(f"compare-{width}.txt", draw(comparison_document(compared, 40), Look(width)))


def test_the_comparison_in_markdown_is_drawn_as_before(compared, golden):
    golden("compare.md", markdown.draw(comparison_document(compared, 1000)))


def test_inputs_come_first(compared):
    text = markdown.draw(comparison_document(compared, 40))
    assert re.findall(r"^## (.*)$", text, re.MULTILINE)[0] == "Inputs that differ"


def test_what_is_cut_is_counted(compared):
    inputs = compared.inputs * 5
    text = markdown.draw(comparison_document(compared.model_copy(update={"inputs": inputs}), 4))
    assert "11 more rows, all of them in compare.json" in text


@pytest.mark.parametrize("width", [20, 40, 60, 200])
def test_no_line_of_a_comparison_is_wider_than_the_page(compared, width):
    text = draw(comparison_document(compared, 40), Look(width, unicode=False))
    assert max(map(len, text.splitlines())) <= width
    assert text.isascii()


def test_why_causes_are_not_told_apart_is_said(plan):
    side = Side("last.json", plan, None, None, "last.json is old")
    other = Side("now.json", plan.model_copy(update={"warnings": ()}), None, None)
    text = markdown.draw(comparison_document(compare(side, other, never), 40))
    assert "Not told apart by cause: last.json is old." in text
    assert "does not record its scenario, so its inputs are not compared" in text
