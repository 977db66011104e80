"""GPUs shared in time and in parts, from the scenario file to the checked plan."""

import re
from typing import Any

import pytest

from planner.planning.make import make_plan
from planner.planning.plan import Plan
from tests.stated import asked, question

LONG = {
    "model": "llama-3.1-8b",
    "method": "lora",
    "batch": 64,
    "gradient_accumulation": 1,
    "sequence": 4096,
    "dataset_tokens": 30_000_000_000,
}


def planned(jobs: dict[str, Any], **policies: Any) -> Plan:
    """Jobs of a quarter on H100 to buy, with policies such as `mig="same-node"`."""
    scenario = question() | {
        "offers": {"more": {"node_type": "xe9680-h100", "kind": "buy"}},
        "policies": policies,
        "jobs": jobs,
    }
    found = make_plan(asked(scenario))
    assert found.proof.status == "proved"
    return found


def nodes(plan: Plan) -> int:
    return sum(line.count for line in plan.acquisitions)


def said_of_length(plan: Plan) -> str:
    """What a plan says of runs of unknown length; empty where it says nothing."""
    told = [note.text for note in plan.warnings if "the length of a run" in note.text]
    assert len(told) <= 1
    return "".join(told)


OPEN = {key: value for key, value in LONG.items() if key != "dataset_tokens"}
"""How long it takes is not known."""


def test_every_job_that_holds_gpus_all_quarter_for_want_of_a_length_is_named():
    jobs = {
        "b-open": {"tune": OPEN},
        "a-open": {"tune": dict(OPEN)},
        "stated": {"tune": dict(OPEN), "run": {"hours": 300}},
        "sized": {"tune": LONG},
        "endpoint": {"fixed": {"gpus": 1}},
    }
    assert "held all quarter by a-open, b-open: stating" in said_of_length(planned(jobs))
    del jobs["a-open"], jobs["b-open"]
    assert not said_of_length(planned(jobs))


@pytest.mark.parametrize(("count", "beside"), [(1, 0), (1, 5), (2, 7), (5, 3), (9, 9)])
def test_stating_the_length_of_runs_saves_no_more_than_the_plan_says(count, beside):
    others = {"endpoint": {"fixed": {"gpus": 1}, "count": beside}} if beside else {}
    held = planned({"open": {"tune": OPEN, "count": count}, **others})
    said = said_of_length(held)
    most = re.search(r"could save up to \$([0-9,]+\.[0-9]{2}) ", said)
    assert most, said
    run = {"tune": OPEN, "count": count, "run": {"hours": 150}}
    saved = held.proof.cost_cents - planned({"open": run, **others}).proof.cost_cents
    assert 0 <= saved <= round(float(most[1].replace(",", "")) * 100)
    assert saved or count == 1


def test_windows_that_do_not_meet_share_a_node_and_windows_that_do_take_two():
    def job(**run: int) -> dict[str, Any]:
        return {"fixed": {"gpus": 8}, "run": {"hours": 700, **run}}

    apart = {"early": job(deadline=6), "late": job(release=7)}
    assert nodes(planned(apart)) == 1
    together = {"early": job(deadline=6), "late": job(release=2, deadline=9)}
    assert nodes(planned(together)) == 2


def test_seven_small_models_stand_on_one_gpu_in_partitions():
    jobs = {"small": {"serve": {"parameters_b": 3}, "count": 56}}
    assert nodes(planned(jobs, mig="same-node")) == 1
    assert nodes(planned(jobs)) == 7


def test_as_many_share_a_gpu_as_its_memory_holds():
    """Ten times 7.47 GB are within 80 GB; CPUs of the node, two for each, last for 56 of them."""
    jobs = {"small": {"serve": {"parameters_b": 3}, "count": 28}}
    assert nodes(planned(jobs, shared_gpus=True)) == 1
    assert nodes(planned(jobs)) == 4
