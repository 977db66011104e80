"""Procurement and money from the scenario file to the checked plan: each alone changes the plan."""

from decimal import Decimal
from typing import Any

import pytest

from planner.errors import InfeasibleError
from planner.inputs.settled import Inputs
from planner.planning.make import make_plan
from planner.planning.plan import Plan
from planner.reporting.sections.purchases import ask_sentence
from tests.plan.edits import noticed, refused
from tests.report.pages import told
from tests.stated import asked, changed, question

QUARTERS = ("2027Q1", "2027Q2", "2027Q3", "2027Q4")
BUY = {"node_type": "xe9680-h100", "kind": "buy", "price_usd": 300_000, "quote": "a"}
RENT = {
    "node_type": "xe9680-h100",
    "kind": "rent",
    "price_usd_per_gpu_hour": 4,
    "quote": "b",
}
RESERVE = {**RENT, "kind": "reserve", "term_years": 1, "price_usd_per_gpu_hour": 2}


def read(offers: dict[str, Any], count: Any = 1, **changes: Any) -> Inputs:
    scenario = question(4, as_of="2026-10-01") | {
        "offers": offers,
        "finance": {"support_share_per_year": 0, "energy_usd_per_kwh": 0},
        "jobs": {"work": {"fixed": {"gpus": 8}, "count": count}},
        **changes,
    }
    return asked(scenario)


def planned(*arguments: Any, **changes: Any) -> Plan:
    return make_plan(read(*arguments, **changes))


def taken(plan: Plan) -> list[tuple[str, str, int]]:
    return [(line.offer, line.quarter, line.count) for line in plan.acquisitions]


def line(plan: Plan, name: str) -> tuple[int, ...]:
    return next(cost.cents for cost in plan.costs if cost.name == name)


def test_an_offer_is_taken_only_in_the_quarters_in_which_it_is_available():
    """Without the window one node is bought at once and nothing is rented."""
    offers = {"buy": BUY, "rent": RENT}
    assert taken(planned(offers)) == [("buy", "2027Q1", 1)]
    late = {**BUY, "available": "2027Q2..2027Q3"}
    assert taken(planned({**offers, "buy": late})) == [("rent", "2027Q1", 1), ("buy", "2027Q2", 1)]


def test_a_site_without_power_takes_no_node_until_it_has_some():
    sites = {"hall": {"power_kw": {"2027Q1": 0, "2027Q3": 12}}, "main": {"power_kw": 12}}
    offers = {"buy": {**BUY, "site": "hall", "price_usd": 200_000}, "rent": RENT}
    found = planned(offers, sites=sites)
    assert taken(found) == [("rent", "2027Q1", 1), ("rent", "2027Q2", 1), ("buy", "2027Q3", 1)]


def test_a_delivery_in_parts_is_taken_before_it_is_needed():
    """Four are needed from the third quarter on, and three at the most arrive in it."""
    parts = {**BUY, "deliveries": {"2027Q1": 2, "2027Q3": 3}}
    late = {"2027Q3": 4, "2027Q4": 4}
    assert taken(planned({"buy": parts}, late)) == [("buy", "2027Q1", 1), ("buy", "2027Q3", 3)]
    each = {**BUY, "deliveries": 2}
    plan = planned({"buy": each}, late)
    assert taken(plan) == [("buy", "2027Q2", 2), ("buy", "2027Q3", 2)]
    with pytest.raises(InfeasibleError) as refusal:
        planned({"buy": each}, {"2027Q1": 3})
    assert "raise the deliveries of offer buy by 1 node, to 3 nodes" in str(refusal.value)
    with pytest.raises(InfeasibleError) as refusal:
        planned({"buy": {**BUY, "deliveries": {"2027Q2": 9}}}, {"2027Q1": 1})
    assert "offer buy delivers 0 nodes until 2027Q1" in str(refusal.value)


