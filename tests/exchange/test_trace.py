"""A trace of requests becomes the load that arrived, whatever its format."""

import json
import random
from datetime import UTC, datetime, timedelta

import pytest

import planner
from planner.errors import InputError

AZURE = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
MOONCAKE = '{"timestamp": 1, "input_length": 4, "output_length": 3}'
BURST = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"


@pytest.fixture
def trace(tmp_path):
    def written(text, name="trace.csv"):
        path = tmp_path / name
        path.write_text(text, "utf-8")
        return path

    return written


@pytest.fixture
def told():
    return []


@pytest.fixture
def load(trace, told):
    """`load(text)`: the one load of a trace; what is said of it stands in `told`."""

    def read(text, name="trace.csv"):
        (job,) = planner.import_table(trace(text, name), progress=told.append).jobs.values()
        return job["serve"]["load"]

    return read


def arrivals(per_second, seconds, seed=1):
    """Poisson arrivals; `per_second(hour)` is their rate."""
    rng, at = random.Random(seed), 0.0
    while at < seconds:
        at += rng.expovariate(per_second(at / 3600))
        yield at


def azure(times):
    start = datetime(2027, 1, 4, tzinfo=UTC)
    moments = (start + timedelta(seconds=at) for at in times)
    return AZURE + "".join(f"{one:%Y-%m-%d %H:%M:%S.%f}0,1000,101\n" for one in moments)


def test_rate_and_lengths_are_means(load):
    lines = "".join(f"{at},{200 + at % 2},{50 if at % 2 else 150}\n" for at in range(0, 1001))
    assert load(AZURE + lines) == {
        "requests_per_second": 1.0,
        "arrivals_cv": 0.0,
        "input_tokens": 201,  # 200.5 on the average, never less
        "input_cv": 0.00249,
        "input_percentiles": {"p50": 200, "p90": 201, "p95": 201, "p99": 201},
        "output_tokens": 101,
        "output_percentiles": {"p50": 150, "p90": 150, "p95": 150, "p99": 150},
    }


def test_the_peak_of_days_is_their_busiest_hour(load):
    busy = lambda hour: 0.2 if 9 <= hour % 24 < 17 else 0.04  # noqa: E731
    found = load(azure(arrivals(busy, 2 * 86_400)))
    mean = (8 * 0.2 + 16 * 0.04) / 24
    assert found["requests_per_second"] == pytest.approx(mean, rel=0.05)
    assert found["requests_per_second"] * found["peak_to_mean"] == pytest.approx(0.22, rel=0.1)
    assert found["arrivals_cv"] == pytest.approx(1, abs=0.1)


def test_bursts_vary_more_than_poisson(load, told):
    rng, at, times = random.Random(5), 0.0, []
    while at < 7200:
        at += rng.expovariate(0.05)
        times += [at + rng.random() / 10 for _ in range(8)]
    assert load(azure(sorted(times)))["arrivals_cv"] > 2
    assert any("busiest 5 minutes" in line for line in told)


def test_lines_may_end_as_on_any_system(load):
    text = azure(arrivals(lambda _: 2, 7200))
    assert load(text.replace("\n", "\r")) == load(text.replace("\n", "\r\n")) == load(text)


def test_each_model_is_a_job_and_failed_requests_are_told(trace, told):
    lines = [
        f"{at},{'Qwen/Qwen3-8B' if at % 3 else 'GPT-4'},100,{at % 10},0,API\n" for at in range(900)
    ]
    made = planner.import_table(trace(BURST + "".join(lines), "week.csv"), progress=told.append)
    assert set(made.jobs) == {"week-gpt-4", "week-qwen-qwen3-8b"}
    assert made.jobs["week-qwen-qwen3-8b"]["serve"]["model"] == "qwen3-8b"
    assert "model" not in made.jobs["week-gpt-4"]["serve"]
    assert any("week-gpt-4: say which model" in line for line in told)
    assert sum("30 requests without an answer" in line for line in told) == 1


def test_mooncakes_times_are_milliseconds(load):
    lines = (
        json.dumps({"timestamp": at, "input_length": 600, "output_length": 40, "hash_ids": [at]})
        for at in range(0, 100_001, 500)
    )
    assert load("\n".join(lines), "moon.jsonl")["requests_per_second"] == 2.0


