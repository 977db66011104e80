"""`planner size`: models from a file, measured runs, contradictions, and JSON."""

import json

import pytest

import planner

QWEN = {
    "model_type": "qwen2",
    "hidden_size": 3584,
    "num_hidden_layers": 28,
    "num_attention_heads": 28,
    "num_key_value_heads": 4,
    "intermediate_size": 18944,
    "vocab_size": 152064,
    "max_position_embeddings": 32768,
    "tie_word_embeddings": False,
}
LORA = ("--method", "lora", "--batch", "8", "--sequence", "2048", "--gpu-type", "h100-80gb-sxm")
SERVED = ("--serve", "--context", "8192", "--concurrency", "16", "--gpu-type", "h100-80gb-sxm")


@pytest.fixture
def config(tmp_path):
    folder = tmp_path / "our-qwen"
    folder.mkdir()
    path = folder / "config.json"
    path.write_text(json.dumps(QWEN), encoding="utf-8")
    return path


def sized(run, *words):
    result = run("size", *words, "--format", "json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_a_config_file_is_sized_as_the_catalog_sizes_that_model(run, config):
    own = sized(run, "--config", str(config), *SERVED)["candidates"]
    known = sized(run, "--model", "qwen2-7b", *SERVED)["candidates"]
    peaks = (own[0]["memory"]["peak_mb"], known[0]["memory"]["peak_mb"])
    assert peaks[0] == pytest.approx(peaks[1], rel=1e-3)  # the file counts biases
    assert (own[0]["gpus"], known[0]["gpus"]) == (1, 1)


def test_a_job_of_a_scenario_is_sized_as_its_plan_sizes_it(run):
    """Also one that is deployed; with the changes that are asked for."""
    source = "scenarios/quickstart.yaml"
    plan = json.loads(planner.plan(source).to_json())
    for name in ("support-assistant", "claims-expert-serving"):
        sizing = next(one["sizing"] for one in plan["jobs"] if one["name"] == name)
        alone = sized(run, source, name)["candidates"]
        for planned in plan["sizings"][sizing]["candidates"]:
            planned["trace"] = [plan["steps"][number] for number in planned["trace"]]
            assert planned in alone
    halved = sized(run, source, "support-assistant", "--set", "policies.headroom=50%")
    offered = {
        one["gpu_type"]: one["gpu_capacity_mb"] / one["gpus"] for one in halved["candidates"]
    }
    assert offered["h200-141gb-sxm"] == 70_500
    types = "jobs.support-assistant.gpu_types=[a100-80gb-sxm, b200-180gb-sxm]"
    some = sized(run, source, "support-assistant", "--set", types)
    assert {one["gpu_type"] for one in some["candidates"]} == {"a100-80gb-sxm", "b200-180gb-sxm"}


def test_the_sums_are_shown_where_they_are_asked_for_with_host_memory_and_headroom(run):
    asked = ("size", "--parameters-b", "10", "--serve", "--adapters", "2", "--adapter-gb", "0.125")
    told = run(*asked, "--sums", "--gpu-type", "h100-80gb-sxm", "--gpu-type", "l4-24gb").stdout
    assert "= 30.375 GB" in told
    assert "The sums on h100-80gb-sxm" in told
    assert "The sums on l40s-48gb" not in told
    small = run("size", "--parameters-b", "0.57", "--serve", "--gpu-type", "l4-24gb", "--sums")
    row = next(line for line in small.stdout.splitlines() if line.startswith("l4-24gb"))
    gpu_type, gpus, *_, host_gb, _, _ = row.split()
    assert (gpu_type, gpus, host_gb) == ("l4-24gb", "1", "6")
    assert "max(1.368, 1 × 6)" in small.stdout
    assert "capacity/host-memory-per-gpu" in small.stdout
    large = ("size", "--parameters-b", "39", "--serve", "--bits", "8", "--gpu-type")
    for headroom, gpus in (("0", "  1 "), ("50%", "  2 ")):  # two GPUs with half of each
        half = run(*large, "h100-80gb-sxm", "--headroom", headroom).stdout
        assert "46.8 / 80 " in half
        assert gpus in next(line for line in half.splitlines() if line.startswith("h100"))


def test_parts_of_a_gpu_stand_beside_the_whole_one_and_say_what_speaks_against_the_others(run):
    asked = ("size", "--parameters-b", "3", "--serve", "--gpu-type", "h100-80gb-sxm")
    plain = run(*asked)
    assert "1g.10gb" not in plain.stdout
    told = run(*asked, "--mig", "--shared-gpus").stdout
    for row in ("h100-80gb-sxm 1g.10gb ", "h100-80gb-sxm shared "):
        assert row in told
    _, _, refused = told.partition("Parts of a GPU that it does not take")
    for part in ("1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb"):
        assert part in refused


def test_planned_hours_stand_beside_hours_on_more_and_more_gpus(run):
    job = ("--model", "llama-3.1-8b", *LORA, "--dataset-tokens", "3e10")
    (smallest,) = sized(run, *job)["candidates"]
    rows = sized(run, *job, "--faster")["candidates"]
    hours = [row["planned_hours"] for row in rows]
    assert rows[0] == smallest
    assert len(rows) > 1
    assert hours == sorted(set(hours), reverse=True)
    shown = run("size", *job, "--faster").stdout
    assert f"h100-80gb-sxm × {rows[-1]['gpus']}" in shown
    assert "Held, h" in " ".join(shown.split())


ASKED = ("--serve", "--model", "llama-3.1-70b", "--requests-per-second", "4")
LENGTHS = ("--input-tokens", "1000", "--output-tokens", "400")


def test_an_endpoint_is_sized_by_traffic_and_latency_without_a_concurrency(run):
    words = ("--ttft-ms", "800", "--tpot-ms", "20", "--bits", "8", "--gpu-type", "h100-80gb-sxm")
    sized = run("size", *ASKED, *LENGTHS, *words, "--sums")
    assert sized.exit_code == 0, sized.output
    assert "4 requests a second, TTFT 800 ms, TPOT 20 ms at p95" in sized.output
    (row,) = [line for line in sized.output.splitlines() if line.startswith("h100-80gb-sxm × 4")]
    at_once, ttft_ms, tpot_ms, set_by = row.split()[-4:]
    assert 1 < int(at_once) <= 256
    assert (int(ttft_ms) <= 800, int(tpot_ms) <= 20, set_by) == (True, True, "load")
    assert "a target of latency is kept at that full rate" in " ".join(sized.output.split())


def test_a_count_that_only_the_latency_asks_for_says_so(run):
    words = ("--tpot-ms", "10", "--gpu-type", "h100-80gb-sxm", "--bits", "8", "--sums")
    sized = run("size", *ASKED, *LENGTHS, *words)
    (row,) = [line for line in sized.output.splitlines() if line.startswith("h100-80gb-sxm ")]
    assert row.split()[-1] == "latency"


def test_the_cheapest_run_comes_first_at_the_least_rent_of_the_price_book_on_eighty_columns(run):
    words = ("--model", "llama-3.1-8b", "--method", "lora", "--batch", "8", "--sequence", "2048")
    result = run("size", *words, "--dataset-tokens", "1e8", env={"COLUMNS": "80"})
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert "The sums on" not in result.stdout
    assert "illustrative-2026-11, which is illustrative" in result.stdout
    rows = planner.size(
        {
            "tune": {
                "model": "llama-3.1-8b",
                "method": "lora",
                "batch": 8,
                "sequence": 2048,
                "dataset_tokens": 1e8,
            }
        }
    ).rows()
    priced = [row for row in rows if row["usd_per_run"] is not None]
    assert priced == rows[: len(priced)]
    assert [row["usd_per_run"] for row in priced] == sorted(row["usd_per_run"] for row in priced)
    shown = [
        line.split()[0] for line in lines if line.split()[:1] in [[r["gpu_type"]] for r in rows]
    ]
    assert shown == [row["gpu_type"] for row in rows]
    h100 = next(row for row in rows if row["gpu_type"] == "h100-80gb-sxm")
    assert h100["usd_per_hour"] == pytest.approx(4.14 * h100["gpus"])
    assert rows[-1]["usd_per_hour"] is None, "no rent of it is in the book"


def test_a_partition_costs_its_share_of_the_memory_slices():
    asked = {"serve": {"model": "llama-3.1-8b", "context": 4096, "concurrency": 8}}
    by_part = {
        row["partition"]: row["usd_per_hour"]
        for row in planner.size({**asked, "gpu_types": ["h100-80gb-sxm"]}, mig=True).rows()
    }
    assert by_part["3g.40gb"] == pytest.approx(by_part[None] / 2)


def test_models_that_ppo_states_stand_in_its_summary(run):
    words = ("--method", "full", "--batch", "64", "--sequence", "4096", "--objective", "ppo")
    stated = ("--reward-parameters-b", "0", "--value-parameters-b", "1.5")
    told = " ".join(run("size", "--model", "qwen2.5-7b", *words, *stated).stdout.split())
    assert told.startswith("full fine-tuning of qwen2.5-7b by PPO, sequence 4,096")
    assert "batch 64, no reward model, value model of 1.5 B" in told
    assert "reward model of unknown size" not in told


def test_measured_runs_say_by_how_much_they_move_the_peak(run, tmp_path):
    runs = tmp_path / "runs.csv"
    plain = sized(run, "--model", "llama-3.1-8b", *LORA)["candidates"][0]["memory"]
    runs.write_text(
        "model,method,batch,sequence,gpus,kind,measured_gb\n"
        + f"llama-3.1-8b,lora,8,2048,1,allocated,{plain['allocator_peak_mb'] * 0.0012}\n" * 4,
        encoding="utf-8",
    )
    shown = run("size", "--model", "llama-3.1-8b", *LORA, "--measured", str(runs)).stdout
    assert "Your measured runs" in shown
    assert "+10.0 %" in shown
