"""The scoreboard: what ships is whole and sourced, scores are right, a regression is noticed."""

from collections import Counter
from decimal import Decimal
from xml.etree import ElementTree

import pytest

from benchmarks.accuracy import __main__ as command
from benchmarks.accuracy.bars import Bar, judge
from benchmarks.accuracy.board import Board
from benchmarks.accuracy.neighbours import neighbours_file
from benchmarks.accuracy.origins import HERE
from benchmarks.accuracy.page import with_scoreboard
from benchmarks.accuracy.peers import PEERS, case_of
from benchmarks.accuracy.picture import Dot, picture
from benchmarks.accuracy.score import decided, scored
from benchmarks.accuracy.serving import read_serving, serving_pairs
from benchmarks.accuracy.startups import read_startups
from benchmarks.accuracy.tables import WIDTH, percent
from benchmarks.accuracy.world import World
from planner.errors import InputError
from planner.inputs.measured import Measurement, ServingMeasurement
from planner.inputs.scenario.job import Tune
from tests.stated import changed

GB = 1e9


@pytest.fixture(scope="module")
def world():
    return World()


@pytest.fixture(scope="module")
def says(world):
    """`says("accelerate", method="full", …)`: a peer's figure for Mistral 7B, GB."""

    def figure(name, gpus=1, **settings):
        usual = {"model": "mistral-7b-v0.1", "batch": gpus, "micro_batch": 1, "sequence": 4096}
        tune = Tune(**{**usual, **settings})
        run = Measurement(line=2, tune=tune, gpus=gpus, gpu_type="a100-80gb-sxm")
        (peer,) = (peer for peer in PEERS if peer.name == name)
        return peer.predicted_gb(run, world.catalog.models)

    return figure


# What ships


def test_enough_runs_from_enough_origins_ship(world):
    origins = Counter(one.run.origin for one in world.runs if one.run.peak_gb is not None)
    assert sum(origins.values()) >= 200
    assert len(origins) >= 10
    assert sum(one.run.outcome == "oom" for one in world.runs) >= 40
    assert len(read_startups()) >= 20
    assert len(world.times) >= 100


def test_every_row_has_a_source_a_quality_and_a_known_origin(world):
    for run in (*(one.run for one in world.runs), *world.times):
        assert run.source, run.line
        assert run.quality, run.line
        assert run.origin in world.origins, run.line


def test_runs_of_serving_engines_ship_with_sources_and_known_origins(world):
    runs = read_serving(world)
    assert all(run.source and run.quality for run in runs)
    assert len({str(run.source) + str(run.requests_per_second) for run in runs}) >= 600
    engines = {(run.engine or "").partition(" ")[0] for run in runs}
    assert engines == {"vLLM", "TensorRT-LLM", "SGLang"}
    assert {run.origin for run in runs} <= world.origins.keys()


def test_a_run_of_quality_b_says_what_is_weak_about_it_or_its_origin_does(world):
    weak = [one.run for one in world.runs if one.run.quality == "B" and not one.run.note]
    assert {run.origin for run in weak} <= {"NeMo Automodel"}


def test_no_run_is_transcribed_twice(world):
    repeated = Counter(changed(one.run, line=1) for one in world.runs)
    assert [run.source for run, times in repeated.items() if times > 1] == []


# Scores


def test_errors_are_relative_to_what_was_measured():
    score = scored([(11.0, 10.0), (9.0, 10.0), (10.0, 10.0), (None, 10.0)])
    assert score.runs == 3
    assert score.error == pytest.approx(0.2 / 3)
    assert score.bias == pytest.approx(0)
    assert score.median_error == pytest.approx(0.1)
    assert scored([(98.1, 100.0), (97.9, 100.0), (120.0, 100.0)]).under == pytest.approx(1 / 3)
    assert scored([(8.0, 10.0), (11.0, 10.0)]).worst == pytest.approx(-0.2)
    assert percent(scored([(None, 10.0)]).error) == "–"


def test_decisions_count_alarms_apart_from_misses():
    made = decided([(False, False), (True, False), (True, True), (False, True), (None, True)])
    assert (made.oom, made.oom_flagged, made.fits, made.fits_refused) == (2, 1, 2, 1)
    assert made.flagged == made.false_alarms == made.right == 0.5


