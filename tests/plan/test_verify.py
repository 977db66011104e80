"""Each thing that the check must notice, broken alone in a plan that is right otherwise."""

from dataclasses import replace

import pytest

from planner.errors import CheckError, ExitCode
from planner.inputs.scenario.offer import FleetEntry
from planner.planning.checks import check
from tests.plan.edits import noticed, put, refused
from tests.stated import changed

EIGHTS = ("eight-h100/main/01", "eight-h100/main/02", "eight-h100/main/r01")


@noticed("four jobs")
def test_the_check_notices_when(case, plan, told, edit):
    assert told in refused(case.inputs, edit(plan), case.jobs)


def test_a_right_plan_is_confirmed_in_sentences(case, plan):
    """Among others one whose rent is limited in each quarter, and not in sum."""
    confirmed = check(case.inputs, case.jobs, plan)
    assert "no GPU is held twice" in confirmed
    assert "each of 13 units (job × quarter) is placed exactly once" in confirmed
    assert sum(line.count for line in plan.acquisitions if line.kind == "rent") == 2
    assert next(offer for offer in case.inputs.offers if offer.kind == "rent").maximum == 1


def test_all_violations_are_listed_at_once_with_an_exit_code_of_their_own(case, plan):
    with pytest.raises(CheckError) as caught:
        check(case.inputs, case.jobs, put(put(plan, "proof > gap", 0.5), "moves", (1, 1, 1)))
    assert len(caught.value.violations) == 2
    assert caught.value.exit_code is ExitCode.UNVERIFIED


def with_scenario(inputs, part, **changes):
    """Inputs whose scenario states something else, such as another policy."""
    stated = {part: changed(getattr(inputs.scenario, part), **changes)} if part else changes
    return changed(inputs, scenario=changed(inputs.scenario, **stated))


def with_eight(inputs, **figures):
    """Inputs whose node type of eight GPUs has other figures."""
    catalog = inputs.catalog
    node = catalog.nodes["eight-h100"]
    new = {
        name: None if value is None else changed(getattr(node, name), value=value)
        for name, value in figures.items()
    }
    nodes = {**catalog.nodes, "eight-h100": changed(node, **new)}
    return changed(inputs, catalog=changed(catalog, nodes=nodes))


def without(name):
    return lambda inputs: changed(
        inputs,
        offers=tuple(
            changed(offer, maximum=0) if offer.name == name else offer for offer in inputs.offers
        ),
    )


@pytest.mark.parametrize(
    ("expected", "other", "changes"),
    [
        (
            "eight-h100 at main must keep 1 spare, 0 of 1 nodes",
            lambda inputs: with_scenario(inputs, "policies", spare_nodes={"eight-h100": 1}),
            {},
        ),
        ("offer buy-h100 gives at most 0 nodes, the plan takes 1", without("buy-h100"), {}),
        ("offer rent-h100 gives at most 0 nodes, the plan takes 1", without("rent-h100"), {}),
        (
            "2027Q1: eight-h100/main/01 has 7 cores, 8 are taken",
            lambda inputs: with_eight(inputs, cpu_cores=7),
            {f"nodes > {one} > cpus": 7 for one in EIGHTS},
        ),
        (
            "has 479000 MB of memory, 480000 are taken",
            lambda inputs: with_eight(inputs, host_memory_gb=479),
            {f"nodes > {one} > memory_mb": 479_000 for one in EIGHTS},
        ),
        (
            "big spans nodes of eight-h100, which has no fabric",
            lambda inputs: with_eight(inputs, scale_out_fabric=None),
            {},
        ),
    ],
)
def test_a_plan_for_other_inputs_does_not_pass(case, plan, expected, other, changes):
    for place, value in changes.items():
        plan = put(plan, place, value)
    assert expected in refused(other(case.inputs), plan, case.jobs)


def test_a_unit_that_spans_two_sites_is_noticed(case, plan):
    far = FleetEntry(node_type="eight-h100", count=1, site="far")
    inputs = with_scenario(case.inputs, None, fleet={**case.inputs.scenario.fleet, "far": far})
    there = changed(plan.nodes[0], id="eight-h100/far/01", site="far", entry="far")
    moved = put(plan, "placements > 1 > main/r01 > node", there.id)
    moved = changed(moved, nodes=(*plan.nodes, there))
    assert "unit 1 of big spans different pools" in refused(inputs, moved, case.jobs)


def in_other_ways(case, plan, name, change):
    """The jobs and the plan where one of them has other candidates."""
    job = next(job for job in case.jobs if job.name == name)
    sizing = changed(job.sizing, candidates=change(job.sizing.candidates))
    jobs = tuple(changed(one, sizing=sizing) if one is job else one for one in case.jobs)
    return jobs, changed(plan, sizings={**plan.sizings, sizing.id: sizing})


def test_what_the_plan_says_of_a_sizing_lets_nothing_through(case, plan):
    """A rejected GPU type, and a unit on several nodes that must stay within one."""
    jobs, told = in_other_ways(
        case, plan, "chat", lambda ways: tuple(one for one in ways if one.gpu_type == "l40s-48gb")
    )
    assert "unit 1 of chat may not use h100-80gb-sxm" in refused(case.inputs, told, jobs)
    jobs, told = in_other_ways(
        case, plan, "big", lambda ways: tuple(changed(one, may_span=False) for one in ways)
    )
    spans = "unit 1 of big spans 2 nodes, but must stay within one"
    assert spans in refused(case.inputs, told, jobs)


def test_the_check_does_not_depend_on_who_made_the_plan(case):
    """A solution that claims another cost than its nodes have does not survive."""
    wrong = replace(case, solution=replace(case.solution, cost_cents=case.solution.cost_cents - 1))
    assert "the net present cost" in refused(case.inputs, wrong.plan, case.jobs)