@pytest.mark.parametrize("per_second", [1, 10**3, 10**6, 10**9])
def test_times_since_1970_are_read_in_each_usual_unit(load, per_second):
    start = int(datetime(2027, 1, 4, tzinfo=UTC).timestamp())
    times = [(start + at) * per_second for at in range(3601)]
    table = load(AZURE + "".join(f"{at},100,10\n" for at in times))
    lines = (
        json.dumps({"timestamp": at, "input_length": 100, "output_length": 10}) for at in times
    )
    assert table["requests_per_second"] == 1.0
    assert load("\n".join(lines), "trace.jsonl") == table


def test_lines_of_json_may_hold_dates(load):
    start = datetime(2027, 1, 4, tzinfo=UTC)
    lines = (
        json.dumps(
            {
                "timestamp": (start + timedelta(seconds=at)).isoformat(),
                "prompt_tokens": 100,
                "completion_tokens": 10,
            }
        )
        for at in range(1000)
    )
    assert load("\n".join(lines), "trace.jsonl")["requests_per_second"] == 1.0


@pytest.mark.parametrize("first", ["", "sep={}\n"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_trace_is_read_with_any_delimiter(load, first, delimiter, end):
    plain = azure(arrivals(lambda _: 2, 7200))
    text = first.format(delimiter) + plain.replace(",", delimiter)
    assert load(text.replace("\n", end)) == load(plain)


def test_the_lines_of_a_trace_are_counted_with_the_one_that_names_the_delimiter(trace):
    with pytest.raises(InputError, match="'noon' is no time") as caught:
        planner.import_table(trace("sep=;\n" + (AZURE + "5,1,1\nnoon,1,1\n").replace(",", ";")))
    assert caught.value.findings[0].line == 4


def test_traffic_takes_neither_mapping_nor_sheet(trace, tmp_path):
    path = trace(azure(arrivals(lambda _: 2, 7200)))
    with pytest.raises(InputError, match=r"mapping: .*trace.csv holds traffic"):
        planner.import_table(path, mapping=tmp_path / "nosuch.yaml")
    with pytest.raises(InputError, match="is no workbook, so it has no sheets"):
        planner.import_table(path, sheet="A")


def test_requests_in_any_order_are_the_same_load(load):
    lines = [f"{at * at % 1000},{100 + at},{10 + at}\n" for at in range(1000)]
    ordered = load(AZURE + "".join(lines))
    random.Random(2).shuffle(lines)
    assert load(AZURE + "".join(lines)) == ordered


def test_what_is_imported_plans_with_a_model(trace, tmp_path):
    part = tmp_path / "traffic.yaml"
    part.write_text(planner.import_table(trace(azure(arrivals(lambda _: 2, 7200)))).text)
    scenario = tmp_path / "mine.yaml"
    scenario.write_text(
        "format: 1\nname: Mine\nextends: traffic.yaml\n"
        "horizon: {first_quarter: 2027Q1, quarters: 1}\nsites: {main: {}}\n"
        "jobs: {trace: {serve: {model: llama-3.1-8b}}}\n"
        "offers: {h100: {kind: buy, node_type: xe9680-h100, price_usd: 300000}}\n"
    )
    assert "1 × PowerEdge XE9680" in str(planner.plan(scenario).summary)


def test_a_few_long_prompts_among_short_ones_are_no_contradiction(load):
    """The mean lies above the 99th percentile."""
    lines = (
        f"{at},Qwen/Qwen3-8B,{20_000 if at % 200 == 7 else 10},10,0,API\n" for at in range(4000)
    )
    found = load(BURST + "".join(lines))
    assert found["input_tokens"] > found["input_percentiles"]["p99"] == 10
    sized = planner.size({"serve": {"model": "qwen3-8b", "load": found}})
    assert sized.rows()


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        (AZURE + "noon,1,1\n5,1,1\n6,1,1\n", 2, "'noon' is no time"),
        (AZURE + "5,1.5,1\n6,1,1\n7,1,1\n", 2, "'1.5' is no number of input tokens"),
        (AZURE + "5,1,-1\n6,1,1\n7,1,1\n", 2, "'-1' is no number of output tokens"),
        (AZURE + "5,1,1\n6,1\n7,1,1\n", 3, "says nothing of output"),
        (AZURE + "5,1,1\n6,1,200,5\n7,1,1\n", 3, "has more cells than the first line has"),
        (AZURE + "nan,1,1\n6,1,1\n7,1,1\n", 2, "'nan' is no time"),
        (AZURE + "5,1,inf\n6,1,1\n7,1,1\n", 2, "'inf' is no number of output tokens"),
        (AZURE, None, "fewer than two requests"),
        (AZURE + "5,1,1\n5,1,1\n", None, "all requests are of one moment"),
        (AZURE + "5,1,1\n2027-01-01,1,1\n", None, "its requests span 20,819 days: write all"),
        (AZURE + "5,1,1\n2026-01-01,1,1\n2020-01-01,1,1\n", None, "span 20,454 days"),
        (AZURE + "5,1,1\n6,1e12,1\n7,1,1\n", 3, "'1e12' is no number of input tokens"),
        (AZURE + "5,1,1\n6,30000000,1\n7,1,1\n", 3, "no number of input tokens, 0 to 20,000,000"),
        ("timestamp,promt_tokens,completion_tokens\n1,2,3\n", 1, "tells the input tokens"),
        ("timestamp,prompt_tokens\n1,2\n", 1, "tells the output tokens"),
        (
            "timestamp,start_time,prompt_tokens,completion_tokens\n1,2,3,4\n",
            1,
            "several columns tell the time of the requests: timestamp, start_time",
        ),
        (MOONCAKE.replace("}", ', "prompt_tokens": 4}'), 1, "several columns tell the input"),
        (f"{MOONCAKE}\n{MOONCAKE.replace('1,', '1.5,')}", 2, "'1.5' is no whole number of milli"),
        (f"{MOONCAKE}\n{MOONCAKE.replace('1,', '[],')}", 2, r"'\[\]' is no time"),
        (f"{MOONCAKE}\n{MOONCAKE.replace('1,', 'null,')}", 2, "says nothing of time$"),
        (f"{MOONCAKE}\n{MOONCAKE.replace('1,', '9' * 400 + ',')}", 2, "9' is no time"),
        (f'{MOONCAKE}\n{{"tim\n', 2, "is not JSON"),
        (f'{MOONCAKE}\n{{"timestamp": {"[" * 100_000}\n', 2, "is not JSON"),
        (f'{MOONCAKE}\n{{"timestamp": {"9" * 400}\n', 2, "is not JSON"),
    ],
)
def test_lines_that_cannot_be_requests_are_told(trace, text, line, said):
    with pytest.raises(InputError, match=said) as caught:
        planner.import_table(trace(text))
    assert caught.value.findings[0].line == line


