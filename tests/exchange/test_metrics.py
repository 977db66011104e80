"""Series of Prometheus become the load that vLLM served, or who held the GPUs that DCGM watched."""

import csv
import io
import json
import math
from datetime import UTC, datetime

import pytest

import planner
from planner.errors import InputError

START = datetime(2027, 1, 1, tzinfo=UTC).timestamp()
SECOND_QUARTER = datetime(2027, 4, 1, tzinfo=UTC).timestamp()
MODEL = "Qwen/Qwen3-8B"


def series(name, samples, **labels):
    """One series as Prometheus answers it; values are text."""
    stated = {"__name__": name, "instance": "10.0.0.1:8000", **labels}
    return {"metric": stated, "values": [[at, str(value)] for at, value in samples]}


def answer(*result):
    return {"status": "success", "data": {"resultType": "matrix", "result": list(result)}}


def counted(rate, per_request=1.0, *, hours, step_s=3600, starts=START, first=0.0):
    """Samples of a counter that rises by `rate(hour)` requests a second."""
    value, found = first, []
    for number in range(int(hours * 3600 / step_s) + 1):
        found.append((starts + number * step_s, value))
        value += rate(number * step_s / 3600) * step_s * per_request
    return found


def vllm(rate, *, hours, input_tokens=300.5, output_tokens=100, model=MODEL, **more):
    """The counters of one endpoint."""
    return [
        series(f"vllm:{name}_total", counted(rate, share, hours=hours, **more), model_name=model)
        for name, share in (
            ("request_success", 1),
            ("prompt_tokens", input_tokens),
            ("generation_tokens", output_tokens),
        )
    ]


@pytest.fixture
def told():
    return []


@pytest.fixture
def read(tmp_path, told):
    """`read(data)`: what is imported of a file that holds it, as JSON or as text."""

    def imported(data, name="served.json", **how):
        path = tmp_path / name
        path.write_text(data if isinstance(data, str) else json.dumps(data), "utf-8")
        return planner.import_table(path, progress=told.append, **how)

    return imported


@pytest.fixture
def load(read):
    def of(*result, **how):
        (job,) = read(answer(*result), **how).jobs.values()
        return job["serve"]["load"]

    return of


def busy_by_day(hour):
    return 0.4 if 9 <= hour % 24 < 17 else 0.1


def test_the_load_of_one_quarter_is_one_figure(load, told):
    found = load(*vllm(busy_by_day, hours=48))
    assert found == {
        "requests_per_second": 0.2,
        "peak_to_mean": 2.0,
        "input_tokens": 301,  # 300.5 on the average, never less
        "output_tokens": 100,
    }
    assert any("34,560 requests in 2 days of its 90 days" in line for line in told)


def test_rates_are_told_by_quarter_and_the_peak_is_of_the_busiest(load):
    starts = SECOND_QUARTER - 48 * 3600
    busier = lambda hour: busy_by_day(hour) if hour < 48 else 2 * busy_by_day(hour)  # noqa: E731
    found = load(*vllm(busier, hours=96, starts=starts))
    assert found["requests_per_second"] == {"2027Q1": 0.2, "2027Q2": 0.4}
    assert found["peak_to_mean"] == 2.0


def test_what_was_counted_over_a_gap_is_spread_over_its_quarters(load):
    """Nothing was sampled from 24 hours before the quarter to 72 hours after its start."""
    sampled = vllm(lambda _: 0.1, hours=120, starts=SECOND_QUARTER - 48 * 3600)
    gapped = [{**one, "values": one["values"][:25] + one["values"][-1:]} for one in sampled]
    rates = load(*gapped)["requests_per_second"]
    assert rates == {"2027Q1": 0.1, "2027Q2": 0.1}


def test_a_counter_that_began_anew_is_counted_on(load):
    def restarted(one):
        half = len(one["values"]) // 2
        base = float(one["values"][half][1])
        late = [[at, str(float(value) - base)] for at, value in one["values"][half + 1 :]]
        return {**one, "values": [*one["values"][: half + 1], *late]}

    plain = vllm(busy_by_day, hours=48)
    assert load(*map(restarted, plain)) == load(*plain)


def test_reasons_of_an_end_engines_and_instances_are_added_up(load):
    requests, *tokens = vllm(busy_by_day, hours=48)
    shares = [
        series(
            "vllm:request_success_total",
            [(at, share * float(value)) for at, value in requests["values"]],
            model_name=MODEL,
            finished_reason=reason,
            engine=engine,
        )
        for share, reason, engine in ((0.5, "stop", "0"), (0.3, "stop", "1"), (0.2, "length", "0"))
    ]
    assert load(*shares, *tokens) == load(requests, *tokens)


