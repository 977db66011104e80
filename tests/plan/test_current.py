"""What runs today: what a plan moves and tells of it, what it keeps, and that the check watches.

Two servers of 8 GPUs are owned here, one there. `small` has a unit of 4 GPUs on each server here.
`whole` is new and needs both of them, so that `small` has to go there, which costs 1,000 a unit.
"""

from pathlib import Path

import pytest

import planner
from planner.errors import InfeasibleError, InputError
from planner.planning.make import make_plan
from planner.planning.plan import CurrentPlacement, Plan
from planner.planning.store import carried_over, dumps, loads
from tests.plan.edits import put, refused
from tests.stated import asked, changed, edited, question, table

SCENARIO = """
format: 1
name: what moves
horizon: {first_quarter: 2027Q1, quarters: 2}
fleet:
  a: {node_type: xe9680-h100, count: 2, site: here}
  b: {node_type: xe9680-h100, count: 1, site: there}
policies: {move_cost_usd: 1000}
jobs:
  small: {fixed: {gpus: 4}, count: 2, team: red}
  whole: {fixed: {gpus: 16}, team: blue}
running:
  - {job: small, node: xe9680-h100/here/01, gpus: 4}
  - {job: small, node: xe9680-h100/here/2, gpus: 4}
"""
TOGETHER = ("gpus: 16", "gpus: 8")


def load(*changes):
    """The inputs with some words of the scenario replaced."""
    return asked(edited(SCENARIO, *changes))


@pytest.fixture(scope="module")
def moved():
    inputs = load()
    return inputs, make_plan(inputs)


def current(plan: Plan) -> CurrentPlacement:
    assert plan.current is not None
    return plan.current


def nodes_of(plan, job, unit=1, quarter=0):
    return [
        use.node
        for use in plan.placements[quarter]
        for occupant in use.occupants
        if (occupant.job, occupant.unit) == (job, unit)
    ]


def test_a_plan_lists_what_moves_from_where_to_where_and_what_it_costs(moved):
    _, plan = moved

    told = [(m.job, m.unit, m.origin, m.nodes, m.cost_cents) for m in current(plan).moves]
    there = ("xe9680-h100/there/01",)
    assert told == [
        ("small", 1, ("xe9680-h100/here/01",), there, 100_000),
        ("small", 2, ("xe9680-h100/here/02",), there, 100_000),
    ]
    assert (current(plan).units, current(plan).cost_cents) == (2, 200_000)


def test_a_weight_is_no_payment_so_that_no_budget_counts_it(moved):
    cost = next(line for line in moved[1].costs if line.name == "energy").total_cents
    budget = f"budget: {{total_usd: {cost / 100:.2f}}}\njobs:"

    plan = make_plan(load(("jobs:", budget)))

    assert current(plan).cost_cents == 200_000
    assert plan.budgets[0].spent_cents == cost


def test_the_price_of_a_job_goes_before_that_of_the_policies_and_none_is_an_assumption():
    own = make_plan(load(("team: red", "team: red, move_cost_usd: 12.345")))
    free = make_plan(load(("policies: {move_cost_usd: 1000}\n", "")))

    assert current(own).cost_cents == 2 * 1234
    assert any("to move small costs nothing" in note.text for note in free.assumptions)


def test_units_keep_their_nodes_and_change_them_for_nothing_where_they_must():
    plan = make_plan(load(TOGETHER, ALONE))
    (move,) = current(plan).moves
    assert not move.leaves_pool
    assert move.cost_cents == current(plan).cost_cents == 0
    assert nodes_of(plan, "small", 1) == nodes_of(plan, "small", 2)

    plan = make_plan(load(TOGETHER, ("count: 2, site: here", "count: 3, site: here")))
    assert current(plan).moves == ()
    assert [nodes_of(plan, "small", unit) for unit in (1, 2)] == [
        ["xe9680-h100/here/01"],
        ["xe9680-h100/here/02"],
    ]


PINNED = ("team: red", "team: red, pinned: true")


@table(__file__)
def test_a_pin_that_leaves_no_plan_is_named_with_the_figures(told, changes):
    with pytest.raises(InfeasibleError) as refusal:
        make_plan(load(*changes))

    assert told in str(refusal.value)
    if "unit 2" in told or "each needs" in told:
        unit = 2 if "unit 2" in told else 1
        assert refusal.value.remedies == (f"let unit {unit} of small move",)