@pytest.mark.parametrize(
    ("holidays", "as_of", "day"),
    [
        ([], "2027-10-01", "2027-12-24"),
        (["2027-12-24"], "2027-10-01", "2027-12-23"),
        (["2027-12-23", "2027-12-24", "2027-12-20"], "2027-10-01", "2027-12-22"),
        (["2027-12-24"], "2027-12-24", "2027-12-24"),
        ([], "2027-12-25", "2027-12-25"),
    ],
)
def test_an_order_is_placed_on_a_working_day(holidays, as_of, day):
    """A week before 1 January 2028 is Christmas Day, a Saturday; none is before the plan itself."""
    horizon = {"first_quarter": "2028Q1", "quarters": 2, "as_of": as_of, "holidays": holidays}
    plan = planned({"buy": {**BUY, "lead_time_weeks": 1}}, horizon=horizon)
    assert [(line.quarter, line.order_by) for line in plan.acquisitions] == [("2028Q1", day)]


def test_the_check_notices_more_than_is_delivered():
    free = planned({"buy": BUY}, {"2027Q1": 3})
    few = read({"buy": {**BUY, "deliveries": 2}}, {"2027Q1": 3})
    assert "offer buy delivers 2 nodes, 3 arrive" in refused(few, free)


def test_nothing_is_ordered_after_the_end_of_sale():
    """12 weeks from 7 January end on 1 April: what is ordered by then serves from Q2 on."""
    offer = {**BUY, "lead_time_weeks": 12}

    def until(day: str) -> list[tuple[str, str]]:
        offers = {"buy": {**offer, "end_of_sale": day}, "rent": RENT}
        plan = planned(offers, {"2027Q3": 1, "2027Q4": 1})
        return [(line.quarter, line.order_by) for line in plan.acquisitions]

    assert until("2027-04-09") == [("2027Q3", "2027-04-08")]
    assert until("2027-04-07") == [("2027Q3", "2027-04-07")]
    assert until("2027-01-10") == [("2027Q3", "2027-01-08")]
    assert until("2027-01-07") == [("2027Q2", "2027-01-07")]


def test_owned_nodes_leave_at_the_end_of_their_support_and_are_replaced():
    fleet = {"old": {"node_type": "xe9680-h100", "count": 1}}
    assert taken(planned({"rent": RENT}, fleet=fleet)) == []
    old = {"old": {**fleet["old"], "retires": "2027Q3"}}
    plan = planned({"rent": RENT}, fleet=old)
    assert taken(plan) == [("rent", "2027Q3", 1), ("rent", "2027Q4", 1)]
    assert plan.nodes[0].in_service == QUARTERS[:2]
    assert [pool.nodes for pool in plan.pools] == [(1, 1, 1, 1)]
    assert "1 owned node of old (xe9680-h100 @ main) retires: from 2027Q3 on" in told(plan)


def test_a_reservation_is_paid_over_its_term_and_what_comes_after_is_told():
    """2 × 8 × 2,190 = 35,040 a quarter; of four from the third on, two are in the horizon."""
    plan = planned({"rent": RENT, "hold": RESERVE}, {"2027Q3": 1, "2027Q4": 1})
    (held,) = plan.acquisitions
    assert (held.kind, held.quarter, held.term_quarters) == ("reserve", "2027Q3", 4)
    assert (held.total_cents, held.committed_cents) == (2 * 3_504_000, 2 * 3_504_000)
    assert line(plan, "reservation") == (0, 0, 3_504_000, 3_504_000)
    assert plan.nodes[0].id == "xe9680-h100/main/v01"
    assert "committed after the horizon: $70,080.00 for hold" in told(plan)
    assert ask_sentence(plan).startswith(
        "Reserve 1 × PowerEdge XE9680 (8× h100-80gb-sxm) for 1 year from 2027Q3 "
        "(order by 2027-07-01) for "
    )


def test_a_large_order_has_its_price_for_all_nodes():
    offer = {**BUY, "price_breaks": [{"from_nodes": 3, "price_usd": 250_000}]}
    two, three = (planned({"buy": offer}, count) for count in (2, 3))
    assert line(two, "purchase")[0] == 60_000_000
    assert line(three, "purchase")[0] == 75_000_000
    assert three.acquisitions[0].price_text == "$250,000 per node from 3 nodes on"


