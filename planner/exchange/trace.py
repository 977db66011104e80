"""Traffic of served models, from a trace of their requests: the load that a serving job states.

Read are tables of requests with the time of each and the tokens of prompt and answer, as Azure and
BurstGPT publish them, and Mooncake's lines of JSON. A trace may be of any length; only figures are
kept of it.
"""

from __future__ import annotations

import csv
import json
import re
from array import array
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import ceil
from pathlib import Path
from typing import Any, Final

import numpy as np

from planner.errors import Finding, InputError, refuse
from planner.exchange.needs import cluster_names
from planner.inputs.base import LARGEST_COUNT
from planner.inputs.catalog.catalog import Catalog
from planner.inputs.text.words import count_of, unreadable

_COLUMNS: Final = {
    "time": {"timestamp", "arrivaltime", "arrivaltimestamp", "arrivedat", "starttime"},
    "input": {"contexttokens", "requesttokens", "prompttokens", "inputtokens", "inputlength"},
    "output": {
        *("generatedtokens", "responsetokens", "completiontokens"),
        *("outputtokens", "outputlength"),
    },
    "model": {"model"},
}
"""What each figure is called in the traces that are published, letters alone."""
_NEEDED: Final = ("time", "input", "output")
_FIRST_LINE_BYTES: Final = 64 * 1024
_MOST_FINDINGS: Final = 20
_MS_FROM: Final = 1e11
"""Numbers from here on are milliseconds since 1970, as seconds they would be the year 5138."""
_HOUR_S, _DAY_S, _MINUTE_S = 3600, 86_400, 60
_LONGEST_S: Final = 3660 * _DAY_S
"""No trace is longer: its times are written in two ways."""
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
    """Whether a file begins as a trace of requests does."""
    try:
        with path.open("rb") as file:
            first = file.readline(_FIRST_LINE_BYTES).decode("utf-8-sig")
    except (OSError, ValueError):
        return False
    return all(name in _places(_names(first)) for name in _NEEDED)


def loads_of(path: Path, catalog: Catalog) -> tuple[dict[str, dict[str, Any]], tuple[str, ...]]:
    """A serving job for each model of a trace, and what is to be said of it.

    A job whose model the catalog does not know states none. Raises InputError with the lines that
    do not read.
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
    """A job for each load and what is said of it, by the model that it arrived for, and all notes.

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


def _names(line: str) -> list[str]:
    """Names of the columns, or of the keys of a line of JSON."""
    if line.lstrip().startswith("{"):
        try:
            return list(json.loads(line))
        except ValueError:
            return []
    return next(csv.reader([line.rstrip("\r\n")]), [])


def _places(names: Sequence[str]) -> dict[str, int]:
    """Where each figure stands."""
    plain = [re.sub(r"[^a-z]", "", name.casefold()) for name in names]
    return {
        what: place
        for what, known in _COLUMNS.items()
        for place, name in enumerate(plain)
        if name in known
    }


def _read(path: Path) -> dict[str, _Requests]:
    """The requests by model, as the trace names it; `""` where it names none."""
    found: dict[str, _Requests] = defaultdict(_Requests)
    findings: list[Finding] = []
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            for line, row in _rows(file):
                try:
                    _count(found, row)
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


def _rows(file: Any) -> Iterator[tuple[int, dict[str, Any]]]:  # noqa: ANN401 - lines of text
    """Each line by number, with what stands for time, input, output and model."""
    first = file.readline()
    places = _places(_names(first))
    if first.lstrip().startswith("{"):
        file.seek(0)
        keys = {what: _names(first)[place] for what, place in places.items()}
        for number, text in enumerate(file, 1):
            if text.strip():
                yield number, _of_json(text, keys)
        return
    for number, cells in enumerate(csv.reader(file), 2):
        if cells:
            yield (
                number,
                {what: cells[place] for what, place in places.items() if place < len(cells)},
            )


def _of_json(text: str, keys: Mapping[str, str]) -> dict[str, Any]:
    """A line of JSON, whose times are milliseconds; nothing where it is none."""
    try:
        line = json.loads(text)
        row = {what: line[key] for what, key in keys.items() if key in line}
        return row | {"time": row["time"] / 1000}
    except (ValueError, TypeError, KeyError):
        return {}


def _count(found: dict[str, _Requests], row: Mapping[str, Any]) -> None:
    missing = [what for what in _NEEDED if row.get(what) in (None, "")]
    if missing:
        raise ValueError(f"says nothing of {', '.join(missing)}")
    at_s = seconds_of(row["time"])
    taken, given = (_tokens(row[what], what) for what in ("input", "output"))
    requests = found[str(row.get("model") or "")]
    if taken == 0 or given == 0:
        requests.unanswered += 1
        return
    requests.at_s.append(at_s)
    requests.input_tokens.append(taken)
    requests.output_tokens.append(given)


def seconds_of(cell: Any) -> float:  # noqa: ANN401 - text or a number
    """A time as a number of seconds, or as a date with its time, UTC unless it says otherwise."""
    try:
        number = float(cell)
    except ValueError:
        try:
            moment = datetime.fromisoformat(str(cell).strip())
        except ValueError:
            raise ValueError(f"{str(cell)!r} is no time") from None
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if not 0 <= number < float("inf"):
        raise ValueError(f"{str(cell)!r} is no time")
    return number / 1000 if number >= _MS_FROM else number


def _tokens(cell: Any, what: str) -> int:  # noqa: ANN401 - text or a number
    try:
        number = float(cell)
    except (TypeError, ValueError):
        number = -1.0
    if not 0 <= number <= LARGEST_COUNT or not number.is_integer():
        raise ValueError(f"{str(cell)!r} is no number of {what} tokens")
    return int(number)


def _load(requests: _Requests, shown_as: str) -> tuple[dict[str, Any], list[str]]:
    """What a load states of these requests, and the figures that it has no key for."""
    at_s = np.sort(np.frombuffer(requests.at_s))
    lasts_s = float(at_s[-1] - at_s[0])
    if lasts_s <= 0:
        raise InputError(Finding("all requests are of one moment", file=shown_as))
    if lasts_s > _LONGEST_S:
        told = f"its requests span {lasting(lasts_s)}: write all times in one way"
        raise InputError(Finding(told, file=shown_as))
    rate = (len(at_s) - 1) / lasts_s
    window_s = _HOUR_S if lasts_s >= _DAY_S else 5 * _MINUTE_S if lasts_s >= _HOUR_S / 2 else None
    first, last = 0, len(at_s)
    notes = [f"{shown_as}: {count_of(len(at_s), 'request')} in {lasting(lasts_s)}"]
    load: dict[str, Any] = {"requests_per_second": float(f"{rate:.4g}")}
    if window_s is None:
        notes.append("too short to tell a peak: state `peak_to_mean`")
    else:
        ends = np.searchsorted(at_s, at_s + window_s)
        first = int(np.argmax(ends - np.arange(len(at_s))))
        last = int(ends[first])
        peak = max(1.0, (last - first) / window_s / rate)
        load["peak_to_mean"] = float(f"{peak:.3g}")
        notes.append(f"its busiest {lasting(window_s)} have {peak:.3g} times as many as the mean")
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


def lasting(seconds: float) -> str:
    """A span in the largest unit of which it has two."""
    for length, unit in ((_DAY_S, "day"), (_HOUR_S, "hour"), (_MINUTE_S, "minute")):
        if seconds >= 2 * length:
            several = seconds / length
            return f"{several:{',.0f' if several >= 100 else '.3g'}} {unit}s"
    return f"{seconds:,.3g} seconds"
