"""Two plans side by side: what differs, and which cause costs how much."""

from dataclasses import replace
from pathlib import Path

import pytest

from planner.errors import InfeasibleError, LimitError
from planner.inputs.load import Question
from planner.inputs.override import Override
from planner.inputs.scenario.scenario import ResolvedScenario
from planner.planning.make import make_plan
from planner.planning.plan import GpuPart
from planner.planning.store import dumps, read_saved
from planner.reporting.markdown import render
from planner.reporting.sections.variants import comparison_document
from planner.whatif.compare import (
    CAUSES,
    cause_of,
    compare_plans,
    differing,
    facts_of,
    mixed,
    planned_side,
)
from tests.stated import changed, load_inputs, stated
from tests.whatif.conftest import SCENARIO


def compared(before, after):
    return compare_plans(before, after, make_plan)


def test_a_plan_does_not_differ_from_itself(planned, saved):
    for one, other in ((planned(), planned()), (planned(), saved())):
        found = compared(one, other)
        assert found.same
        assert found.waterfall.steps == ()


def test_the_waterfall_adds_up_to_the_cent_in_the_stated_order(planned):
    before, after = planned(), planned("everything")
    found = compared(before, after)
    steps = found.waterfall.steps
    causes = [cause for step in steps for cause in step.causes]
    assert causes == ["fleet", "demand", "prices", "policies"]
    assert causes == sorted(causes, key=CAUSES.index)
    added = sum(step.added_cents for step in steps)
    assert added == after.plan.proof.cost_cents - before.plan.proof.cost_cents
    assert steps[-1].cost_cents == after.plan.proof.cost_cents
    assert {step.status for step in steps} == {"proved"}


def test_each_step_is_the_optimum_of_the_inputs_so_far(planned):
    steps = compared(planned(), planned("everything")).waterfall.steps
    assert [step.cost_cents for step in steps] == [
        planned(*names).plan.proof.cost_cents
        for names in (
            ("newer",),
            ("newer", "busy"),
            ("newer", "busy", "dear"),
            ("newer", "busy", "dear", "frugal"),
        )
    ]


def test_a_cause_without_a_plan_of_its_own_is_joined_to_the_next(planned):
    with pytest.raises(InfeasibleError, match="crowd"):
        planned("crowd")
    steps = compared(planned(), planned("growth")).waterfall.steps
    assert [step.causes for step in steps] == [("demand", "offers")]


def test_a_shorter_horizon_is_joined_with_the_jobs_that_do_not_fit_it(planned):
    found = compared(planned(), planned("later"))
    assert [step.causes for step in found.waterfall.steps] == [("horizon", "demand")]
    said = render(comparison_document(found, 10))
    assert "both proved; of different quarters: 2027Q1 to 2027Q2 → 2027Q1" in said
    assert "| horizon and demand |" in said


def test_a_difference_that_no_input_explains_is_named_as_such(planned):
    base = planned()
    proof = changed(base.plan.proof, cost_cents=base.plan.proof.cost_cents + 7)
    other = replace(base, plan=changed(base.plan, proof=proof))
    (step,) = compared(base, other).waterfall.steps
    assert (step.causes, step.added_cents) == (("planner",), 7)


def test_inputs_that_differ_are_listed_with_their_cause(planned):
    found = compared(planned(), planned("everything"))
    assert {(one.path, one.before, one.after, one.cause) for one in found.inputs} == {
        ("offers.l40s.price_usd", "200000", "240000", "prices"),
        ("jobs.search.count.2027Q2", "6", "20", "demand"),
        ("finance", None, "{pue: 1.9}", "policies"),
        ("fleet.own.count", "1", "2", "fleet"),
    }


def test_a_price_that_one_side_leaves_to_the_price_book_is_shown_with_its_figure(path, planned):
    question = Question(path)
    base = planned()
    unstated = planned_side("book", question.inputs(("unpriced",)), lambda _: base.plan)
    (found,) = (one for one in compared(unstated, base).inputs if one.path.endswith("price_usd"))
    listed = facts_of(unstated)[0].prices.purchase["xe7740-l40s"].price_usd
    assert (found.before, found.after) == (f"{listed} (price book)", "200000")