def test_a_purchase_that_the_capital_budget_forbids_is_rented():
    offers = {"buy": BUY, "rent": RENT}
    exact = planned(offers, budget={"capex_usd": {"2027Q1": 300_000}})
    assert taken(exact) == [("buy", "2027Q1", 1)]
    short = planned(offers, budget={"capex_usd": {"2027Q1": 299_999.99}})
    assert taken(short) == [("rent", "2027Q1", 1), ("buy", "2027Q2", 1)]
    assert [use.spent_cents for use in short.budgets] == [0]


def test_a_total_budget_counts_capital_and_operation_and_no_residual_value():
    """Four rents of 70,080 are 280,320 of cash, less than the price, though buying costs less."""
    offers = {"buy": BUY, "rent": RENT}
    plan = planned(offers, budget={"total_usd": 290_000})
    assert [offer for offer, _, _ in taken(plan)] == ["rent"] * 4
    assert plan.budgets[0].spent_cents == 4 * 7_008_000


def test_what_owned_nodes_cost_is_part_of_the_budget():
    fleet = {"old": {"node_type": "xe9680-h100", "count": 1}}
    finance = {"energy_usd_per_kwh": 0.1, "pue": 1}
    plan = planned({"rent": RENT}, fleet=fleet, finance=finance, budget={"opex_usd": 10_000})
    assert plan.budgets[0].spent_cents == sum(line(plan, "energy")) > 600_000
    with pytest.raises(InfeasibleError, match=r"opex in total is \$100"):
        planned({"rent": RENT}, fleet=fleet, finance=finance, budget={"opex_usd": 100})


def test_a_budget_that_is_too_small_is_named_with_the_raise_that_will_do():
    with pytest.raises(InfeasibleError) as caught:
        planned({"rent": RENT}, budget={"opex_usd": {"2027Q2": 70_000}})
    assert caught.value.headline == (
        "no plan exists: opex of 2027Q2 is $70,000, at least $70,080 are needed"
    )
    assert caught.value.remedies == ("raise opex of 2027Q2 by $80, to $70,080",)


def test_budgets_that_only_a_raise_of_both_mends_are_told_together():
    budget = {"opex_usd": {"2027Q1": 1, "2027Q2": 2}}
    with pytest.raises(InfeasibleError) as caught:
        planned({"rent": RENT}, budget=budget)
    assert caught.value.remedies == (
        "together: raise opex of 2027Q1 by $70,079, to $70,080, raise opex of 2027Q2 by $70,078, "
        "to $70,080",
    )


def test_a_licence_is_charged_for_every_gpu_in_service_unless_something_shows_it_is_paid():
    """8 × 4,500 / 4 = 9,000 a quarter."""
    finance = {"licence_usd_per_gpu_year": 4500}
    plan = planned({"rent": RENT}, finance=finance)
    assert line(plan, "licence") == (900_000,) * 4
    paid = {**RENT, "licence_included": "contract 12, annex B"}
    shown = planned({"rent": paid}, finance=finance)
    assert all(cost.name != "licence" for cost in shown.costs)
    assert "contract 12, annex B" in told(shown)
    other = planned({"rent": RENT}, finance={"licence_usd_per_gpu_year": {"h100-80gb-sxm": 1000}})
    assert line(other, "licence") == (200_000,) * 4


def test_that_no_licence_is_counted_is_said():
    assert "no software licence is counted" in told(planned({"rent": RENT}))


