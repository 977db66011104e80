"""`planner measure`: it prints what `planner size --measured` reads; what it refuses."""

import csv
import io
import json
import sys
from types import SimpleNamespace

import pytest

import planner
from planner.exchange.training import TrainingRun

LORA = ("--model", "llama-3.1-8b", "--method", "lora", "--batch", "8", "--sequence", "2048")
GIB = 2**30
PACKAGES = ("bitsandbytes", "peft", "torch", "transformers")


@pytest.fixture
def gpu(monkeypatch):
    """A GPU that sees what it is told to run, and answers with what is put into `sees`."""
    at_hand = SimpleNamespace(
        sees=TrainingRun("NVIDIA H100 80GB HBM3", "torch 2.13.0", 36 * GIB, 2.0), told=None
    )

    def observe(config, tune, rank, steps):
        at_hand.told = SimpleNamespace(config=config, tune=tune, rank=rank, steps=steps)
        return at_hand.sees

    monkeypatch.setattr("planner.api.sizing.observe", observe)
    return at_hand


def printed(run, *words):
    result = run("measure", *words)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_what_was_seen_is_a_row_in_the_words_of_a_scenario(run, gpu):
    (row,) = rows(printed(run, *LORA, "--rank", "32", "--gradient-accumulation", "2"))
    assert row["model"] == "llama-3.1-8b"
    assert (row["batch"], row["micro_batch"], row["gradient_accumulation"]) == ("8", "4", "2")
    assert (row["gpus"], row["gpu_type"]) == ("1", "h100-80gb-sxm")
    assert (row["kind"], row["measured_gib"]) == ("allocated", "36.000")
    assert float(row["tokens_per_second_per_gpu"]) == 8 * 2048 / 2
    assert gpu.told.rank == 32
    assert gpu.told.config["num_hidden_layers"] == 32
    assert gpu.told.config["vocab_size"] == 128256


def test_a_table_of_such_rows_calibrates_a_sizing(run, gpu, tmp_path):
    table = tmp_path / "runs.csv"
    first = printed(run, *LORA)
    gpu.sees = TrainingRun("NVIDIA H100 80GB HBM3", "torch 2.13.0", None, None)
    large = ("--model", "llama-3.1-8b", "--method", "full", "--batch", "8", "--sequence", "2048")
    _, second = printed(run, *large).splitlines(keepends=True)
    table.write_text(first + second, encoding="utf-8")
    assert [row["outcome"] for row in rows(first + second)] == ["fit", "oom"]
    result = run("size", *LORA, "--measured", str(table))
    assert result.exit_code == 0, result.stderr
    assert "measured" in result.stdout


def test_a_configuration_is_built_as_its_file_has_it(run, gpu, tmp_path):
    folder = tmp_path / "our-model"
    folder.mkdir()
    stated = {
        "model_type": "qwen3",
        "hidden_size": 1024,
        "num_hidden_layers": 28,
        "num_attention_heads": 16,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "intermediate_size": 3072,
        "vocab_size": 151936,
        "max_position_embeddings": 40960,
        "tie_word_embeddings": True,
    }
    (folder / "config.json").write_text(json.dumps(stated), encoding="utf-8")
    words = ("--config", str(folder), "--method", "full", "--batch", "1", "--sequence", "512")
    (row,) = rows(printed(run, *words))
    assert row["model"] == "our-model"
    assert gpu.told.config == stated


def test_the_api_says_what_was_expected_beside_what_was_seen(gpu):
    job = {"tune": {"model": "llama-3.1-8b", "method": "lora", "batch": 8, "sequence": 2048}}
    seen = planner.measure(job, steps=2)
    assert (gpu.told.steps, gpu.told.rank) == (2, 16)
    assert seen.expected_gib == pytest.approx(43.3, rel=0.05)
    assert "36.000 GiB at the peak" in repr(seen)
    assert seen.rows()[0]["method"] == "lora"


def test_a_gpu_that_the_catalog_does_not_know_is_to_be_named(run, gpu):
    gpu.sees = TrainingRun("NVIDIA Something 900", "torch 2.13.0", GIB, 1.0)
    result = run("measure", *LORA)
    assert result.exit_code == 2
    assert "'NVIDIA Something 900', is no product that the catalog knows" in result.stderr
    (row,) = rows(printed(run, *LORA, "--gpu-type", "l40s-48gb"))
    assert row["gpu_type"] == "l40s-48gb"


def test_without_the_extra_it_is_said_how_to_install_it(run, monkeypatch):
    for name in PACKAGES:
        monkeypatch.setitem(sys.modules, name, None)
    result = run("measure", *LORA)
    assert result.exit_code == 2
    assert "needs the package `peft`" in result.stderr
    assert "gpu-fit-planner[measure]" in result.stderr


def test_without_a_gpu_it_is_said_that_there_is_none(run, monkeypatch):
    without = SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: False))
    for name in PACKAGES:
        monkeypatch.setitem(sys.modules, name, without)
    result = run("measure", *LORA)
    assert result.exit_code == 2
    assert "PyTorch finds no GPU here" in result.stderr