def serving_run(**changes):
    run = {
        "line": 2,
        "origin": "AccelMark",
        "engine": "vLLM",
        "model": "llama-3.1-8b",
        "bits": 16,
        "gpu_type": "h100-80gb-sxm",
        "gpus": 1,
        "input_tokens": 1000,
        "output_tokens": 101,
        "quality": "A",
        "source": "by hand",
    }
    return ServingMeasurement(**{**run, **changes})


def test_the_rate_of_a_run_is_derived_from_what_its_clients_waited():
    closed = serving_run(load="closed", concurrency=8, ttft_ms=1000, tpot_ms=10)
    assert closed.answered_per_second == 8 / 2
    batch = serving_run(load="batch", concurrency=8, e2e_ms=4000)
    assert batch.answered_per_second == 8 / 4
    assert serving_run(load="open", requests_per_second=3).answered_per_second is None


def test_a_load_that_was_sent_before_its_first_answer_ended_shows_no_queue():
    answered = {"load": "open", "requests_per_second": 10, "ttft_ms": 1000, "tpot_ms": 90}
    assert serving_run(**answered, requests=99).sent_before_answered  # 9.9 s, an answer 10 s
    assert not serving_run(**answered, requests=101).sent_before_answered
    assert not serving_run(**answered).sent_before_answered
    closed = {"load": "closed", "concurrency": 4, "requests": 99}
    assert not serving_run(**(answered | closed)).sent_before_answered


def test_serving_is_scored_only_where_a_plan_could_be(world):
    pairs = serving_pairs(world)
    assert 500 < len(pairs) < len(read_serving(world))
    for pair in pairs:
        if pair.run.load == "open":
            asked = float(pair.run.requests_per_second or 0)
            assert 0 < asked <= (pair.planned_requests_per_second or 0)
            assert (pair.ttft_ms or 0) <= (pair.ttft_p99_ms or 0)


# Rules of thumb and other estimators, worked by hand

PARAMETERS, LAYERS, HIDDEN, VOCAB, TOKENS = 7.241732096, 32, 4096, 32000, 4096
GPT_2 = LAYERS * (12 * HIDDEN**2 + 13 * HIDDEN) + (VOCAB + 4) * HIDDEN
BLOCK_GB = TOKENS * (HIDDEN + 2 * 1024 + 2 + 2 * 14336) * 2 * 1.25 / GB


@pytest.mark.parametrize(
    ("peer", "run", "gigabytes"),
    [
        ("accelerate", {"method": "full"}, 8 * PARAMETERS),
        ("accelerate", {"method": "qlora", "batch": 8, "micro_batch": 8}, 8 * PARAMETERS),
        ("LLaMA-Factory table", {"method": "full", "precision": "bf16"}, 8 * PARAMETERS),
        ("LLaMA-Factory table", {"method": "full"}, 18 * PARAMETERS),
        ("LLaMA-Factory table", {"method": "lora", "gpus": 2}, PARAMETERS),
        ("LLaMA-Factory table", {"method": "qlora"}, PARAMETERS / 2),
        (
            "DeepSpeed ZeRO-3",
            {"method": "lora", "gpus": 4},
            18 * PARAMETERS / 4 + 4 * HIDDEN * VOCAB / GB,
        ),
        (
            "EleutherAI cookbook",
            {"method": "full"},
            18 * PARAMETERS + 34 * TOKENS * HIDDEN * LAYERS / GB,
        ),
        (
            "fm-training-estimator",
            {"method": "full"},
            (8 * GPT_2 + TOKENS * HIDDEN * (34 + 5 * 32 * TOKENS / HIDDEN)) / GB,
        ),
        ("Unsloth Studio", {"method": "full"}, 10 * PARAMETERS + 2 * BLOCK_GB + 1.4),
        (
            "training_hub",
            {"method": "full"},
            1.1 * (16 * PARAMETERS + 4 * TOKENS * (LAYERS * HIDDEN + VOCAB * 8 / 3) / GB),
        ),
        ("IBM watsonx baseline", {"method": "full"}, 320),
        ("IBM watsonx baseline", {"method": "qlora", "model": "llama-2-70b", "gpus": 2}, 40),
    ],
)
def test_a_peer_says_of_mistral_7b_what_its_formula_gives(says, peer, run, gigabytes):
    assert says(peer, **run) == pytest.approx(gigabytes)


