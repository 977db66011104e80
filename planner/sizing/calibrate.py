"""Compares predictions with measured runs, and learns by how much to correct them.

The shipped model is not discarded for a handful of runs: it counts as so many runs that came out
exactly as predicted, and measured runs are averaged with these.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import ceil
from statistics import median
from typing import Final

from planner.errors import Finding, InputError
from planner.inputs.catalog.catalog import Catalog
from planner.inputs.measured import MOST_AT_ONCE, MeasuredRuns, Measurement, ServingMeasurement
from planner.inputs.rules.book import RuleBook
from planner.sizing.calibration import (
    HOURS,
    PEAKS,
    SERVING_TIMES,
    Calibration,
    Factors,
    FirstTokens,
    MeasuredGroup,
    MeasuredPair,
)
from planner.sizing.endpoint import Figures, Replica
from planner.sizing.engine import Known, Reasoning
from planner.sizing.sizer import Sizer

_BYTES_PER_MIB: Final = 2**20
_PRIOR_RUNS: Final = {
    PEAKS: "calibration_prior_runs",
    HOURS: "calibration_prior_runs",
    SERVING_TIMES: "serving_calibration_prior_runs",
}
"""The figure of rules that says how many runs the shipped model counts as."""


def compare(
    runs: Iterable[Measurement], sizer: Sizer, catalog: Catalog
) -> tuple[MeasuredPair, ...]:
    """Predict the peak of each run, in the order given."""
    pairs = []
    for run in runs:
        gpu = catalog.gpus.get(run.gpu_type or "")
        reported = gpu.driver_memory_mib if gpu else None
        card_gb = Fraction(reported.value * _BYTES_PER_MIB, 10**9) if reported else None
        pairs.append(MeasuredPair(run, sizer.memory(run.job, run.gpus), card_gb))
    return tuple(pairs)


def replica_of(run: ServingMeasurement, sizer: Sizer, percentile: int = 50) -> Reasoning:
    """Return what rules say of a serving run on its own GPUs and under its own load."""
    replica = sizer.situation(run.job(percentile), run.gpu_type, run.gpus)
    if run.load == "batch":  # whose prompts are all taken in by one pass
        return replica.within({"prefill_pass_s": Known(0, "s", "measured")})
    if run.load != "closed" or run.concurrency is None:
        return replica
    clients = Known(run.concurrency, "requests", "measured")
    known = {"closed_loop_clients": clients}
    if run.lengths == "alike":
        known["clients_in_step"] = clients
    elif run.lengths == "equal":
        known["equal_lengths"] = Known(True, "true/false", "measured")
    if run.requests is not None:
        each = Fraction(run.requests, run.concurrency)
        known["requests_per_client"] = Known(each, "requests", "measured")
    if run.poll_steps is not None:
        known["poll_steps"] = Known(run.poll_steps, "steps", "measured")
    return replica.within(known)


def expected_of(run: ServingMeasurement, replica: Reasoning) -> Figures:
    """Return what is expected of a run under its own load; `replica` is it on its own GPUs."""
    if run.load != "open":
        return replica.number
    loaded = Replica(replica)
    flying = loaded.in_flight_at(Fraction(run.requests_per_second or 0), MOST_AT_ONCE)
    latency = loaded.latency_at(flying, exactly=True)
    at = loaded.exactly(in_flight=flying)
    return lambda name: latency[name] if name in latency else at(name)


def calibrate(runs: MeasuredRuns, sizer: Sizer, catalog: Catalog, rules: RuleBook) -> Calibration:
    """Average measured runs with the shipped model: tuning by method, serving by model.

    If the model counts as k runs, n runs of a group with mean ratio r give the factor `(k × p +
    n × r) / (k + n)`; p is what the runs of the other groups say in the same way. For serving
    runs, some of which are far off, it is the median of all these instead. First tokens of a
    model come later by the median of its runs, in decoding steps. Raises InputError if no run
    can be compared.
    """
    tuned = [run for run in runs if isinstance(run, Measurement)]
    served = [run for run in runs if isinstance(run, ServingMeasurement)]
    peaks = ((pair.run.tune.method, pair.ratio) for pair in compare(tuned, sizer, catalog))
    hours = ((run.tune.method, _slower(run, sizer)) for run in tuned)
    times = ((run.model, _served_slower(run, sizer)) for run in served)
    factors = []
    for fact, ratios in ((PEAKS, peaks), (HOURS, hours), (SERVING_TIMES, times)):
        if found := [(name, ratio) for name, ratio in ratios if ratio]:
            weight = Reasoning(rules, {}).number(_PRIOR_RUNS[fact])
            if weight is None:
                raise InputError(
                    Finding(f"no rule gives {_PRIOR_RUNS[fact]}, which calibration needs")
                )
            factors.append(_factors(fact, found, Fraction(weight)))
    if not factors:
        raise InputError(
            Finding(
                "no run can be compared with a prediction",
                hint="give `batch`, `sequence`, `kind` and a measured peak, or `gpu_type` and a "
                "measured speed, for at least one",
            )
        )
    return Calibration(tuple(factors), _first_tokens(served, sizer))


def _slower(run: Measurement, sizer: Sizer) -> Fraction | None:
    """Return measured over expected time of a tuning run's steps; None if either is unknown."""
    if run.gpu_type is None or run.tokens_per_second_per_gpu is None:
        return None
    on = sizer.situation(run.job, run.gpu_type, run.gpus, run.fabric_gb_per_s)
    expected = on.number("tokens_per_s_per_gpu")
    return None if not expected else Fraction(expected) / Fraction(run.tokens_per_second_per_gpu)


