import re

from planner.planning.jobs import explain_job
from planner.reporting.sections.sizing import explanation_document
from planner.reporting.terminal import TerminalOptions, render
from tests.stated import changed


def told(plan, job, width=120):
    return render(explanation_document(explain_job(plan, job)), TerminalOptions(width))


def test_the_answer_comes_first(plan):
    lines = told(plan, "claims-tune", 200).splitlines()
    assert lines[0] == "claims-tune"
    assert lines[1] == "LoRA tuning of llama-3.1-70b. Team: claims."
    assert lines[2] == (
        "Each unit runs on 8 × h200-141gb-sxm (1 unit). Units: 2027Q2 1, 2027Q3 1. "
        f"Price tag over the horizon: ${plan.jobs[1].tag_cents / 100:,.2f}."
    )


def test_alike_quarters_share_a_row(plan):
    text = told(plan, "claims-tune")
    assert re.search(r"^2027Q2–Q3 +xe9680-h200/dc-east/01 +1 +0, 1, 2, 3, 4, 5, 6, 7$", text, re.M)


def test_a_dearer_gpu_type_says_by_how_much_and_a_rejected_one_by_which_rule(plan):
    text = told(plan, "claims-tune", 160)
    assert re.search(r"^h200-141gb-sxm +chosen +8 +0\.00 ", text, re.M)
    assert re.search(r"^gaudi3-128gb +rejected .*foundation models cannot be tuned on", text, re.M)
    assert "[exclusions/no-tuning-on-gaudi3]" in text
    assert "exclusions/no-tuning-on-gaudi3: IBM " in " ".join(text.split())
    other = next(one for one in plan.jobs[1].alternatives if one.gpu_type == "a100-80gb-sxm")
    dearer = changed(other, extra_cents=12_345_67, reason="costs more")
    job = changed(plan.jobs[1], alternatives=(dearer,))
    jobs = (plan.jobs[0], job, *plan.jobs[2:])
    text = told(changed(plan, jobs=jobs), "claims-tune", 160)
    assert re.search(r"^a100-80gb-sxm +costs more +8 +12,345\.67 ", text, re.M)


def test_the_chosen_candidate_is_led_back_to_formula_and_source(plan):
    text = told(plan, "support|assistant <b>`x`", 200)
    assert "One unit: 1 GPU, as many as hold its memory;" in text
    assert "GPU memory 30.4 of 48 GB (63 %)" in text
    assert "memory_gb = ((parameters_b * 2) + (adapters * adapter_gb)) * 1.5" in text
    assert re.search(r"^· \[1\] \S", text, re.M)
    text = told(plan, "claims-tune", 200)
    assert "One unit: 8 GPUs, as the job states;" in text
    assert re.search(r"the tuned asset takes \d+ MB\.", text)


def test_a_derived_job_names_its_origin(plan):
    text = " ".join(told(plan, "claims-tune-serving").split())
    assert "Derived from claims-tune by rule policies/deploy-tuned-model." in text
    idle = changed(plan.jobs[2], units=(0, 0, 0), ways=())
    jobs = (*plan.jobs[:2], idle, *plan.jobs[3:])
    text = told(changed(plan, jobs=jobs), "claims-tune-serving")
    assert "It has no unit in any quarter, so nothing is planned for it." in text


def test_a_unit_that_spans_nodes_names_them_all(plan):
    text = told(plan, "batch-inference", 160)
    assert "xe9680-h100/dc-east/01, xe9680-h100/dc-east/02" in text
