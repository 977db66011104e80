"""Peak memory of each GPU as a reader sees it."""

import re

import pytest

from planner.sizing.memory import Memory, MemoryPart
from tests.report.conftest import sizing_page

MEMORY = Memory(
    phases=tuple(
        MemoryPart(name=name, mb=mb)
        for name, mb in (("load", 10_737), ("forward", 42_950), ("backward", 32_212))
    ),
    parts=(),
    allocator_peak_mb=42_950,
    context_mb=2_147,
    peak_mb=45_097,
    low_mb=42_950,
    high_mb=49_392,
    needed_mb=48_318,
    reserved_mb=50_000,
    nvidia_smi_mb=53_687,
)


@pytest.fixture
def sized(plan):
    sizing = plan.sizings["70b10a"]
    first, *others = sizing.candidates
    with_memory = first.model_copy(update={"memory": MEMORY})
    return sizing.model_copy(update={"candidates": (with_memory, *others)})


def drawn(sizing):
    return sizing_page(sizing, sums=True)


def test_the_phases_stand_by_count_in_gib(sized):
    assert re.search(
        r"^ +8 +10\.0 +40\.0 +30\.0 +2\.0 +42\.0 +40\.0–46\.0 +45\.0 +50\.0$", drawn(sized), re.M
    )


def test_what_each_gpu_needs_stands_beside_what_it_offers(sized):
    first, *others = sized.candidates
    offered = first.gpu_capacity_mb / first.gpus * 1e6 / 2**30
    text = drawn(sized)
    assert re.search(rf"^{first.gpu_type} +8 +– +45\.0 / {offered:.1f} ", text, re.M)
    for other in others:
        assert re.search(rf"^{other.gpu_type} +{other.gpus} +– +– ", text, re.M)


def test_without_a_peak_there_is_no_such_table(plan):
    assert "Peak memory of each GPU" not in drawn(plan.sizings["70b10a"])


def test_the_parts_of_a_serving_job_add_up_to_its_peak(sized):
    parts = (MemoryPart(name="weights", mb=21_475), MemoryPart(name="KV cache", mb=21_475))
    serving = MEMORY.model_copy(update={"phases": (), "parts": parts})
    first, *others = sized.candidates
    shown = first.model_copy(update={"memory": serving})
    text = drawn(sized.model_copy(update={"candidates": (shown, *others)}))
    assert re.search(r"^GPUs +Weights +KV cache +Context +Peak ", text, re.M)
    assert "nvidia-smi shows more: the engine" in text
