"""A quota counts a part of a GPU by its share of the memory, or as a whole GPU."""

from typing import Any

import pytest

from planner.errors import InfeasibleError
from planner.inputs.settled import Inputs
from planner.planning.make import make_plan
from planner.planning.plan import QuotaUse
from tests.stated import asked, question

CHAT = {"team": "care", "serve": {"model": "qwen3-0.6b", "context": 2048, "concurrency": 1}}


def read(units: int, **policies: Any) -> Inputs:
    """Small endpoints of a team with a quota of one GPU."""
    offer = {"node_type": "xe9680-h100", "kind": "buy", "price_usd": 300_000, "quote": "a"}
    scenario = question(2, as_of="2026-11-01") | {
        "teams": {"care": {"quota_gpus": 1}},
        "policies": policies,
        "offers": {"buy": offer},
        "jobs": {"chat": {**CHAT, "count": units}},
    }
    return asked(scenario)


def quota_of(plan: Any) -> QuotaUse:
    quota: QuotaUse = plan.chargeback.teams[0].quotas[0]
    return quota


def test_six_of_eight_slices_are_three_quarters_of_a_gpu():
    assert quota_of(make_plan(read(6, mig="same-node"))).gpus == (0.75, 0.75)


def test_one_slice_more_than_a_gpu_has_needs_a_raise_to_two():
    with pytest.raises(InfeasibleError) as refusal:
        make_plan(read(9, mig="same-node"))
    assert "raise the quota of care by 1 GPU, to 2 GPUs" in str(refusal.value)


def test_counted_as_whole_gpus_six_parts_need_six():
    with pytest.raises(InfeasibleError) as refusal:
        make_plan(read(6, mig="same-node", quota_of_part="whole"))
    told = str(refusal.value)
    assert "counts a part of a GPU as a whole one, as policies.quota_of_part asks" in told
    assert "to 6 GPUs" in told


def test_memory_shared_without_partitions_counts_by_the_megabyte():
    plan = make_plan(read(6, shared_gpus=True))
    shares = [
        one.part.taken / one.part.of
        for use in plan.placements[0]
        for one in use.occupants
        if one.part is not None
    ]
    assert len(shares) == 6
    assert quota_of(plan).gpus[0] == pytest.approx(sum(shares))


def test_an_hourly_offer_changes_nothing_of_what_a_share_of_memory_counts():
    def fewest(**more: Any) -> int:
        jobs = {"chat": {**CHAT, "count": 2}}
        own = {"own": {"node_type": "xe9680-h100", "count": 1}}
        scenario = question(1) | {"teams": {"care": {"quota_gpus": 1}}, "fleet": own, "jobs": jobs}
        return len(make_plan(asked({**scenario, "policies": {"shared_gpus": True}, **more})).nodes)

    hour = {"node_type": "xe9680-h100", "kind": "hourly", "price_usd_per_gpu_hour": 4, "quote": "a"}
    assert fewest() == fewest(offers={"hour": hour}) == 1
