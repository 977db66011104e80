"""The same sweep on a Dask cluster: two worker processes, of which one is killed on the way."""

import os
import signal
import socket

import pytest

from planner.errors import InputError, LimitError
from planner.whatif.cluster import Cluster
from planner.whatif.crew import Processes
from planner.whatif.desk import Desk, Station, Variant
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
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, worker_dashboard_address=None
    ) as local:
        yield local


@pytest.fixture(scope="module")
def desk(path):
    return Desk(Station(path, (), (), 1e-4, 60.0))


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


def test_a_scheduler_that_does_not_answer_is_told_in_time(desk, monkeypatch):
    monkeypatch.setattr("planner.whatif.cluster._ANSWER_S", 1)
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
