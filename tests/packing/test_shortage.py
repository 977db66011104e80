"""Where no plan exists, the user reads which job lacks room, when, why, and what would do."""

from dataclasses import replace
from typing import Any

import pytest

import planner
from planner.errors import InfeasibleError
from planner.packing import Translation, solve
from planner.packing.conflict import conflicts_of
from planner.packing.problem import JobClass, Limit, Pool, SpendLimit, Supply

BUY = 10_000_000


@pytest.fixture
def told(build, refused):
    """What the user is told about a portfolio that has no plan."""

    def raised(
        pools: list[Pool],
        supplies: list[Supply],
        jobs: list[tuple[str, JobClass]],
        quarters: int = 1,
        **limits: Any,
    ) -> InfeasibleError:
        problem = build.problem(pools, supplies, [job_class for _, job_class in jobs], quarters)
        problem = replace(problem, **{key: tuple(value) for key, value in limits.items()})
        error: InfeasibleError = refused(problem, *(name for name, _ in jobs))
        return error

    return raised


def test_units_of_a_job_that_are_stated_apart_are_told_together(build, told):
    one, three = (build.units(count, ("h100", 8, 0, 0)) for count in (1, 3))
    error = told([build.pool(owned=2)], [], [("big", one), ("small", one), ("big", three)])
    lacking = [reason for reason in error.reasons if "without room" in reason]
    assert len([reason for reason in lacking if reason.startswith("big: ")]) == 1
    assert any(" of 4 units without room (2027Q1)" in reason for reason in lacking)


def test_an_offer_that_arrives_too_late_is_named_with_its_first_quarter(build, told):
    offer = build.buy(None, None, 100)
    job = build.units(1, ("h100", 1, 0, 0), quarters=(1, 2))
    error = told([build.pool()], [offer], [("early", job)], 3)
    assert "in 2027Q2 at least 1 GPU more" in error.headline
    assert "early: 1 of 1 unit without room (2027Q2 to 2027Q3)" in error.reasons
    assert any("buy-0 is in service from 2027Q3 at the earliest" in r for r in error.reasons)
    assert error.remedies[1] == "have offer buy-0 enter service from 2027Q2 on"


def test_spare_nodes_that_differ_by_pool_are_fewer_in_each(build, told):
    pools = [build.pool(owned=3, spare=2), build.pool("l40s", owned=2, spare=1)]
    error = told(pools, [], [("pair", build.units(2, ("h100", 8, 0, 0)))])
    assert "keep 1 spare node fewer in each pool" in error.remedies
    error = told(pools[1:], [], [("pair", build.units(2, ("l40s", 8, 0, 0)))])
    assert "keep no spare nodes in place of 1" in error.remedies
    assert any("2 owned, 1 kept spare" in reason for reason in error.reasons)


def test_nodes_that_retire_are_told_with_their_quarter(build, told):
    pool = replace(build.pool(owned=2), retired=(0, 0, 1))
    job = build.units(2, ("h100", 8, 0, 0), quarters=(0, 1, 2))
    error = told([pool], [], [("stays", job)], 3)
    assert "node-h100@main (h100, 8 GPUs each): 2 owned, 1 retires in 2027Q3" in error.reasons


def test_nodes_to_which_units_are_pinned_are_told_apart_and_no_more_of_them_are_proposed(
    build, told
):
    pool = build.pool(owned=1)
    held = replace(pool, held="node-h100/main/01")
    pinned = build.units(1, ("h100", 8, 0, 0))
    kept = pinned.modes[0].shape._replace(stays="node-h100/main/01")
    pinned = replace(pinned, modes=(replace(pinned.modes[0], shape=kept),))
    others = build.units(2, ("h100", 8, 0, 0))
    error = told([pool, held], [], [("pinned", pinned), ("others", others)])
    assert error.reasons[1:] == (
        "node-h100@main (h100, 8 GPUs each): 1 owned",
        "node-h100/main/01 (h100, 8 GPUs each): 1 owned",
    )
    assert error.remedies == ("have 1 node more of node-h100@main in service from 2027Q1",)


