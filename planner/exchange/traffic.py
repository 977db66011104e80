"""Traffic of served models, as the load that a serving job states; and who held GPUs meanwhile.

Read are tables of requests with the time of each and the tokens of prompt and answer, as Azure and
BurstGPT publish them, and Mooncake's lines of JSON. A trace may be of any length; only figures are
kept of it. And time series of Prometheus, of what vLLM served or of GPUs that DCGM watched: answers
of `query_range` in JSON, and the CSV that Grafana writes of series joined by time.
"""

from __future__ import annotations

import csv
import json
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from math import ceil, inf
from pathlib import Path
from typing import Any, Final, TextIO

import numpy as np
from numpy.typing import NDArray

from planner.errors import Finding, InputError, refuse
from planner.exchange import Exported, of_export
from planner.exchange.cluster import scenario_name
from planner.exchange.exports import cluster_names
from planner.inputs.catalog.catalog import Catalog
from planner.inputs.reading.grid import csv_grid, delimiter_of
from planner.inputs.scenario.quarter import Quarter
from planner.inputs.text import count_of, csv_text, unreadable

_COLUMNS: Final = {
    "time": {"timestamp", "arrivaltime", "arrivaltimestamp", "arrivedat", "starttime"},
    "input": {"contexttokens", "requesttokens", "prompttokens", "inputtokens", "inputlength"},
    "output": {
        *("generatedtokens", "responsetokens", "completiontokens"),
        *("outputtokens", "outputlength"),
    },
    "model": {"model"},
}
"""What each figure is called in published traces, in letters only."""
_NEEDED: Final = ("time", "input", "output")
_USUAL: Final = {"input": "prompt_tokens", "output": "completion_tokens"}
_MOST_TOKENS: Final = 20_000_000
"""Twice the longest context of any model: larger figures were counted in another way."""
_UNREADABLE: Final = (ValueError, RecursionError, OverflowError)
"""What JSON and numbers beyond all bounds raise."""
_LONGEST_HEADER: Final = 64 * 1024
"""Characters."""
_MOST_FINDINGS: Final = 20
_MOONCAKE_PER_S: Final = 1000
"""Lines of JSON count milliseconds from the first request on."""
_SINCE_1970_S: Final = 1e9
"""From here on, numbers count from 1970: as seconds they are the year 2001, and eleven days as
milliseconds."""
_SINCE_1970: Final = ((1e17, 10**9), (1e14, 10**6), (1e11, 10**3))
"""From where on a number is nano-, micro- or milliseconds since 1970, and how many are a second: in
a unit 1,000 times as long it would be the year 5138."""
_HOUR_S, _DAY_S, _MINUTE_S = 3600, 86_400, 60
_LONGEST_S: Final = 3 * 366 * _DAY_S
"""No trace is longer: otherwise its times are written in two ways."""
_PERCENTILES: Final = (50, 90, 95, 99)
_MOST_CV: Final = 100


@dataclass(slots=True)
class _Requests:
    """The requests of one model."""

    at_s: array[float] = field(default_factory=lambda: array("d"))
    input_tokens: array[int] = field(default_factory=lambda: array("q"))
    output_tokens: array[int] = field(default_factory=lambda: array("q"))
    unanswered: int = 0


