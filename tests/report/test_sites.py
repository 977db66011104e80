"""What stands at each site beside what it allows, as far as the inputs say anything."""

from dataclasses import replace

import pytest

from planner.planning.plan import BreakEven, CurrentPlacement, Move, SiteUse
from planner.reporting import markdown
from planner.reporting.sections.capacity import sites_section
from planner.reporting.sections.jobs import shortage_section
from planner.reporting.sections.placement import moves_section
from planner.reporting.traced import FULL, TracedPlan
from tests.report.pages import justification, plan_page
from tests.stated import changed


@pytest.fixture
def hall():
    """A site with power for its nodes, two racks, and words about it."""
    return SiteUse(
        site="dc-east",
        cooling=("air", "liquid"),
        labels=("eu",),
        nodes=(3, 4, 4),
        taken={
            "power_w": (30_600, 40_800, 40_800),
            "rack_units": (18, 24, 24),
            "network_ports": None,
        },
        allowed={"power_w": (45_000, 45_000, 60_000), "rack_units": (40, 40, 40)},
        racks=2,
        racks_used=(1, 2, 2),
        units_per_rack=30,
        power_per_rack_w=22_500,
        spare_nodes=1,
    )


def racked(plan, *, fourth=(2, 1)):
    """The nodes of dc-east stand in two racks; the last, of two quarters, as it is told."""
    stands = {4: fourth}
    nodes = tuple(
        changed(node, racks=stands.get(place, (1,) * len(node.in_service)))
        if node.site == "dc-east"
        else node
        for place, node in enumerate(plan.nodes)
    )
    return changed(plan, nodes=nodes)


def shown(plan, *sites, most=8):
    return markdown.render(
        sites_section(TracedPlan(changed(plan, sites=sites), detail=replace(FULL, lines=most)))
    )


def test_a_site_says_what_is_taken_of_what_it_allows_by_run_of_quarters(plan, hall):
    text = plan_page(changed(plan, sites=(hall,)))
    assert "| dc-east | 2027Q1 | 30.6 | 30.6 | 45 | 18 | 18 | 40 | 1 | 2 |" in text
    assert "|  | 2027Q2 | 30.6 | 40.8 | 45 | 18 | 24 | 40 | 2 | 2 |" in text
    assert "|  | 2027Q3 | 30.6 | 40.8 | 60 | 18 | 24 | 40 | 2 | 2 |" in text
    assert "air and liquid cooling; 2 racks of 30 U and 22.5 kW; labels eu; 1 spare node" in text


@pytest.mark.parametrize(
    ("limit", "racks", "allowed"), [(40, 2, "40"), (None, 2, "60"), (None, None, "no limit")]
)
def test_facilities_read_of_the_rack_units_that_racks_have(plan, hall, limit, racks, allowed):
    stated = {} if limit is None else {"rack_units": (limit,) * 3}
    site = changed(hall, allowed={"power_w": hall.allowed["power_w"]} | stated, racks=racks)
    text = justification(changed(plan, sites=(site,)))
    assert f"| dc-east | 2027Q1 | 30.6 | 30.6 | 45 | 18 | 18 | {allowed} |" in text


def test_racks_say_what_they_hold_and_when(plan, hall):
    text = shown(racked(plan), hall)
    assert "| dc-east 1 | xe9680-h100/dc-east/01–03 (×3), xe9680-h200/dc-east/01 (2027Q3) |" in text
    assert "| dc-east 2 | xe9680-h200/dc-east/01 (2027Q2) |" in text
    assert "… 1 more rack, each in" in shown(racked(plan), hall, most=1)


def test_each_rack_has_its_peak_where_every_node_stands_in_one(plan, hall):
    with_racks = changed(racked(plan, fourth=(2, 2)), sites=(hall,))
    text = justification(with_racks)
    assert "| dc-east 1 | xe9680-h100/dc-east/01–03 (×3) | 30.6 | 2027Q1 |" in text
    assert "| dc-east 2 | xe9680-h200/dc-east/01 (2027Q2–Q3) | 10.2 | 2027Q2 |" in text
    walking = changed(racked(plan), sites=(hall,))
    assert "| ? | ? |" in justification(walking)
    none = changed(plan, sites=(changed(hall, racks=None),))
    text = justification(none)
    assert "Peak kW" not in text
    assert "| – | – |" in text