def test_those_who_must_go_without_are_chosen_for_the_fewest_gpus(build, told):
    """One node's cores hold the large unit or both small ones: 4 GPUs against 2."""
    large, small = build.units(1, ("h100", 4, 80, 0)), build.units(2, ("h100", 1, 40, 0))
    error = told([build.pool(owned=1)], [], [("large", large), ("small", small)])
    assert "at least 2 GPUs more" in error.headline
    assert error.reasons[0] == "small: 2 of 2 units without room (2027Q1)"


def test_many_jobs_that_are_alike_are_not_all_listed(build):
    problem = build.problem([build.pool(owned=1)], [], [build.units(9, ("h100", 8, 0, 0))])
    members = tuple((f"job-{number}", 1) for number in range(9))
    with pytest.raises(InfeasibleError) as caught:
        solve(Translation(problem, (members,), ("2027Q1",)))
    assert "job-0, job-1, job-2, job-3 and 5 more: 8 of 9 units" in caught.value.reasons[0]


def test_nodes_that_would_not_keep_the_budget_either_are_no_remedy(build, told):
    """One server owned, one to be bought in the second quarter, beyond the budget; both are needed
    there, and the first quarter lacks one, too: a node for it alone mends both."""
    wide = build.units(2, ("h100", 8, 0, 0), quarters=(0, 1))
    later = build.units(1, ("h100", 8, 0, 0), quarters=(1,))
    jobs = [("wide", wide), ("later", later)]
    remedies = {}
    for cents in (400, 500):
        limit = SpendLimit("capex in total", cents, ((0, 500),))
        error = told([build.pool(owned=1)], [build.buy(None, 500)], jobs, 2, budgets=(limit,))
        remedies[cents] = error.remedies[0]
    assert remedies[500].startswith("have 1 node more")
    assert remedies[400].startswith("have 2 nodes more"), "the budget pays for none beside it"


def test_budgets_that_can_only_not_be_kept_together_are_named_with_their_figures(build, told):
    """Buying keeps the second, renting the first; a third budget is wide enough for all."""
    limits = (
        SpendLimit("capex in total", 40_000, ((50_000,), (0,))),
        SpendLimit("opex in total", 20_000, ((0,), (30_000,))),
        SpendLimit("spending in total", 90_000, ((50_000,), (30_000,))),
    )
    jobs = [("job", build.units(1, ("h100", 8, 0, 0)))]
    error = told([build.pool()], [build.buy(500), build.rent(300)], jobs, budgets=limits)
    assert error.headline == (
        "no plan exists: no plan for all jobs keeps capex in total ($400) and opex in total ($200) "
        "together"
    )
    assert error.remedies[0].startswith("raise capex in total by $100, to $500")


def test_where_units_fit_only_in_halves_the_job_that_gives_way_is_named(build, told):
    """Half of each node is free, the large unit needs a whole one: the fewest GPUs give way."""
    pools = [build.pool("a100", owned=1), build.pool("h100", owned=1)]
    jobs = [
        ("left", build.units(1, ("a100", 4, 0, 0))),
        ("right", build.units(1, ("h100", 4, 0, 0))),
        ("large", build.units(1, ("a100", 8, 0, 0), ("h100", 8, 0, 0))),
    ]
    error = told(pools, [], jobs)
    assert "at least 4 GPUs more are needed" in error.headline
    assert error.reasons[0].startswith("left: 1 of 1 unit without room (2027Q1)")
    assert error.remedies == ("have 1 node more of node-a100@main in service from 2027Q1",)


@pytest.fixture
def at_site(build, told):
    """The same of one job on nodes of 8 GPUs that are owned, or offered to buy."""

    def raised(job, pools, quarters=1, **limits):
        offers = [build.buy(*(BUY,) * quarters, pool=number) for number in range(len(pools))]
        return told(pools, offers, [("chat", job)], quarters, **limits)

    return raised