def is_trace(path: Path) -> bool:
    """Return whether a file begins as a trace of requests."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            first, delimiter, _ = _opening(file)
            columns = _columns(_names(first, delimiter))
    except (OSError, ValueError):
        return False
    return "time" in columns and not columns.keys().isdisjoint(_USUAL)


def loads_of(path: Path, catalog: Catalog) -> tuple[dict[str, dict[str, Any]], tuple[str, ...]]:
    """Return a serving job for each model of a trace, and notes about it.

    A job whose model the catalog does not know states none. Raises InputError with the lines
    that cannot be read.
    """
    loads = {
        name: _load(requests, f"{path}{f', {name}' if name else ''}")
        for name, requests in _read(path).items()
    }
    return serving_jobs(path.stem, loads, catalog)


def serving_jobs(
    file_stem: str,
    loads: Mapping[str, tuple[dict[str, Any], list[str]]],
    catalog: Catalog,
) -> tuple[dict[str, dict[str, Any]], tuple[str, ...]]:
    """Return a job for each load, by the model for which it arrived, and all notes.

    Jobs are named by the file and the model.
    """
    labels = {name: f"{file_stem} {name}".strip() for name in sorted(loads)}
    names = cluster_names(labels.values())
    jobs, notes = {}, []
    for name, label in labels.items():
        load, said = loads[name]
        model, job = catalog.model_called(name), names[label]
        jobs[job] = {"serve": ({} if model is None else {"model": model}) | {"load": load}}
        notes += said
        if model is None:
            notes.append(f"{job}: say which model serves this, as `serve.model`")
    return jobs, tuple(notes)


def _opening(file: TextIO) -> tuple[str, str, int]:
    """Read the header, or the first line of JSON, with what separates its cells, and its number."""
    first = file.readline(_LONGEST_HEADER)
    delimiter, begins = delimiter_of(first)
    return (file.readline(_LONGEST_HEADER), delimiter, 2) if begins else (first, delimiter, 1)


def _names(line: str, delimiter: str) -> list[str]:
    """Return the names of the columns, or the keys of a line of JSON."""
    if line.lstrip().startswith("{"):
        try:
            return list(json.loads(line))
        except _UNREADABLE:
            return []
    return next(csv.reader([line], delimiter=delimiter), [])


def _columns(names: Sequence[str]) -> dict[str, list[str]]:
    """Return the names of the columns, or the keys, that may be each figure."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for name in names:
        letters = re.sub(r"[^a-z]", "", name.casefold())
        for what in (what for what, known in _COLUMNS.items() if letters in known):
            found[what].append(name)
    return found


def _read(path: Path) -> dict[str, _Requests]:
    """Return the requests by model, as the trace names it; `""` if it names none."""
    found: dict[str, _Requests] = defaultdict(_Requests)
    findings: list[Finding] = []
    zones: set[bool] = set()
    """Whether times have a zone."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            for line, row in _rows(file, str(path)):
                try:
                    zoned = _count(found, row)
                    if zoned is not None and zoned not in zones:
                        zones.add(zoned)
                        _require_one_way(row["time"], zones)
                except ValueError as error:
                    findings.append(Finding(str(error), file=str(path), line=line))
                    if len(findings) == _MOST_FINDINGS:
                        break
    except UnicodeDecodeError as error:
        raise InputError(Finding(f"is not UTF-8: {error.reason}", file=str(path))) from None
    except csv.Error as error:
        raise InputError(Finding(f"is no table: {error}", file=str(path))) from None
    except OSError as error:
        raise InputError(unreadable(path, error, str(path))) from None
    if not findings and not any(len(one.at_s) > 1 for one in found.values()):
        findings.append(Finding("has fewer than two requests with an answer", file=str(path)))
    refuse(findings)
    return {name: one for name, one in found.items() if len(one.at_s) > 1}


def _require_one_way(time: object, zones: set[bool]) -> None:
    if len(zones) > 1:
        told = f"{str(time)!r} has a zone or none, unlike earlier times: write all in one way"
        raise ValueError(told)


def _rows(file: TextIO, shown_as: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each line by number, with its time, input, output and model."""
    first, delimiter, line = _opening(file)
    names = _names(first, delimiter)
    found = _columns(names)
    findings = [
        Finding(
            f"no column of this trace tells the {what} tokens of its requests",
            *(shown_as, line),
            hint=f"call it {usual}",
        )
        for what, usual in _USUAL.items()
        if what not in found
    ]
    findings += (
        Finding(
            f"several columns tell the {what} of the requests: {', '.join(several)}",
            *(shown_as, line),
            hint="leave all but one of them out",
        )
        for what, several in found.items()
        if len(several) > 1
    )
    refuse(findings)
    columns = {what: name for what, (name,) in found.items()}
    if not first.lstrip().startswith("{"):
        for number, cells in enumerate(csv.reader(file, delimiter=delimiter), line + 1):
            if cells:
                row: dict[str, Any] = dict(zip(names, cells, strict=False))
                figures = {what: row.get(name) for what, name in columns.items()}
                yield number, figures | {"beyond": cells[len(names) :]}
        return
    for number, text in enumerate(chain((first,), file), line):
        if text.strip():
            try:
                row = json.loads(text)
                figures = {what: row.get(name) for what, name in columns.items()}
                yield number, figures | {"per_second": _MOONCAKE_PER_S}
            except AttributeError:
                yield number, {}
            except _UNREADABLE:
                yield number, {"fault": "is not JSON: was the file cut off?"}


