import re

from planner.planning.explain import explain
from planner.reporting.sections.explain import explanation_document
from planner.reporting.terminal import TerminalOptions, render


def told(plan, job, width=120):
    return render(explanation_document(explain(plan, job)), TerminalOptions(width))


def test_the_answer_comes_first(plan):
    lines = told(plan, "claims-tune", 200).splitlines()
    assert lines[0] == "claims-tune"
    assert lines[1].startswith("LoRA tuning of llama-3.1-70b, sequence 1,024, batch 32.")
    assert lines[2] == (
        "Each unit runs on 8 × h200-141gb-sxm (1 unit). Units: 2027Q2 1, 2027Q3 1. "
        "Price tag over the horizon: $31,000,000.00."
    )


def test_alike_quarters_share_a_row(plan):
    text = told(plan, "claims-tune")
    assert re.search(r"^2027Q2–Q3 +xe9680-h200/dc-east/01 +1 +0, 1, 2, 3, 4, 5, 6, 7$", text, re.M)


def test_a_dearer_gpu_type_says_by_how_much_and_a_rejected_one_by_which_rule(plan):
    text = told(plan, "claims-tune", 160)
    assert re.search(r"^h200-141gb-sxm +chosen +8 +0\.00 ", text, re.M)
    assert re.search(r"^h100-80gb-sxm +costs more +8 +12,345\.67 ", text, re.M)
    why = r"tuning does not run on Gaudi 3 \[exclusions/no-tuning-on-gaudi3\]"
    assert re.search(rf"^gaudi3-128gb +rejected .*{why}", text, re.M)
    assert "exclusions/no-tuning-on-gaudi3: Planning for foundation model tuning" in text


def test_the_chosen_candidate_is_led_back_to_formula_and_source(plan):
    text = told(plan, "claims-tune", 200)
    assert "One unit: 8 GPUs, as many as a published point for a job of this size;" in text
    assert "GPU memory 640 of 1,128 GB (57 %)" in text
    assert "memory_gb = ((parameters_b * 2) + adapters * adapter_gb) * 1.5" in text
    assert "one run takes 40.5 h; the tuned asset takes 420 MB." in text
    assert "[1] Planning for foundation model tuning, table 2" in text


def test_a_derived_job_names_its_origin(plan):
    text = told(plan, "claims-tune-serving")
    assert "Derived from claims-tune by rule policies/deploy-tuned-model." in text
    assert "It has no unit in any quarter, so nothing is planned for it." in text


def test_a_unit_that_spans_nodes_names_them_all(plan):
    text = told(plan, "batch-inference", 160)
    assert "xe9680-h100/dc-east/01, xe9680-h100/dc-east/02" in text