def test_a_peer_says_nothing_of_a_run_that_leaves_its_size_open(world, says):
    assert says("accelerate", method="full", batch=None, micro_batch=None) is None
    assert says("accelerate", method="p-tuning") is None
    tune = Tune(model="mistral-7b-v0.1", method="lora", batch=64, sequence=2048)
    run = Measurement(line=2, tune=tune, gpus=4, gpu_type="a100-80gb-sxm")
    case = case_of(world.catalog.models["mistral-7b-v0.1"], run)
    assert case is not None
    assert case.sequences == 16


# Bars, page and picture


def test_a_figure_that_got_worse_is_a_regression_and_one_that_misses_its_target_is_not():
    bars = {
        "error": Bar(at_most=Decimal("0.05"), holds=Decimal("0.08")),
        "flagged": Bar(at_least=Decimal("0.95"), holds=Decimal("0.95")),
        "gone": Bar(at_most=Decimal(1), holds=Decimal(1)),
    }
    error, flagged, gone = judge({"error": 0.06, "flagged": 0.94}, bars)
    assert (error.held, error.met) == (True, False)
    assert (flagged.held, flagged.met) == (False, False)
    assert not gone.held


def test_the_command_fails_on_a_regression_and_says_which_figure(monkeypatch, capsys):
    monkeypatch.setattr(command, "board", lambda _: Board(figures={"some/error": 0.5}))
    bars = {"some/error": Bar(at_most=Decimal(1), holds=Decimal("0.4"))}
    monkeypatch.setattr(command, "read_bars", lambda: bars)
    assert command.main([]) == 1
    said = capsys.readouterr()
    assert "some/error" in said.out
    assert "regression: some/error is 0.5000, it was 0.4" in said.err


def test_the_scoreboard_holds_what_it_has_reached_and_fits_a_terminal(capsys, monkeypatch, world):
    monkeypatch.setattr(command, "World", lambda: world)
    assert command.main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= WIDTH


def test_nine_in_ten_peaks_that_nothing_was_fitted_to_lie_in_the_range_that_is_told(world):
    unseen = [one for one in world.runs if one.ratio and not world.origins[one.run.origin].fitted]
    inside = [
        one.memory.low_mb <= float(one.ratio) * one.memory.peak_mb <= one.memory.high_mb
        for one in unseen
    ]
    assert sum(inside) / len(inside) >= 0.9


def test_the_neighbours_of_the_catalog_are_what_was_measured(world):
    shipped = (HERE.parents[1] / "catalog" / "neighbours.yaml").read_text(encoding="utf-8")
    assert neighbours_file(world) == shipped


def test_no_run_that_ran_out_of_memory_is_said_to_fit_and_few_that_went_through_are_refused(world):
    fits = Counter((one.run.outcome, world.says_it_fits(one)) for one in world.runs)
    assert fits["oom", True] == 0
    assert sum(fits[key] for key in fits if key[0] != "oom" and key[1] is False) <= 8


def test_publishing_replaces_the_old_scoreboard_and_nothing_else():
    page = "Above\n<!-- scoreboard, written by `make accuracy` -->\n```\nold\n```\n"
    page += "<!-- end of scoreboard -->\nBelow\n"
    once = with_scoreboard(page, "new\n")
    assert once == page.replace("old", "new")
    assert with_scoreboard(once, "new") == once
    with pytest.raises(InputError, match="no marks"):
        with_scoreboard("Above\nBelow\n", "new")


def test_the_picture_has_a_dot_for_each_run_and_is_the_same_every_time():
    dots = [
        Dot("full", 40, 44, fitted=True),
        Dot("lora", 20, 19, fitted=False),
        Dot("lora", 1000, 0.1, fitted=False),
        Dot("p-tuning", 20, 19, fitted=True),
    ]
    drawn = picture(dots)
    assert drawn == picture(reversed(dots))
    tree = ElementTree.fromstring(drawn)
    circles = [one for one in tree.iter() if one.tag.endswith("circle") and one.get("r") == "3.2"]
    assert len(circles) == 3
    width, height = float(tree.get("width", 0)), float(tree.get("height", 0))
    for circle in circles:
        assert 0 < float(circle.get("cx", 0)) < width
        assert 0 < float(circle.get("cy", 0)) < height
