"""How likely spare nodes suffice: told where the scenario says how long a repair takes."""

import json
import random
import re

import pytest

import planner
from tests.stated import question

PER_GPU_YEAR = 0.173


def warnings(nodes, **policies):
    """What is told of the pool, of so many nodes in use."""
    plan = planner.plan(
        question()
        | {
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
    """8 GPUs × 0.173 a year × 5 of 365.25 days: 0.01895 times; 1 / 1.01895^40 is 47.2 %."""
    (told,) = warnings(40, repair_days=5)
    assert "of 40 nodes at work, 0.74 are out for repair on the average" in told
    assert "with no spare, all are replaced in 47.2 % of the time; 3 spare nodes would" in told
    (kept,) = warnings(40, repair_days=5, spare_nodes=3)
    assert "with 3 spare, all are replaced in 99.2 % of the time (reliability/" in kept


@pytest.mark.parametrize(("nodes", "days", "spares"), [(10, 3, 1), (60, 7, 2), (2, 300, 1)])
def test_it_is_what_a_simulation_of_failures_and_repairs_finds(nodes, days, spares):
    """Nodes at work fail at random, each is repaired in its own, random time."""
    (told,) = warnings(nodes, repair_days=days, spare_nodes=spares)
    share = float(re.findall(r"replaced in ([\d.]+) %", told)[0]) / 100
    mean = float(re.findall(r"([\d.]+) are out", told)[0])
    rng, each = random.Random(7), 8 * PER_GPU_YEAR / 365.25
    out, passed, replaced, out_days = 0, 0.0, 0.0, 0.0
    for _ in range(60_000):
        fails, repaired = each * min(nodes, nodes + spares - out), out / days
        lasts = rng.expovariate(fails + repaired)
        passed += lasts
        replaced += lasts * (out <= spares)
        out_days += lasts * out
        out += 1 if rng.random() < fails / (fails + repaired) else -1
    assert share == pytest.approx(replaced / passed, abs=0.015)
    assert mean == pytest.approx(out_days / passed, abs=0.01 + 0.03 * mean)


def test_no_more_nodes_are_out_than_there_are():
    (told,) = warnings(1, repair_days=365)
    assert "of 1 node at work, 0.58 are out for repair on the average" in told