@table(__file__)
def test_more_units_than_gpus_run_on_a_node_where_they_may_share_them(policy, job, fits):
    tiny = job.replace("SMALL", "model: llama-3.2-1b, context: 2048, concurrency: 4")
    changes = (
        ("policies: {", f"policies: {{{policy}, "),
        ("  whole: {fixed: {gpus: 16}, team: blue}", f"  tiny: {{{tiny}, count: 9}}"),
        (
            "{job: small, node: xe9680-h100/here/2, gpus: 4}",
            "{job: tiny, node: xe9680-h100/here/2, count: 9}",
        ),
    )
    if fits:
        assert load(*changes).scenario.running[1].count == 9
    else:
        with pytest.raises(InputError, match="has 8 GPUs, what is listed to run on it holds 9"):
            load(*changes)


def test_gpu_counts_that_differ_from_the_rules_are_warned_of():
    plan = make_plan(load(("here/2, gpus: 4", "here/2, gpus: 2")))
    told = "a unit of small holds 2 GPUs of h100-80gb-sxm today, the plan gives it 4 there"
    assert told in [note.text for note in plan.warnings]


def test_the_check_sees_a_move_that_is_not_told_or_told_wrongly(moved):
    inputs, plan = moved
    first, second = current(plan).moves
    for moves in (
        (first,),
        (first, changed(second, cost_cents=0)),
        (first, changed(second, nodes=("xe9680-h100/here/01",))),
        (first, changed(second, leaves_pool=False)),
    ):
        assert "moves" in refused(inputs, put(plan, "current > moves", moves))
    assert "moves" in refused(inputs, changed(plan, current=None))


def test_the_check_sees_a_pinned_unit_elsewhere_and_a_price_left_out(moved):
    _, plan = moved
    assert "pinned to xe9680-h100/here/01, but is on" in refused(load(PINNED), plan)
    assert "moves" in refused(load(("1000", "1001")), plan)


def later(*changes):
    """The next half-year, with nothing listed as running."""
    listed = SCENARIO.partition("running:")[2]
    return load(("2027Q1", "2027Q3"), (f"running:{listed}", ""), *changes)


def test_an_earlier_plan_can_say_what_runs_where_the_scenario_lists_nothing(moved):
    empty = later(("policies:", "running: []\npolicies:"))
    inputs, same = (
        carried_over(one, dumps(moved[1]), Path("plan.json")) for one in (later(), empty)
    )
    assert inputs.question == same.question

    plan = make_plan(inputs)

    assert (current(plan).units, current(plan).moves) == (3, ())
    assert [role for role, _, _ in plan.provenance.files].count("placement") == 1
    assert loads(dumps(plan), "plan.json") == plan


def test_what_an_earlier_plan_ordered_and_the_fleet_lacks_is_told():
    before = question(2, as_of="2026-11-02") | {
        "offers": {
            "buy": {"node_type": "xe9680-h100", "kind": "buy", "lead_time_weeks": 4, "maximum": 1},
            "hold": {
                "node_type": "xe9680-h100",
                "kind": "reserve",
                "term_years": 1,
                "price_usd_per_gpu_hour": 5,
                "site": "there",
            },
        },
        "jobs": {"job": {"fixed": {"gpus": 8}, "count": 2}},
    }
    made = planner.plan(before)
    after = before | question(2, as_of="2027-03-01")
    after["horizon"] = after["horizon"] | {"first_quarter": "2027Q2"}

    def told(**fleet):
        plan = planner.plan(after | {"fleet": fleet}, previous=made)
        return [one for one in plan.warnings if one.startswith("`fleet` lacks")]

    bought, reserved = told()
    assert "lacks 1 node of xe9680-h100 @ main that the earlier plan ordered before" in bought
    assert "lacks 1 node of xe9680-h100 @ there" in reserved
    mine = {"node_type": "xe9680-h100", "count": 1}
    there = mine | {"site": "there"}
    assert told(mine=mine) == [reserved]
    assert told(mine=mine, theirs=there | {"retires": "2028Q1"}) == []
    nothing = after | {"offers": {}}
    with pytest.raises(InfeasibleError) as refusal:
        planner.plan(nothing, previous=made)
    assert f"worth a second look: {bought} (fleet)" in refusal.value.reasons
    after["horizon"] = after["horizon"] | {"as_of": "2026-11-02"}
    assert told() == []


