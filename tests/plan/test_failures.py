"""How likely spare nodes suffice: told where the scenario says how long a repair takes."""

import json
import random
import re

import pytest

import planner

PER_GPU_YEAR = 0.173


def warnings(nodes, **policies):
    """What is told of the pool, of so many nodes in use."""
    plan = planner.plan(
        {
            "format": 1,
            "name": "Failures",
            "horizon": {"first_quarter": "2027Q1", "quarters": 1},
            "policies": policies,
            "fleet": {"own": {"node_type": "xe9680-h100", "count": nodes + 20}},
            "jobs": {"work": {"fixed": {"gpus": 8}, "count": nodes}},
        }
    )
    notes = json.loads(plan.to_json())["warnings"]
    return [one["text"] for one in notes if one["origin"] == "policies.repair_days"]


def test_nothing_is_told_where_no_repair_time_is_stated():
    assert warnings(4) == []


def test_the_worked_example_of_forty_nodes():
    """40 × 8 GPUs × 0.173 a year × 5 of 365.25 days: 0.76 out; e^-0.758 is 46.8 %."""
    (told,) = warnings(40, repair_days=5)
    assert "of 40 nodes at work, 0.76 are out for repair on the average" in told
    assert "with no spare, all are replaced in 46.8 % of the time; 3 spare nodes would" in told
    (kept,) = warnings(40, repair_days=5, spare_nodes=3)
    assert "with 3 spare, all are replaced in 99.2 % of the time (reliability/" in kept


@pytest.mark.parametrize(("nodes", "days", "spares"), [(10, 3, 1), (60, 7, 2)])
def test_it_is_what_a_simulation_of_failures_and_repairs_finds(nodes, days, spares):
    """Failures at random, each repaired in its own, random time: M/G/infinity."""
    (told,) = warnings(nodes, repair_days=days, spare_nodes=spares)
    share = float(re.findall(r"replaced in ([\d.]+) %", told)[0]) / 100
    rng, rate = random.Random(7), nodes * 8 * PER_GPU_YEAR / 365.25
    moments, good = 10_000, 0
    span = 20 * days
    for _ in range(moments):
        # Failures of the days before now that are not repaired yet.
        at, out = rng.expovariate(rate), 0
        while at < span:
            out += rng.expovariate(1 / days) > at
            at += rng.expovariate(rate)
        good += out <= spares
    assert share == pytest.approx(good / moments, abs=0.015)
