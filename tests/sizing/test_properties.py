"""What must hold for any job: more never needs less."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.inputs.scenario.job import Job
from tests.properties.questions import drawing

METHODS = ("full", "lora", "qlora", "p-tuning")
sizes = st.integers(min_value=1, max_value=400)


@st.composite
def job_of(draw):
    """A maker of jobs that differ in nothing but the size of their model."""
    kind = draw(st.sampled_from(("serve", *METHODS)))
    if kind == "serve":
        bits = draw(st.sampled_from((4, 8, 16)))
        return lambda size: {"serve": {"parameters_b": size, "bits": bits}}
    tune = {"method": kind}
    if draw(st.booleans()):
        tune["batch"] = draw(st.sampled_from((1, 2, 32, 128)))
        tune["sequence"] = draw(st.sampled_from((512, 1024, 8192, 64000)))
    return lambda size: {"tune": tune | {"parameters_b": size}}


def counts(sizing):
    return {one.gpu_type: one.gpus for one in sizing.candidates}


@drawing(20)
@given(job_of(), sizes, sizes)
def test_more_parameters_never_take_fewer_gpus(shared_sizer, make, one, other):
    small, large = sorted((one, other))
    fewer = counts(shared_sizer.size(Job.model_validate(make(small))))
    more = counts(shared_sizer.size(Job.model_validate(make(large))))
    assert all(fewer.get(gpu_type, 0) <= gpus for gpu_type, gpus in more.items())
    assert more.keys() <= fewer.keys()


@drawing(20)
@given(job_of(), sizes)
def test_more_memory_per_gpu_never_takes_more_gpus(shared_sizer, make, size):
    found = counts(shared_sizer.size(Job.model_validate(make(size))))
    order = ("l40s-48gb", "a100-80gb-sxm", "h200-141gb-sxm")
    present = [found[gpu_type] for gpu_type in order if gpu_type in found]
    assert present == sorted(present, reverse=True)


@pytest.fixture(scope="module")
def tighter(sizer):
    return sizer(headroom="0.15")


@drawing(20)
@given(job_of(), sizes)
def test_more_headroom_never_takes_fewer_gpus(shared_sizer, tighter, make, size):
    job = Job.model_validate(make(size))
    free, kept = counts(shared_sizer.size(job)), counts(tighter.size(job))
    assert all(free[gpu_type] <= gpus for gpu_type, gpus in kept.items())


@drawing(20)
@given(job_of(), sizes)
def test_what_is_planned_fits_what_the_gpus_offer(tighter, make, size):
    for one in tighter.size(Job.model_validate(make(size))).candidates:
        assert 0 < one.gpu_memory_mb <= one.gpu_capacity_mb
        assert one.gpus in (1, 2, 4) or one.gpus % 8 == 0