def test_a_deployment_of_what_was_tuned_before_the_horizon_is_told_where_nobody_serves_it():
    tune = {"model": "llama-3.1-8b", "method": "lora", "dataset_tokens": 10**6, "deploy": True}
    fleet = {"mine": {"node_type": "xe9680-h100", "count": 1}}
    before = question(3) | {"fleet": fleet, "jobs": {"style": {"tune": tune}}}
    after = before | {"horizon": before["horizon"] | {"first_quarter": "2027Q2"}}
    made = planner.plan(before)

    def told(**more):
        plan = planner.plan(after | {"jobs": before["jobs"] | more}, previous=made)
        return [one for one in plan.warnings if "is not served there any more" in one]

    assert told()[0].startswith("style-serving: what was tuned before 2027Q2")
    assert told(chat={"serve": {"model": "llama-3.1-8b"}}) == []


def test_growth_that_begins_anew_after_an_earlier_plan_is_told():
    load = {"requests_per_second": 1, "growth_per_quarter": 0.5, "input_tokens": 10}
    serve = {"model": "llama-3.1-8b", "load": load | {"output_tokens": 10}}
    jobs = {
        "traffic": {"serve": serve},
        "units": {"fixed": {"gpus": 1}, "count": 2, "growth_per_quarter": 0.5},
        "steady": {"fixed": {"gpus": 1}},
    }
    fleet = {"mine": {"node_type": "xe9680-h100", "count": 1}}
    before = question(2) | {"fleet": fleet, "jobs": jobs}
    after = question(2) | {"fleet": fleet, "jobs": jobs}
    after["horizon"] = after["horizon"] | {"first_quarter": "2027Q2"}
    made = planner.plan(before)
    told = "growth begins anew in 2027Q2, so that less is asked there than the earlier plan had"
    (note,) = [one for one in planner.plan(after, previous=made).warnings if told in one]
    assert note.startswith("traffic, units: ")
    grown = ["jobs.units.count=3", "jobs.traffic.serve.load.requests_per_second=1.5"]
    again = planner.plan(after, previous=made, set=grown)
    assert not any(told in one for one in again.warnings)


def test_units_and_jobs_that_have_ended_are_not_carried_over(moved):
    changes = (
        ("  whole: {fixed: {gpus: 16}, team: blue}\n", ""),
        ("count: 2, team", "count: 1, team"),
    )
    inputs = carried_over(later(*changes), dumps(moved[1]), Path("plan.json"))

    told = [(entry.job, entry.node, entry.count) for entry in inputs.scenario.running]
    assert told == [("small", "xe9680-h100/there/01", 1)]


def test_runs_of_an_earlier_plan_are_over_but_those_of_a_pinned_job_say_where_it_stays():
    tuner = "{tune: {model: llama-3.1-8b, method: lora, dataset_tokens: 500000000}, "
    twice = ("small: {fixed: {gpus: 4}, ", f"small: {tuner}runs_per_quarter: 2, ")
    earlier = dumps(make_plan(load(twice)))
    inputs = carried_over(later(twice), earlier, Path("plan.json"))
    assert {entry.job for entry in inputs.scenario.running} == {"whole"}

    pinned = carried_over(later(twice, ("red", "red, pinned: true")), earlier, Path("p.json"))
    assert sum(one.count for one in pinned.scenario.running if one.job == "small") == 2


def test_a_job_that_is_sized_by_its_load_is_not_carried_over_and_neither_is_nothing(moved):
    tokens = "requests_per_second: 1, input_tokens: 10, output_tokens: 10"
    held = f"model: llama-3.1-8b, context: 4096, concurrency: 4, load: {{{tokens}}}"
    changes = (("small: {fixed: {gpus: 4}, count: 2", f"small: {{serve: {{{held}}}"),)
    inputs = carried_over(later(*changes), dumps(moved[1]), Path("plan.json"))
    assert {entry.job for entry in inputs.scenario.running} == {"whole"}
    alone = (*changes, ("  whole: {fixed: {gpus: 16}, team: blue}\n", ""))
    inputs = carried_over(later(*alone), dumps(moved[1]), Path("plan.json"))
    assert inputs.scenario.running == ()
    assert "running:" not in inputs.question


