"""Money against sums worked out by hand (to the cent, at 8 % a year)."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest

from planner.costs import in_cents, node_costs
from planner.inputs.scenario.scenario import Finance
from planner.packing.solution import PriceTag
from planner.planning.checks.case import PlanCase
from planner.planning.checks.money import expected_costs
from planner.planning.plan_costs import largest_remainder, price_tags
from tests.plan.edits import refused
from tests.stated import changed


def line(plan, name):
    return next(cost for cost in plan.costs if cost.name == name)


def test_purchase_is_paid_when_the_nodes_enter_service(plan):
    """300,000 + 60,000.50 in the second quarter, one quarter at 1.08^(-1/4) = 0.980944."""
    assert line(plan, "purchase").cents == (0, 36_000_050, 0)
    assert line(plan, "purchase").present_cents == 29_428_310 + 5_885_711


def test_residual_value_is_straight_line_and_returns_at_the_end(plan):
    """2 of 20 quarters are used: 90 % is left, discounted by three quarters, 0.943913."""
    assert line(plan, "residual value").cents == (0, 0, -(27_000_000 + 5_400_045))
    assert line(plan, "residual value").present_cents == -(25_485_664 + 5_097_175)


def test_support_is_paid_by_quarter_in_service(plan):
    """10 % a year of 360,000.50 is 9,000.0125 a quarter: 7,500.00 and 1,500.01 (half even)."""
    assert line(plan, "support").cents == (0, 900_001, 900_001)
    assert line(plan, "support").present_cents == 1_457_396 + 291_482


def test_energy_is_drawn_by_owned_and_bought_nodes_and_not_by_rented_ones(plan):
    """7 kW × 1.5 × 2,190 h × $0.10 = $2,299.50; 2.5 kW gives $821.25."""
    assert line(plan, "energy").cents == (229_950, 2 * 229_950 + 82_125, 2 * 229_950 + 82_125)


def test_both_workings_agree_for_every_offer_and_quarter(case, plan):
    """The program's floating decimals and the check's fractions, for amounts that do not divide."""
    held = changed(case.inputs.offers[2], name="hold-h100", kind="reserve", term_quarters=2)
    finance = Finance(licence_usd_per_gpu_year=Decimal("1234.567"))
    asked = case.inputs.scenario.offers
    scenario = changed(
        case.inputs.scenario, finance=finance, offers={**asked, "hold-h100": asked["rent-h100"]}
    )
    offers = (*case.inputs.offers, held)
    for life in ("5", "3", "0.4"):
        settings = changed(
            case.inputs.settings,
            useful_life_years=changed(case.inputs.settings.useful_life_years, value=Decimal(life)),
        )
        inputs = changed(case.inputs, settings=settings, scenario=scenario, offers=offers)
        for offer in inputs.offers:
            for quarter in range(3):
                agree(case, plan, inputs, offer, quarter)


def agree(case, plan, inputs, offer, quarter):
    """What both workings say that one node costs."""
    lasts = {"buy": 3, "rent": 1, "reserve": 2}[offer.kind]
    node = changed(
        plan.nodes[1],
        origin=offer.kind,
        entry=offer.name,
        node_type=offer.node_type,
        in_service=plan.quarters[quarter : quarter + lasts],
    )
    one = changed(plan, nodes=(node,))
    expected = expected_costs(PlanCase(inputs, case.jobs, one))
    found = {s.name: [*s.cents, s.present_cents] for s in node_costs(inputs, offer, quarter)}
    assert found == expected
    return found


def test_half_a_cent_is_half_a_cent_though_roots_are_never_exact(case, plan):
    """At 44 % a year, two quarters are 1 / 1.2: 30,000.03 and 30,000.09 leave half a cent."""
    rate = case.inputs.settings.discount_rate_per_year
    at_44 = changed(rate, value=Decimal("0.44"))
    settings = changed(case.inputs.settings, discount_rate_per_year=at_44)
    for price, present_cents in (("30000.03", 2_500_002), ("30000.09", 2_500_008)):
        offer = changed(case.inputs.offers[2], unit_price_usd=Decimal(price))
        offers = (*case.inputs.offers[:2], offer)
        inputs = changed(case.inputs, settings=settings, offers=offers)
        assert agree(case, plan, inputs, offer, 2)["rent"][-1] == present_cents


def test_amounts_of_any_size_are_rounded_to_the_cent_half_to_even():
    assert in_cents(Decimal("1000000")) == 100_000_000
    assert in_cents(Decimal("987654321012.345")) == 98_765_432_101_234
    assert in_cents(Decimal("-0.015")) == -2


@pytest.mark.parametrize("fraction", [0.0, 0.2, 0.5, 0.999999])
def test_rounding_spreads_over_the_largest_remainders(case, fraction):
    tags = tuple(PriceTag(7 + fraction, tag.extra_cents_by_mode) for tag in case.solution.tags)
    units = sum(job_class.count for job_class in case.translation.problem.classes)
    solution = replace(
        case.solution,
        tags=tags,
        bound_terms=(("x", case.solution.bound_cents - units * (7 + fraction)),),
    )
    found, terms = price_tags(case.translation, solution, ())
    assert sum(cents for _, cents in terms) == solution.bound_cents
    assert len(terms) == 2
    assert all(
        abs(cents - (7 + fraction) * n) <= 1
        for (_, cents), n in zip(sorted(found.items()), (1, 2, 2, 1), strict=True)
    )


def test_what_rounding_cannot_explain_is_a_term_of_its_own(case):
    solution = replace(case.solution, bound_terms=(("x", 0.0),))
    _, terms = price_tags(case.translation, solution, ())
    assert terms[-1][0] == "not attributed"
    assert sum(cents for _, cents in terms) == solution.bound_cents


def test_of_amounts_that_are_rounded_down_those_cut_most_get_the_cents_that_are_left():
    amounts = {"a": Fraction(6, 5), "b": Fraction(17, 10), "c": Fraction(21, 10)}
    assert largest_remainder(amounts, 5) == {"a": 1, "b": 2, "c": 2}


@pytest.mark.parametrize("name", ["buy-h100", "rent-h100"])
def test_the_check_works_out_for_itself_what_a_node_of_an_offer_costs(case, plan, name):
    """A slip between a price per GPU-hour and a node's price would be in plan and check alike."""
    offers = tuple(
        changed(one, unit_price_usd=2 * one.unit_price_usd) if one.name == name else one
        for one in case.inputs.offers
    )
    told = refused(changed(case.inputs, offers=offers), plan)
    (settled,) = (round(100 * one.unit_price_usd) for one in case.inputs.offers if one.name == name)
    expected = f"a node of {name}, by nodes ordered, in cents, is {{1: {2 * settled}}}"
    assert f"{expected}, the inputs give {{1: {settled}}}" in told
