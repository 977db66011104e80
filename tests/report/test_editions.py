"""Page 1, the short edition beside the full one, and what a scenario says for readers."""

import re
from dataclasses import replace

import pytest

import planner
from planner.errors import InputError
from planner.planning.store import dumps
from planner.reporting import markdown
from planner.reporting.documents import (
    justification_document,
    plan_document,
    quarterly_document,
)
from planner.reporting.html import render
from planner.reporting.traced import FULL
from tests.report.pages import Page, justification
from tests.stated import changed

STATED = {
    "owner": "A. Reyes,\nhead of platform",
    "objective": "Answer within a minute",
    "benefit": "40,000 calls fewer",
    "if_not_met": "Calls wait",
}
SMALL = (
    "format: 1\nname: Small\nhorizon: {first_quarter: 2027Q1, quarters: 2}\n"
    "fleet: {old: {node_type: xe9680-h100, count: 1}}\n"
    "offers: {more: {node_type: xe9680-h100, kind: buy, price_usd: 300000}}\n"
    "finance: {optimism_bias: BIAS}\n"
    "jobs: {work: {fixed: {gpus: 8}, count: 2, owner: Bo, if_not_met: It waits}}\n"
)


@pytest.fixture(params=[justification_document, quarterly_document])
def make(request):
    return request.param


def page_1(drawn):
    return drawn.partition("\n## 1. ")[2].partition("\n## 2. ")[0]


def test_every_figure_of_the_short_edition_comes_out_again_and_every_link_arrives(
    plan, make, beside, files
):
    page = Page(render(make(plan, beside, "short"), "Short"))
    assert len(page.come_out_again(files)) > 60
    assert {link.removeprefix("#") for link in page.links} <= {*page.ids}


def test_page_1_is_the_same_in_both_editions_and_the_rest_is_much_less(plan, make, beside):
    full, short = (markdown.render(make(plan, beside, one)) for one in ("full", "short"))
    tables = [
        [line for line in page_1(drawn).splitlines() if line.startswith("|")]
        for drawn in (full, short)
    ]
    kept = [line for line in tables[0] if "In support of" not in line]
    assert kept == [line for line in tables[1] if "In support of" not in line]
    assert len(kept) > 20
    assert len(short) < len(full) * 0.7
    numbers = [int(number) for number in re.findall(r"^## (\d+)\.", short, re.MULTILINE)]
    assert numbers == list(range(1, len(numbers) + 1))


def test_page_1_says_what_to_sign_by_when_and_at_which_site(plan):
    old = changed(plan.nodes[2], in_service=plan.quarters[:2])
    nodes = (*plan.nodes[:2], old, *plan.nodes[3:])
    drawn = justification(changed(plan, nodes=nodes))
    first = page_1(drawn)
    given_back = changed(
        plan,
        nodes=[
            changed(node, in_service=plan.quarters[:1]) if node.origin == "rent" else node
            for node in plan.nodes
        ],
    )
    assert "| **All** | **3** | **1** | **1** | **1** | **4** |" in page_1(
        justification(given_back)
    )
    assert "| dc-east | 3 | 1 | 0 | 1 | 3 |" in first
    assert "| **All** | **3** | **1** | **1** | **1** | **4** |" in first
    assert "| 2027-01-07 | buy: 1 × PowerEdge XE9680 (h200-141gb-sxm), offer h200-buy | dc" in first
    paid = [
        sum(line.cents[at] for line in plan.costs if line.name != "residual value") / 100
        for at in range(len(plan.quarters))
    ]
    told = " | ".join(f"{one:,.0f}" for one in (*paid, sum(paid)))
    assert f"| All that is paid | {told} |" in first
    assert "| Credits (residual value) |" in first
    weighed = changed(plan, costs=(*plan.costs, changed(plan.costs[0], name="moves")))
    assert "| Not paid within the horizon (moves) |" in page_1(justification(weighed))
    assert "| 2027-04-01 | dc-east | Arrive: 1 × xe9680-h200 | h200-buy | 10.2 | 6 |" in drawn
    assert "| 2027-07-01 | dc-east | Retire: 1 × xe9680-h100 | east | 10.2 | 6 |" in drawn


def test_page_1_holds_a_recommendation(plan):
    alone = page_1(justification(plan))
    assert alone.count("Recommended because it keeps every job as asked") == 1
    assert "Do nothing" not in alone
    proof = changed(plan.proof, status="not proved")
    unsure = justification_document(changed(plan, proof=proof))
    assert "that none costs less is not proved." in page_1(markdown.render(unsure))


