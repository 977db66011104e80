"""Each thing that the check must notice, broken alone in a plan that is right otherwise."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from planner.errors import CheckError, ExitCode
from planner.inputs.scenario.offer import FleetEntry
from planner.planning.plan import NodeUse, Occupant
from planner.planning.verify import check

ONE, TWO, RENTED = "eight-h100/main/01", "eight-h100/main/02", "eight-h100/main/r01"
L40S_ONE = "four-l40s/main/01"


def changed(model, **changes):
    return model.model_copy(update=changes)


def with_proof(plan, **changes):
    return changed(plan, proof=changed(plan.proof, **changes))


def with_job(plan, name, **changes):
    jobs = tuple(changed(job, **changes) if job.name == name else job for job in plan.jobs)
    return changed(plan, jobs=jobs)


def with_node(plan, node_id, **changes):
    nodes = tuple(changed(node, **changes) if node.id == node_id else node for node in plan.nodes)
    return changed(plan, nodes=nodes)


def with_line(plan, index, **changes):
    lines = list(plan.acquisitions)
    lines[index] = changed(lines[index], **changes)
    return changed(plan, acquisitions=tuple(lines))


def with_cost(plan, name, **changes):
    costs = tuple(changed(line, **changes) if line.name == name else line for line in plan.costs)
    return changed(plan, costs=costs)


def with_pool(plan, index, **changes):
    pools = list(plan.pools)
    pools[index] = changed(pools[index], **changes)
    return changed(plan, pools=tuple(pools))


def with_setting(plan, name, **changes):
    settings = tuple(changed(use, **changes) if use.name == name else use for use in plan.settings)
    return changed(plan, settings=settings)


def with_facts(plan, **changes):
    first, *others = plan.node_types
    return changed(plan, node_types=(changed(first, **changes), *others))


def with_uses(plan, quarter, edit):
    """Edit one quarter's placements as {node id: [occupants]}."""
    uses = {use.node: list(use.occupants) for use in plan.placements[quarter]}
    edit(uses)
    placements = list(plan.placements)
    placements[quarter] = tuple(
        NodeUse(node=node, occupants=tuple(occupants)) for node, occupants in uses.items()
    )
    return changed(plan, placements=tuple(placements))


def with_occupant(plan, quarter, node, index, **changes):
    def edit(uses):
        uses[node][index] = changed(uses[node][index], **changes)

    return with_uses(plan, quarter, edit)


def drop(node, index):
    return lambda uses: uses[node].pop(index)


def move(source, index, target):
    def edit(uses):
        uses.setdefault(target, []).append(uses[source].pop(index))

    return edit


def add(node, job, unit, gpus, cpus, memory_mb):
    def edit(uses):
        uses.setdefault(node, []).append(
            Occupant(job=job, unit=unit, gpus=gpus, cpus=cpus, memory_mb=memory_mb)
        )

    return edit


def emptied(node):
    return lambda uses: uses[node].clear()


def split_chat(uses):
    """Unit 2 of `chat` takes one GPU here and one there."""
    uses[ONE][1] = changed(uses[ONE][1], gpus=(2,))
    uses[TWO].append(changed(uses[ONE][1], gpus=(3,), cpus=0, memory_mb=0))


def split_over_types(uses):
    """Unit 2 of `chat` takes a GPU of another type as well."""
    uses[ONE][1] = changed(uses[ONE][1], gpus=(2,))
    uses[L40S_ONE].append(changed(uses[ONE][1], gpus=(3,), cpus=0, memory_mb=0))


def less_than_nothing(uses):
    """Unit 2 of `chat` takes a core more here, and gives one back there."""
    unit = uses[ONE][1]
    uses[ONE][1] = changed(unit, gpus=(2,), cpus=unit.cpus + 1)
    uses[TWO].append(changed(unit, gpus=(3,), cpus=-1, memory_mb=0))


def same_node_twice(uses):
    half = changed(uses[ONE][1], gpus=(2,))
    uses[ONE][1:] = [half, changed(half, gpus=(3,), cpus=0, memory_mb=0)]