def test_times_with_and_without_a_zone_are_not_mixed(trace):
    first, second = "2027-01-01 08:00:00,1,1", "2027-01-01 08:00:05+01:00,1,1"
    for one, other in ((first, second), (second, first)):
        with pytest.raises(InputError, match="unlike earlier times") as caught:
            planner.import_table(trace(AZURE + f"{one}\n{one}\n{other}\n{other}\n"))
        assert [finding.line for finding in caught.value.findings] == [4]


def test_hundreds_of_bad_lines_are_told_twenty_at_a_time(trace):
    with pytest.raises(InputError) as caught:
        planner.import_table(trace(AZURE + "noon,1,1\n" * 500))
    assert len(caught.value.findings) == 20


def test_a_first_scenario_takes_a_mapping_for_the_table_that_stands_beside_a_trace(trace):
    requests = trace(BURST + "".join(f"{10 * n},llama-3.1-8b,500,200,700,x\n" for n in range(60)))
    jobs = trace("Name,Model\nchat,llama-3.1-8b\n", "jobs.csv")
    mapping = trace("columns: {Name: job, Model: serve.model}\n", "mapping.yaml")
    made = planner.init(
        sources=(requests, jobs), mapping=mapping, own="xe9680-h100", as_of="2026-11-23"
    )
    scenario = planner.load(made.text)
    assert [row["job"] for row in scenario.rows()] == ["trace-llama-3-1-8b", "chat"]