def _count(found: dict[str, _Requests], row: Mapping[str, Any]) -> bool | None:
    """Add a request; return whether its time has a zone, None if it is a number of seconds."""
    if fault := row.get("fault"):
        raise ValueError(fault)
    if any(row.get("beyond", ())):
        raise ValueError("has more cells than the first line has columns")
    missing = [what for what in _NEEDED if row.get(what) in (None, "")]
    if missing:
        raise ValueError(f"says nothing of {', '.join(missing)}")
    at_s, zoned = _seconds(row["time"], row.get("per_second", 1))
    tokens = {}
    for what in ("input", "output"):
        try:
            number = float(row[what])
        except (TypeError, ValueError):
            number = -1.0
        if not 0 <= number <= _MOST_TOKENS or not number.is_integer():
            told = f"{str(row[what])!r} is no number of {what} tokens, 0 to {_MOST_TOKENS:,}"
            raise ValueError(told)
        tokens[what] = int(number)
    requests = found[str(row.get("model") or "")]
    if 0 in tokens.values():
        requests.unanswered += 1
        return zoned
    requests.at_s.append(at_s)
    requests.input_tokens.append(tokens["input"])
    requests.output_tokens.append(tokens["output"])
    return zoned


def _seconds(cell: Any, per_second: int = 1) -> tuple[float, bool | None]:  # noqa: ANN401 - text or a number
    """Read a time as a number, or as a date with its time, by default in UTC; return its seconds.

    With it, whether the date has a zone. Numbers count from some moment on, `per_second` of them,
    or since 1970, in the unit that their size tells.
    """
    try:
        number = float(cell)
    except (TypeError, ValueError, OverflowError):
        try:
            moment = datetime.fromisoformat(str(cell).strip())
        except ValueError:
            told = f"{str(cell)!r} is no time, write 2027-01-31 08:30:00, or seconds"
            raise ValueError(told) from None
        in_zone = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return in_zone.timestamp(), moment.tzinfo is not None
    if not 0 <= number < inf:
        raise ValueError(f"{str(cell)!r} is no time")
    if number >= _SINCE_1970_S:
        per_second = next((many for least, many in _SINCE_1970 if number >= least), 1)
    elif per_second > 1 and not number.is_integer():
        told = f"{str(cell)!r} is no whole number of milliseconds, which such lines count"
        raise ValueError(f"{told}: write 2027-01-31 08:30:00, or seconds since 1970")
    return number / per_second, None


def _load(requests: _Requests, shown_as: str) -> tuple[dict[str, Any], list[str]]:
    """Return what a load states of these requests, and the figures that it has no key for."""
    at_s = np.sort(np.frombuffer(requests.at_s))
    lasts_s = float(at_s[-1] - at_s[0])
    if lasts_s <= 0:
        raise InputError(Finding("all requests are of one moment", file=shown_as))
    if lasts_s > _LONGEST_S:
        told = f"its requests span {_lasting(lasts_s)}: write all times in one way"
        raise InputError(Finding(told, file=shown_as))
    rate = (len(at_s) - 1) / lasts_s
    window_s = _HOUR_S if lasts_s >= _DAY_S else 5 * _MINUTE_S if lasts_s >= _HOUR_S / 2 else None
    first, last = 0, len(at_s)
    notes = [f"{shown_as}: {count_of(len(at_s), 'request')} in {_lasting(lasts_s)}"]
    load: dict[str, Any] = {"requests_per_second": float(f"{rate:.4g}")}
    if window_s is None:
        notes.append("too short to tell a peak: state `peak_to_mean`")
    else:
        ends = np.searchsorted(at_s, at_s + window_s)
        first = int(np.argmax(ends - np.arange(len(at_s))))
        last = int(ends[first])
        peak = max(1.0, (last - first) / window_s / rate)
        load["peak_to_mean"] = float(f"{peak:.3g}")
        notes.append(f"its busiest {_lasting(window_s)} have {peak:.3g} times as many as the mean")
    gaps = np.diff(at_s[first:last])
    if len(gaps) > 1 and gaps.mean() > 0:
        load["arrivals_cv"] = float(f"{min(gaps.std() / gaps.mean(), _MOST_CV):.3g}")
    for key, counted in (("input", requests.input_tokens), ("output", requests.output_tokens)):
        tokens = np.frombuffer(counted, dtype=np.int64)
        load[f"{key}_tokens"] = ceil(tokens.mean())
        if key == "input":
            load["input_cv"] = float(f"{tokens.std() / max(tokens.mean(), 1):.3g}")
        at = {f"p{share}": max(1, ceil(np.percentile(tokens, share))) for share in _PERCENTILES}
        load[f"{key}_percentiles"] = at
        notes.append(f"{key} tokens: {at['p50']:,} in the median, {int(tokens.max()):,} at most")
    if requests.unanswered:
        notes.append(f"{count_of(requests.unanswered, 'request')} without an answer left out")
    return load, notes


