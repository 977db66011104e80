"""The same sweep on a Dask cluster: two worker processes, of which one is killed on the way."""

import os
import signal
import socket
from dataclasses import replace

import pytest

from planner.errors import InputError, LimitError
from planner.whatif.desk import cluster as cluster_module
from planner.whatif.desk.cluster import Cluster
from planner.whatif.desk.crew import Processes
from planner.whatif.desk.desk import Desk, Station, Variant
from planner.whatif.sweep import sweep

distributed = pytest.importorskip(
    "distributed", reason="Dask is not installed: pip install 'gpu-fit-planner[cluster]'"
)

VARIANTS = (
    *(Variant((), (f"offers.l40s.price_usd={price}",)) for price in range(200_000, 205_000, 1000)),
    Variant(("crowd",)),
)


@pytest.fixture(scope="module")
def cluster():
    """At ports of its own: without an address, each scheduler asks for 8787, one at a time."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0"
    ) as local:
        yield local


@pytest.fixture(scope="module")
def desk(path):
    return Desk(Station(path))


def test_a_cluster_gives_the_same_bytes_though_a_worker_is_killed(cluster, desk, tmp_path):
    variants = {desk.key(one): one for one in VARIANTS}
    pids = {worker.pid for worker in cluster.workers.values()}
    assert len(pids) == 2

    def swept(crew, folder, told):
        (tmp_path / folder).mkdir()
        with crew:
            rows = sweep(crew, variants, tmp_path / folder, progress=told)
        return rows, (tmp_path / folder / "results.jsonl").read_bytes()

    def kill_one(done, *_):
        if done == 2:
            os.kill(min(pids), signal.SIGKILL)

    alone = swept(Processes(desk, 1), "alone", lambda *_: None)
    assert swept(Cluster(desk, cluster.scheduler_address), "cluster", kill_one) == alone
    assert {worker.pid for worker in cluster.workers.values()} != pids
    assert [row.figures.result for row in alone[0]] == ["proved"] * 5 + ["infeasible"]


def test_a_worker_that_reads_other_files_plans_nothing(cluster, desk):
    with (
        Cluster(desk, cluster.scheduler_address) as crew,
        pytest.raises(LimitError, match="does not read what is read here"),
    ):
        crew.plan({"another key": Variant()}, lambda *_: None)


def test_what_a_worker_does_is_planned_at_a_desk_of_the_same_files(desk, monkeypatch):
    """In this process: it reads the files once, and plans nothing that reads otherwise."""
    monkeypatch.setattr(cluster_module, "_HERE", [])
    dear = VARIANTS[0]
    for _ in range(2):
        assert cluster_module._figures(desk.station, desk.key(dear), dear) == desk.figures(dear)
    (kept,) = cluster_module._HERE
    assert kept.station == desk.station
    with pytest.raises(LimitError, match="does not read what is read here"):
        cluster_module._figures(desk.station, "another key", dear)
    rougher = replace(desk.station, gap=0.01)
    with pytest.raises(LimitError):
        cluster_module._figures(rougher, desk.key(dear), dear)
    assert cluster_module._HERE[0].station == rougher


def test_a_cluster_without_workers_is_given_up(cluster, desk, monkeypatch):
    monkeypatch.setattr(cluster_module, "_IDLE_S", 2 * cluster_module._ANSWER_S)
    with Cluster(desk, cluster.scheduler_address) as crew:
        asked = []

        def late(*_, **__):
            asked.append("once more")
            raise TimeoutError

        monkeypatch.setattr(crew._dask, "wait", late)
        monkeypatch.setattr(crew._client, "nthreads", dict)
        with pytest.raises(LimitError, match="has no workers"):
            crew.plan({"key": VARIANTS[0]}, lambda *_: None)
    assert len(asked) == 2


def test_a_scheduler_that_does_not_answer_is_told_in_time(desk, monkeypatch):
    monkeypatch.setattr("planner.whatif.desk.cluster._ANSWER_S", 1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        for wrong in (address, "nonsense://x", "no-such-host.invalid:1"):
            with pytest.raises(InputError, match=f"no Dask scheduler answers at {wrong}"):
                Cluster(desk, wrong)


def test_without_dask_it_says_how_to_install_it(desk, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(InputError) as refusal:
        Cluster(desk, "tcp://127.0.0.1:8786")
    assert "gpu-fit-planner[cluster]" in str(refusal.value.findings[0].hint)
