"""What small changes would save: asked of plans, and held against plans of the changed scenario."""

import planner

SCENARIO = """\
format: 1
name: nearly
horizon: {first_quarter: 2027Q1, quarters: 2}
offers:
  h100: {node_type: xe9680-h100, kind: rent}
policies: {headroom: 10%}
jobs:
"""
UNITS = "  chat: {serve: {model: llama-3.1-8b}, count: 9}\n"
TRAFFIC = """\
  chat:
    serve:
      model: llama-3.1-70b
      load: {requests_per_second: RATE, input_tokens: 1500, output_tokens: 300}
      latency: {ttft_ms: 1000}
    gpu_types: [h100-80gb-sxm]
"""


def misses(text, **changes):
    return planner.plan(text, **changes)._plan.near_misses


def test_one_unit_too_many_for_a_node_is_told_with_what_it_costs():
    made = planner.plan(SCENARIO + UNITS)
    (found,) = made._plan.near_misses
    assert (found.job, found.units, found.gpus) == ("chat", 1, 1)
    fewer = planner.plan(SCENARIO + UNITS, set={"jobs.chat.count": 8})
    assert found.saved_cents == round((made.cost_usd - fewer.cost_usd) * 100)
    assert fewer.purchases[0]["count"] < made.purchases[0]["count"]
    assert "1 unit fewer of chat would save $" in made.to_text(brief=True)
    assert "What small changes would save" in made.to_markdown()
    assert "1 unit fewer of chat would save $" in planner.report(made, what_if="none").to_markdown()


def test_full_nodes_and_half_empty_ones_are_no_near_misses():
    for count in (8, 12, 16):
        made = planner.plan(SCENARIO + UNITS, set={"jobs.chat.count": count})
        assert made._plan.near_misses == ()
        assert "would save" not in made.to_markdown()


def test_a_little_less_traffic_that_saves_a_node_is_told_with_what_it_costs():
    text = SCENARIO + TRAFFIC
    way = planner.plan(text.replace("RATE", "1"))._plan.sizings
    (rate,) = {
        one.serving.planned_requests_per_second
        for sizing in way.values()
        for one in sizing.candidates
        if one.gpus == 4 and one.serving
    }
    over = f"{2 * rate * 1.04:.3f}"
    (found,) = misses(text.replace("RATE", over))
    assert (found.job, found.units, found.gpus) == ("chat", 0, 4)
    assert found.share == 0.04
    costs = [
        planner.plan(text.replace("RATE", at)).cost_usd
        for at in (over, f"{float(over) * 0.96:.6f}")
    ]
    assert found.saved_cents == round((costs[0] - costs[1]) * 100)
    assert misses(text.replace("RATE", f"{2 * rate * 1.5:.3f}")) == (), "that is no small change"


SLOW = """\
  extract:
    serve:
      model: qwen2.5-32b
      load: {requests_per_second: 30, input_tokens: 3500, output_tokens: 250}
      latency: {ttft_ms: 1500, tpot_ms: TPOT}
    gpu_types: [h100-80gb-sxm]
"""


def test_a_tenth_more_time_that_saves_more_than_a_tenth_is_told_with_what_it_costs():
    made = planner.plan(SCENARIO + SLOW.replace("TPOT", "50"))
    (found,) = (one for one in made._plan.near_misses if one.latency_ms)
    assert (found.job, dict(found.latency_ms)) == ("extract", {"ttft_ms": 1650, "tpot_ms": 55})
    longer = planner.plan(
        SCENARIO + SLOW.replace("TPOT", "55"),
        set={"jobs.extract.serve.latency.ttft_ms": 1650},
    )
    assert found.saved_cents == round((made.cost_usd - longer.cost_usd) * 100) > 0
    told = "10 % more time for extract (ttft_ms 1,650 and tpot_ms 55) would save $"
    assert told in made.to_text(brief=True)
    easy = planner.plan(SCENARIO + SLOW.replace("TPOT", "400"))
    assert not [one for one in easy._plan.near_misses if one.latency_ms]


def test_owned_nodes_and_units_that_run_today_are_left_alone():
    owned = SCENARIO.replace("offers:", "fleet: {a: {node_type: xe9680-h100, count: 2}}\noffers:")
    assert misses(owned + UNITS) == ()
    one = owned.replace("count: 2", "count: 1") + UNITS
    assert len(misses(one)) == 1
    running = "running:\n  - {job: chat, pool: xe9680-h100/main, count: 8}\n"
    assert misses(f"{one}{running}") == ()


def test_jobs_that_give_way_leave_nothing_to_ask():
    short = SCENARIO.replace("kind: rent", "kind: rent, maximum: 1") + UNITS
    dropped = short.replace("headroom: 10%", "headroom: 10%, shortage: drop")
    assert misses(dropped) == ()


CHANGING = """\
format: 1
name: changing
horizon: {first_quarter: 2027Q1, quarters: 4, as_of: 2026-12-01}
fleet:
  own: {node_type: xe9680-a100, count: 1, retires: 2027Q2}
offers:
  h100: {node_type: xe9680-h100, kind: rent}
jobs:
  chat: {serve: {model: llama-3.1-8b}, count: 2}
"""


def test_a_policy_that_would_save_is_told_with_what_it_costs_to_keep():
    """Each replica stays on one GPU type: the owned server serves nobody, as it is soon gone."""
    made = planner.plan(CHANGING)
    (found,) = (one for one in made._plan.near_misses if one.policy)
    free = planner.plan(CHANGING, set={"policies.may_change_gpu_type": "all"})
    assert found.saved_cents == round((made.cost_usd - free.cost_usd) * 100)
    told = "jobs free to change GPU type between quarters (`may_change_gpu_type: all`) would save $"
    assert told in made.to_markdown()
    page = planner.report(made, what_if="none").to_markdown()
    assert "let them change GPU type between quarters (`may_change_gpu_type: all`), for" in page
    assert not any(one.policy for one in free._plan.near_misses)


def test_a_job_that_states_that_it_keeps_its_gpu_type_is_not_asked():
    kept = planner.plan(CHANGING, set={"jobs.chat.may_change_gpu_type": False})
    assert not any(one.policy for one in kept._plan.near_misses)


def test_where_sales_bring_more_than_all_costs_no_change_saves_nothing():
    plan = planner.plan(
        """
format: 1
name: sold
horizon: {first_quarter: 2027Q1, quarters: 3, as_of: 2026-10-01}
fleet:
  own: {node_type: xe9680-h100, count: 4,
        sale: {price_usd: {2027Q1: 200000, 2027Q4: 1000}}}
jobs:
  job: {fixed: {gpus: 4}, count: 2}
"""
    )._plan
    assert plan.proof.cost_cents < 0
    assert [one.policy for one in plan.near_misses if not one.saved_cents] == []