def test_a_catalog_that_differs_is_told_entry_by_entry(path, tmp_path, planned):
    """One side reads a price and a server of the house as well; a list is told as a list."""
    mine = tmp_path / "mine.yaml"
    mine.write_text(
        "sources: {house: {title: House}}\n"
        "nodes:\n  ours:\n    extends: xe9680-h100\n    product: Ours\n",
        encoding="utf-8",
    )
    base = planned()
    other = planned_side("mine", Question(path, catalog=(mine,)).inputs(), lambda _: base.plan)
    found = {one.path: one for one in compared(base, other).inputs}
    assert found["catalog sources.house"].before is None
    assert found["catalog sources.house"].after == "{title: House}"
    assert "product: Ours" in (found["catalog nodes.ours"].after or "")


def test_purchases_jobs_and_gpus_are_those_of_the_plans(planned):
    before, after = planned(), planned("busy")
    found = compared(before, after)
    bought = {
        (line.quarter, line.offer): (line.count, line.total_cents)
        for line in after.plan.acquisitions
    }
    assert found.purchases
    for change in found.purchases:
        assert (change.after, change.after_cents) == bought.get(
            (change.quarter, change.offer), (0, 0)
        )
    assert found.moves[0].job == "search"
    gpus = {
        (pool.gpu_type, quarter): count
        for pool in after.plan.pools
        for quarter, count in zip(after.plan.quarters, pool.gpus, strict=True)
    }
    assert {(one.name, one.quarter): one.after for one in found.gpus}.items() <= gpus.items()


def test_a_part_of_a_gpu_is_another_place_than_the_whole(planned):
    base = planned()
    part = GpuPart(profile="1g.10gb", first=0, taken=1, of=8)
    first, *rest = base.plan.placements
    use, *others = first
    item, *beside = use.occupants
    cut = changed(use, occupants=(changed(item, part=part), *beside))
    placements = ((cut, *others), *rest)
    other = replace(base, plan=changed(base.plan, placements=placements))
    (move,) = compared(base, other).moves
    assert (move.job, move.quarters) == (item.job, base.plan.quarters[:1])
    assert "1g.10gb" not in str(move.before)
    assert "1 × 1g.10gb on xe9680-h100 @ main" in str(move.after)


def test_what_a_price_changes_is_no_offer_and_what_is_no_price_is_one(path, planned):
    question = Question(path)
    settings = {
        "prices": "offers.l40s.price_usd=1",
        "offers": "offers.l40s.lead_time_weeks=3",
        "fleet": "fleet.own.count=2",
        "horizon": "horizon.as_of=2026-12-01",
        "demand": "jobs.search.team=a",
        "policies": "policies.headroom=5%",
    }
    base = planned()
    for cause, setting in settings.items():
        inputs = question.inputs((), [Override.parse(setting)])
        side = planned_side(cause, inputs, lambda _: base.plan)
        assert differing(base, side) == (cause,)
        assert mixed(base, side, {cause}).scenario == inputs.scenario


def test_an_offer_that_one_side_lacks_keeps_its_price_where_offers_are_exchanged(path, planned):
    more = "offers:\n  more: {node_type: xe9680-h100, kind: rent, price_usd_per_gpu_hour: 3}\n"
    file = path.with_name("more.yaml")
    file.write_text(path.read_text(encoding="utf-8").replace("offers:\n", more), encoding="utf-8")
    inputs, base = load_inputs(file), planned()
    side = planned_side("more", inputs, lambda _: base.plan)
    exchanged = mixed(base, side, {"offers"})
    assert exchanged.scenario.offers == inputs.scenario.offers


MEASURED = """
format: 1
name: measured
horizon: {first_quarter: 2027Q1, quarters: 1}
use: {measured: [runs.csv]}
offers: {hire: {node_type: xe9680-h100, kind: hourly}}
jobs: {tuner: {tune: {model: llama-3.1-8b, method: lora, dataset_tokens: 1e9}}}
"""
RUNS = """\
model,method,batch,sequence,gpus,gpu_type,tokens_per_second_per_gpu
llama-3.1-8b,lora,8,2048,1,h100-80gb-sxm,2500
"""