def part_of_a_node(uses):
    """`big` leaves one GPU of its second node and takes it nowhere."""
    uses[RENTED][0] = changed(uses[RENTED][0], gpus=tuple(range(7)))


BROKEN = [
    (lambda p: with_uses(p, 0, drop(ONE, 0)), "unit 1 of chat is not placed"),
    (
        lambda p: with_uses(p, 1, add(TWO, "chat", 1, (0, 1), 3, 160_000)),
        "unit 1 of chat: (GPUs, cores, MB)",
    ),
    (lambda p: with_uses(p, 1, same_node_twice), "2 times on"),
    (
        lambda p: with_uses(p, 1, add(ONE, "tune", 1, (4, 5, 6, 7), 5, 320_000)),
        "unit 1 of tune is placed but not asked for",
    ),
    (lambda p: with_uses(p, 0, move(ONE, 1, L40S_ONE)), "unit 1 of tune may not use l40s-48gb"),
    (
        lambda p: with_occupant(p, 0, ONE, 0, gpus=(0,)),
        "unit 1 of chat: (GPUs, cores, MB) is (1, 3, 160000)",
    ),
    (
        lambda p: with_occupant(p, 0, ONE, 0, cpus=2),
        "unit 1 of chat: (GPUs, cores, MB) is (2, 2, 160000)",
    ),
    (lambda p: with_occupant(p, 0, ONE, 0, memory_mb=159_999), "(2, 3, 159999)"),
    (
        lambda p: with_occupant(p, 1, ONE, 1, gpus=(1, 2)),
        "GPU 1 of eight-h100/main/01 is held 2 times",
    ),
    (lambda p: with_occupant(p, 1, ONE, 1, gpus=(7, 8)), "has no GPU 8"),
    (lambda p: with_uses(p, 1, split_chat), "unit 2 of chat spans 2 nodes but fits one"),
    (
        lambda p: with_uses(p, 1, part_of_a_node),
        "unit 1 of big spans 2 nodes without taking them whole",
    ),
    (
        lambda p: with_uses(
            with_uses(p, 2, drop(ONE, 0)), 2, add(L40S_ONE, "chat", 1, (0, 1, 2, 3), 5, 192_000)
        ),
        "unit 1 of chat changes its GPU type",
    ),
    (
        lambda p: with_uses(p, 0, move(ONE, 0, TWO)),
        "2027Q1: node eight-h100/main/02 is used but not in service",
    ),
    (
        lambda p: with_uses(p, 0, move(ONE, 0, "eight-h100/main/09")),
        "there is no node eight-h100/main/09",
    ),
    (lambda p: with_uses(p, 1, emptied(L40S_ONE)), "is listed as used but holds nothing"),
    (
        lambda p: with_node(p, RENTED, in_service=("2027Q2",)),
        "2027Q3: the number of nodes listed for offer rent-h100 at main is 1, in service enter 0",
    ),
    (lambda p: with_node(p, TWO, in_service=("2027Q2",)), "does not stay in service to the end"),
    (
        lambda p: with_node(p, TWO, in_service=("2027Q1", "2027Q2", "2027Q3")),
        "ordered on 2026-12-15 offer buy-h100 delivers 67 days later",
    ),
    (
        lambda p: changed(p, nodes=(*p.nodes, changed(p.nodes[0], id="eight-h100/main/03"))),
        "owned eight-h100 nodes at main of fleet entry first is 2, the inputs give 1",
    ),
    (
        lambda p: with_node(p, ONE, in_service=("2027Q1", "2027Q2")),
        "is owned but not in service in every quarter",
    ),
    (lambda p: with_node(p, TWO, entry="gift"), "there is no offer gift"),
    (lambda p: with_node(p, TWO, entry="buy-l40s"), "(kind, node type)"),
    (lambda p: with_node(p, ONE, gpus=9), "(GPU type, GPUs, cores, MB)"),
    (
        lambda p: changed(p, nodes=(*p.nodes, p.nodes[0])),
        "node eight-h100/main/01 is listed 2 times",
    ),
    (lambda p: with_node(p, TWO, in_service=()), "not in quarters of the horizon"),
    (
        lambda p: with_line(p, 0, count=0, total_cents=0),
        "listed for offer buy-h100 at main is 0, in service enter 1",
    ),
    (
        lambda p: with_line(p, 0, unit_price_cents=29_999_999, total_cents=29_999_999),
        "unit_price_cents of offer buy-h100",
    ),
    (lambda p: with_line(p, 1, illustrative=False), "illustrative of offer buy-l40s"),
    (lambda p: with_line(p, 0, order_by="2027-01-08"), "order_by of offer buy-h100"),
    (
        lambda p: with_cost(p, "support", cents=(0, 900_002, 900_001)),
        "support by quarter, cents, is (0, 900002, 900001)",
    ),
    (
        lambda p: with_cost(p, "residual value", present_cents=-30_582_840),
        "the present value of residual value, cents, is -30582840",
    ),
    (lambda p: with_cost(p, "rent", total_cents=14_506_561), "rent in total, cents, is 14506561"),
    (lambda p: changed(p, costs=p.costs[:-1]), "rent is missing from the costs"),
    (lambda p: with_proof(p, cost_cents=p.proof.cost_cents + 1), "the net present cost, cents,"),
    (lambda p: with_proof(p, bound_cents=p.proof.cost_cents + 1), "is above the cost"),
    (lambda p: with_proof(p, gap=0.0), "the gap is stated as 0.0"),
    (lambda p: with_proof(p, asked_gap=1e-9), "the status is proved, but the gap"),
    (
        lambda p: with_proof(p, bound_terms=p.proof.bound_terms[:1]),
        "the terms of the bound add up to 6002",
    ),
    (
        lambda p: with_proof(p, bound_terms=(), bound_cents=0, cost_cents=0, gap=0.0),
        "the bound has no terms",
    ),
    (lambda p: with_job(p, "chat", tag_cents=1), "the sum of the jobs' price tags"),
    (lambda p: changed(p, jobs=p.jobs[1:]), "the list of jobs"),
    (lambda p: with_job(p, "chat", units=(1, 1, 2)), "job chat: units by quarter"),
    (lambda p: with_job(p, "chat", gpu_types=(("l40s-48gb", 2),)), "job chat: GPU types"),
    (lambda p: with_job(p, "chat", team="other"), "(kind, derived from, by, team)"),
    (
        lambda p: changed(p, sizings={**p.sizings, "id-chat": p.sizings["id-big"]}),
        "job chat: its sizing is not what the rules give",
    ),
    (
        lambda p: with_job(p, "chat", sizing="id-big"),
        "job chat: its sizing is not what the rules give",
    ),
    (
        lambda p: changed(p, sizings={**p.sizings, "id-x": p.sizings["id-big"]}),
        "the list of sizings",
    ),
    (lambda p: changed(p, quarters=p.quarters[:2]), "the horizon is ('2027Q1', '2027Q2')"),
    (lambda p: changed(p, placements=p.placements[:2]), "the number of quarters placed is 2"),
    (lambda p: changed(p, as_of="2026-12-14"), "the earliest day of an order"),
    (lambda p: changed(p, moves=(0, 1, 0)), "the number of units that move"),
    (lambda p: changed(p, storage_mb=(500, 500, 1000)), "the storage for tuned assets"),
    (
        lambda p: with_pool(p, 0, gpus_used=(8, 20, 24)),
        "2027Q1: eight-h100 at main: gpus_used is 8",
    ),
    (lambda p: with_pool(p, 0, gpus_stranded=(3, 0, 0)), "3 GPUs stranded of 2 free ones"),
    (
        lambda p: with_node(p, ONE, node_type="gift"),
        "node eight-h100/main/01: the catalog has no node type gift",
    ),
    (lambda p: with_line(p, 0, offer="gift"), "there is no offer gift in that quarter"),
    (
        lambda p: changed(
            p, placements=((*p.placements[0], p.placements[0][0]), *p.placements[1:])
        ),
        "2027Q1: node eight-h100/main/01 is listed 2 times",
    ),
    (
        lambda p: with_uses(p, 1, split_over_types),
        "unit 2 of chat is on several GPU types: h100-80gb-sxm, l40s-48gb",
    ),
    (
        lambda p: with_uses(p, 1, less_than_nothing),
        "unit 2 of chat takes less than nothing of a node",
    ),
    (lambda p: changed(p, jobs=(*p.jobs, changed(p.jobs[0], name="ghost"))), "the list of jobs"),
    (
        lambda p: changed(p, settings=(*p.settings, changed(p.settings[0], name="luck"))),
        "the list of settings",
    ),
    (lambda p: with_facts(p, node_type="gift"), "the list of node types"),
    (lambda p: with_setting(p, "pue", value=1.1), "the setting pue is 1.1"),
    (
        lambda p: with_setting(p, "pue", origin="rule policies/pue-of-a-dream"),
        "of rule policies/pue-of-a-dream, the inputs give",
    ),
    (lambda p: with_setting(p, "pue", assumed=not p.settings[0].assumed), "the setting pue"),
    (lambda p: changed(p, settings=p.settings[1:]), "the list of settings"),
    (lambda p: with_facts(p, takes={"power_w": 1}), "takes power_w is 1, the inputs give"),
    (lambda p: with_facts(p, product="Another"), "product is Another, the inputs give"),
    (lambda p: with_facts(p, sources=("a friend",)), "sources is ('a friend',), the inputs give"),
    (lambda p: changed(p, node_types=p.node_types[1:]), "the list of node types"),
    (lambda p: changed(p, pools=p.pools[:1]), "the list of pools"),
]


