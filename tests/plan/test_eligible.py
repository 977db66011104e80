"""A job that fits nothing is named with the rules and figures that say so."""

from typing import Any

import pytest

import planner
from planner.errors import InfeasibleError
from tests.stated import question

L40S, H100, GAUDI = "r760xa-l40s", "xe9680-h100", "xe9680-gaudi3"
LARGER = "offer a node type with more GPUs, cores or host memory"


def refusal(node_type: str, jobs: dict[str, Any]) -> InfeasibleError:
    offer = {"node_type": node_type, "kind": "rent", "price_usd_per_gpu_hour": 3, "quote": "q"}
    asked = question() | {
        "offers": {"only": offer},
        "jobs": jobs,
    }
    with pytest.raises(InfeasibleError) as caught:
        planner.plan(asked)
    return caught.value


def fixed(gpu_type: str | None = None, **needs: int) -> dict[str, Any]:
    return {"fixed": needs, **({"gpu_types": [gpu_type]} if gpu_type else {})}


@pytest.mark.parametrize(
    ("node_type", "job", "reason", "remedy"),
    [
        (
            L40S,
            fixed("l40s-48gb", gpus=1, cpus=200),
            "l40s-48gb: on r760xa-l40s@main it needs 200 cores of 64",
            f"{LARGER}; the catalog has none with so much, so ask for less",
        ),
        (
            H100,
            fixed(gpus=12),
            "h100-80gb-sxm: on xe9680-h100@main it needs 12 GPUs, which is not a whole number of "
            "nodes of 8",
            "state 8 or 16 GPUs, whole nodes of 8, or offer a node type whose GPUs divide it",
        ),
        (
            GAUDI,
            fixed("gaudi3-128gb", gpus=16),
            "gaudi3-128gb: on xe9680-gaudi3@main it needs 16 GPUs, a node has 8 and no fabric to "
            "span",
            f"{LARGER}, or with a fabric",
        ),
        (
            L40S,
            fixed("h200-141gb-sxm", gpus=1),
            "l40s-48gb: the job does not list it (job.gpu_types)",
            "offer nodes of a GPU type that it can use: 1 × h200-141gb-sxm",
        ),
        (
            L40S,
            {
                "serve": {"model": "llama-3.1-405b", "gpus_per_replica": 16},
                "gpu_types": ["l40s-48gb"],
            },
            "l40s-48gb: 16 GPUs are stated, ",
            "change it, or waive a rule under policies.waived_rules with the reason",
        ),
        (
            L40S,
            {
                "serve": {"model": "llama-3.1-70b", "gpus_per_replica": 8},
                "gpu_types": ["l40s-48gb"],
            },
            "l40s-48gb: on r760xa-l40s@main it needs 8 GPUs, a node has 4, and a unit stays within "
            "one node (capacity/serving-within-one-node)",
            LARGER,
        ),
    ],
    ids=["the node", "no whole nodes", "no fabric", "another GPU type", "a rule", "one node"],
)
def test_what_a_unit_lacks_is_told_by_how_much_with_a_remedy(node_type, job, reason, remedy):
    error = refusal(node_type, {"small": job})
    assert error.headline == "no plan exists: 1 job has no GPU type to run on"
    assert error.reasons[0].endswith("fits nothing that is owned or offered")
    assert error.reasons[1].strip().startswith(reason)
    assert error.remedies[0] == f"small: {remedy}"


def test_jobs_specified_alike_share_one_line():
    error = refusal(H100, {f"small-{number}": fixed(gpus=12) for number in range(6)})
    assert error.headline == "no plan exists: 6 jobs have no GPU type to run on"
    assert error.reasons[0].startswith("small-0, small-1, small-2 and 3 more specified alike ")
    assert len(error.reasons) == 2
