"""The load that vLLM served, from its counters as Prometheus answers `query_range`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import ceil, inf, isnan
from typing import Annotated, Any, Final

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator

from planner.errors import Finding, InputError, refuse
from planner.exchange.exported import Exported, of_export, parsed
from planner.exchange.trace import lasting, serving_jobs
from planner.inputs.scenario.quarter import Quarter

_REQUESTS: Final = "vllm:request_success"
_INPUT: Final = "vllm:prompt_tokens"
_OUTPUT: Final = "vllm:generation_tokens"
_ASKED_OF_CACHE: Final = "vllm:prefix_cache_queries"
_FOUND_IN_CACHE: Final = "vllm:prefix_cache_hits"
_VLLM: Final = (_REQUESTS, _INPUT, _OUTPUT, _ASKED_OF_CACHE, _FOUND_IN_CACHE)
"""Counters; Prometheus adds `_total` to their names."""
_NEEDED: Final = (_REQUESTS, _INPUT, _OUTPUT)
_ASK: Final = (
    'query `{__name__=~"vllm:(request_success|prompt_tokens|generation_tokens)_total"}` '
    "as they are, without `rate()`"
)
_HOUR_S, _DAY_S = 3600, 86_400
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
        """What cannot be of a counter."""
        if np.any(np.diff(self.at_s) <= 0):
            return "times do not ascend"
        if len(self.at_s) and (self.at_s[0] < _FIRST_S or self.at_s[-1] >= _LAST_S):
            return "times lie outside the years 2000 to 2099"
        highest = float(self.values.max(initial=0))
        if highest == inf or self.values.min(initial=0) < 0:
            return "holds values below zero or without end"
        return None


def _points(values: object) -> object:
    """Samples as numbers; those that are no number are left out, as Prometheus means them."""
    if not isinstance(values, list) or not all(
        isinstance(one, list) and len(one) == 2 for one in values
    ):
        raise ValueError("samples are pairs of a time and a value")
    points = [(float(at), float(value)) for at, value in values]
    return [(at, value) for at, value in points if not isnan(value)]


class _OneSeries(Exported):
    metric: dict[str, str]
    values: Annotated[list[tuple[float, float]], BeforeValidator(_points)]


class _Matrix(Exported):
    result: tuple[_OneSeries, ...]


def served(
    text: str, file_stem: str, shown_as: str, models: Mapping[str, str]
) -> tuple[dict[str, dict[str, Any]], tuple[str, ...]]:
    """A serving job for each model that vLLM names, and what is to be said of it.

    `text` is the answer, `models` are names of models as they are published, each with its id in
    the catalog. Raises InputError for what is no such answer, for what cannot be, and for a model
    of which a counter is missing.
    """
    by_model: dict[str, dict[str, list[MetricSeries]]] = defaultdict(lambda: defaultdict(list))
    for one in _counters(parsed(text, shown_as), shown_as):
        by_model[one.labels.get("model_name", "")][one.name].append(one)
    findings: list[Finding] = []
    loads = {}
    for model, counters in sorted(by_model.items()):
        whose = f"{shown_as}, {model}" if model else shown_as
        lacking = [f"{name}_total" for name in _NEEDED if not _whole(counters.get(name, ()))]
        if lacking:
            message = f"counts none of {', '.join(lacking)}"
            findings.append(Finding(message, file=whose, hint=_ASK))
            continue
        load, said = _load(counters)
        loads[model] = load, [f"{whose}: {line}" for line in said]
    refuse(findings)
    return serving_jobs(file_stem, loads, models)


def _counters(data: Any, shown_as: str) -> list[MetricSeries]:  # noqa: ANN401 - any JSON
    """The series of an answer that are read; raises InputError where there are none."""
    if not isinstance(data, dict) or data.get("status") not in ("success", "error"):
        hint = (
            "read are answers of Prometheus to `query_range`, and by `planner init` `kubectl get "
            "nodes -o json`"
        )
        raise InputError(Finding("is JSON of another kind than is read", file=shown_as, hint=hint))
    held = data.get("data")
    kind = held.get("resultType") if isinstance(held, dict) else None
    if kind != "matrix":
        told = data.get("error") or f"its resultType is {kind!r}"
        hint = "ask `/api/v1/query_range` with `start`, `end` and `step=5m` or `step=1h`"
        raise InputError(Finding(f"is no range of samples: {told}", file=shown_as, hint=hint))
    found = []
    for place, one in enumerate(of_export(_Matrix, held, shown_as).result):
        points = np.array(one.values, dtype=np.float64).reshape(-1, 2)
        name = one.metric.get("__name__", "").removesuffix("_total")
        series = MetricSeries(name, one.metric, points[:, 0], points[:, 1], f"result[{place}]")
        found.append(series)
    known = [one for one in found if one.name in _VLLM and len(one.at_s)]
    if not known:
        names = ", ".join(sorted({one.name or "one without a name" for one in found})) or "none"
        raise InputError(Finding(f"holds no series of vLLM: {names}", file=shown_as, hint=_ASK))
    refuse(Finding(f, file=shown_as, path=one.place) for one in known if (f := one.fault()))
    return known


def _increases(series: Iterable[MetricSeries]) -> Iterator[tuple[float, float, float]]:
    """By how much a counter rose from one time to the next; one that began anew, from zero."""
    for one in series:
        rises = np.diff(one.values)
        rises = np.where(rises < 0, one.values[1:], rises)
        yield from zip(one.at_s[:-1].tolist(), one.at_s[1:].tolist(), rises.tolist(), strict=True)


def _whole(series: Iterable[MetricSeries]) -> float:
    return sum(rise for _, _, rise in _increases(series))


def _load(counters: Mapping[str, Sequence[MetricSeries]]) -> tuple[dict[str, Any], list[str]]:
    """What a load states of these counters, and how it was found."""
    of_quarter: defaultdict[str, float] = defaultdict(float)
    of_hour: defaultdict[tuple[str, int], float] = defaultdict(float)
    for begins, ends, rise in _increases(counters[_REQUESTS]):
        middle = (begins + ends) / 2
        quarter = str(Quarter.of(_day(middle)))
        of_quarter[quarter] += rise
        if ends - begins <= _HOUR_S:
            of_hour[quarter, int(middle // _HOUR_S)] += rise
    first = min(one.at_s[0] for one in counters[_REQUESTS])
    last = max(one.at_s[-1] for one in counters[_REQUESTS])
    notes, rates, peaks = [], {}, {}
    for quarter in sorted(of_quarter):
        lasts_s, whole_s = _covered(quarter, first, last)
        rates[quarter] = of_quarter[quarter] / lasts_s
        said = f"{quarter}: {of_quarter[quarter]:,.0f} requests in {lasting(lasts_s)}"
        said += f" of its {whole_s / _DAY_S:,.0f} days"
        hours = [count for (of, _), count in of_hour.items() if of == quarter]
        if lasts_s >= _DAY_S and hours and rates[quarter]:
            peaks[quarter] = max(1.0, max(hours) / _HOUR_S / rates[quarter])
            said += f", its busiest hour {peaks[quarter]:.3g} times the mean"
        notes.append(said)
    figures = {quarter: float(f"{rate:.4g}") for quarter, rate in rates.items()}
    load: dict[str, Any] = {
        "requests_per_second": figures if len(figures) > 1 else next(iter(figures.values()))
    }
    step = min(float(np.diff(one.at_s).min()) for one in counters[_REQUESTS] if len(one.at_s) > 1)
    if peaks and _HOUR_S % step == 0:
        busiest = max(peaks, key=lambda quarter: peaks[quarter] * rates[quarter])
        load["peak_to_mean"] = float(f"{peaks[busiest]:.3g}")
    else:
        notes.append("tells no peak, which takes a day with `step=5m`: state `peak_to_mean`")
    requests = _whole(counters[_REQUESTS])
    for key, name in (("input_tokens", _INPUT), ("output_tokens", _OUTPUT)):
        load[key] = ceil(_whole(counters[name]) / requests)
    if asked := _whole(counters.get(_ASKED_OF_CACHE, ())):
        cached = _whole(counters.get(_FOUND_IN_CACHE, ())) / asked
        load["cached_input"] = min(_MOST_CACHED, float(f"{cached:.3g}"))
    return load, notes


def _day(at_s: float) -> datetime:
    return datetime.fromtimestamp(at_s, UTC)


def _covered(quarter: str, first_s: float, last_s: float) -> tuple[float, float]:
    """Seconds of a quarter that lie between two times, and all of them."""
    named = Quarter.parse(quarter)
    begins, ends = (
        datetime.combine(one.start, datetime.min.time(), UTC).timestamp()
        for one in (named, named + 1)
    )
    return min(ends, last_s) - max(begins, first_s), ends - begins
