"""Each thing that the check must notice, broken alone in a plan that is right otherwise."""

from dataclasses import replace

import pytest

from planner.errors import CheckError, ExitCode
from planner.inputs.scenario.offer import FleetEntry
from planner.planning.plan import NodeUse, Occupant
from planner.planning.verify import check
from tests.plan.edits import entry, refused, stating, within
from tests.stated import changed

ONE, TWO, RENTED = "eight-h100/main/01", "eight-h100/main/02", "eight-h100/main/r01"
L40S_ONE = "four-l40s/main/01"


def uses(quarter, *edits):
    """One quarter's placements edited as {node id: [occupants]}."""

    def edited(plan):
        held = {use.node: list(use.occupants) for use in plan.placements[quarter]}
        for edit in edits:
            edit(held)
        placements = list(plan.placements)
        placements[quarter] = tuple(
            NodeUse(node=node, occupants=tuple(occupants)) for node, occupants in held.items()
        )
        return changed(plan, placements=tuple(placements))

    return edited


def put(node, index, **changes):
    def edit(held):
        held[node][index] = changed(held[node][index], **changes)

    return edit


def drop(node, index):
    return lambda held: held[node].pop(index)


def move(source, index, target):
    def edit(held):
        held.setdefault(target, []).append(held[source].pop(index))

    return edit


def add(node, job, unit, gpus, cpus, memory_mb):
    one = Occupant(job=job, unit=unit, gpus=gpus, cpus=cpus, memory_mb=memory_mb)
    return lambda held: held.setdefault(node, []).append(one)


def split(target, **more):
    """Unit 2 of `chat` takes one GPU here and one there."""

    def edit(held):
        unit = held[ONE][1]
        held[ONE][1] = changed(unit, gpus=(2,), **more)
        there = {name: unit.cpus - value for name, value in more.items()}
        held[target].append(changed(unit, gpus=(3,), **{"cpus": 0, "memory_mb": 0, **there}))

    return edit


def ghost(jobs):
    return (*jobs, changed(jobs[0], name="ghost"))


def as_big(name):
    return lambda sizings: {**sizings, name: sizings["id-big"]}