def _served_slower(run: ServingMeasurement, sizer: Sizer) -> Fraction | None:
    """Return measured over expected time of a serving run: the mean over its tokens and rate."""
    replica = replica_of(run, sizer)
    found = []
    expected_ms = expected_of(run, replica)("tpot_ms")
    if run.tpot_ms is not None and expected_ms:
        found.append(float(run.tpot_ms) / float(expected_ms))
    expected_rate = replica.number("requests_per_second_per_replica")
    if run.answered_per_second is not None and expected_rate:
        found.append(float(expected_rate) / run.answered_per_second)
    return Fraction(sum(found) / len(found)).limit_denominator(10**6) if found else None


def _first_tokens(runs: Iterable[ServingMeasurement], sizer: Sizer) -> tuple[FirstTokens, ...]:
    delays: dict[str, list[float]] = {}
    for run in runs:
        expected = expected_of(run, replica_of(run, sizer))
        ttft_ms, step_s = expected("ttft_ms"), expected("decode_step_s")
        if run.ttft_ms is not None and ttft_ms and step_s:
            late_ms = float(run.ttft_ms) - float(ttft_ms)
            delays.setdefault(run.model, []).append(late_ms / 1000 / float(step_s))
    return tuple(
        FirstTokens(name, len(steps), Fraction(median([0, *steps])).limit_denominator(10**3))
        for name, steps in sorted(delays.items())
    )


def _factors(fact: str, ratios: Sequence[tuple[str, Fraction]], weight: Fraction) -> Factors:
    def together(before: Fraction, weight: Fraction, ratios: list[Fraction]) -> Fraction:
        """Combine what was believed before, counted as `weight` runs, with the runs."""
        if fact == SERVING_TIMES:
            return median([before] * ceil(weight) + ratios)
        return (before * weight + sum(ratios, Fraction(0))) / (weight + len(ratios))

    groups = []
    for name in sorted({name for name, _ in ratios}):
        own = [ratio for other, ratio in ratios if other == name]
        rest = [ratio for other, ratio in ratios if other != name]
        groups.append(
            MeasuredGroup(
                name=name,
                runs=len(own),
                ratio=together(Fraction(0), Fraction(0), own),
                factor=together(together(Fraction(1), weight, rest), weight, own),
            )
        )
    elsewhere = together(Fraction(1), weight, [ratio for _, ratio in ratios])
    return Factors(fact, weight, tuple(groups), elsewhere)