def _lasting(seconds: float) -> str:
    """Format a span in the largest unit of which it has two."""
    for length, unit in ((_DAY_S, "day"), (_HOUR_S, "hour"), (_MINUTE_S, "minute")):
        if seconds >= 2 * length:
            several = seconds / length
            return f"{several:{',.0f' if several >= 100 else '.3g'}} {unit}s"
    return f"{seconds:,.3g} seconds"


_REQUESTS: Final = "vllm:request_success"
_INPUT: Final = "vllm:prompt_tokens"
_OUTPUT: Final = "vllm:generation_tokens"
_ASKED_OF_CACHE: Final = "vllm:prefix_cache_queries"
_FOUND_IN_CACHE: Final = "vllm:prefix_cache_hits"
_VLLM: Final = (_REQUESTS, _INPUT, _OUTPUT, _ASKED_OF_CACHE, _FOUND_IN_CACHE)
"""Counters; Prometheus adds `_total` to their names."""
_COUNTED: Final = (_REQUESTS, _INPUT, _OUTPUT)
_DCGM: Final = {"DCGM_FI_DEV_GPU_UTIL": 100, "DCGM_FI_PROF_GR_ENGINE_ACTIVE": 1}
"""Gauges, and their value for a GPU that is busy all the time."""
_EXPORTER: Final = "dcgm-exporter"
"""Part of the name of the monitoring pod, which holds no GPU."""
_HEADING: Final = re.compile(r"([a-zA-Z_:][\w:]*)?\s*\{(.*)\}", re.DOTALL)
_LABEL: Final = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"')
_ASK: Final = (
    'query `{__name__=~"vllm:(request_success|prompt_tokens|generation_tokens)_total"}`, or '
    "`DCGM_FI_DEV_GPU_UTIL`, as they are and without `rate()`"
)
_REPLICAS: Final = ("prometheus_replica", "replica")
"""Labels that tell replicas of Prometheus apart, which all watch the same.

Source: Prometheus Operator, the default of `replicaExternalLabelName`; Thanos, Quick Tutorial.
"""
_FIRST_S, _LAST_S = (datetime(year, 1, 1, tzinfo=UTC).timestamp() for year in (2000, 2100))
_MOST_CACHED: Final = 0.999
"""A load states less than all of its prompts."""


@dataclass(frozen=True, slots=True)
class MetricSeries:
    """One series, and where it stands in the file."""

    name: str
    labels: Mapping[str, str]
    at_s: NDArray[np.float64]
    values: NDArray[np.float64]
    place: str

    def fault(self) -> str | None:
        """Say what is impossible for a counter or a gauge."""
        if not np.all(np.diff(self.at_s) > 0):  # nor do those that are no number
            return "times do not ascend"
        if len(self.at_s) and not (_FIRST_S <= self.at_s[0] <= self.at_s[-1] < _LAST_S):
            return "times lie outside the years 2000 to 2099"
        highest = float(self.values.max(initial=0))
        if highest == inf or self.values.min(initial=0) < 0:
            return "holds values below zero or without end"
        if (most := _DCGM.get(self.name)) and highest > most:
            return f"{self.name} is {highest:g}, at most {most} is possible"
        return None


class _OneSeries(Exported):
    metric: dict[str, str]
    values: list[tuple[float, float]]


class _Matrix(Exported):
    result: tuple[_OneSeries, ...]


def is_matrix(data: Any) -> bool:  # noqa: ANN401 - whatever JSON can hold
    """Return whether this is Prometheus's answer to `query_range`."""
    return isinstance(data, dict) and data.get("status") in ("success", "error")


