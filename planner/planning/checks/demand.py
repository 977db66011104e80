"""Checks which units are due, which jobs give way, and which units run on APIs at what cost."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from fractions import Fraction

from planner.inputs.text import count_of
from planner.planning.checks.case import Findings, PlanCase, differences
from planner.planning.plan import Shortage, ShortJob


def _listed(case: PlanCase, shortage: Shortage) -> Iterator[str]:
    """Check that each job that gives way exists, is listed once, and may give way so far."""
    stated = case.inputs.scenario.jobs
    if case.inputs.scenario.policies.shortage != "drop":
        yield "jobs give way, though policies.shortage refuses that"
    for name, times in Counter(job.name for job in shortage.jobs).items():
        if times > 1:
            yield f"job {name} gives way {times} times"
    order = [(-job.priority, job.name) for job in shortage.jobs]
    yield from differences("the order of who gives way", order, sorted(order))
    for job in shortage.jobs:
        if job.name not in stated:
            yield f"job {job.name} is {job.outcome}, but the scenario has none such"
            continue
        yield from _allowed(case, job)


def _allowed(case: PlanCase, job: ShortJob) -> Iterator[str]:
    """Check that a job gives way no further than it may, nor by more units than there are."""
    stated = case.inputs.scenario.jobs[job.name]
    asked = next((case.arriving(one) for one in case.asked if one.name == job.name), ())
    derived = next((one.name for one in case.asked if one.derived_from == job.name), None)
    yield from differences(f"job {job.name}: its priority", job.priority, stated.priority)
    yield from differences(f"job {job.name}: units asked for", job.asked, asked)
    yield from differences(f"job {job.name}: its deployment", job.deployment, derived)
    if job.outcome == "dropped":
        if stated.required:
            yield f"job {job.name} is required, but dropped"
        yield from differences(f"job {job.name}: delay, dropped", job.delay_quarters, 0)
        yield from differences(f"job {job.name}: units short, dropped", any(job.short), False)
    elif job.outcome == "short":
        yield from differences(f"job {job.name}: delay, on time", job.delay_quarters, 0)
        yield from differences(f"job {job.name}: units short", any(job.short), True)
    elif not 1 <= job.delay_quarters <= stated.may_slip_quarters:
        yield (
            f"job {job.name} is delayed by {count_of(job.delay_quarters, 'quarter')}, "
            f"it may slip by {stated.may_slip_quarters}"
        )
    elif not any(asked[: len(asked) - job.delay_quarters]):
        yield f"job {job.name} is delayed beyond the horizon"
    if not job.short:
        return
    may = stated.droppable
    due = next((case.due(one) for one in case.asked if one.name == job.name), ())
    yield from differences(f"job {job.name}: quarters of units short", len(job.short), len(due))
    for label, short, units in zip(case.labels, job.short, due, strict=False):
        most = units if may == "all" else min(may or 0, units)
        if not 0 <= short <= most:
            yield f"{label}: {count_of(short, 'unit')} of {job.name} short, {most:,} may be"


def _counted(case: PlanCase, shortage: Shortage) -> Iterator[str]:
    stated = case.inputs.scenario.jobs
    asking = {job.root for job in case.asked if any(job.units)}
    jobs = Counter(stated[name].priority for name in asking)
    counts = {
        outcome: Counter(job.priority for job in shortage.jobs if job.outcome == outcome)
        for outcome in ("dropped", "delayed", "short")
    }
    units: Counter[int] = Counter()
    for job in shortage.jobs:
        units[job.priority] += sum(job.short)
    listed = [
        (use.priority, use.jobs, use.dropped, use.delayed, use.short, use.units_short)
        for use in shortage.priorities
    ]
    expected = [
        (priority, jobs[priority], *(one[priority] for one in counts.values()), units[priority])
        for priority in sorted(jobs, reverse=True)
    ]
    what = "(priority, jobs, dropped, delayed, short, units short)"
    yield from differences(what, listed, expected)
    proof = case.plan.proof
    if proof.status == "proved" and not shortage.proves(proof.cost_cents, proof.asked_gap):
        yield "the status is proved, but not that nobody gives way without need"


def _rights(case: PlanCase) -> Findings:
    shortage = case.plan.shortage
    if shortage is None:
        return "every job is kept as asked"
    yield from _listed(case, shortage)
    yield from _counted(case, shortage)
    dropped = sum(job.outcome == "dropped" for job in shortage.jobs)
    delayed = sum(job.delay_quarters > 0 for job in shortage.jobs)
    units = sum(sum(job.short) for job in shortage.jobs)
    short = f", and {count_of(units, 'unit')} (job × quarter) short as they may be" if units else ""
    return (
        f"{count_of(dropped, 'job')} dropped, none of them required, and "
        f"{count_of(delayed, 'job')} delayed as far as it may slip{short}"
    )


def _on_apis(case: PlanCase) -> Findings:
    """Check that each job may use its APIs, and only for units and quarters in which it is kept."""
    asked = {job.name: case.asked_of(job).units for job in case.asked}
    stated, apis = case.inputs.scenario.jobs, case.inputs.scenario.apis
    for name, there in case.on_apis.items():
        job = stated.get(name)
        if job is None or job.api != "allowed" or job.serve is None or job.load is None:
            yield f"job {name} is on an API, but may not be"
            continue
        for api, units in there:
            if api not in apis or apis[api].model != job.serve.model or job.serve.adapters:
                yield f"job {name} is on {api}, which does not serve it"
            elif len(units) != len(case.labels) or min(units) < 0:
                yield f"job {name}: units on {api} are {units}"
            elif (available := apis[api].available) is not None:
                for count, when in zip(units, case.quarters, strict=True):
                    if count and when not in available:
                        yield f"{when}: {name} is on {api}, which is not to be had then"
        for quarter, most in enumerate(asked.get(name, ())):
            if sum(units[quarter] for _, units in there if quarter < len(units)) > most:
                yield f"{case.labels[quarter]}: more units of {name} are on APIs than the {most}"
    every = sum(sum(units) for there in case.on_apis.values() for _, units in there)
    return f"{count_of(every, 'unit')} (job × quarter) on APIs, where they may be"


def _rates(case: PlanCase) -> Findings:
    """Check that no API receives more requests per second than its limit."""
    scenario = case.inputs.scenario
    taken: dict[tuple[str, int], Fraction] = defaultdict(Fraction)
    for name, there in case.on_apis.items():
        peaks = scenario.jobs[name].peaks(scenario.horizon)
        for api, units in there:
            for quarter, count in enumerate(units):
                taken[api, quarter] += count * peaks[quarter]
    for (api, quarter), rate in taken.items():
        most = scenario.apis[api].requests_per_second
        if most is not None and rate > most:
            label, told = case.labels[quarter], float(rate)
            yield f"{label}: {api} is asked {told:g} times a second, its limit is {most:f}"
    return "no API is asked more often than its rate limit"


def tokens_of(case: PlanCase, job: str, quarter: int) -> tuple[Fraction, Fraction, Fraction]:
    """Return one unit's tokens in a quarter at mean traffic: new and cached prompt, answer."""
    stated = case.inputs.scenario.jobs[job]
    load = stated.load
    if load is None:
        return Fraction(0), Fraction(0), Fraction(0)
    peak = stated.peaks(case.inputs.scenario.horizon)[quarter]
    requests = peak / Fraction(load.peak_to_mean) * case.quarter_hours * 3600
    prompts, cached = requests * load.input_tokens, Fraction(load.cached_input)
    return prompts * (1 - cached), prompts * cached, requests * load.output_tokens


