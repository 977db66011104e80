import re
from dataclasses import replace

import pytest

from tests.report.conftest import sizing_page as drawn


@pytest.fixture
def serving(plan):
    return plan.sizings["5e21f0"]


@pytest.fixture
def tuning(plan):
    return plan.sizings["70b10a"]


def test_gpu_types_stand_side_by_side(serving):
    text = drawn(serving, sums=True)
    assert re.search(r"^h100-80gb-sxm +1 +– +30\.4 / 80 +38 % +2 +30\.4 +– +memory$", text, re.M)
    assert re.search(r"^l40s-48gb +1 +– +30\.4 / 48 +63 % ", text, re.M)


def test_what_set_the_count_and_the_hours_are_shown(tuning):
    text = drawn(tuning, sums=True)
    assert re.search(r"^h100-80gb-sxm +8 +– +640 / 640 +100 % +9 +640 +41\.2 +floor$", text, re.M)


def test_rejections_name_rule_and_reason(tuning):
    text = drawn(tuning, width=120)
    assert re.search(r"l40s-48gb +capacity/gpu-counts +needs 640 GB", text)
    assert re.search(r"gaudi3-128gb +exclusions/no-tuning-on-gaudi3 +tuning does not run", text)


def test_gpu_types_rejected_in_the_same_words_share_a_row(tuning):
    alike = tuple(
        tuning.rejections[0].model_copy(
            update={"gpu_type": gpu, "rule": "exclusions/list", "message": f"not on {gpu}"}
        )
        for gpu in ("l4-24gb", "t4-16gb")
    )
    text = drawn(tuning.model_copy(update={"rejections": alike}))
    assert re.search(r"^l4-24gb, t4-16gb +exclusions/list +not on these$", text, re.M)


def test_sums_host_and_what_set_the_count_are_shown_on_demand_alone(tuning):
    text = drawn(tuning)
    assert re.search(r"^h100-80gb-sxm +8 +– +640 / 640 +100 % +41\.2$", text, re.M)
    assert "The sums on" not in text
    assert "--sums` also shows host, peak memory" in text


def test_every_sum_is_written_out_on_demand(serving):
    text = drawn(serving, sums=True)
    assert "memory_gb = ((parameters_b * 2) + adapters * adapter_gb) * 1.5\n" in text
    assert "          = ((10 × 2) + 2 × 0.125) × 1.5\n" in text
    assert "          = 30.375 GB\n" in text
    assert "Title of serving/peft-16bit (serving/peft-16bit) [1]" in text
    assert "[1] Planning for foundation model tuning, table 2" in text


def test_a_figure_that_repeats_the_result_is_left_out(serving):
    bare = replace(serving.candidates[0].trace[0], formula="30.375")
    only = serving.candidates[0].model_copy(update={"trace": (bare,)})
    text = drawn(serving.model_copy(update={"candidates": (only,)}), sums=True)
    assert "memory_gb = 30.375 GB\n" in text


def test_a_job_that_nothing_can_run_says_so(tuning):
    text = drawn(tuning.model_copy(update={"candidates": ()}))
    assert "No GPU type can run it." in text
    assert "GPU types that cannot" in text


def test_warnings_and_assumptions_are_listed(tuning):
    text = drawn(tuning)
    assert "· published rules have no activation term" in text
    assert "· adapter rank 16 (rule tuning/adapter-rank)" in text


def test_it_stays_on_a_narrow_page(tuning):
    assert max(map(len, drawn(tuning, width=40).splitlines())) <= 40