BROKEN = [
    ("unit 1 of chat is not placed", uses(0, drop(ONE, 0))),
    ("unit 1 of chat: (GPUs, cores, MB)", uses(1, add(TWO, "chat", 1, (0, 1), 3, 160_000))),
    ("2 times on", uses(1, split(ONE))),
    (
        "unit 1 of tune is placed but not asked for",
        uses(1, add(ONE, "tune", 1, (4, 5, 6, 7), 5, 320_000)),
    ),
    ("unit 1 of tune may not use l40s-48gb", uses(0, move(ONE, 1, L40S_ONE))),
    ("unit 1 of chat: (GPUs, cores, MB) is (1, 3, 160000)", uses(0, put(ONE, 0, gpus=(0,)))),
    ("unit 1 of chat: (GPUs, cores, MB) is (2, 2, 160000)", uses(0, put(ONE, 0, cpus=2))),
    ("(2, 3, 159999)", uses(0, put(ONE, 0, memory_mb=159_999))),
    ("GPU 1 of eight-h100/main/01 is held 2 times", uses(1, put(ONE, 1, gpus=(1, 2)))),
    ("has no GPU 8", uses(1, put(ONE, 1, gpus=(7, 8)))),
    ("unit 2 of chat spans 2 nodes but fits one", uses(1, split(TWO))),
    (
        "unit 1 of big spans 2 nodes without taking them whole",
        uses(1, put(RENTED, 0, gpus=tuple(range(7)))),
    ),
    (
        "unit 1 of chat changes its GPU type",
        uses(2, drop(ONE, 0), add(L40S_ONE, "chat", 1, (0, 1, 2, 3), 5, 192_000)),
    ),
    (
        "2027Q1: node eight-h100/main/02 is used but not in service",
        uses(0, move(ONE, 0, TWO)),
    ),
    ("there is no node eight-h100/main/09", uses(0, move(ONE, 0, "eight-h100/main/09"))),
    ("is listed as used but holds nothing", uses(1, lambda held: held[L40S_ONE].clear())),
    (
        "unit 2 of chat is on several GPU types: h100-80gb-sxm, l40s-48gb",
        uses(1, split(L40S_ONE)),
    ),
    ("unit 2 of chat takes less than nothing of a node", uses(1, split(TWO, cpus=4))),
    (
        "2027Q1: node eight-h100/main/01 is listed 2 times",
        stating(placements=lambda held: ((*held[0], held[0][0]), *held[1:])),
    ),
    (
        "2027Q3: the number of nodes listed for offer rent-h100 at main is 1, in service enter 0",
        entry("nodes", RENTED, in_service=("2027Q2",)),
    ),
    ("does not stay in service to the end", entry("nodes", TWO, in_service=("2027Q2",))),
    (
        "ordered on 2026-12-15 offer buy-h100 delivers 67 days later",
        entry("nodes", TWO, in_service=("2027Q1", "2027Q2", "2027Q3")),
    ),
    (
        "owned eight-h100 nodes at main of fleet entry first is 2, the inputs give 1",
        stating(nodes=lambda nodes: (*nodes, changed(nodes[0], id="eight-h100/main/03"))),
    ),
    (
        "is owned but not in service in every quarter",
        entry("nodes", ONE, in_service=("2027Q1", "2027Q2")),
    ),
    ("there is no offer gift", entry("nodes", TWO, entry="gift")),
    ("(kind, node type)", entry("nodes", TWO, entry="buy-l40s")),
    ("(GPU type, GPUs, cores, MB)", entry("nodes", ONE, gpus=9)),
    ("the catalog has no node type gift", entry("nodes", ONE, node_type="gift")),
    (
        "node eight-h100/main/01 is listed 2 times",
        stating(nodes=lambda nodes: (*nodes, nodes[0])),
    ),
    ("not in quarters of the horizon", entry("nodes", TWO, in_service=())),
    (
        "listed for offer buy-h100 at main is 0, in service enter 1",
        entry("acquisitions", 0, count=0, total_cents=0),
    ),
    (
        "unit_price_cents of offer buy-h100",
        entry("acquisitions", 0, unit_price_cents=29_999_999, total_cents=29_999_999),
    ),
    ("illustrative of offer buy-l40s", entry("acquisitions", 1, illustrative=False)),
    ("order_by of offer buy-h100", entry("acquisitions", 0, order_by="2027-01-08")),
    ("there is no offer gift in that quarter", entry("acquisitions", 0, offer="gift")),
    (
        "support by quarter, cents, is (0, 900002, 900001)",
        entry("costs", "support", cents=(0, 900_002, 900_001)),
    ),
    (
        "the present value of residual value, cents, is -30582840",
        entry("costs", "residual value", present_cents=-30_582_840),
    ),
    ("rent in total, cents, is 14506561", entry("costs", "rent", total_cents=14_506_561)),
    ("rent is missing from the costs", stating(costs=lambda costs: costs[:-1])),
    ("the net present cost, cents,", within("proof", cost_cents=1)),
    ("is above the cost", within("proof", bound_cents=10**12)),
    ("the gap is stated as 0.0", within("proof", gap=0.0)),
    ("the status is proved, but the gap", within("proof", asked_gap=1e-9)),
    (
        "the terms of the bound add up to 6002",
        within("proof", bound_terms=(("job price tags", 6002),)),
    ),
    (
        "the bound has no terms",
        within("proof", bound_terms=(), bound_cents=0, cost_cents=0, gap=0.0),
    ),
    ("the sum of the jobs' price tags", entry("jobs", "chat", tag_cents=1)),
    ("the list of jobs", stating(jobs=lambda jobs: jobs[1:])),
    ("the list of jobs", stating(jobs=ghost)),
    ("job chat: units by quarter", entry("jobs", "chat", units=(1, 1, 2))),
    ("job chat: GPU types", entry("jobs", "chat", gpu_types=(("l40s-48gb", 2),))),
    ("(kind, derived from, by, team)", entry("jobs", "chat", team="other")),
    ("job chat: its sizing is not what the rules give", stating(sizings=as_big("id-chat"))),
    ("job chat: its sizing is not what the rules give", entry("jobs", "chat", sizing="id-big")),
    ("the list of sizings", stating(sizings=as_big("id-x"))),
    ("the horizon is ('2027Q1', '2027Q2')", stating(quarters=lambda labels: labels[:2])),
    ("the number of quarters placed is 2", stating(placements=lambda held: held[:2])),
    ("the earliest day of an order", stating(as_of="2026-12-14")),
    ("the number of units that move", stating(moves=(0, 1, 0))),
    ("the storage for tuned assets", stating(storage_mb=(500, 500, 1000))),
    ("2027Q1: eight-h100 at main: gpus_used is 8", entry("pools", 0, gpus_used=(8, 20, 24))),
    ("the list of pools", stating(pools=lambda pools: pools[:1])),
]