def of_matrix(data: Any, shown_as: str) -> list[MetricSeries]:  # noqa: ANN401 - whatever JSON can hold
    """Return the series of an answer.

    Raises InputError for another answer, and for impossible ones.
    """
    held = data.get("data")
    kind = held.get("resultType") if isinstance(held, dict) else None
    if kind != "matrix":
        told = data.get("error") or f"its resultType is {kind!r}"
        hint = "ask `/api/v1/query_range` with `start`, `end` and `step=5m` or `step=1h`"
        raise InputError(Finding(f"is no range of samples: {told}", file=shown_as, hint=hint))
    found = []
    for place, one in enumerate(of_export(_Matrix, held, shown_as).result):
        labels = dict(one.metric)
        name = labels.pop("__name__", "")
        found.append(_series(name, labels, one.values, f"result[{place}]"))
    return _sound(found, shown_as)


def is_csv(text: str) -> bool:
    """Return whether this is a table of Grafana, with a column for each series by its labels."""
    delimiter, begins = delimiter_of(text)
    first, *others = text[begins:].partition("\n")[0].split(delimiter)
    return first.strip('" ').casefold() == "time" and any("{" in one for one in others)


def of_csv(text: str, shown_as: str) -> list[MetricSeries]:
    """Return the series of a table; raises InputError with the cells that cannot be read."""
    grid = csv_grid(text, shown_as)
    findings: list[Finding] = []
    points: list[list[tuple[float, float]]] = [[] for _ in grid.header[1:]]
    for time, *cells in grid.rows:
        try:
            at_s = _seconds(time.text)[0]
        except ValueError as error:
            findings.append(time.finding(str(error)))
            continue
        for cell, series in zip(cells, points, strict=True):
            try:
                if cell.text:
                    series.append((at_s, float(cell.text)))
            except ValueError:
                hint = "download it without `Formatted data`"
                findings.append(cell.finding(f"{cell.text!r} is no number", hint=hint))
    found = []
    for heading, samples in zip(grid.header[1:], points, strict=True):
        stated = _HEADING.fullmatch(heading.text)
        labels = dict(_LABEL.findall(stated[2])) if stated else {}
        name = labels.pop("__name__", "") or (stated[1] if stated else heading.text) or ""
        found.append(_series(name, labels, samples, f"column {heading.column}"))
    refuse(findings[:_MOST_FINDINGS])
    return _sound(found, shown_as)


def _series(
    name: str, labels: dict[str, str], samples: Sequence[tuple[float, float]], place: str
) -> MetricSeries:
    """Return the samples; those that are no number are left out, as Prometheus means them."""
    points = np.array(samples, dtype=np.float64).reshape(-1, 2)
    points = points[~np.isnan(points[:, 1])]
    return MetricSeries(name.removesuffix("_total"), labels, points[:, 0], points[:, 1], place)


def _sound(series: list[MetricSeries], shown_as: str) -> list[MetricSeries]:
    """Return the known series; raises InputError if there are none, or two kinds."""
    known = [one for one in series if one.name in (*_VLLM, *_DCGM) and len(one.at_s)]
    kinds = {one.name in _DCGM for one in known}
    if len(kinds) != 1:
        names = ", ".join(sorted({one.name or "one without a name" for one in series})) or "none"
        message = "holds both vLLM's and DCGM's series, import each by itself"
        if not kinds:
            message = f"holds no series of vLLM or DCGM: {names}"
        raise InputError(Finding(message, file=shown_as, hint=None if kinds else _ASK))
    refuse(Finding(fault, file=shown_as, path=one.place) for one in known if (fault := one.fault()))
    refuse(_repeated(known, shown_as))
    return known


def _repeated(series: Iterable[MetricSeries], shown_as: str) -> Iterator[Finding]:
    """Find what was counted already: by another replica of Prometheus, or where files were joined.

    Instances that are watched differ in a label of their own, such as `instance`.
    """
    met: dict[tuple[str, frozenset[tuple[str, str]]], str] = {}
    for one in series:
        labels = frozenset(item for item in one.labels.items() if item[0] not in _REPLICAS)
        first = met.setdefault((one.name, labels), one.place)
        if first != one.place:
            hint = "ask one replica of Prometheus alone, or leave out what stands twice"
            message = f"has the labels of {first}, and would count twice"
            yield Finding(message, file=shown_as, path=one.place, hint=hint)