def test_a_purchase_that_no_use_pays_for_says_so(plan):
    even = BreakEven(
        offer="h200-buy",
        rent="h200-rent",
        node_type="xe9680-h200",
        quarter="2027Q2",
        nodes=1,
        buy_cents=100_000_00,
        rent_cents=90_000_00,
        hours=2400,
        quarter_hours=2190,
    )
    text = justification(changed(plan, break_evens=(even,)))
    assert "renting is cheaper at any use" in text
    text = justification(changed(plan, break_evens=(changed(even, hours=2000),)))
    assert "renting is cheaper at any use" not in text
    assert "| 2,000 | 91.3 % |" in text


def test_what_is_still_to_be_paid_after_the_horizon_is_said(plan):
    first, *others = plan.acquisitions
    owed = changed(plan, acquisitions=(changed(first, committed_cents=12_345_00), *others))
    words = "- Still to be paid for reservations after the horizon, in no cost of this plan, USD:"
    drawn = justification(owed)
    ask, *_, buyer = drawn.split("\n## ")[1:14]
    assert f"{words} 12,345\n" in ask
    cents = sum(line.total_cents for line in plan.acquisitions) + 12_345_00
    told = f"- Estimated value, whole terms of reservations counted, USD: {cents / 100:,.0f}\n"
    assert told in buyer
    assert words not in justification(plan)


def moved(unit, *, leaves):
    return Move(
        job="chat",
        unit=unit,
        origin=("xe9680-h100/dc-east/01",),
        nodes=("xe9680-h100/dc-east/02",),
        leaves_pool=leaves,
        cost_cents=500_00 if leaves else 0,
        reason="the pool closes",
    )


@pytest.mark.parametrize(
    ("moves", "words"),
    [
        ((), "5 units of this plan run today, and all stay where they are."),
        ((moved(1, leaves=True),), "4 stay, 1 leaves its pool for $500.00."),
        (
            (moved(1, leaves=False), moved(2, leaves=False), moved(3, leaves=False)),
            "2 stay, 3 change their nodes within the pool, which has no price.",
        ),
        (
            (moved(1, leaves=True), moved(2, leaves=True), moved(4, leaves=False)),
            "2 stay, 2 leave their pools for $1,000.00, 1 changes its node within the pool",
        ),
    ],
)
def test_moves_of_what_runs_today_are_told_by_what_they_cost(plan, moves, words):
    cost = sum(move.cost_cents for move in moves)
    current = CurrentPlacement(units=5, pinned=0, moves=moves, cost_cents=cost)
    text = markdown.render(moves_section(TracedPlan(changed(plan, current=current))))
    assert words in text
    units = [move.unit for move in moves]
    if units == [1, 2, 3]:
        assert "| chat | 1–3 |" in text
    if units == [1, 2, 4]:
        assert "| chat | 1–2, 4 |" in text or "| chat | 1, 2, 4 |" in text


def test_a_triage_that_is_not_proved_says_what_is_open(short):
    text = markdown.render(shortage_section(TracedPlan(short)))
    assert "### claims-tune: delayed by 1 quarter" in text
    assert "might" not in text
    assert "What would keep it" not in text
    first, second = short.shortage.priorities
    unsure = changed(short.shortage, priorities=(first, changed(second, proved=False)))
    text = markdown.render(shortage_section(TracedPlan(changed(short, shortage=unsure))))
    assert "fewer jobs might have to give way" in text
    dear = changed(short.shortage, bound_cents=short.proof.cost_cents - 1_000_00)
    text = markdown.render(shortage_section(TracedPlan(changed(short, shortage=dear))))
    assert "might be cheaper, by at most $1,000.00." in text