@pytest.mark.parametrize(("broken", "expected"), BROKEN)
def test_the_check_notices_when(case, plan, broken, expected):
    with pytest.raises(CheckError) as caught:
        check(case.inputs, case.jobs, broken(plan))
    assert any(expected in violation for violation in caught.value.violations)


def test_a_parameter_that_is_not_what_the_scenario_states_is_noticed(case, plan):
    scenario = case.inputs.scenario
    finance = changed(scenario.finance, pue=Decimal("1.7"))
    inputs = changed(case.inputs, scenario=changed(scenario, finance=finance))
    with pytest.raises(CheckError, match=r"pue is .*, the scenario states 1\.7"):
        check(inputs, case.jobs, plan)


def test_a_right_plan_is_confirmed_in_sentences(case, plan):
    confirmed = check(case.inputs, case.jobs, plan)
    assert "no GPU is held twice" in confirmed
    assert "each of 13 units (job × quarter) is placed exactly once" in confirmed


def test_a_failed_check_has_its_own_exit_code():
    assert CheckError(("x",)).exit_code is ExitCode.UNVERIFIED


def test_all_violations_are_listed_at_once(case, plan):
    broken = with_proof(changed(plan, moves=(1, 1, 1)), gap=0.5)
    with pytest.raises(CheckError) as caught:
        check(case.inputs, case.jobs, broken)
    assert len(caught.value.violations) == 2


