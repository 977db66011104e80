"""Estimators that pip installs: asked in a process of their own, left out where they are not."""

import pytest

from benchmarks.accuracy.installed import installed
from benchmarks.accuracy.world import World
from planner.inputs.measured import Measurement
from planner.inputs.scenario.job import Tune

FITCHECK = """
from types import SimpleNamespace

def ModelConfig(**given): return SimpleNamespace(**given)
def TrainingConfig(**given): return SimpleNamespace(**given)
def GpuSpec(*given): return given

def estimate(model, run, gpu):
    if run.optimizer == "adafactor":
        raise ValueError("unknown")
    return SimpleNamespace(total_mib=model.num_layers + run.batch_size + 7, overhead_mib=7)
"""


@pytest.fixture
def fitcheck(tmp_path, monkeypatch):
    """A package of that name, which adds up layers and sequences."""
    (tmp_path / "fitcheck.py").write_text(FITCHECK, encoding="utf-8")
    (tmp_path / "fitcheck_llm-9.9.dist-info").mkdir()
    metadata = "Metadata-Version: 2.1\nName: fitcheck-llm\nVersion: 9.9\n"
    (tmp_path / "fitcheck_llm-9.9.dist-info" / "METADATA").write_text(metadata, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


def test_who_is_installed_is_asked_run_by_run(fitcheck):
    models = World().catalog.models
    with installed() as (peer,):

        def says(**more):
            tune = {"model": "llama-3.1-8b", "method": "lora", "sequence": 512, "batch": 8, **more}
            run = Measurement(line=2, tune=Tune(**tune), gpus=2, gpu_type="a100-80gb-sxm")
            return peer.predicted_gb(run, models)

        assert peer.name == "fitcheck 9.9"
        assert says() == pytest.approx((32 + 4) * 2**20 / 2 / 1e9)
        assert says(optimizer="adafactor") is None
        assert says(model="mixtral-8x7b") is None


def test_who_is_not_installed_is_left_out_with_a_word(tmp_path, monkeypatch, capsys):
    for python in ("/bin/false", str(tmp_path / "none")):
        monkeypatch.setenv("PEERS_PYTHON", python)
        with installed() as peers:
            assert not peers
        assert "its rows are left out" in capsys.readouterr().err