def test_raises_that_time_did_not_suffice_for_are_said_to_be_lacking(build, at_site, monkeypatch):
    def hurried(translation):
        found = conflicts_of(translation)
        assert found is not None
        return replace(found, remedies=(), in_time=False)

    monkeypatch.setattr("planner.packing.shortage.conflicts_of", hurried)
    limit = Limit("power at main", ((0, 10_000),), (25_000,), "W")
    error = at_site(build.units(4, ("h100", 8, 0, 0)), [build.pool()], limits=[limit])
    assert error.headline == "no plan exists: power at main is 25 kW, at least 40 kW are needed"
    assert error.reasons[-1] == "time did not suffice to tell what would mend it"
    assert error.remedies == ()


def test_no_limit_is_offered_as_a_remedy_where_offers_bind(build, at_site):
    """The unit needs a node that holds it; no power makes one."""
    power = Limit("power at main", ((0, 10_000),), (10_000,), "W")
    error = at_site(build.units(1, ("h100", 4, 81, 0)), [build.pool()], limits=[power])
    assert error.remedies == ()


def test_conflicts_that_stand_beside_each_other_are_all_named_and_mended_together():
    """The energy of the owned nodes breaks a budget, and the offer comes too late."""
    scenario = {
        "format": 1,
        "name": "late and poor",
        "horizon": {"first_quarter": "2027Q1", "quarters": 1, "as_of": "2026-12-01"},
        "fleet": {"old": {"node_type": "xe9680-h100", "count": 2}},
        "offers": {"buy": {"node_type": "xe9680-h100", "kind": "buy", "lead_time_weeks": 30}},
        "budget": {"opex_usd": 100},
        "jobs": {"big": {"fixed": {"gpus": 24}}, "small": {"fixed": {"gpus": 8}}},
    }
    with pytest.raises(InfeasibleError) as raised:
        planner.plan(scenario)
    budget, nodes = raised.value.headline.removeprefix("no plan exists: ").split("; and ")
    assert budget.startswith("opex in total is $100, at least $")
    assert nodes == "in 2027Q1 at least 16 GPUs more are needed than can be in service"
    assert not any(reason.startswith("small: ") for reason in raised.value.reasons)
    assert "offer buy arrives after the horizon" in raised.value.reasons[-2]
    assert raised.value.remedies[0].startswith(
        "together: have offer buy enter service from 2027Q1 on, raise opex in total by $"
    )


def refusal(scenario: dict[str, Any], **more: Any) -> InfeasibleError:
    horizon = {"first_quarter": "2027Q1", "quarters": 5, "as_of": "2026-10-01"}
    with pytest.raises(InfeasibleError) as raised:
        planner.plan({"format": 1, "name": "gap", "horizon": horizon, **scenario, **more})
    return raised.value


def test_quarters_between_those_of_an_offer_are_named_and_are_the_first_to_be_opened():
    """The dear rent of the second quarter alone breaks the budget."""
    node = {"node_type": "xe9680-h100", "kind": "rent"}
    scenario = {
        "offers": {
            "cheap": {**node, "available": ["2027Q2", "2027Q4"], "price_usd_per_gpu_hour": 1},
            "dear": {**node, "price_usd_per_gpu_hour": 20},
        },
        "budget": {"opex_usd": 100_000},
    }
    jobs = {"a": {"fixed": {"gpus": 8}, "quarters": "2027Q2..2027Q4"}}
    error = refusal(scenario, jobs=jobs)
    assert "the dates of offer cheap (in 2027Q2 and in 2027Q4)" in error.headline
    assert "have offer cheap enter service in 2027Q2 to 2027Q4" in error.remedies
    jobs["a"]["quarters"] = "all"
    assert "have offer cheap enter service from 2027Q1 on" in refusal(scenario, jobs=jobs).remedies


def test_the_quarters_of_an_api_are_named_with_the_gap_between_them():
    tokens = {"usd_per_million_input_tokens": 1, "usd_per_million_output_tokens": 1}
    api = {"model": "llama-3.1-8b", "available": ["2027Q1", "2027Q3"], **tokens}
    load = {"requests_per_second": 1, "input_tokens": 500, "output_tokens": 100}
    chat = {"serve": {"model": "llama-3.1-8b", "load": load}, "api": "allowed"}
    error = refusal({"apis": {"hosted": api}, "jobs": {"chat": chat}})
    assert "API hosted: may be used in 2027Q1 and in 2027Q3" in error.reasons
