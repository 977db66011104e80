"""Plans leave nothing behind in memory, and a portfolio is never too long."""

import gc
from pathlib import Path

from benchmarks.load import growth_of_plans, write_with_nodes
from tests.stated import load_inputs


def objects() -> int:
    gc.collect()
    return len(gc.get_objects())


def test_plans_one_after_another_leave_nothing_behind():
    growth_of_plans(10, warm_up=9)
    before = objects()
    grown = growth_of_plans(40, warm_up=20)
    assert objects() - before < 300
    assert grown < 8 * 2**20


def test_two_hundred_node_types_and_a_thousand_jobs_are_read(tmp_path):
    path = Path(tmp_path) / "nodes.yaml"
    write_with_nodes(path, jobs=1_000, nodes=200, quarters=4)
    inputs = load_inputs(path)
    assert (len(inputs.scenario.jobs), len(inputs.offers)) == (1_000, 200)