def token_cents(case: PlanCase, job: str, api: str, quarter: int) -> tuple[int, int]:
    """Return what one unit pays for its tokens in a quarter, in cents.

    As paid, and in present value, each rounded half to even.
    """
    prices = case.inputs.scenario.apis[api]
    fresh, cached, answers = tokens_of(case, job, quarter)
    price = Fraction(prices.usd_per_million_input_tokens)
    again = prices.usd_per_million_cached_tokens
    usd = (
        fresh * price
        + cached * (price if again is None else Fraction(again))
        + answers * Fraction(prices.usd_per_million_output_tokens)
    ) / 10**6
    cents = round(round(usd * 100, 20))
    return cents, round(round(usd * 100 * case.discount**quarter, 20))


def _figures(case: PlanCase) -> Findings:
    expected = []
    for job in case.jobs:
        for api, units in case.on_apis.get(job.name, ()):
            tokens = [
                count * sum(tokens_of(case, job.name, at), Fraction(0))
                for at, count in enumerate(units)
            ]
            cents = [token_cents(case, job.name, api, at) for at in range(len(units))]
            use = {
                "job": job.name,
                "api": api,
                "illustrative": case.inputs.scenario.apis[api].quote is None,
                "million_tokens": tuple(float(round(one / 10**6, 6)) for one in tokens),
                "cents": tuple(n * one for n, (one, _) in zip(units, cents, strict=True)),
                "present_cents": sum(n * one for n, (_, one) in zip(units, cents, strict=True)),
            }
            expected.append(use)
    found = [one.model_dump() for one in case.plan.apis]
    yield from differences("the use of APIs", found, expected)
    beside = [one.model_dump() for one in case.plan.api_comparisons]
    yield from differences("GPUs beside APIs", beside, list(_comparisons(case)))
    return "tokens of APIs and what they cost follow from traffic and prices"


def _comparisons(case: PlanCase) -> Iterator[dict[str, object]]:
    scenario = case.inputs.scenario
    cost = {use.job: sum(use.cost_cents) for use in case.plan.endpoints}
    for job in case.jobs:
        stated = scenario.jobs.get(job.name)
        if stated is None or stated.serve is None or job.name not in cost:
            continue
        units = case.arriving(job)
        active = [quarter for quarter, count in enumerate(units) if count]
        for name in sorted(scenario.apis):
            api = scenario.apis[name]
            asked = {case.quarters[at] for at in active}
            there = api.available is None or asked <= {*api.available}
            if active and there and api.model == stated.serve.model and not stated.serve.adapters:
                yield {
                    "job": job.name,
                    "api": name,
                    "allowed": stated.api == "allowed",
                    "gpus_cents": cost[job.name],
                    "api_cents": sum(
                        units[at] * token_cents(case, job.name, name, at)[1] for at in active
                    ),
                }


FIRST = (_rights, _on_apis)
"""Checks that all others rely on: which units are due in which quarter, and which are placed."""

CHECKS = (_rates, _figures)