def test_a_unit_on_a_node_that_must_stay_empty_moves_for_that_reason():
    """The one server there is all that its pool has, and one of each pool is kept spare."""
    plan = make_plan(
        load(
            ("policies: {", "policies: {spare_nodes: 1, "),
            ("  whole: {fixed: {gpus: 16}, team: blue}\n", ""),
            ("here/2", "there/01"),
        )
    )

    (move,) = current(plan).moves
    assert move.reason == "every node of xe9680-h100/there is kept spare in 2027Q1"
    told = [note.text for note in plan.warnings if note.origin == "policies.spare_nodes"]
    assert told == [
        "nothing can run on xe9680-h100 @ there, as 1 spare node must stay empty in a pool that "
        "runs a job and it never has more nodes than that"
    ]


ALONE = ("  b: {node_type: xe9680-h100, count: 1, site: there}\n", "")
GONE = (ALONE, ("count: 2, site: here", "count: 3, site: here"))


def test_a_node_that_is_gone_counts_by_its_pool_and_its_units_move(moved):
    plan = make_plan(carried_over(later(*GONE), dumps(moved[1]), Path("plan.json")))

    small = [move for move in current(plan).moves if move.job == "small"]
    assert [move.origin for move in small] == [("xe9680-h100/there",)] * 2
    assert "no node of xe9680-h100/there can be in service" in small[0].reason
    assert current(plan).cost_cents == 200_000


def test_a_unit_moves_where_its_gpu_type_ends_within_the_horizon():
    """The L40S retire in the second quarter, and a fixed unit keeps one GPU type over both."""
    ends = (
        ("count: 1, site: there", "count: 1, site: there, retires: 2027Q2"),
        ("b: {node_type: xe9680-h100", "b: {node_type: xe7740-l40s"),
        ("  whole: {fixed: {gpus: 16}, team: blue}\n", ""),
        ("xe9680-h100/here/2, gpus: 4", "xe7740-l40s/there/1, gpus: 4"),
    )
    (move,) = current(make_plan(load(*ends))).moves
    told = "no l40s-48gb can be in service in 2027Q2, and its units keep one GPU type"
    assert move.reason == f"{told} over all quarters"


def test_a_pin_to_a_pool_that_is_gone_says_so(moved):
    with pytest.raises(InfeasibleError, match=r"there .none of its nodes can be in service"):
        make_plan(carried_over(later(*GONE, PINNED), dumps(moved[1]), Path("plan.json")))


@table(__file__)
def test_an_earlier_plan_that_cannot_say_it_is_refused(moved, changes, words):
    with pytest.raises(InputError, match=words):
        carried_over(load(*changes), dumps(moved[1]), Path("plan.json"))


@table(__file__)
def test_pins_of_an_earlier_plan_that_cannot_be_kept_are_told_as_stated_ones(moved, changes, words):
    inputs = later(*changes)
    with pytest.raises(InputError) as told:
        carried_over(inputs, dumps(moved[1]), Path("plan.json"))
    assert [(one.file, one.message) for one in told.value.findings] == [("plan.json", words)]
    assert "let it move (`pinned: false` of `jobs.small`)" in str(told.value.findings[0].hint)


OF_HOURS = ("small: {fixed: {gpus: 4}, ", "small: {fixed: {gpus: 4}, run: {hours: 50}, ")


def test_a_run_on_another_node_of_its_pool_has_not_moved_and_one_that_leaves_it_pays():
    """Both units go to the node that `whole` leaves: that one ran elsewhere today is no move."""
    plan = make_plan(load(OF_HOURS, TOGETHER))
    assert current(plan).moves == ()
    (home,) = {*nodes_of(plan, "small", 1), *nodes_of(plan, "small", 2)}
    assert home.startswith("xe9680-h100/here/")

    plan = make_plan(load(OF_HOURS))
    assert [move.cost_cents for move in current(plan).moves] == [100_000, 100_000]
    assert plan.moves == (0, 0)


def test_every_run_of_a_pinned_unit_stays_on_its_node():
    tuner = "{tune: {model: llama-3.1-8b, method: lora, dataset_tokens: 500000000}, "
    inputs = load(
        ("small: {fixed: {gpus: 4}, count: 2, ", f"small: {tuner} runs_per_quarter: 4, count: 2, "),
        ("gpus: 4}\n  - {job: small, node: xe9680-h100/here/2, gpus: 4}", "pinned: true}"),
        TOGETHER,
    )
    plan = make_plan(inputs)
    for quarter in (0, 1):
        assert nodes_of(plan, "small", 1, quarter) == ["xe9680-h100/here/01"] * 4