def test_what_a_licence_and_colocation_cost_is_assumed_where_no_quote_can_show_it():
    finance = {"licence_usd_per_gpu_year": {"h100-80gb-sxm": 1000}}
    plan = planned({"rent": RENT}, finance={**finance, "colocation_usd_per_kw_month": 9})
    assumed = {note.origin: note.text for note in plan.assumptions}
    of_licence = assumed["finance.licence_usd_per_gpu_year"]
    assert "$1,000 (h100-80gb-sxm) per GPU and year, none for any other" in of_licence
    assert "costs $9 per kW and month" in assumed["finance.colocation_usd_per_kw_month"]
    plain = planned({"rent": RENT}, finance={"licence_usd_per_gpu_year": 4500})
    assert any("costs $4,500 per GPU and year: stated" in note.text for note in plain.assumptions)
    assert any(note.text.startswith("no colocation is counted") for note in plain.assumptions)


def test_colocation_is_paid_for_the_nameplate_of_nodes_on_the_own_floor():
    finance = {"colocation_usd_per_kw_month": 200}
    node = read({"rent": RENT}).catalog.nodes["xe9680-h100"]
    assert node.max_power_kw is not None
    due = int(node.max_power_kw.value * 200 * 3 * 100)
    assert line(planned({"buy": BUY}, finance=finance), "colocation") == (due,) * 4
    rented = planned({"rent": RENT}, finance=finance)
    assert all(cost.name != "colocation" for cost in rented.costs)


def test_what_is_committed_after_the_horizon_weighs_where_it_is_charged():
    """The term of four quarters from the third on: two are held, two more would be paid.

    35,040 a quarter: 70,080 for the half year within the horizon against a rent of 140,160 and,
    charged, as much again, so that neither is cheaper; at $2.50 an hour renting is.
    """
    hold = {**RESERVE, "price_usd_per_gpu_hour": 2.5}
    late = {"2027Q3": 1, "2027Q4": 1}
    finance = {"discount_rate_per_year": 0}
    shown = planned({"rent": RENT, "hold": hold}, late, finance=finance)
    assert {offer for offer, _, _ in taken(shown)} == {"hold"}
    assert "in no other figure of this plan" in told(shown)
    assert "($87,600 to pay, and $87,600 for reservations afterwards)" in told(shown)
    assert "after the horizon is shown and not charged" in told(shown)
    charged = {**finance, "commitments": "charged"}
    dearer = planned({"rent": RENT, "hold": hold}, late, finance=charged)
    assert {offer for offer, _, _ in taken(dearer)} == {"rent"}
    plan = planned({"hold": hold}, late, finance=charged)
    assert line(plan, "commitments") == (0, 0, 0, 2 * 4_380_000)
    assert plan.proof.cost_cents == 4 * 4_380_000
    assert "in the cost as commitments" in told(plan)
    assert "in no other figure of this plan" not in told(plan)
    assert "after the horizon is shown and not charged" not in told(plan)


def test_what_is_committed_after_the_horizon_is_no_payment_within_it():
    charged = {"commitments": "charged"}
    late = {"2027Q3": 1, "2027Q4": 1}
    budget = {"opex_usd": 70_080}
    plan = planned({"hold": RESERVE}, late, finance=charged, budget=budget)
    assert plan.budgets[0].spent_cents == 7_008_000


def test_a_cap_of_the_residual_value_stops_a_late_purchase():
    """Bought for the last quarter, 95 % of 300,000 is left: 15,000 against a rent of 70,080."""
    last = {"2027Q4": 1}
    finance = {"useful_life_years": 5, "discount_rate_per_year": 0}
    assert taken(planned({"buy": BUY, "rent": RENT}, last, finance=finance)) == [
        ("buy", "2027Q4", 1)
    ]
    capped = {**finance, "residual_at_most": "50%"}
    assert taken(planned({"buy": BUY, "rent": RENT}, last, finance=capped)) == [
        ("rent", "2027Q4", 1)
    ]
    plan = planned({"buy": BUY}, last, finance=capped)
    assert line(plan, "residual value") == (0, 0, 0, -15_000_000)
    assert "straight line over 5 years, at most 50 % of it" in told(plan)
    # A cap above what is left changes nothing: of four years, three are left.
    worn = {**finance, "useful_life_years": 4, "residual_at_most": "80%"}
    assert line(planned({"buy": BUY}, finance=worn), "residual value")[-1] == -22_500_000


