"""A job that runs in replicas for its load: how many, of what, and why."""

from __future__ import annotations

import re

import pytest

from planner.planning.explain import explain
from planner.reporting.sections.explain import explanation_document
from planner.reporting.sections.jobs import jobs_section
from planner.reporting.terminal import TerminalOptions, render
from planner.reporting.traced import TracedPlan
from planner.sizing.candidate import DerivationStep, Quantity
from tests.report.conftest import sizing_page

JOB = "claims-tune"
"""Any job will do: its candidates are given replicas here."""


def summed(load, each):
    figures = {"requests_per_second": load, "requests_per_second_per_replica": each}
    return DerivationStep(
        rule="serving/replicas",
        title="Replicas that a load takes",
        formula="ceil(requests_per_second / requests_per_second_per_replica)",
        inputs=tuple(
            Quantity(name=name, value=value, unit="requests/s", origin="job")
            for name, value in figures.items()
        ),
        result=Quantity(name="replicas_for_load", value=3.0, unit="replicas", origin="rule"),
        sources=(),
    )


@pytest.fixture
def loaded(plan):
    """The plan with three replicas of the job, the first on the node that it held whole."""
    key = next(job.sizing for job in plan.jobs if job.name == JOB)
    sizing = plan.sizings[key]
    candidates = tuple(
        one.model_copy(update={"replicas": 3, "trace": (*one.trace, summed(6.0, 2.5))})
        for one in sizing.candidates
    )
    sizings = {**plan.sizings, key: sizing.model_copy(update={"candidates": candidates})}
    return plan.model_copy(update={"sizings": sizings})


def test_the_jobs_table_says_how_many_of_what(plan, loaded):
    text = render(jobs_section(TracedPlan(loaded), 100, full=False), TerminalOptions(160))
    assert re.search(rf"^{JOB} .* 3 × 8× h200-141gb-sxm ", text, re.M)
    assert "3 × 2× is three replicas of two GPUs" in text
    before = render(jobs_section(TracedPlan(plan), 100, full=False), TerminalOptions(160))
    assert re.search(rf"^{JOB} .*[^×] 8× h200-141gb-sxm ", before, re.M)
    assert "replicas" not in before


def test_explain_says_why_so_many_with_the_sum(loaded):
    text = render(explanation_document(explain(loaded, JOB)), TerminalOptions(200))
    assert "Each unit runs on 3 replicas of 8 × h200-141gb-sxm (1 unit)." in text
    assert "One replica: 8 GPUs" in text
    assert "The load takes 3 replicas = ceil(6 / 2.5) (serving/replicas)." in " ".join(text.split())
    assert re.search(r"^h200-141gb-sxm +chosen +3 × 8 ", text, re.M)
    assert re.search(r"^2027Q2–Q3 +xe9680-h200/dc-east/01 +1/1 +0, 1,", text, re.M)


def test_a_sizing_shows_copies_of_the_gpu_count(plan, loaded):
    key = next(job.sizing for job in plan.jobs if job.name == JOB)
    text = sizing_page(loaded.sizings[key], width=200)
    assert re.search(r"^h200-141gb-sxm +3 × 8 ", text, re.M)
    assert "3 × 2 GPUs are three replicas of two, as many as the load takes" in text
    before = sizing_page(plan.sizings[key], width=200)
    assert re.search(r"^h200-141gb-sxm +8 ", before, re.M)
    assert "replicas" not in before
