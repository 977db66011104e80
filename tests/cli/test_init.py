"""`planner init` as a user meets it."""

import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

import planner
from planner.cli.app import planner as command
from planner.errors import InputError

DAY = ("--as-of", "2026-11-23")
SERVED = "llama-3.1-8b 900 users"


@pytest.fixture
def init(tmp_path, monkeypatch):
    """`init(*options, answers="…")`: what the command says, in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def asked(*options, answers=""):
        return CliRunner(catch_exceptions=False).invoke(
            command, ["init", *DAY, *options], input=answers, prog_name="planner"
        )

    return asked


def written(name="scenario.yaml"):
    return yaml.safe_load(Path(name).read_text(encoding="utf-8"))


def test_five_answers_from_a_pipe_make_a_scenario_that_plans(init, run):
    answers = f"{SERVED}, qwen2.5-32b 5 requests/s\nllama-3.1-8b qlora\n2 xe9680-h100\n"
    made = init(answers=answers + "buy xe9680-h200, hourly xe9680-h100\n2027Q1..2027Q3\n")
    assert made.exit_code == 0, made.output
    found = written()
    assert found["horizon"]["quarters"] == 3
    assert found["fleet"] == {"xe9680-h100": {"node_type": "xe9680-h100", "count": 2}}
    assert [one["kind"] for one in found["offers"].values()] == ["buy", "hourly"]
    loads = [job["serve"]["load"] for job in found["jobs"].values() if "serve" in job]
    assert [one.get("users") for one in loads] == [900, None]
    assert loads[1]["requests_per_second"] == 5
    assert "requests_per_user_hour" not in loads[1]
    assert found["jobs"]["llama-3-1-8b-qlora"]["tune"]["method"] == "qlora"
    planned = run("plan", "scenario.yaml")
    assert planned.exit_code == 0, planned.output
    assert "Dropped" not in planned.stdout


def test_an_encoder_writes_nothing_and_reads_no_more_than_its_context(init, run):
    """A model for embeddings is served as it is: no output, texts of at most its context."""
    made = init("--serve", "bge-base-en-v1.5 20 requests/s", "--tune", "none", "--own", "none")
    assert made.exit_code == 0, made.output
    [job] = written()["jobs"].values()
    load = job["serve"]["load"]
    assert (load["input_tokens"], load["output_tokens"]) == (512, 0)
    planned = run("plan", "scenario.yaml")
    assert planned.exit_code == 0, planned.output
    assert "Dropped" not in planned.stdout


def test_whatever_is_left_open_is_assumed_visibly_and_plans(init, run):
    made = init()
    assert made.exit_code == 0, made.output
    assert "assumed, each marked so" in made.stderr
    assert run("plan", "scenario.yaml").exit_code == 0
    for line in Path("scenario.yaml").read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition(":")
        stated = value.strip() and not line.lstrip().startswith("#")
        known = ("format", "name", "as_of", "fleet", "node_type", "kind")
        assert not stated or "# assumed" in line or key.strip() in known, line


def test_options_answer_instead_and_then_nothing_is_asked(init):
    words = ("--serve", SERVED, "--tune", "none", "--own", "xe9680-h100", "--offer", "none")
    made = init(*words, "--quarters", "2027Q1", "--out", "mine.yaml")
    assert made.exit_code == 0, made.output
    assert made.stderr.startswith("wrote mine.yaml\n")
    assert list(written("mine.yaml")["jobs"]) == ["llama-3-1-8b-serving"]
    assert written("mine.yaml")["offers"] == {}


def test_all_mistakes_of_options_are_told_at_once_and_nothing_is_written(init):
    made = init("--serve", "llama-3.1-8z", "--tune", "llama-3.1-8b lorra", "--own", "2 h100")
    assert made.exit_code == 2
    assert "error: --serve: unknown model 'llama-3.1-8z'" in made.stderr
    assert "did you mean 'llama-3.1-8b'" in made.stderr
    assert "error: --tune: 'lorra' is no method" in made.stderr
    assert "error: --own: node type 'h100' is ambiguous" in made.stderr
    assert "3 mistakes" in made.stderr
    assert not list(Path().iterdir())


def test_a_wrong_answer_in_a_pipe_ends_the_command(init):
    made = init(answers="llama-3.1-8b 900 requests/h\n")
    assert made.exit_code == 2
    assert "'requests/h' is no unit of traffic" in made.stderr
    assert not list(Path().iterdir())


def test_nothing_is_overwritten_unless_that_is_asked_for(init):
    Path("scenario.yaml").write_text("by hand", encoding="utf-8")
    refused = init()
    assert refused.exit_code == 2
    assert "scenario.yaml is there already" in refused.stderr
    assert "served" not in refused.stderr, "it is told before anything is asked"
    assert Path("scenario.yaml").read_text(encoding="utf-8") == "by hand"
    assert init("--force").exit_code == 0
    assert written()["jobs"]


def test_jobs_of_a_table_are_taken_with_the_quarters_that_they_name(init, run):
    table = 'job,serve.model,tune.model,tune.method,count\nchat,llama-3.1-8b,,,"{2027Q2: 2}"\n'
    Path("jobs.csv").write_text(f"{table}claims,,llama-3.1-8b,lora,\n", encoding="utf-8")
    made = init("--from", "jobs.csv")
    assert made.exit_code == 0, made.output
    assert "Which models" not in made.stderr
    assert written()["horizon"]["first_quarter"] == "2027Q2"
    assert written()["jobs"] == {
        "chat": {"serve": {"model": "llama-3.1-8b"}, "count": {"2027Q2": 2}},
        "claims": {"tune": {"model": "llama-3.1-8b", "method": "lora"}},
    }
    assert run("plan", "scenario.yaml").exit_code == 0


def test_what_readers_are_told_names_no_quarter(init):
    table = "job,serve.model,note,owner,quarters\n"
    table += "chat,llama-3.1-8b,approved in 2025Q4,budget of 2027-Q1,2027Q2..2027Q3\n"
    Path("jobs.csv").write_text(table, encoding="utf-8")
    made = init("--from", "jobs.csv")
    assert made.exit_code == 0, made.output
    assert written()["horizon"]["first_quarter"] == "2027Q2"
    assert written()["horizon"]["quarters"] == 2


@pytest.mark.parametrize(
    ("keys", "cells"),
    [
        (
            "tune.model,tune.method,run.hours,run.release",
            "llama-3.1-8b,lora,100,2027-08-15",
        ),
        (
            "serve.model,serve.load.users,serve.load.requests_per_user_hour,"
            "serve.load.input_tokens,serve.load.output_tokens",
            "llama-3.1-8b,{2027Q3: 900},6,600,200",
        ),
    ],
)
def test_dates_and_traffic_of_a_table_name_quarters(init, keys, cells):
    Path("jobs.csv").write_text(f"job,{keys}\na,{cells}\n", encoding="utf-8")
    made = init("--from", "jobs.csv")
    assert made.exit_code == 0, made.output
    assert written()["horizon"]["first_quarter"] == "2027Q3"


def test_what_a_table_states_wrongly_is_told_by_the_key(init):
    Path("jobs.csv").write_text("job,serve.model\nchat,llama-9\n", encoding="utf-8")
    made = init("--from", "jobs.csv")
    assert made.exit_code == 2
    assert "error: jobs.chat.serve.model: unknown model 'llama-9'" in made.stderr
    assert not Path("scenario.yaml").exists()


def test_actuals_are_no_jobs(init):
    head = "JobID|JobName|Start|End|ElapsedRaw|AllocTRES|State\n"
    Path("sacct.txt").write_text(head, encoding="utf-8")
    made = init("--from", "sacct.txt")
    assert "tells what ran, and neither jobs nor servers" in made.stderr


def _at_a_terminal(folder, *options):
    """The command with a terminal of its own, and where that is written to and read from."""
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "planner.cli", "init", *DAY, *options]
    root = str(Path(__file__).parents[2])
    started = subprocess.Popen(
        words,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": root, "COLUMNS": "200"},
        start_new_session=True,
    )
    os.close(theirs)
    return started, ours


def _read_until(words, terminal):
    seen, deadline = "", time.monotonic() + 300
    while words not in seen:
        assert time.monotonic() < deadline, seen
        seen += os.read(terminal, 4096).decode()
    return seen


def test_on_a_terminal_a_wrong_answer_is_asked_for_again(tmp_path):
    words = ("--tune", "none", "--own", "none", "--offer", "buy dgx-h100", "--quarters", "2027Q1")
    started, terminal = _at_a_terminal(tmp_path, *words)
    _read_until("[Enter: none] ", terminal)
    os.write(terminal, b"llama-3.1-8z\n")
    seen = _read_until("[Enter: none] ", terminal)
    assert "did you mean" in seen
    os.write(terminal, f"{SERVED}\n".encode())
    _read_until("next: planner plan scenario.yaml", terminal)
    assert started.wait(300) == 0
    assert "users: 900" in (tmp_path / "scenario.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("question", "answer", "said"),
    [
        ("serve", "llama-3.1-8b 0 users", "0 is not above 0"),
        ("serve", "llama-3.1-8b 1.2.3 users", "is no number"),
        ("serve", "llama-3.1-8b 1M tokens/day", "'1M' is no number"),
        ("serve", "llama-3.1-8b 1e99 users", "is not above 0 and below"),
        ("serve", "{a: b}", "unknown model"),
        ("serve", "x # jobs: y", "unknown model"),
        ("tune", "llama-3.1-8b: rope", "'rope' is no method"),
        ("own", "0 xe9680-h100", "none of xe9680-h100"),
        ("own", "1000000000 xe9680-h100", "unknown node type"),
        ("own", "999999999 xe9680-h100", "is too large"),
        ("offer", "borrow xe9680-h100", "is no kind of offer"),
        ("offer", "buy", "cannot be read"),
        ("offer", "buy xe9680-h200 at 310k", "'310k' is no number"),
        ("offer", "buy xe9785l-mi355x", "has no price of xe9785l-mi355x"),
        ("quarters", "2027", "is not a calendar quarter"),
        ("quarters", "2027Q3-2027Q1", "are not 1 to 40 quarters"),
        ("quarters", "2027Q3..2027Q1", "are not 1 to 40 quarters"),
        ("quarters", "2027Q1..2099Q1", "are not 1 to 40 quarters"),
        ("as_of", "tomorrow", "is no day"),
    ],
)
def test_an_answer_that_cannot_be_taken_is_refused(question, answer, said):
    with pytest.raises(InputError) as error:
        planner.init(**{"as_of": "2026-11-23", question: answer})
    assert said in str(error.value)


def test_models_are_known_by_the_names_that_people_write():
    names = "Llama 3.1 8B 1,200 users; meta-llama/Llama-3.1-8B:2e9 tokens/day, LLAMA-3.1-8B 5 rps"
    rows = planner.load(planner.init(serve=names, as_of="2026-11-23").text).rows()
    assert [row["model"] for row in rows] == ["llama-3.1-8b"] * 3
    assert len({row["job"] for row in rows}) == 3


def test_where_nothing_is_owned_and_nothing_may_be_had_that_is_told():
    with pytest.raises(InputError, match="nothing can run anywhere"):
        planner.init(own="none", offer="none", as_of="2026-11-23")


def test_a_stated_price_and_a_short_context_are_no_assumptions_of_the_template():
    made = planner.init(tune="phi-2", offer="rent dgx-h100 at $2.5", as_of="2026-11-23")
    assert "price_usd_per_gpu_hour: 2.5\n" in made.text
    rows = {row["key"]: (row["value"], row["why"]) for row in made.rows()}
    assert rows["jobs.phi-2-tuned.tune.sequence"] == ("2048", "all that the model takes")


def test_the_page_of_a_first_scenario_lists_what_is_assumed():
    made = planner.init(serve=SERVED, as_of="2026-11-23")
    assert "figures assumed" in repr(made)
    text = made.to_text(width=80)
    assert "ask the vendor" in text
    assert max(map(len, text.splitlines())) <= 80
