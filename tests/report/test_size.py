"""A sizing as a reader sees it: GPU types side by side, peak memory, replicas, and the sums."""

import re

import pytest

from planner.planning.jobs import explain_job
from planner.reporting.sections.jobs import jobs_section
from planner.reporting.sections.sizing import explanation_document
from planner.reporting.terminal import TerminalOptions, render
from planner.reporting.traced import TracedPlan
from planner.sizing import DerivationStep, Quantity
from planner.sizing.candidate import Memory, MemoryPart
from tests.report.conftest import sizing_page
from tests.stated import changed

SERVING, JOB = "support|assistant <b>`x`", "claims-tune"
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
REPLICAS = DerivationStep(
    rule="serving/replicas",
    title="Replicas that a load takes",
    formula="ceil(rate / rate_per_replica)",
    inputs=tuple(
        Quantity(name=name, value=value, unit="requests/s", origin="job")
        for name, value in (("rate", 6.0), ("rate_per_replica", 2.5))
    ),
    result=Quantity(name="replicas_for_load", value=3.0, unit="replicas", origin="rule"),
    sources=(),
)


@pytest.fixture
def sizings(plan):
    """By the names of jobs."""
    return {job.name: plan.sizings[job.sizing] for job in plan.jobs}


def with_memory(sizing, memory):
    first, *others = sizing.candidates
    return changed(sizing, candidates=(changed(first, memory=memory), *others))


@pytest.mark.parametrize(
    ("key", "sums", "row"),
    [
        (SERVING, True, r"l40s-48gb +1 +– +30\.4 / 48 +63 % +2 +30\.4 +– +memory"),
        (JOB, True, r"h200-141gb-sxm +8 +– +[\d.]+ / 1,128 +\d+ % +9 +[\d.]+ +– +stated"),
        (JOB, False, r"h200-141gb-sxm +8 +– +[\d.]+ / 1,128 +\d+ %"),
    ],
    ids=["served", "tuned", "without sums"],
)
def test_gpu_types_stand_side_by_side_with_hours_and_what_set_the_count(sizings, key, sums, row):
    assert re.search(rf"^{row}$", sizing_page(sizings[key], sums=sums), re.M)


def test_gpu_types_rejected_in_the_same_words_share_a_row_where_none_can_run_it_too(sizings):
    tuning = sizings[JOB]
    alike = tuple(
        changed(tuning.rejections[0], gpu_type=gpu, rule="exclusions/list", message=f"not on {gpu}")
        for gpu in ("l4-24gb", "t4-16gb")
    )
    text = sizing_page(changed(tuning, rejections=alike, candidates=()))
    assert re.search(r"^l4-24gb, t4-16gb +exclusions/list +not on these$", text, re.M)
    assert "No GPU type can run it." in text


def test_the_peak_stands_by_count_in_gib_beside_what_each_gpu_offers(sizings):
    assert "Peak memory of each GPU" not in sizing_page(sizings[JOB], sums=True)
    sized = with_memory(sizings[JOB], MEMORY)
    first, *others = sized.candidates
    text = sizing_page(sized, sums=True)
    peak = r"8 +10\.0 +40\.0 +30\.0 +2\.0 +42\.0 +40\.0–46\.0 +45\.0 +50\.0"
    assert re.search(rf"^ +{peak}$", text, re.M)
    offered = first.gpu_capacity_mb / first.gpus * 1e6 / 2**30
    assert re.search(rf"^{first.gpu_type} +8 +– +45\.0 / {offered:.1f} ", text, re.M)
    for other in others:
        assert re.search(rf"^{other.gpu_type} +{other.gpus} +– +– ", text, re.M)


def test_the_parts_of_a_serving_job_add_up_to_its_peak(sizings):
    parts = (MemoryPart(name="weights", mb=21_475), MemoryPart(name="KV cache", mb=21_475))
    served = with_memory(sizings[JOB], changed(MEMORY, phases=(), parts=parts))
    text = sizing_page(served, sums=True)
    assert re.search(r"^GPUs +Weights +KV cache +Context +Peak ", text, re.M)
    assert "nvidia-smi shows more: the engine" in text


def pages(plan):
    """The table of jobs, the explanation of one, and its sizing."""
    key = next(job.sizing for job in plan.jobs if job.name == JOB)
    return (
        render(jobs_section(TracedPlan(plan)), TerminalOptions(160)),
        render(explanation_document(explain_job(plan, JOB)), TerminalOptions(200)),
        sizing_page(plan.sizings[key], width=200),
    )


def test_replicas_for_a_load_are_told_with_how_many_of_what_and_why(plan):
    key = next(job.sizing for job in plan.jobs if job.name == JOB)
    sizing = plan.sizings[key]
    candidates = tuple(
        changed(one, replicas=3, trace=(*one.trace, REPLICAS)) for one in sizing.candidates
    )
    loaded = changed(plan, sizings={**plan.sizings, key: changed(sizing, candidates=candidates)})
    jobs, why, sized = pages(loaded)
    assert re.search(rf"^{JOB} .* 3 × 8× h200-141gb-sxm ", jobs, re.M)
    assert "3 × 2× is three replicas of two GPUs" in jobs
    assert "Each unit runs on 3 replicas of 8 × h200-141gb-sxm (1 unit)." in why
    assert "One replica: 8 GPUs" in why
    assert "The load takes 3 replicas = ceil(6 / 2.5) (serving/replicas)." in " ".join(why.split())
    assert re.search(r"^h200-141gb-sxm +chosen +3 × 8 ", why, re.M)
    assert re.search(r"^2027Q2–Q3 +xe9680-h200/dc-east/01 +1/1 +0, 1,", why, re.M)
    assert re.search(r"^h200-141gb-sxm +3 × 8 ", sized, re.M)
    assert "3 × 2 GPUs are three replicas of two, as many as the load takes" in sized
    jobs, _, sized = pages(plan)
    assert re.search(rf"^{JOB} .*[^×] 8× h200-141gb-sxm ", jobs, re.M)
    assert re.search(r"^h200-141gb-sxm +8 ", sized, re.M)
    assert "replicas" not in jobs + sized