def watched(series: Sequence[MetricSeries]) -> bool:
    """Return whether these are DCGM's, and not vLLM's."""
    return series[0].name in _DCGM


# What vLLM served


def served(
    series: Iterable[MetricSeries], file_stem: str, shown_as: str, catalog: Catalog
) -> tuple[dict[str, dict[str, Any]], tuple[str, ...]]:
    """Return a serving job for each model that vLLM names, and notes about it.

    Raises InputError for a model of which a counter is missing.
    """
    by_model: dict[str, dict[str, list[MetricSeries]]] = defaultdict(lambda: defaultdict(list))
    for one in series:
        by_model[one.labels.get("model_name", "")][one.name].append(one)
    findings: list[Finding] = []
    loads = {}
    for model, counters in sorted(by_model.items()):
        whose = f"{shown_as}, {model}" if model else shown_as
        rises = {name: sum(rise for *_, rise in _rises(counters.get(name, ()))) for name in _VLLM}
        if lacking := [f"{name}_total" for name in _COUNTED if not rises[name]]:
            message = f"counts none of {', '.join(lacking)}"
            findings.append(Finding(message, file=whose, hint=_ASK))
            continue
        load, said = _load_of(counters[_REQUESTS], rises)
        loads[model] = load, [f"{whose}: {line}" for line in said]
    refuse(findings)
    return serving_jobs(file_stem, loads, catalog)


def _rises(series: Iterable[MetricSeries]) -> Iterator[tuple[float, float, float]]:
    """Return how much a counter rose between times; one that began again counts from zero."""
    for one in series:
        rises = np.diff(one.values)
        rises = np.where(rises < 0, one.values[1:], rises)
        yield from zip(one.at_s[:-1].tolist(), one.at_s[1:].tolist(), rises.tolist(), strict=True)