def test_the_switching_value_of_a_sensitivity_that_ran_is_on_page_1(plan, beside):
    first = page_1(justification(plan, beside))
    assert "| Price of h200-buy | +9.5 % | planned anew, the plan turns" in first
    growth = changed(beside.sensitivity.swings[1], name="growth")
    moved = changed(beside.sensitivity, swings=(growth,))
    first = page_1(justification(plan, replace(beside, sensitivity=moved)))
    assert "| Growth | +9.5 % | planned anew, the plan turns: another plan (1 h200-buy) |" in first


def test_what_the_scenario_states_is_no_field_to_fill_in(plan, make):
    asked = (
        "Requested by; objective; benefit; if the need is not met: [fill in: `owner:`, `objective"
    )
    assert asked in markdown.render(make(plan)).replace("\\", "")
    some = markdown.render(make(changed(plan, **{**STATED, "benefit": None})))
    assert "- Benefit: [fill in: `benefit:` of the scenario]" in some.replace("\\", "")
    drawn = markdown.render(make(changed(plan, **STATED)))
    assert "`if_not_met:`" not in drawn
    assert "- Requested by: A. Reyes, head of platform\n" in drawn
    assert "- If the need is not met: Calls wait\n" in drawn
    job = changed(plan.jobs[1], benefit="Faster claims", owner="Bo")
    told = changed(plan, jobs=(plan.jobs[0], job, *plan.jobs[2:]))
    drawn = justification(told)
    assert f"| {job.name} | Bo | Faster claims | – |" in drawn


def test_purchases_that_turn_out_dearer_are_told_beside_the_plan():
    """15 % of what is bought, in present value, on top; the plan itself stays as it is."""
    plain = planner.plan(SMALL.replace("finance: {optimism_bias: BIAS}\n", ""))
    dearer = planner.plan(SMALL.replace("BIAS", "15%"))
    assert dearer._plan.proof.cost_cents == plain._plan.proof.cost_cents
    assert dearer._plan.jobs[0].owner == "Bo"
    assert '"optimism_bias"' not in dumps(plain._plan)
    bought = sum(line.present_cents for line in dearer._plan.costs if line.name == "purchase")
    assert bought > 0
    page = Page(render(justification_document(dearer._plan), "Dearer"))
    (told,) = {one.value for one in page.figures if "optimism_bias" in one.sum}
    assert float(told) == pytest.approx(dearer._plan.proof.cost_cents + 0.15 * bought)
    warned = planner.plan(SMALL.replace("BIAS", "300%"))
    assert any("Green Book" in note.text for note in warned._plan.warnings)
    with pytest.raises(InputError, match="too small"):
        planner.plan(SMALL.replace("BIAS", "-5%"))


def test_risks_have_the_likelihood_and_impact_of_the_futures_and_are_open_without(
    plan, make, risk, beside, files
):
    alone = markdown.render(make(plan))
    assert f"| R1 | {plan.warnings[0].text} |" in alone.replace("\\", "")
    assert "Likelihood" not in alone
    assert "how dear that is: [fill in: `planner risk FUTURES" in alone.replace("\\", "")
    known = replace(beside, risk=risk)
    drawn = markdown.render(make(plan, known))
    assert "| 90.0 % | – | +9,000 |" in drawn
    assert "does not hold all jobs of 2027Q3 | 10 futures of `planner risk` | 40.0 % |" in drawn
    assert "2027Q2 | 10 futures" not in drawn
    row = (
        rf"\| Recommended \| proved \| {plan.proof.cost_cents / 100:,.0f} \|.*\| none \| 40\.0 % \|"
    )
    assert re.search(row, page_1(drawn))
    assert Page(render(make(plan, known), "Risk")).come_out_again(files, of="risk.json")


def test_a_node_kept_empty_as_spare_is_no_free_node(plan):
    first = plan.pools[0]
    pools = [changed(one, nodes_spare=(0, 0, 0)) for one in plan.pools]
    place = next(at for at, one in enumerate(pools) if one.node_type == "xe9680-h100")
    pools[place] = changed(pools[place], nodes_spare=(0, 1, 1))
    kept = changed(plan, pools=tuple(pools))
    assert first.nodes_spare is not None
    text = render(justification_document(kept), "Spares")
    assert text.count("<title>kept empty as spare: 8</title>") == 2
    for drawn in map(markdown.render, (justification_document(kept), plan_document(kept, FULL))):
        assert "xe9680-h100/dc-east/03  [········]  [--------]" in drawn
        assert "-=spare, kept empty" in drawn
    assert "Kept empty as spare" in text


def test_an_edition_that_there_is_not_is_refused():
    made = planner.plan(SMALL.replace("BIAS", "15%"))
    with pytest.raises(InputError, match="short or full"):
        planner.report(made, edition="brief")  # type: ignore[arg-type]