def inputs_with(case, **policies):
    scenario = case.inputs.scenario
    return changed(
        case.inputs, scenario=changed(scenario, policies=changed(scenario.policies, **policies))
    )


def test_a_spare_node_in_use_is_noticed(case, plan):
    with pytest.raises(CheckError, match="eight-h100 at main must keep 1 spare, 0 of 1 nodes"):
        check(inputs_with(case, spare_nodes={"eight-h100": 1}), case.jobs, plan)


@pytest.mark.parametrize(("name", "maximum"), [("buy-h100", 0), ("rent-h100", 0)])
def test_an_offer_taken_beyond_its_maximum_is_noticed(case, plan, name, maximum):
    offers = tuple(
        changed(offer, maximum=maximum) if offer.name == name else offer
        for offer in case.inputs.offers
    )
    with pytest.raises(CheckError, match=f"offer {name} gives at most 0 nodes, the plan takes 1"):
        check(changed(case.inputs, offers=offers), case.jobs, plan)


def test_a_rent_is_limited_in_each_quarter_and_not_in_sum(case, plan):
    assert sum(line.count for line in plan.acquisitions if line.kind == "rent") == 2
    assert next(offer for offer in case.inputs.offers if offer.kind == "rent").maximum == 1
    check(case.inputs, case.jobs, plan)