def test_a_prefix_cache_is_told_where_it_is_counted(load):
    asked, hits = (
        series(
            f"vllm:prefix_cache_{name}_total",
            counted(lambda _: 1, share, hours=48),
            model_name=MODEL,
        )
        for name, share in (("queries", 400), ("hits", 100))
    )
    assert load(*vllm(busy_by_day, hours=48), asked, hits)["cached_input"] == 0.25


@pytest.mark.parametrize(("step_s", "hours"), [(300, 5), (2700, 48), (7200, 48)])
def test_what_tells_no_peak_says_so(load, told, step_s, hours):
    found = load(*vllm(busy_by_day, hours=hours, step_s=step_s))
    assert "peak_to_mean" not in found
    assert any("state `peak_to_mean`" in line for line in told)


def test_each_model_is_a_job_and_unknown_ones_are_told(read, told):
    made = read(answer(*vllm(busy_by_day, hours=48), *vllm(busy_by_day, hours=48, model="ours")))
    assert made.jobs["served-qwen-qwen3-8b"]["serve"]["model"] == "qwen3-8b"
    assert "model" not in made.jobs["served-ours"]["serve"]
    assert "served-ours: say which model serves this, as `serve.model`" in told


def grafana(result):
    """The same as Grafana writes it: series joined by time, in milliseconds."""
    out = io.StringIO()
    heads = [
        "{" + ", ".join(f'{key}="{value}"' for key, value in one["metric"].items()) + "}"
        for one in result
    ]
    rows = zip(*(one["values"] for one in result), strict=True)
    csv.writer(out).writerows(
        [["Time", *heads], *([int(row[0][0] * 1000), *(one[1] for one in row)] for row in rows)]
    )
    return out.getvalue()


def test_a_table_of_grafana_tells_the_same_as_the_answer(read):
    result = vllm(busy_by_day, hours=48)
    (of_csv,) = read(grafana(result), "served.csv").jobs.values()
    (of_json,) = read(answer(*result)).jobs.values()
    assert of_csv == of_json


@pytest.mark.parametrize(("first", "delimiter"), [("sep=,\n", ","), ("", ";"), ("sep=;\n", ";")])
def test_a_table_of_grafana_may_have_been_saved_by_a_spreadsheet(read, first, delimiter):
    """Its headings hold commas, whatever separates its cells."""
    plain, out = grafana(vllm(busy_by_day, hours=48)), io.StringIO(first)
    out.seek(0, io.SEEK_END)
    csv.writer(out, delimiter=delimiter).writerows(csv.reader(io.StringIO(plain)))
    assert read(out.getvalue(), "served.csv").jobs == read(plain, "served.csv").jobs


# GPUs that DCGM watched


def watched(gpu, pod, samples, name="DCGM_FI_DEV_GPU_UTIL", **labels):
    known = {"exported_pod": pod} if pod else {}
    return series(
        name,
        [(START + 300 * number, value) for number, value in samples],
        **{"UUID": f"GPU-{gpu}", "gpu": str(gpu), "pod": "nvidia-dcgm-exporter-x"} | known | labels,
    )


def rows(made):
    return [tuple(row[key] for key in ("quarter", "job", "count", "gpus")) for row in made.rows()]


def test_pods_and_their_gpus_at_once_are_actuals(read, tmp_path, told):
    (tmp_path / "names.yaml").write_text("jobs: {chat-*: assistant, tune-7: claims}\n")
    result = [
        watched(0, "chat-a", [(n, 40) for n in range(24)]),
        watched(1, "chat-a", [(n, 60) for n in range(24)]),
        watched(2, "chat-b", [(n, 20) for n in range(12, 24)]),
        watched(2, "chat-c", [(n, 20) for n in range(12)]),
        watched(3, "tune-7", [(n, 99) for n in range(6)]),
        watched(4, "other", [(0, 1)]),
        watched(5, None, [(n, 0) for n in range(12)]),
    ]
    made = read(answer(*result), mapping=tmp_path / "names.yaml")
    assert made.kind == "actuals"
    assert rows(made) == [("2027Q1", "assistant", "2", "2"), ("2027Q1", "claims", "1", "1")]
    assert "# 2027Q1, assistant: 6.0 GPU-hours, 40 % busy\n" in made.text
    assert "# 2027Q1, without a pod: 1.0 GPU-hours, 0 % busy\n" in made.text
    assert any("pods that are not in the mapping: 0.1 GPU-hours" in line for line in told)


