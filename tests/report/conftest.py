"""A small plan that has what a report must show: three pools, three quarters, three kinds of job.

What is found beside a plan (options, turns, futures) is made up in `beside.yaml`.
"""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

import planner
from planner.inputs.load import load_catalog
from planner.inputs.reading.reader import parse_document
from planner.planning.plan import Note, Plan, PriorityUse, Shortage, ShortJob
from planner.planning.store import Saved, dumps
from planner.reporting.sections.sizing import RentedCandidate, sizing_document
from planner.reporting.terminal import TerminalOptions, render
from planner.reporting.traced import RelatedResults
from planner.whatif.alternatives import Alternatives
from planner.whatif.compare import Comparison, compare_plans
from planner.whatif.risk import Risk
from planner.whatif.sensitivity import Sensitivity
from tests.stated import changed

SCENARIO = """\
format: 1
name: Claims and support, 2027
description: |
  A small
  portfolio.
horizon: {first_quarter: 2027Q1, quarters: 3, as_of: 2027-01-01}
fleet:
  east: {node_type: xe9680-h100, count: 3, site: dc-east, max_power_kw: 10.2,
         mean_power_kw: 7}
offers:
  h200-buy: {node_type: xe9680-h200, kind: buy, price_usd: 357000, site: dc-east,
             lead_time_weeks: 12, max_power_kw: 10.2, mean_power_kw: 7}
  a100-buy: {node_type: xe9680-a100, kind: buy, price_usd: 900000, site: dc-east}
  gaudi-buy: {node_type: xe9680-gaudi3, kind: buy, price_usd: 900000, site: dc-east}
  l40s-rent: {node_type: r760xa-l40s, kind: rent, price_usd_per_gpu_hour: 2.267, quote: Q-17,
              site: cloud}
policies: {headroom: 0}
finance: {energy_usd_per_kwh: 0.1, pue: 1.5, discount_rate_per_year: 8%, useful_life_years: 5,
          support_share_per_year: 10%}
jobs:
  batch-inference:
    fixed: {gpus: 16, cpus: 24, memory_gb: 256}
    gpu_types: [h100-80gb-sxm]
    count: {2027Q1: 1, 2027Q2: 0}
  claims-tune:
    team: claims
    tune: {model: llama-3.1-70b, method: lora, gpus: 8, deploy: true}
    gpu_types: [h200-141gb-sxm, a100-80gb-sxm, gaudi3-128gb]
    count: {2027Q2: 1}
  "support|assistant <b>`x`":
    serve: {parameters_b: 10, adapters: {count: 2, size_gb: 0.125}}
    gpu_types: [l40s-48gb]
    count: {2027Q1: 3, 2027Q2: 4}
"""
"""Buys one node, rents one, owns three; a job name that attacks Markdown and HTML."""
QUESTION = parse_document("format: 1\n", "scenario.yaml")


@pytest.fixture(scope="session")
def plan() -> Plan:
    """As planned, without the teams that it is charged to."""
    made: Plan = changed(planner.plan(SCENARIO)._plan, chargeback=None)
    return made


@pytest.fixture(scope="session")
def made_up() -> dict[str, Any]:
    """What stands in `beside.yaml`."""
    text = Path(__file__).with_name("beside.yaml").read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.safe_load(text)
    return found


@pytest.fixture(scope="session")
def beside(made_up) -> RelatedResults:
    """Results of every kind: a plan, one that leaves a job short, none, and one left out."""
    return RelatedResults(
        alternatives=Alternatives.model_validate_json(json.dumps(made_up["alternatives"])),
        sensitivity=Sensitivity.model_validate_json(json.dumps(made_up["sensitivity"])),
    )


@pytest.fixture(scope="session")
def files(plan, beside, compared, risk) -> dict[str, Any]:
    """All that a figure may lead to, by the name of its file; plan.json has none."""
    results = {
        "alternatives.json": beside.alternatives,
        "sensitivity.json": beside.sensitivity,
        "compare.json": compared,
        "risk.json": risk,
    }
    texts = {"": dumps(plan)} | {name: one.model_dump_json() for name, one in results.items()}
    return {name: json.loads(text) for name, text in texts.items()}


@pytest.fixture(scope="session")
def risk(made_up) -> Risk:
    """Ten futures, all proved; in four of them the last quarter lacks nodes."""
    return Risk.model_validate_json(json.dumps(made_up["risk"]))


def never(_):
    raise AssertionError("nothing is planned for a picture")


@pytest.fixture(scope="session")
def compared(plan, made_up) -> Comparison:
    """A plan beside one that lacks its last purchase and a warning, with made-up causes."""
    plan = changed(plan, warnings=(Note(text="prices are no quotes", origin="price book"),))
    *kept, _ = plan.acquisitions
    cost = plan.proof.cost_cents
    proof = changed(plan.proof, cost_cents=cost - 4_000_000)
    other = changed(plan, acquisitions=tuple(kept), warnings=(), proof=proof)
    found = compare_plans(
        Saved("last.json", plan, QUESTION, None, "old"),
        Saved("now.yaml:busy", other, QUESTION, None, "old"),
        never,
    )
    demand = {"added_cents": 9, "cost_cents": cost + 9, "status": "proved"}
    prices = {"added_cents": -4_000_009, "cost_cents": cost - 4_000_000, "status": "not proved"}
    steps = [{"causes": ["demand"], **demand}, {"causes": ["offers", "prices"], **prices}]
    told = made_up["compared"] | {"waterfall": {"steps": steps}}
    return Comparison.model_validate_json(json.dumps(found.model_dump(mode="json") | told))


@pytest.fixture(scope="session")
def short(plan):
    """A plan that drops a job of low priority and delays another."""

    def given(outcome, delay):
        return ShortJob(
            name="claims-tune" if outcome == "delayed" else "batch-inference",
            deployment=None,
            priority=50 if outcome == "delayed" else 25,
            outcome=outcome,
            delay_quarters=delay,
            asked=(1, 1, 1),
            cause="too few GPUs",
            remedies=(),
        )

    uses = tuple(
        PriorityUse(priority=rank, jobs=1, dropped=dropped, delayed=1 - dropped, proved=True)
        for rank, dropped in ((50, 0), (25, 1))
    )
    jobs = (given("delayed", 1), given("dropped", 0))
    told = Shortage(priorities=uses, jobs=jobs, bound_cents=plan.proof.cost_cents)
    return changed(plan, shortage=told)


def sizing_page(sizing, *, sums=False, width=100) -> str:
    """A sizing as the terminal shows it, where no price is known."""
    unpriced = [RentedCandidate(one, None, None) for one in sizing.candidates]
    book = load_catalog()[0].prices.header
    return render(sizing_document(sizing, unpriced, book, sums=sums), TerminalOptions(width))
