"""A job that fits nothing is named with the rules and figures that say so."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.errors import InfeasibleError
from planner.packing.statement.translate import translate
from planner.planning.eligible import require_eligible, stuck_jobs
from planner.sizing.candidate import Quantity, Rejection

H100, L40S = "h100-80gb-sxm", "l40s-48gb"


def refusal(inputs, *jobs):
    translation = translate(inputs, jobs)
    stuck = stuck_jobs(jobs, translation)
    with pytest.raises(InfeasibleError) as caught:
        require_eligible(stuck, translation, inputs.catalog)
    return caught.value


def job_with(job, *candidates, rejections=(), name=None, units=None):
    sizing = job.sizing.model_copy(update={"candidates": candidates, "rejections": rejections})
    changes = {"sizing": sizing, "name": name or job.name, "units": units or job.units}
    return job.model_copy(update=changes)


def test_what_fits_or_asks_for_nothing_passes(case):
    idle = job_with(case.jobs[2], units=(0, 0, 0))
    assert stuck_jobs(case.jobs, case.translation) == ()
    assert stuck_jobs((idle,), translate(case.inputs, (idle,))) == ()


def test_each_gpu_type_in_play_is_listed_with_its_rule(case):
    rejections = tuple(
        Rejection(gpu_type=gpu, rule="exclusions/x", message=f"not on {gpu}")
        for gpu in (H100, L40S, "mi300x-192gb")
    )
    error = refusal(case.inputs, job_with(case.jobs[1], rejections=rejections))
    assert error.headline == "no plan exists: 1 job has no GPU type to run on"
    assert error.reasons == (
        "chat (chat, as stated) fits nothing that is owned or offered",
        f"  {H100}: not on {H100} (exclusions/x)",
        f"  {L40S}: not on {L40S} (exclusions/x)",
    )
    assert "waived_rules" in error.remedies[0]


def wanting(case, **changes):
    """`small` with another need."""
    job = case.jobs[2]
    return job_with(job, job.sizing.candidates[0].model_copy(update=changes))


DIVIDED = "small: state 8 or 16 GPUs, whole nodes of 8, or offer a node type whose GPUs divide it"
LARGER = "small: offer a node type with more GPUs, cores or host memory"


@pytest.mark.parametrize(
    ("wants", "reason", "remedy"),
    [
        ({"cpus": 33}, f"{L40S}: on four-l40s@main it needs 33 cores of 32", LARGER),
        (
            {"gpu_type": H100, "gpus": 12},
            f"{H100}: on eight-h100@main it needs 12 GPUs, which is not a whole number of nodes of",
            DIVIDED,
        ),
        (
            {"gpus": 6},
            f"{L40S}: on four-l40s@main it needs 6 GPUs, a node has 4 and no fabric to span",
            f"{LARGER}, or with a fabric",
        ),
        (
            {"gpu_type": "h200-141gb-sxm"},
            "",
            "small: offer nodes of a GPU type that it can use: 1 × h200-141gb-sxm",
        ),
    ],
    ids=["beyond the node", "no whole nodes", "no fabric", "another GPU type"],
)
def test_what_a_unit_lacks_is_told_by_how_much_with_a_remedy(case, wants, reason, remedy):
    error = refusal(case.inputs, wanting(case, **wants))
    assert any(one.strip().startswith(reason) for one in error.reasons[1:]) or not reason
    assert error.remedies[0].startswith(remedy)
    assert ("state" in error.remedies[0]) is (remedy == DIVIDED)


def test_jobs_specified_alike_share_one_line(case):
    jobs = [job_with(case.jobs[2], name=f"small-{number}") for number in range(6)]
    error = refusal(case.inputs, *jobs)
    assert error.headline == "no plan exists: 6 jobs have no GPU type to run on"
    assert error.reasons[0].startswith(
        "small-0, small-1, small-2 and 3 more jobs specified alike (small"
    )


def test_a_unit_that_must_stay_within_one_node_says_by_which_rule(case):
    nodes = Quantity(name="nodes_at_most", value=1.0, unit="nodes", origin="rule")
    step = case.jobs[0].sizing.candidates[0].trace[0]
    trace = (replace(step, rule="capacity/one-node", result=nodes),)
    error = refusal(case.inputs, wanting(case, gpu_type=H100, gpus=16, may_span=False, trace=trace))
    assert error.reasons[1] == (
        f"  {H100}: on eight-h100@main it needs 16 GPUs, a node has 8, and a unit stays within one "
        "node (capacity/one-node)"
    )
    assert error.remedies == ("small: offer a node type with more GPUs, cores or host memory",)
