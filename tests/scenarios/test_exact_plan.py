"""Runs that a list schedule leaves without a place: found, or proved to need one node more."""

import random
import subprocess

import pytest

import planner

BUY = {"node_type": "xe9680-h100", "kind": "buy", "lead_time_weeks": 4}
BY_THE_HOUR = {"node_type": "xe9680-h100", "kind": "hourly", "price_usd_per_gpu_hour": 6}


def portfolio(seed, **offers):
    """Runs of 1 to 16 GPUs with windows in one quarter, on nodes of one type."""
    rng = random.Random(seed)
    jobs = {}
    for number in range(rng.randint(8, 40)):
        gpus = rng.choices((1, 2, 4, 8, 16), weights=(2, 2, 3, 5, 4))[0]
        hours = int(min(900, max(10, rng.lognormvariate(5, 0.9))))
        run = {"hours": hours}
        if rng.random() < 0.6:
            weeks = -(-int(hours / 0.9) // 168) + 1
            release = rng.randint(1, max(1, 12 - weeks))
            run |= {"release": release, "deadline": min(13, release + weeks + rng.randint(0, 4))}
        fixed = {"gpus": gpus, "cpus": 4 * gpus, "memory_gb": 50 * gpus}
        count = rng.choice((1, 1, 1, 2, 3))
        jobs[f"run-{number:02}"] = {"fixed": fixed, "run": run, "count": count}
    return {
        "format": 1,
        "name": f"Runs {seed}",
        "horizon": {"first_quarter": "2027Q1", "quarters": 1, "as_of": "2026-10-01"},
        "offers": {"buy": BUY, **offers},
        "jobs": jobs,
    }


def nodes(plan):
    return sum(line["count"] for line in plan.purchases if line["kind"] == "buy")


@pytest.mark.parametrize(("seed", "fewest"), [(1, 3), (15, 3), (20, 3)])
def test_runs_fill_the_nodes_of_the_bound_where_one_after_another_they_would_not(seed, fewest):
    plan = planner.plan(portfolio(seed))
    assert plan.proved
    assert nodes(plan) == fewest


@pytest.mark.parametrize(("seed", "fewest"), [(3, 4), (5, 5), (8, 6)])
def test_nodes_that_cannot_hold_the_runs_in_any_order_are_proved_too_few(seed, fewest):
    plan = planner.plan(portfolio(seed))
    assert plan.proved
    assert nodes(plan) == fewest


def test_a_node_more_for_runs_that_cannot_be_scheduled_is_told_as_nodes_that_come_whole():
    plan = planner.plan(portfolio(3)).to_dict()
    tags = sum(job["tag_cents"] for job in plan["jobs"])
    assert 0 < tags <= plan["proof"]["bound_cents"]


def test_what_is_proved_of_bought_nodes_does_not_bind_runs_that_are_had_by_the_hour():
    alone = planner.plan(portfolio(3))
    beside = planner.plan(portfolio(3, cloud=BY_THE_HOUR))
    assert beside.bound_usd <= beside.cost_usd < alone.cost_usd


@pytest.mark.parametrize("ended", [subprocess.TimeoutExpired("cp-sat", 1), -9])
def test_a_solver_that_is_ended_leaves_the_plan_without_a_proof(monkeypatch, ended):
    def run(*_, **__):
        if isinstance(ended, Exception):
            raise ended
        return subprocess.CompletedProcess([], ended, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    plan = planner.plan(portfolio(1))
    assert not plan.proved
    assert nodes(plan) == 4


def test_a_solver_that_fails_is_not_passed_over(monkeypatch):
    monkeypatch.setattr(
        subprocess,
        "run",
        lambda *_, **__: subprocess.CompletedProcess([], 1, "", "no module named ortools"),
    )
    with pytest.raises(RuntimeError, match="no module named ortools"):
        planner.plan(portfolio(1))
