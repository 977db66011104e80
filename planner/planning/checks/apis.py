"""Units on APIs may be there, are counted once, and cost what their tokens cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction

from planner.inputs.text import count_of
from planner.planning.checks.view import Findings, View, differences

Cents = tuple[int, int]
"""Not discounted, and in present value."""


def _allowed(view: View) -> Findings:
    """Whether each may be there, in units and quarters in which its job is kept."""
    asked = {job.name: view.asked_of(job).units for job in view.asked}
    stated, apis = view.inputs.scenario.jobs, view.inputs.scenario.apis
    for name, there in view.on_apis.items():
        job = stated.get(name)
        if job is None or job.api != "allowed" or job.serve is None or job.load is None:
            yield f"job {name} is on an API, but may not be"
            continue
        for api, units in there:
            if api not in apis or apis[api].model != job.serve.model or job.serve.adapters:
                yield f"job {name} is on {api}, which does not serve it"
            elif len(units) != len(view.labels) or min(units) < 0:
                yield f"job {name}: units on {api} are {units}"
            else:
                yield from _in_time(view, name, api, units)
        for quarter, most in enumerate(asked.get(name, ())):
            if sum(units[quarter] for _, units in there if quarter < len(units)) > most:
                yield f"{view.labels[quarter]}: more units of {name} are on APIs than the {most}"
    every = sum(sum(units) for there in view.on_apis.values() for _, units in there)
    return f"{count_of(every, 'unit')} (job × quarter) on APIs, where they may be"


def _in_time(view: View, name: str, api: str, units: tuple[int, ...]) -> Iterator[str]:
    available = view.inputs.scenario.apis[api].available
    for quarter, count in enumerate(units):
        if count and available is not None and view.quarters[quarter] not in available:
            yield f"{view.labels[quarter]}: {name} is on {api}, which is not to be had then"


def _rates(view: View) -> Findings:
    """Whether each API is asked no more often than its limit."""
    scenario = view.inputs.scenario
    taken: dict[tuple[str, int], Fraction] = defaultdict(Fraction)
    for name, there in view.on_apis.items():
        peaks = scenario.jobs[name].peaks(scenario.horizon)
        for api, units in there:
            for quarter, count in enumerate(units):
                taken[api, quarter] += count * peaks[quarter]
    for (api, quarter), rate in taken.items():
        most = scenario.apis[api].requests_per_second
        if most is not None and rate > most:
            label, told = view.labels[quarter], float(rate)
            yield f"{label}: {api} is asked {told:g} times a second, its limit is {most:f}"
    return "no API is asked more often than its rate limit"


def tokens_of(view: View, job: str, quarter: int) -> tuple[Fraction, Fraction, Fraction]:
    """Tokens of one unit in a quarter at mean traffic: new and cached prompts, and answers."""
    stated = view.inputs.scenario.jobs[job]
    load = stated.load
    if load is None:
        return Fraction(0), Fraction(0), Fraction(0)
    peak = stated.peaks(view.inputs.scenario.horizon)[quarter]
    requests = peak / Fraction(load.peak_to_mean) * view.quarter_hours * 3600
    prompts, cached = requests * load.input_tokens, Fraction(load.cached_input)
    return prompts * (1 - cached), prompts * cached, requests * load.output_tokens


def token_cents(view: View, job: str, api: str, quarter: int) -> Cents:
    """What one unit pays for its tokens in a quarter, each rounded once, half to even."""
    prices = view.inputs.scenario.apis[api]
    fresh, cached, answers = tokens_of(view, job, quarter)
    price = Fraction(prices.usd_per_million_input_tokens)
    again = prices.usd_per_million_cached_tokens
    usd = (
        fresh * price
        + cached * (price if again is None else Fraction(again))
        + answers * Fraction(prices.usd_per_million_output_tokens)
    ) / 10**6
    return _cents(usd), _cents(usd * view.discount**quarter)


def _cents(usd: Fraction) -> int:
    return round(round(usd * 100, 20))


def _figures(view: View) -> Findings:
    expected = []
    for job in view.jobs:
        for api, units in view.on_apis.get(job.name, ()):
            tokens = [
                count * sum(tokens_of(view, job.name, at), Fraction(0))
                for at, count in enumerate(units)
            ]
            cents = [token_cents(view, job.name, api, at) for at in range(len(units))]
            use = {
                "job": job.name,
                "api": api,
                "illustrative": view.inputs.scenario.apis[api].quote is None,
                "million_tokens": tuple(float(round(one / 10**6, 6)) for one in tokens),
                "cents": tuple(n * one for n, (one, _) in zip(units, cents, strict=True)),
                "present_cents": sum(n * one for n, (_, one) in zip(units, cents, strict=True)),
            }
            expected.append(use)
    found = [one.model_dump() for one in view.plan.apis]
    yield from differences("the use of APIs", found, expected)
    beside = [one.model_dump() for one in view.plan.api_comparisons]
    yield from differences("GPUs beside APIs", beside, list(_comparisons(view)))
    return "tokens of APIs and what they cost follow from traffic and prices"


def _comparisons(view: View) -> Iterator[dict[str, object]]:
    scenario = view.inputs.scenario
    cost = {use.job: sum(use.cost_cents) for use in view.plan.endpoints}
    for job in view.jobs:
        stated = scenario.jobs.get(job.name)
        if stated is None or stated.serve is None or job.name not in cost:
            continue
        units = view.arriving(job)
        active = [quarter for quarter, count in enumerate(units) if count]
        for name in sorted(scenario.apis):
            api = scenario.apis[name]
            asked = {view.quarters[at] for at in active}
            there = api.available is None or asked <= {*api.available}
            if active and there and api.model == stated.serve.model and not stated.serve.adapters:
                yield {
                    "job": job.name,
                    "api": name,
                    "allowed": stated.api == "allowed",
                    "gpus_cents": cost[job.name],
                    "api_cents": sum(
                        units[at] * token_cents(view, job.name, name, at)[1] for at in active
                    ),
                }


FIRST = (_allowed,)
"""What the others rely on: which units are to be placed."""

CHECKS = (_rates, _figures)
