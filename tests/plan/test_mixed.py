"""Endpoints whose traffic replicas on several GPU types share, against every mix of replicas."""

from math import ceil

import pytest

import planner
from planner.packing import nowhere
from planner.packing.constraints import traffic
from planner.planning.assemble import Request
from planner.sizing.sizers import Sizers
from planner.whatif.shortfall import units_short
from tests.stated import asked, changed

SCENARIO = """
format: 1
name: Mixed
horizon: {{first_quarter: 2027Q1, quarters: {quarters}}}
{have}
policies: {policies}
finance: {{discount_rate_per_year: 0}}
{apis}
jobs:
{jobs}
"""
JOB = """
  {name}:
    gpu_types: [h100-80gb-sxm, l40s-48gb]
    {stated}
    serve:
      model: llama-3.1-70b
      bits: 8
      load: {{requests_per_second: {rate}, input_tokens: 1000, output_tokens: 400}}
      latency: {{tpot_ms: 50}}
      mixed: {mixed}
"""


RENTED = """\
offers:
  h100: {node_type: xe9680-h100, kind: rent, maximum: 1, price_usd_per_gpu_hour: 3}
  l40s: {node_type: r760xa-l40s, kind: rent, price_usd_per_gpu_hour: 1.2}
"""


def scenario(*jobs, have=RENTED, **changes):
    stated = {"quarters": 1, "policies": "{}", "apis": "", **changes}
    return SCENARIO.format(have=have, jobs="".join(jobs), **stated)


def planned(*jobs, **changes):
    return planner.plan(scenario(*jobs, **changes))


def endpoint(rate, name="chat", mixed="true", stated=""):
    return JOB.format(name=name, rate=rate, mixed=mixed, stated=stated)


def test_each_quarter_has_the_mix_that_its_traffic_takes():
    """Two quarters planned together rent what each by itself does."""
    apart = [planned(endpoint(rate)).cost_usd for rate in (4, 9)]
    both = planned(endpoint("{2027Q1: 4, 2027Q2: 9}"), quarters=2)

    assert both.proved
    assert both.cost_usd == pytest.approx(sum(apart))


def test_the_check_counts_what_all_replicas_take(monkeypatch):
    """A replica that is forgotten fails the plan."""
    split = nowhere._split

    def forgetting(*given):
        (job,) = split(*given)
        return (changed(job, units=tuple(count - 1 for count in job.units)),)

    monkeypatch.setattr(nowhere, "_split", forgetting)
    monkeypatch.setattr(traffic, "add_rows", lambda _: None)
    monkeypatch.setattr(traffic, "holds", lambda *_: True)
    with pytest.raises(planner.CheckError, match=r"9 requests a second arrive at chat, what is"):
        planned(endpoint(9))


API = "apis: {hosted: {model: llama-3.1-70b, quote: q, usd_per_million_input_tokens: %s, "
API += "usd_per_million_output_tokens: %s}}"


@pytest.mark.parametrize(("price", "there"), [(0.01, True), (5, False)])
def test_all_traffic_of_a_quarter_may_go_to_an_api_in_place_of_the_mix(price, there):
    plan = planned(endpoint(4, stated="api: allowed"), apis=API % (price, price))

    (job,) = plan._plan.jobs
    assert plan.proved
    assert job.on_apis == ((("hosted", (1,)),) if there else ())
    assert bool(job.units[0]) is not there


def test_where_not_all_fit_an_endpoint_gives_way_as_a_whole():
    """L40S cost too much for the budget, and the one H100 server takes the traffic of one."""
    first, second = endpoint(9, "chat"), endpoint(9, "other", stated="priority: low")
    text = "{shortage: drop, allowed_gpu_types: [h100-80gb-sxm]}"
    plan = planned(first, second, policies=text)

    (short,) = plan._plan.shortage.jobs
    assert (short.name, short.outcome, short.asked) == ("other", "dropped", (1,))
    assert {job.name: bool(job.units[0]) for job in plan._plan.jobs} == {
        "chat": True,
        "other": False,
    }
    on_nothing = units_short(
        Request(asked(scenario(first, second, policies=text)), Sizers(), 1e-4, 10.0)
    )
    assert on_nothing
    assert [(one.asked, one.short) for one in on_nothing] == [((1,), (1,))] * 2


def test_what_is_missing_is_told_in_replicas():
    with pytest.raises(planner.InfeasibleError, match="without room"):
        planned(endpoint(40), policies="{allowed_gpu_types: [h100-80gb-sxm]}")


def test_on_gpus_that_cost_nothing_more_no_replica_runs_that_is_not_needed():
    """Two servers stand there anyway: each quarter has what its traffic takes, and keeps it."""
    owned = "fleet: {here: {node_type: xe9680-h100, count: 2}}"
    made = planned(endpoint("{2027Q1: 1, 2027Q2: 6}"), have=owned, quarters=3)._plan
    (job,) = made.jobs
    ways = {one.way: one for one in made.sizings[job.sizing].candidates}
    counts = dict(job.replicas)
    for first, second in ((0, 1), (1, 2)):
        assert all(units[first] <= units[second] for units in counts.values())
    for quarter, rate in ((0, 1), (1, 6)):
        fewest = min(
            one.gpus * ceil(rate / one.serving.planned_requests_per_second)
            for one in ways.values()
            if one.serving
        )
        assert sum(ways[way].gpus * units[quarter] for way, units in counts.items()) <= fewest


def test_of_a_mix_no_smaller_traffic_is_said_to_save_a_node():
    """How much less would do depends on which of its replicas go."""
    plan = planned(endpoint(2.5))._plan

    assert len(plan.jobs[0].ways) > 1
    assert plan.near_misses == ()
