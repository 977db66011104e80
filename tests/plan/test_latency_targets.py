"""Endpoints whose figures contradict what GPUs can do: what is told, and that the remedy helps."""

import re

import pytest

import planner

SCENARIO = """
format: 1
name: Targets
horizon: {{first_quarter: 2027Q1, quarters: 1}}
offers:
  h100: {{node_type: xe9680-h100, kind: buy, maximum: {most}}}
  l40s: {{node_type: r760xa-l40s, kind: buy}}
jobs:
  chat:
    serve:
      model: llama-3.1-8b
      load: {{requests_per_second: 6, input_tokens: 1000, output_tokens: 300}}
      {rest}
"""


def planned(rest, most=99):
    return planner.plan(SCENARIO.format(rest=rest, most=most))


@pytest.mark.parametrize("targets", ["tpot_ms: 2", "ttft_ms: 8, tpot_ms: 2, e2e_ms: 99"])
def test_a_target_that_nothing_reaches_names_what_comes_nearest(targets):
    with pytest.raises(planner.InfeasibleError) as refusal:
        planned(f"latency: {{{targets}}}")
    (told,) = refusal.value.remedies

    assert re.search(r"h100-80gb-sxm comes nearest, [0-9.]+ times as long as is asked for", told)
    assert "which is not offered, would keep" in told
    (kept,) = re.findall(r"asked for: `latency: \{(.*?)\}` would let it run there", told)
    enough = dict(re.findall(r"(\w+): (\d+)", targets)) | dict(re.findall(r"(\w+): (\d+)", kept))
    remedy = ", ".join(f"{key}: {value}" for key, value in enough.items())
    (job,) = planned(f"latency: {{{remedy}}}").jobs
    assert job["gpu_types"] == "h100-80gb-sxm"


def test_a_concurrency_far_below_what_the_rate_needs_is_told():
    cramped, usual = planned("concurrency: 1"), planned("concurrency: 64")

    (told,) = [one for one in cramped.warnings if "a concurrency of 1 takes" in one]
    (would_do,) = re.findall(r"where (\d+) would do", told)
    assert int(would_do) < 4
    assert not [one for one in usual.warnings if "a concurrency of" in one]


def test_a_concurrency_for_which_there_are_too_few_nodes_is_told():
    with pytest.raises(planner.InfeasibleError) as refused:
        planned("concurrency: 1\n    gpu_types: [h100-80gb-sxm]", most=1)
    assert any("a concurrency of 1 takes" in reason for reason in refused.value.reasons)
