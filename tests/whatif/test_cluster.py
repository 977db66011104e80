"""The same sweep on a Dask cluster: two worker processes, of which one is killed on the way."""

import os
import signal
import socket
import time
from dataclasses import replace

import pytest

from planner.errors import InputError, LimitError
from planner.inputs.override import Override
from planner.whatif import variants
from planner.whatif.sweep import run_sweep
from planner.whatif.variants import (
    DaskExecutor,
    ProcessExecutor,
    Variant,
    VariantPlanner,
    WorkerConfig,
)

distributed = pytest.importorskip(
    "distributed", reason="Dask is not installed: pip install 'gpu-fit-planner[cluster]'"
)

VARIANTS = (
    *(
        Variant((), (Override.parse(f"offers.l40s.price_usd={price}"),))
        for price in range(200_000, 205_000, 1000)
    ),
    Variant(("crowd",)),
)


@pytest.fixture(scope="module")
def cluster():
    """At ports of its own: without an address, each scheduler asks for 8787, one at a time."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0"
    ) as local:
        yield local


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """A busy machine answers late."""
    monkeypatch.setattr(variants, "_ANSWER_S", 120)


@pytest.fixture(scope="module")
def planner(path):
    return VariantPlanner(WorkerConfig(path))


def test_a_cluster_gives_the_same_bytes_though_a_worker_is_killed(cluster, planner, tmp_path):
    variants = {planner.key(one): one for one in VARIANTS}
    pids = {worker.pid for worker in cluster.workers.values()}
    assert len(pids) == 2

    def swept(executor, folder, told):
        (tmp_path / folder).mkdir()
        with executor:
            found = run_sweep(executor, variants, tmp_path / folder, progress=told)
        return [found[key] for key in variants], (tmp_path / folder / "results.jsonl").read_bytes()

    def kill_one(done, *_):
        if done == 2:
            os.kill(min(pids), signal.SIGKILL)

    def replaced():
        now = {worker.pid for worker in cluster.workers.values()}
        return len(now) == 2 and now != pids

    alone = swept(ProcessExecutor(planner, 1), "alone", lambda *_: None)
    assert swept(DaskExecutor(planner, cluster.scheduler_address), "cluster", kill_one) == alone
    until = time.monotonic() + 120
    while not replaced() and time.monotonic() < until:
        time.sleep(0.05)
    assert replaced()
    assert [figures.result for figures in alone[0]] == ["proved"] * 5 + ["infeasible"]


def test_a_worker_that_reads_other_files_plans_nothing(cluster, planner):
    with (
        DaskExecutor(planner, cluster.scheduler_address) as executor,
        pytest.raises(LimitError, match="does not read what is read here"),
    ):
        executor.plan({"another key": Variant()}, lambda *_: None)


def test_what_a_worker_does_is_planned_from_the_same_files(planner, monkeypatch):
    """In this process: it reads the files once, and plans nothing that reads otherwise."""
    monkeypatch.setattr(variants, "_HERE", [])
    dear = VARIANTS[0]
    for _ in range(2):
        assert variants._figures(planner.config, planner.key(dear), dear) == planner.figures(dear)
    (kept,) = variants._HERE
    assert kept.config == planner.config
    with pytest.raises(LimitError, match="changed meanwhile"):
        variants._figures(planner.config, "another key", dear)
    rougher = replace(planner.config, gap=0.01)
    with pytest.raises(LimitError):
        variants._figures(rougher, planner.key(dear), dear)
    assert variants._HERE[0].config == rougher


def test_a_cluster_without_workers_is_given_up(cluster, planner, monkeypatch):
    monkeypatch.setattr(variants, "_IDLE_S", 2 * variants._ANSWER_S)
    with DaskExecutor(planner, cluster.scheduler_address) as executor:
        asked = []

        def late(*_, **__):
            asked.append("once more")
            raise TimeoutError

        monkeypatch.setattr(executor._dask, "wait", late)
        monkeypatch.setattr(executor._client, "nthreads", dict)
        with pytest.raises(LimitError, match="has no workers"):
            executor.plan({"key": VARIANTS[0]}, lambda *_: None)
    assert len(asked) == 2


def test_a_scheduler_that_does_not_answer_is_told_in_time(planner, monkeypatch):
    monkeypatch.setattr("planner.whatif.variants._ANSWER_S", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        for wrong in (address, "nonsense://x", "no-such-host.invalid:1"):
            with pytest.raises(InputError, match=f"no Dask scheduler answers at {wrong}"):
                DaskExecutor(planner, wrong)


def test_without_dask_it_says_how_to_install_it(planner, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(InputError) as refusal:
        DaskExecutor(planner, "tcp://127.0.0.1:8786")
    assert "gpu-fit-planner[cluster]" in str(refusal.value.findings[0].hint)
