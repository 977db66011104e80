"""What APIs answer and cost, and what those would cost that run on GPUs."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from planner.costs import token_costs
from planner.inputs.scenario.load import HOUR_SECONDS
from planner.planning.plan import ApiComparison, ApiUse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from planner.inputs.settled import Inputs
    from planner.planning.plan import EndpointUse
    from planner.sizing.candidate import SizedJob

__all__ = ["api_comparisons", "api_uses"]


def api_uses(inputs: Inputs, jobs: Sequence[SizedJob]) -> Iterator[ApiUse]:
    """Each job with each API that answers requests of it."""
    for job in jobs:
        for api, units in job.on_apis:
            costs = token_costs(inputs, job.name, api)
            each = list(zip(units, costs, strict=True))
            yield ApiUse(
                job=job.name,
                api=api,
                illustrative=inputs.scenario.apis[api].quote is None,
                million_tokens=_million_tokens(inputs, job.name, units),
                cents=tuple(count * cost.cents[at] for at, (count, cost) in enumerate(each)),
                present_cents=sum(count * cost.present_cents for count, cost in each),
            )


def _million_tokens(inputs: Inputs, job: str, units: Sequence[int]) -> tuple[float, ...]:
    stated = inputs.scenario.jobs[job]
    load = stated.serve.load if stated.serve else None
    if load is None:
        return ()
    seconds = Fraction(inputs.settings.hours_per_quarter.value) * HOUR_SECONDS
    each = (load.input_tokens + load.output_tokens) * seconds / Fraction(load.peak_to_mean)
    peaks = stated.peaks(inputs.scenario.horizon)
    return tuple(
        float(round(count * peak * each / 10**6, 6))
        for count, peak in zip(units, peaks, strict=True)
    )


def api_comparisons(
    inputs: Inputs, jobs: Sequence[SizedJob], endpoints: Sequence[EndpointUse]
) -> Iterator[ApiComparison]:
    """Each endpoint on GPUs with each API that serves its model in all of its quarters."""
    units = {job.name: job.units for job in jobs}
    quarters = inputs.scenario.horizon.all_quarters
    for use in endpoints:
        stated = inputs.scenario.jobs[use.job]
        for name, api in sorted(inputs.scenario.apis.items()):
            if stated.serve is None or stated.serve.adapters or api.model != stated.serve.model:
                continue
            active = [at for at, count in enumerate(units[use.job]) if count]
            if active and all(not api.available or quarters[at] in api.available for at in active):
                costs = token_costs(inputs, use.job, name)
                yield ApiComparison(
                    job=use.job,
                    api=name,
                    allowed=name in inputs.scenario.apis_of(use.job),
                    gpus_cents=sum(use.cost_cents),
                    api_cents=sum(units[use.job][at] * costs[at].present_cents for at in active),
                )