def test_the_network_of_a_bought_node_is_capital_by_its_ports():
    node = read({"rent": RENT}).catalog.nodes["xe9680-h100"]
    assert node.network_ports is not None
    finance = {"network_usd_per_port": 2_000}
    due = node.network_ports.value * 200_000
    plan = planned({"buy": BUY}, finance=finance, budget={"capex_usd": 400_000})
    assert line(plan, "network") == (due, 0, 0, 0)
    assert plan.budgets[0].spent_cents == 30_000_000 + due
    assert "$2,000 per network port: stated in the scenario" in told(plan)
    rented = planned({"rent": RENT}, finance=finance)
    assert all(cost.name != "network" for cost in rented.costs)
    with pytest.raises(InfeasibleError):
        planned({"buy": BUY}, finance=finance, budget={"capex_usd": 300_000})
    stated = {**BUY, "network_ports": 4}
    assert line(planned({"buy": stated}, finance=finance), "network")[0] == 800_000


def test_break_even_is_the_use_at_which_both_ways_cost_the_same():
    """At no discount: 300,000 × 4 / 20 quarters is 60,000; a rented hour of four quarters is 32."""
    finance = {
        "discount_rate_per_year": 0,
        "useful_life_years": 5,
        "support_share_per_year": 0,
        "energy_usd_per_kwh": 0,
    }
    (line,) = planned({"buy": BUY, "rent": RENT}, finance=finance).break_evens
    assert (line.buy_cents, line.rent_cents) == (6_000_000, 4 * 7_008_000)
    assert line.hours == 469
    assert Decimal(line.hours * 4 * 8 * 4) >= 60_000 > Decimal((line.hours - 1) * 4 * 8 * 4)


def test_break_even_is_against_the_rent_that_costs_least_with_its_licence():
    """A licence of $4,500 a year is $1,125 for 2,190 h: 51 cents an hour."""
    offers = {
        "buy": BUY,
        "bare": {**RENT, "price_usd_per_gpu_hour": 4},
        "licensed": {**RENT, "price_usd_per_gpu_hour": 4.4, "licence_included": "as quoted"},
    }
    finance = {"licence_usd_per_gpu_year": 4500}
    (line,) = planned(offers, finance=finance).break_evens
    assert line.rent == "licensed"
    offers["licensed"]["price_usd_per_gpu_hour"] = 4.6
    (line,) = planned(offers, finance=finance).break_evens
    assert line.rent == "bare"


@pytest.fixture(scope="module")
def whole() -> tuple[Inputs, Plan]:
    """Inputs and plan of the scenario that has everything."""
    inputs = read(
        {
            "buy": {
                **BUY,
                "available": "2027Q2",
                "price_usd": 200_000,
                "price_breaks": [{"from_nodes": 2, "price_usd": 150_000}],
            },
            "hold": {**RESERVE, "end_of_sale": "2027-01-31", "maximum": 1},
            "rent": RENT,
        },
        {"2027Q1": 3, "2027Q2": 4, "2027Q3": 4, "2027Q4": 4},
        fleet={"old": {"node_type": "xe9680-h100", "count": 1, "retires": "2027Q3"}},
        finance={"licence_usd_per_gpu_year": 100, "colocation_usd_per_kw_month": 10},
        budget={"capex_usd": 450_000, "total_usd": {"2027Q1": 200_000, "total": 900_000}},
    )
    return inputs, make_plan(inputs)


@noticed("everything of procurement")
def test_the_independent_check_notices_when(whole, told, edit):
    inputs, plan = whole
    assert told in refused(inputs, edit(plan))


def test_the_independent_check_notices_an_exceeded_budget(whole):
    """The same plan against a budget that is a cent smaller."""
    inputs, plan = whole
    spent = plan.budgets[0].spent_cents
    tight = changed(inputs.scenario.budget, capex_usd=Decimal(spent - 1) / 100)
    other = changed(inputs, scenario=changed(inputs.scenario, budget=tight))
    assert "capex in total is" in refused(other, plan)
