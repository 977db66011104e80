"""Which jobs may take several whole nodes, and that only GPU types in play are sized if asked."""

from __future__ import annotations

import pytest

from planner.inputs.scenario.job import Job
from planner.inputs.scenario.scenario import Policies
from planner.sizing import Sizer


@pytest.mark.parametrize(("billions", "gpus", "spans"), [(70, 4, False), (400, 16, True)])
def test_a_serving_job_spans_nodes_only_where_eight_gpus_do_not_hold_it(
    candidate, billions, gpus, spans
):
    served = candidate("h100-80gb-sxm", serve={"parameters_b": billions, "bits": 16})
    assert (served.gpus, served.may_span) == (gpus, spans)


def test_a_tuning_job_of_several_gpus_may_span_nodes(candidate):
    tuned = candidate("l40s-48gb", tune={"parameters_b": 13, "method": "full"})
    assert tuned.gpus > 4
    assert tuned.may_span


def test_a_fixed_job_of_several_gpus_may_span_nodes_and_one_of_a_single_gpu_has_nothing_to_span(
    candidate,
):
    assert candidate("h100-80gb-sxm", fixed={"gpus": 16}).may_span
    assert not candidate("h100-80gb-sxm", fixed={"gpus": 1}).may_span


def test_the_trace_names_the_rule_that_keeps_a_job_within_one_node(candidate):
    served = candidate("h100-80gb-sxm", serve={"parameters_b": 70, "bits": 16})
    step = next(step for step in served.trace if step.result.name == "nodes_at_most")
    assert step.rule == "capacity/serving-within-one-node"
    assert step.worked == "1 if 4 ≤ 8 else 4"
    assert "vllm" in step.sources[0].lower()


def test_only_the_gpu_types_in_play_are_sized_and_spoken_of(catalog, rules, settings):
    sizer = Sizer(catalog, rules, settings(), Policies(), ("l40s-48gb", "h100-80gb-sxm"))
    job = Job.model_validate({"tune": {"parameters_b": 8, "method": "qlora"}})
    sizing = sizer.size(job)
    assert [one.gpu_type for one in sizing.candidates] == ["h100-80gb-sxm"]
    assert [one.gpu_type for one in sizing.rejections] == ["l40s-48gb"]
    assert not any("as-marketed" in text for text in sizing.assumptions)
