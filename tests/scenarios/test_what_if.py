"""The shipped what-if files: each is small, planned with proof, and changes what it says."""

from decimal import Decimal
from pathlib import Path

import pytest

from planner.whatif.risk import read_futures
from planner.whatif.sweep import read_grid
from planner.whatif.variants import Variant, VariantPlanner, WorkerConfig

SHIPPED = Path(__file__).parents[2] / "scenarios" / "what-if"
NAMES = sorted(path.stem for path in SHIPPED.glob("*.yaml"))
MODELINE = "# yaml-language-server: $schema=../../docs/schema/scenario.schema.json"


@pytest.mark.parametrize("name", NAMES)
def test_a_what_if_is_short_and_changes_the_quarterly_scenario(inputs, name):
    lines = (SHIPPED / f"{name}.yaml").read_text(encoding="utf-8").splitlines()
    assert lines[0] == MODELINE
    assert len(lines) < 40
    assert "extends: ../quarterly.yaml" in lines
    assert inputs(f"what-if/{name}").changes
    assert str(inputs(f"what-if/{name}").scenario.description).startswith("What if ")


@pytest.mark.parametrize("name", NAMES)
def test_a_what_if_is_planned_to_a_proved_optimum(planned, name):
    plan = planned(f"what-if/{name}")
    assert plan.proof.status == "proved"
    assert plan.proof.gap <= plan.proof.asked_gap
    assert plan.changes


def test_growth_is_doubled_for_every_job_that_grows(inputs):
    base = inputs("quarterly").scenario.jobs
    doubled = inputs("what-if/growth-doubled").scenario.jobs
    grown = {name: job.growth_per_quarter for name, job in base.items() if job.growth_per_quarter}
    assert grown
    for name, job in doubled.items():
        assert (job.growth_per_quarter or 0) == 2 * grown.get(name, 0)


def test_renting_only_buys_nothing_and_costs_more(planned):
    plan = planned("what-if/rent-only")
    assert {line.kind for line in plan.acquisitions} == {"rent"}
    assert plan.proof.cost_cents > planned("quarterly").proof.cost_cents


def test_more_choice_never_costs_more(planned):
    base = planned("quarterly").proof.cost_cents
    for name in ("gaudi-serving", "mig-allowed", "next-generation"):
        assert planned(f"what-if/{name}").proof.cost_cents <= base


def test_the_shipped_sweep_asks_for_what_its_comment_says():
    grid = read_grid(SHIPPED.parent / "sweeps" / "prices.yaml")
    planner = VariantPlanner(WorkerConfig(grid.scenario))
    assert len(grid.variants(planner)) == 11

    def price(variant):
        offers = planner.inputs(variant).offers
        return next(one.unit_price_usd for one in offers if one.name == "buy-h200")

    listed = price(Variant())
    prices = {price(one) for one in grid.rows[:9]}
    assert prices == {listed * share for share in map(Decimal, ("0.85", "1", "1.15"))}


def test_the_shipped_futures_can_be_drawn():
    futures = read_futures(SHIPPED.parent / "sweeps" / "futures.yaml")
    planner = VariantPlanner(WorkerConfig(futures.scenario))
    assert len(set(futures.drawn(planner, 5))) == 5
