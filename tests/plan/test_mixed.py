"""Endpoints whose traffic is divided among GPU types, against every way to divide it."""

from __future__ import annotations

import pytest

import planner
from planner.inputs.scenario.job import Job

SCENARIO = """
format: 1
name: Shares
horizon: {{first_quarter: 2027Q1, quarters: 2}}
offers:
  h100: {{node_type: xe9680-h100, kind: buy, maximum: 1, quote: example, price_usd: 300000}}
  l40s: {{node_type: r760xa-l40s, kind: buy, quote: example, price_usd: {price}}}
jobs:
{jobs}
"""
JOB = """
  {name}:
    count: {count}
    gpu_types: [{gpu_types}]
    serve:
      model: llama-3.1-70b
      bits: 8
      load: {{requests_per_second: {rate}, input_tokens: 1000, output_tokens: 400}}
      latency: {{tpot_ms: 50}}
      {rest}
"""
H100, L40S = "h100-80gb-sxm", "l40s-48gb"
SHARES = 4


@pytest.fixture
def planned(tmp_path):
    def plan(price, *jobs):
        path = tmp_path / "scenario.yaml"
        text = "".join(JOB.format(**{"count": 1, "rest": "", **job}) for job in jobs)
        path.write_text(SCENARIO.format(price=price, jobs=text), encoding="utf-8")
        return planner.plan(path)

    return plan


def test_no_other_division_into_shares_is_cheaper(planned):
    """Each number of shares on one of the two GPU types, and the rest on the other, is planned."""
    price = 120_000
    endpoint = {"name": "chat", "gpu_types": f"{H100}, {L40S}", "rate": 20}
    mixed = planned(price, {**endpoint, "rest": f"mixed: {SHARES}"})
    each = {"rate": 20 / SHARES}
    every = []
    for here in range(SHARES + 1):
        parts = [
            {"name": "one", "gpu_types": H100, "count": here, **each},
            {"name": "other", "gpu_types": L40S, "count": SHARES - here, **each},
        ]
        try:
            every.append(planned(price, *(part for part in parts if part["count"])).cost_usd)
        except planner.InfeasibleError:
            continue

    assert len(every) >= 3
    assert mixed.cost_usd == pytest.approx(min(every))
    assert mixed.proved


def test_shares_on_two_gpu_types_take_what_one_of_them_cannot(planned):
    """The one H100 server that there is takes some of the traffic, and the rest fits beside it."""
    endpoint = {"name": "chat", "gpu_types": f"{H100}, {L40S}", "rate": 20}
    undivided = planned(120_000, endpoint)
    mixed = planned(120_000, {**endpoint, "rest": f"mixed: {SHARES}"})

    assert mixed.cost_usd < undivided.cost_usd
    (job,) = mixed.jobs
    assert job["gpu_types"] == f"{H100}, {L40S}"
    assert job["2027Q1"] == SHARES


def test_a_share_that_is_left_out_fails_the_check(planned, monkeypatch):
    """Where a share is forgotten in what is to be placed, the load that is stated still counts."""
    asked = Job.units
    monkeypatch.setattr(
        Job, "units", lambda job, horizon: tuple(max(0, one - 1) for one in asked(job, horizon))
    )
    endpoint = {"name": "chat", "gpu_types": f"{H100}, {L40S}", "rate": 20, "rest": "mixed: 4"}

    with pytest.raises(planner.CheckError, match="20 requests a second arrive at chat, what is"):
        planned(120_000, endpoint)