def _load_of(
    counted: Sequence[MetricSeries], rises: Mapping[str, float]
) -> tuple[dict[str, Any], list[str]]:
    """What a load states of counted requests and all that was counted, and how it was found."""
    of_quarter: defaultdict[str, float] = defaultdict(float)
    of_hour: defaultdict[tuple[str, int], float] = defaultdict(float)
    for begins, ends, rise in _rises(counted):
        for quarter, share in _by_quarter(begins, ends):
            of_quarter[quarter] += rise * share
        middle = (begins + ends) / 2
        if ends - begins <= _HOUR_S:
            of_hour[str(Quarter.of(_day(middle))), int(middle // _HOUR_S)] += rise
    first = min(one.at_s[0] for one in counted)
    last = max(one.at_s[-1] for one in counted)
    notes, rates, peaks = [], {}, {}
    for quarter in sorted(of_quarter):
        named = Quarter.parse(quarter)
        begins, ends = _start_s(named), _start_s(named + 1)
        lasts_s = min(ends, last) - max(begins, first)
        rates[quarter] = of_quarter[quarter] / lasts_s
        said = f"{quarter}: {of_quarter[quarter]:,.0f} requests in {_lasting(lasts_s)}"
        said += f" of its {(ends - begins) / _DAY_S:,.0f} days"
        hours = [count for (of, _), count in of_hour.items() if of == quarter]
        if lasts_s >= _DAY_S and hours and rates[quarter]:
            peaks[quarter] = max(1.0, max(hours) / _HOUR_S / rates[quarter])
            said += f", its busiest hour {peaks[quarter]:.3g} times the mean"
        notes.append(said)
    figures = {quarter: float(f"{rate:.4g}") for quarter, rate in rates.items()}
    load: dict[str, Any] = {
        "requests_per_second": figures if len(figures) > 1 else next(iter(figures.values()))
    }
    step = min(float(np.diff(one.at_s).min()) for one in counted if len(one.at_s) > 1)
    if peaks and _HOUR_S % step == 0:
        busiest = max(peaks, key=lambda quarter: peaks[quarter] * rates[quarter])
        load["peak_to_mean"] = float(f"{peaks[busiest]:.3g}")
    else:
        notes.append("tells no peak, which takes a day with `step=5m`: state `peak_to_mean`")
    for key, name in (("input_tokens", _INPUT), ("output_tokens", _OUTPUT)):
        load[key] = ceil(rises[name] / rises[_REQUESTS])
    if asked := rises[_ASKED_OF_CACHE]:
        load["cached_input"] = min(_MOST_CACHED, float(f"{rises[_FOUND_IN_CACHE] / asked:.3g}"))
    return load, notes


def _by_quarter(begins_s: float, ends_s: float) -> Iterator[tuple[str, float]]:
    """Yield the quarters of a time, each with its share of it."""
    at_s = begins_s
    while at_s < ends_s:
        quarter = Quarter.of(_day(at_s))
        until_s = min(ends_s, _start_s(quarter + 1))
        yield str(quarter), (until_s - at_s) / (ends_s - begins_s)
        at_s = until_s


def _start_s(quarter: Quarter) -> float:
    return datetime.combine(quarter.start, datetime.min.time(), UTC).timestamp()


def _day(at_s: float) -> datetime:
    return datetime.fromtimestamp(at_s, UTC)


# Who held the GPUs that DCGM watched

_Pod = tuple[str, str]
"""Namespace and name."""
_Gpu = tuple[str, str]
"""A GPU and its MIG partition, empty if it is whole."""


def held_by(
    series: Sequence[MetricSeries], names: Mapping[str, str], shown_as: str
) -> tuple[str, tuple[str, ...]]:
    """Return the most pods of each job at once, and GPUs of each pod, as actuals by quarter.

    `names` maps the names of pods to the scenario's. Also returns notes: hours and use. Raises
    InputError for series that do not tell their GPU.
    """
    steps = [float(np.diff(one.at_s).min()) for one in series if len(one.at_s) > 1]
    step_s = min(steps, default=0.0)
    refuse(
        Finding("tells no GPU", file=shown_as, path=one.place, hint="keep its label `UUID`")
        for one in series
        if not _gpu(one)[0]
    )
    watching: defaultdict[tuple[_Pod, _Gpu], dict[float, float]] = defaultdict(dict)
    """How busy a GPU was at each time, by the finer gauge where both watch it."""
    for one in sorted(series, key=lambda one: list(_DCGM).index(one.name)):
        shares = (one.values / _DCGM[one.name]).tolist()
        watching[_pod(one), _gpu(one)].update(zip(one.at_s.tolist(), shares, strict=True))
    at_once: dict[tuple[str, str, float], Counter[_Pod]] = defaultdict(Counter)
    samples: Counter[tuple[str, str]] = Counter()
    busy: defaultdict[tuple[str, str], float] = defaultdict(float)
    for (pod, _), busy_at in watching.items():
        name = pod[1]
        job = scenario_name(name, names) if name else ""
        why = "" if job else "pods that are not in the mapping" if name else "without a pod"
        for at_s, share in busy_at.items():
            quarter = str(Quarter.of(_day(at_s)))
            samples[quarter, job or why] += 1
            busy[quarter, job or why] += share
            if job:
                at_once[quarter, job, at_s][pod] += 1
    rows: dict[tuple[str, str], tuple[int, int]] = {}
    for (quarter, job, _), pods in at_once.items():
        most = rows.get((quarter, job), (0, 0))
        rows[quarter, job] = (max(most[0], len(pods)), max(most[1], *pods.values()))
    notes = tuple(
        f"{quarter}, {who}: {count * step_s / _HOUR_S:,.1f} GPU-hours, "
        f"{100 * busy[quarter, who] / count:.0f} % busy"
        for (quarter, who), count in sorted(samples.items())
    )
    table = csv_text(
        [("quarter", "job", "count", "gpus"), *((*k, *v) for k, v in sorted(rows.items()))]
    )
    return "".join(f"# {note}\n" for note in notes) + table, notes


def _pod(series: MetricSeries) -> _Pod:
    """Return namespace and name of who held a GPU, empty where nobody did.

    Where Prometheus keeps the labels of the exporter's own pod, it renames the others.
    """
    renamed = "exported_" if series.labels.get("exported_pod") else ""
    name = series.labels.get(f"{renamed}pod", "")
    namespace = series.labels.get(f"{renamed}namespace", "")
    return ("", "") if _EXPORTER in name else (namespace, name)


def _gpu(series: MetricSeries) -> _Gpu:
    """Return the GPU, by its UUID or its node and number, and its partition; empty if untold."""
    node, number = (series.labels.get(label, "") for label in ("Hostname", "gpu"))
    by_number = f"{node} {number}" if node and number else ""
    return series.labels.get("UUID") or by_number, series.labels.get("GPU_I_ID", "")
