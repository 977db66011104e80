"""Instances of others are read as they are, and what is no instance is told and left out."""

from dataclasses import replace

import pytest

from benchmarks.greedy import first_fit_decreasing
from benchmarks.instances import from_folder
from benchmarks.openb import read_openb
from benchmarks.portfolio_runs import timed
from benchmarks.vectorpack import BIN_CENTS, fewest_known, read_vbp

VBP = "3\n10 20 30\n3\n10 0 0 1\n0 20 0 1\n0 0 15 2\n"
NODES = (
    "sn,cpu_milli,memory_mib,gpu,model\n"
    "n1,64000,1024,4,P100\nn2,64000,1024,4,P100\nn3,96000,2048,8,G2\nn4,8000,512,0,\n"
)
PODS = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos\n"
    "p1,1000,16,2,1000,,LS\np2,1000,16,1,460,,BE\np3,2000,0,1,460,P100,LS\n"
    "p4,4000,16,0,0,,LS\np5,1000,16,8,1000,P100,LS\np6,1000,16,2,1000,,BE\n"
)


@pytest.fixture
def written(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def openb(written):
    def read(nodes=NODES, pods=PODS, **asked):
        files = written("nodes.csv", nodes), written("pods.csv", pods)
        return read_openb(*files, **{"shares": True, **asked})

    return read


def bins(path):
    return timed(read_vbp(path)).cost_cents / BIN_CENTS


@pytest.mark.parametrize(
    ("text", "fewest"),
    [
        (VBP, 1),
        ("3\n10 20 30\n2\n10 0 0 1\n1 0 0 1\n", 2),
        ("3\n10 20 30\n1\n0 0 15 3\n", 2),
        ("1\n10\n2\n6 1\n4 2\n", 2),
        ("2\n10 9\n1\n5 3 6\n", 3),
        ("2\n10 9\n\n1\n  5 5 3 \n", 3),
    ],
)
def test_items_take_as_many_bins_as_in_the_instance(written, text, fewest):
    path = written("a.vbp", text)
    assert bins(path) == fewest
    assert first_fit_decreasing(read_vbp(path)).nodes == fewest


def test_the_fewest_bins_known_are_the_optimum_or_the_best_published(tmp_path, written):
    written(
        "New_summary_known.csv", "instance_name\tLB\tOPT\tbest_overall\na\t3\t4\t5\nb\t3\t-1\t6\n"
    )
    assert fewest_known(tmp_path) == {"New/a": 4, "New/b": 6}


def test_nodes_alike_are_one_type_and_nodes_without_gpus_are_none(openb):
    pools = openb().pools
    assert [(pool.gpu_type, pool.node[:3]) for pool in pools] == [
        ("G2", (8, 96_000, 2048)),
        ("P100", (4, 64_000, 1024)),
    ]


def test_pods_alike_are_one_demand_on_every_gpu_type_that_they_allow(openb):
    asked = [
        (job_class.count, [mode.gpu_type for mode in job_class.modes], job_class.modes[0].shape)
        for job_class in openb().classes
    ]
    assert [(count, types, shape.gpus, shape.part.memory_mb) for count, types, shape in asked] == [
        (1, ["G2", "P100"], 1, 460),
        (1, ["P100"], 1, 460),
        (2, ["G2", "P100"], 2, 0),
    ]


def test_pods_are_those_of_the_first_lines_or_those_with_whole_gpus(openb):
    assert sum(job_class.count for job_class in openb(first=2).classes) == 2
    assert [job_class.count for job_class in openb(shares=False).classes] == [2]


def test_shares_fill_gpus_by_first_fit_as_in_the_plan(openb):
    rows = "".join(f"p{number},0,0,1,{milli},P100\n" for number, milli in enumerate([600, 400] * 8))
    pods = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n" + rows
    problem = openb(pods=pods)
    assert first_fit_decreasing(problem).nodes == 2
    assert timed(problem).cost_cents == first_fit_decreasing(problem).cost_cents


def test_a_gpu_without_a_price_is_told(openb):
    with pytest.raises(ValueError, match="GPU model H900, for which no price is known"):
        openb(nodes=NODES.replace("G2", "H900"))


def test_a_folder_is_measured_by_class_and_says_what_it_skips(tmp_path, written, capsys):
    written("New_instances/class1/class1_4_3_0.vbp", VBP)
    written("New_instances/class1/class1_4_3_1.vbp", "3\n1 1\n")
    written("New_instances/class1/class1_1_4_0.vbp", "4\n1 1 1 1\n1\n1 1 1 1 1\n")
    written(
        "New_summary_known.csv", "instance_name\tLB\tOPT\tbest_overall\nclass1_4_3_0\t1\t1\t1\n"
    )
    rows = list(from_folder(tmp_path))
    assert [row.what for row in rows] == ["New class1, up to 60 items"]
    assert rows[0].measured.endswith("gap 0.0 %; first-fit +0.0 %; best published +0.0 %")
    assert rows[0].verdict == "ok"
    said = capsys.readouterr().err
    assert "openb is skipped" in said
    assert "class1_4_3_1.vbp: ends before its items; is it whole?: skipped" in said
    assert "1 instances with more dimensions than the 3 resources of a node: skipped" in said


def test_a_folder_without_instances_gives_no_rows(tmp_path, capsys):
    assert list(from_folder(tmp_path)) == []
    assert "Vectorpack is skipped" in capsys.readouterr().err


def test_the_trace_is_measured_with_shares_and_without(tmp_path, written):
    written("csv/openb_node_list_gpu_node.csv", NODES)
    written("csv/openb_pod_list_default.csv", PODS)
    whats = [row.what for row in from_folder(tmp_path)]
    assert whats == ["openb default, 2 pods with whole GPUs", "openb default, 4 pods"]


def test_a_plan_that_was_not_found_is_missed(tmp_path, written, monkeypatch):
    written("class1_4_3_0.vbp", VBP)
    found = timed(read_vbp(tmp_path / "class1_4_3_0.vbp"))
    none = replace(found, gap=1.0, cost_cents=0)
    monkeypatch.setattr("benchmarks.instances.timed", lambda *_, **__: none)
    (row,) = from_folder(tmp_path)
    assert "no plan for 1 of 1" in row.measured
    assert row.verdict == "MISSED"