@pytest.mark.parametrize(("expected", "broken"), BROKEN)
def test_the_check_notices_when(case, plan, expected, broken):
    assert expected in refused(case.inputs, broken(plan), case.jobs)


def test_a_right_plan_is_confirmed_in_sentences(case, plan):
    """Among others one whose rent is limited in each quarter, and not in sum."""
    confirmed = check(case.inputs, case.jobs, plan)
    assert "no GPU is held twice" in confirmed
    assert "each of 13 units (job × quarter) is placed exactly once" in confirmed
    assert sum(line.count for line in plan.acquisitions if line.kind == "rent") == 2
    assert next(offer for offer in case.inputs.offers if offer.kind == "rent").maximum == 1


def test_all_violations_are_listed_at_once_with_an_exit_code_of_their_own(case, plan):
    with pytest.raises(CheckError) as caught:
        check(case.inputs, case.jobs, within("proof", gap=0.5)(changed(plan, moves=(1, 1, 1))))
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


AS_IT_IS = stating()


def of_eight(node):
    return node.node_type == "eight-h100"


def without(name):
    return lambda inputs: changed(
        inputs,
        offers=tuple(
            changed(offer, maximum=0) if offer.name == name else offer for offer in inputs.offers
        ),
    )


@pytest.mark.parametrize(
    ("expected", "other", "edit"),
    [
        (
            "eight-h100 at main must keep 1 spare, 0 of 1 nodes",
            lambda inputs: with_scenario(inputs, "policies", spare_nodes={"eight-h100": 1}),
            AS_IT_IS,
        ),
        ("offer buy-h100 gives at most 0 nodes, the plan takes 1", without("buy-h100"), AS_IT_IS),
        ("offer rent-h100 gives at most 0 nodes, the plan takes 1", without("rent-h100"), AS_IT_IS),
        (
            "2027Q1: eight-h100/main/01 has 7 cores, 8 are taken",
            lambda inputs: with_eight(inputs, cpu_cores=7),
            entry("nodes", of_eight, cpus=7),
        ),
        (
            "has 479000 MB of memory, 480000 are taken",
            lambda inputs: with_eight(inputs, host_memory_gb=479),
            entry("nodes", of_eight, memory_mb=479_000),
        ),
        (
            "big spans nodes of eight-h100, which has no fabric",
            lambda inputs: with_eight(inputs, scale_out_fabric=None),
            AS_IT_IS,
        ),
    ],
)
def test_a_plan_for_other_inputs_does_not_pass(case, plan, expected, other, edit):
    assert expected in refused(other(case.inputs), edit(plan), case.jobs)


def test_a_unit_that_spans_two_sites_is_noticed(case, plan):
    far = FleetEntry(node_type="eight-h100", count=1, site="far")
    inputs = with_scenario(case.inputs, None, fleet={**case.inputs.scenario.fleet, "far": far})
    there = changed(plan.nodes[0], id="eight-h100/far/01", site="far", entry="far")
    moved = uses(1, move(RENTED, 0, there.id))(changed(plan, nodes=(*plan.nodes, there)))
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