def with_figures(case, plan, node_type, **figures):
    """A node type with other figures, in the catalog and in the plan."""
    catalog = case.inputs.catalog
    node = catalog.nodes[node_type]
    new = {name: changed(getattr(node, name), value=value) for name, value in figures.items()}
    nodes = {**catalog.nodes, node_type: changed(node, **new)}
    return changed(case.inputs, catalog=changed(catalog, nodes=nodes))


def test_a_node_that_gives_more_cores_than_it_has_is_noticed(case, plan):
    inputs = with_figures(case, plan, "eight-h100", cpu_cores=7)
    short = changed(
        plan,
        nodes=tuple(
            changed(node, cpus=7) if node.node_type == "eight-h100" else node for node in plan.nodes
        ),
    )
    with pytest.raises(CheckError, match="2027Q1: eight-h100/main/01 has 7 cores, 8 are taken"):
        check(inputs, case.jobs, short)


def test_a_node_that_gives_more_memory_than_it_has_is_noticed(case, plan):
    inputs = with_figures(case, plan, "eight-h100", host_memory_gb=479)
    short = changed(
        plan,
        nodes=tuple(
            changed(node, memory_mb=479_000) if node.node_type == "eight-h100" else node
            for node in plan.nodes
        ),
    )
    with pytest.raises(CheckError, match="has 479000 MB of memory, 480000 are taken"):
        check(inputs, case.jobs, short)


def test_a_unit_that_spans_nodes_without_a_fabric_is_noticed(case, plan):
    catalog = case.inputs.catalog
    bare = changed(catalog.nodes["eight-h100"], scale_out_fabric=None)
    nodes = {**catalog.nodes, "eight-h100": bare}
    inputs = changed(case.inputs, catalog=changed(catalog, nodes=nodes))
    with pytest.raises(CheckError, match="big spans nodes of eight-h100, which has no fabric"):
        check(inputs, case.jobs, plan)


def test_a_unit_that_spans_two_sites_is_noticed(case, plan):
    scenario = case.inputs.scenario
    fleet = {**scenario.fleet, "far": FleetEntry(node_type="eight-h100", count=1, site="far")}
    inputs = changed(case.inputs, scenario=changed(scenario, fleet=fleet))
    far = changed(plan.nodes[0], id="eight-h100/far/01", site="far", entry="far")
    there = with_uses(
        changed(plan, nodes=(*plan.nodes, far)), 1, move(RENTED, 0, "eight-h100/far/01")
    )
    with pytest.raises(CheckError, match="unit 1 of big spans different pools"):
        check(inputs, case.jobs, there)


def test_a_rejected_gpu_type_is_noticed_even_if_the_plan_says_it_may(case, plan):
    jobs = tuple(replace_candidates(job) if job.name == "chat" else job for job in case.jobs)
    sizings = {**plan.sizings, "id-chat": jobs[1].sizing}
    with pytest.raises(CheckError, match="unit 1 of chat may not use h100-80gb-sxm"):
        check(case.inputs, jobs, changed(plan, sizings=sizings))


def replace_candidates(job):
    only = tuple(item for item in job.sizing.candidates if item.gpu_type == "l40s-48gb")
    return changed(job, sizing=changed(job.sizing, candidates=only))


def test_the_check_does_not_depend_on_who_made_the_plan(case, plan):
    """A solution that claims another cost than its nodes have does not survive."""
    wrong = replace(case, solution=replace(case.solution, cost_cents=case.solution.cost_cents - 1))
    with pytest.raises(CheckError, match="the net present cost"):
        check(case.inputs, case.jobs, wrong.plan)


def test_a_unit_that_spans_nodes_though_it_must_stay_within_one_is_noticed(case, plan):
    big = case.jobs[0]
    bound = tuple(changed(item, may_span=False) for item in big.sizing.candidates)
    jobs = (changed(big, sizing=changed(big.sizing, candidates=bound)), *case.jobs[1:])
    sizings = {**plan.sizings, "id-big": jobs[0].sizing}
    with pytest.raises(CheckError, match="unit 1 of big spans 2 nodes, but must stay within one"):
        check(case.inputs, jobs, changed(plan, sizings=sizings))
