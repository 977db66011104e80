"""A job that fits nothing is named with the rules and figures that say so."""

from typing import Any

import pytest

import planner
from planner.errors import InfeasibleError
from tests.stated import question, table


def refusal(
    node_type: str,
    jobs: dict[str, Any],
    kind: str = "",
    policies: dict[str, Any] | None = None,
) -> InfeasibleError:
    offer = {"node_type": node_type, "kind": kind or "rent", "price_usd_per_gpu_hour": 3}
    asked = question() | {
        "offers": {"only": offer},
        "jobs": jobs,
        "policies": policies or {},
    }
    with pytest.raises(InfeasibleError) as caught:
        planner.plan(asked)
    return caught.value


@table(__file__)
def test_what_a_unit_lacks_is_told_by_how_much_with_a_remedy(
    node_type, job, reason, remedy, kind, policies
):
    error = refusal(node_type, {"small": job}, kind, policies)
    assert error.headline == "no plan exists: 1 job has no GPU type to run on"
    assert error.reasons[0].endswith("fits nothing that is owned or offered")
    assert error.reasons[1].strip().startswith(reason)
    assert f"small: {remedy}" in error.remedies


def test_jobs_specified_alike_share_one_line():
    error = refusal(
        "xe9680-h100", {f"small-{number}": {"fixed": {"gpus": 12}} for number in range(6)}
    )
    assert error.headline == "no plan exists: 6 jobs have no GPU type to run on"
    assert error.reasons[0].startswith("small-0, small-1, small-2 and 3 more specified alike ")
    assert len(error.reasons) == 2