def test_partitions_are_watched_by_another_gauge(read):
    name = "DCGM_FI_PROF_GR_ENGINE_ACTIVE"
    parts = [watched(0, f"p{n}", [(0, 0.5), (1, 0.5)], name, GPU_I_ID=str(n)) for n in range(3)]
    made = read(answer(*parts))
    assert [row[1:] for row in rows(made)] == [(f"p{n}", "1", "1") for n in range(3)]
    assert "50 % busy" in made.text


def test_a_gpu_that_two_gauges_watch_is_one_gpu(read):
    """By the finer gauge it is 40 % busy; a Grafana table may lack samples of one of them."""
    finer = "DCGM_FI_PROF_GR_ENGINE_ACTIVE"
    gauges = [
        watched(0, "chat-a", [(n, 0.4) for n in range(6)], finer),
        watched(0, "chat-a", [(n, 60) for n in range(12)]),
    ]
    for result in (gauges, gauges[::-1]):
        made = read(answer(*result))
        assert rows(made) == [("2027Q1", "chat-a", "1", "1")]
        assert "# 2027Q1, chat-a: 1.0 GPU-hours, 50 % busy\n" in made.text


def test_gpus_without_a_uuid_are_told_apart_by_node_and_number(read):
    result = [
        watched(number, "chat-a", [(0, 50)], UUID="", Hostname=node)
        for node in ("n1", "n2")
        for number in range(2)
    ]
    assert rows(read(answer(*result))) == [("2027Q1", "chat-a", "1", "4")]


def test_pods_of_one_name_in_two_namespaces_are_two(read):
    result = [
        watched(number, "chat-0", [(0, 50)], exported_namespace=namespace)
        for number, namespace in enumerate(("blue", "green"))
    ]
    assert rows(read(answer(*result))) == [("2027Q1", "chat-0", "2", "1")]
    bare = [
        {**one, "metric": {key.removeprefix("exported_"): it for key, it in one["metric"].items()}}
        for one in result
    ]
    assert rows(read(answer(*bare))) == [("2027Q1", "chat-0", "2", "1")]


# Refused


TWICE = vllm(busy_by_day, hours=48)
BAD = {
    "twice": (
        answer(*TWICE, TWICE[0]),
        r"result\[3\]: has the labels of result\[0\], and would count twice",
    ),
    "by two replicas of Prometheus": (
        answer(
            *(
                {**one, "metric": {**one["metric"], "prometheus_replica": replica}}
                for replica in ("a", "b")
                for one in TWICE
            )
        ),
        r"result\[3\]: has the labels of result\[0\].*(\n.*)*ask one replica of Prometheus",
    ),
    "without a GPU": (
        answer(watched(0, "a", [(0, 9)], UUID="")),
        r"result\[0\]: tells no GPU",
    ),
    "a share in percent": (
        answer(watched(0, "a", [(0, 97)], "DCGM_FI_PROF_GR_ENGINE_ACTIVE")),
        "is 97, at most 1 is possible",
    ),
    "backwards": (
        answer(series("vllm:request_success_total", [(START + 9, 1), (START, 2)])),
        r"result\[0\]: times do not ascend",
    ),
    "no time": (
        answer(series("vllm:request_success_total", [(START, 1), (math.nan, 2), (START + 9, 3)])),
        r"result\[0\]: times do not ascend",
    ),
    "milliseconds": (
        answer(series("vllm:request_success_total", [(START * 1000, 1)])),
        "outside the years 2000 to 2099",
    ),
    "below zero": (
        answer(series("vllm:request_success_total", [(START, -1)])),
        "below zero or without end",
    ),
    "without end": (
        answer(series("vllm:request_success_total", [(START, "+Inf")])),
        "below zero or without end",
    ),
    "without tokens": (
        answer(vllm(busy_by_day, hours=48)[0]),
        "counts none of vllm:prompt_tokens_total, vllm:generation_tokens_total",
    ),
    "no request": (answer(*vllm(lambda _: 0, hours=48)), "counts none of vllm:request_success"),
    "both": (
        answer(watched(0, "a", [(0, 9)]), *vllm(busy_by_day, hours=48)),
        "both vLLM's and DCGM's",
    ),
    "an error": (
        {"status": "error", "errorType": "bad_data", "error": "exceeded maximum resolution"},
        "exceeded maximum resolution",
    ),
    "odd samples": (answer({"metric": {}, "values": [[START]]}), r"result\[0\].values\[0\]"),
    "words": (answer({"metric": {}, "values": [[START, "many"]]}), r"result\[0\].values"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_cannot_be_is_refused(read, what):
    data, message = BAD[what]
    with pytest.raises(InputError, match=message):
        read(data)


def test_a_file_of_nothing_but_gaps_is_refused(read):
    with pytest.raises(InputError, match="no series of vLLM or DCGM"):
        read(answer(watched(0, "a", [(0, math.nan)])))