def test_rules_and_catalog_are_causes_of_their_own(planned, tmp_path):
    base = planned()
    rule_id, rule = next(iter(base.inputs.rules.rules.items()))
    book = base.inputs.rules.rules | {rule_id: changed(rule, title="x")}
    rules = changed(base.inputs.rules, rules=book)
    known = base.inputs.catalog_of_files
    node = changed(known.nodes["xe9680-h100"], product="x")
    catalog = changed(known, nodes={**known.nodes, "xe9680-h100": node})
    rentless = changed(known.prices, rent={})

    def with_facts(**facts):
        return replace(base, inputs=changed(base.inputs, **facts))

    priced = with_facts(catalog_of_files=changed(known, prices=rentless))
    assert differing(base, with_facts(rules=rules)) == ("rules",)
    assert differing(base, with_facts(catalog_of_files=catalog)) == ("catalog",)
    assert differing(base, priced) == ("prices",)
    (tmp_path / "runs.csv").write_text(RUNS, encoding="utf-8")
    runs = stated(tmp_path, MEASURED).measured
    measured = with_facts(measured=runs)
    assert differing(base, measured) == ("catalog",)
    assert mixed(base, measured, {"catalog"}).measured == runs
    assert mixed(measured, base, {"prices"}).measured == runs
    both = with_facts(rules=rules, catalog_of_files=catalog)
    assert mixed(base, both, {"rules"}).catalog_of_files == known
    assert mixed(base, both, {"rules"}).rules == rules
    other = compared(base, both).inputs
    assert [(one.cause, one.after) for one in other] == [("catalog", "x"), ("rules", "x")]


PRICES = """\
price_book: {{id: book-{price}, date: 2026-11-01, illustrative: false, notice: Quotes.}}
sources: {{quote: {{title: A quote}}}}
purchase:
  xe7740-l40s: {{price_usd: {price}, date: 2026-11-01, source: quote, basis: published}}
"""


@pytest.mark.parametrize("named", ["in the scenario", "as an option"])
def test_saved_plans_with_price_files_of_their_own_are_told_apart_by_price(
    tmp_path, monkeypatch, named
):
    monkeypatch.chdir(tmp_path)
    text = SCENARIO.replace(", price_usd: 200000, quote: Q2", "")
    plans = {}
    for quarter, price in (("last", 100_000), ("next", 120_000)):
        book = Path(f"{quarter}-prices.yaml")
        book.write_text(PRICES.format(price=price), encoding="utf-8")
        used = f"use: {{catalog: [{book}]}}\n" if named == "in the scenario" else ""
        Path(f"{quarter}.yaml").write_text(used + text, encoding="utf-8")
        given = () if used else (book,)
        plans[quarter] = dumps(make_plan(load_inputs(Path(f"{quarter}.yaml"), catalog=given)))

    found = compared(*(read_saved(plan, quarter) for quarter, plan in plans.items()))

    assert found.waterfall.missing is None
    assert [step.causes for step in found.waterfall.steps] == [("prices",)]
    assert found.waterfall.steps[0].added_cents > 0

    Path("last-prices.yaml").unlink()
    found = compared(*(read_saved(plan, quarter) for quarter, plan in plans.items()))

    assert "last-prices.yaml" in str(found.waterfall.missing)
    assert "`--catalog` and `--rules` name it" in str(found.waterfall.missing)


def test_a_plan_of_other_files_says_why_its_cost_is_not_told_apart(planned, saved):
    side = saved("dear")
    files = (("catalog", "other.yaml", "0" * 64), *side.plan.provenance.files)
    provenance = changed(side.plan.provenance, files=files)
    other = read_saved(dumps(changed(side.plan, provenance=provenance)), "x")
    found = compared(planned(), other)
    assert found.waterfall.steps == ()
    assert "other.yaml" in str(found.waterfall.missing)
    assert found.unread == ("these files that the scenarios use differ: other.yaml",)
    assert found.costs


def test_a_side_without_a_plan_is_an_error_that_names_it(path):
    inputs = Question(path).inputs(("crowd",))
    with pytest.raises(InfeasibleError, match=r"^no room: "):
        planned_side("no room", inputs, make_plan)

    def late(_):
        raise LimitError("no plan in time")

    with pytest.raises(LimitError, match=r"^slow: no plan in time"):
        planned_side("slow", inputs, late)


def test_every_section_of_a_scenario_belongs_to_a_cause():
    for section in ResolvedScenario.model_fields:
        assert cause_of(section) in CAUSES
    with pytest.raises(KeyError):
        cause_of("weather")


def test_jobs_that_give_way_are_told_with_their_reason(planned, saved):
    found = compared(planned(), saved("tight"))
    (one,) = found.short
    assert (one.job, one.before, one.after) == ("talk", None, "dropped")
    assert one.cause == planned("tight").plan.shortage.jobs[0].cause
    assert (found.before.short, found.after.short) == (0, 1)
    back = compared(planned("tight"), planned())
    assert [(one.before, one.after) for one in back.short] == [("dropped", None)]
    text = render(comparison_document(found, 9))
    assert "; jobs that give way: 0 → 1." in text
    assert f"| + | talk | – | dropped | {one.cause} |" in text
