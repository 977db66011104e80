"""Figures that are allowed and seldom meant: a plan that rests on one says so at its head.

The limits are policy rules. They change no figure, they decide only what is worth a second look.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from planner.inputs.catalog.counted import counted_parameters
from planner.inputs.text.words import count_of
from planner.plan.annotations.slips import idle_budgets
from planner.plan.plan import Note
from planner.plan.words import amount, some_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.inputs.catalog.catalog import Catalog
    from planner.inputs.scenario.job import Job
    from planner.inputs.scenario.scenario import Scenario
    from planner.inputs.settled import Inputs

__all__ = ["limiting_figures", "unlikely_figures"]

_QUARTERS_NAMED = 4
_JOBS_NAMED = 8
_NODES_OF_A_JOB = 10
"""A fixed job of more memory than so many of the largest nodes asks for a cluster of its own."""


def unlikely_figures(inputs: Inputs) -> Iterator[Note]:
    """Old prices, steep rates and growth, all or no memory kept free, odd models and jobs."""
    yield from _stale(inputs)
    rate = inputs.scenario.finance.discount_rate_per_year
    if rate is not None and rate > inputs.rules.figure("steep_discount_rate"):
        yield Note(
            text=f"a discount rate of {amount(rate, 'share')} a year makes later money almost free",
            origin="finance.discount_rate_per_year",
        )
    if inputs.scenario.policies.headroom == 0:
        yield Note(
            text="no GPU memory is kept free beyond the margins of the formulas",
            origin="policies.headroom",
        )
    yield from _hardly_any_left(inputs)
    yield from _held_over(inputs.scenario)
    for name, job in sorted(inputs.scenario.jobs.items()):
        yield from _stretched(name, job, inputs.catalog)
        yield from _of_odd_size(name, job, inputs)
        yield from _of_many_nodes(name, job, inputs)
        growth = job.growth_per_quarter
        if growth is not None and growth > inputs.rules.figure("steep_growth_per_quarter"):
            yield Note(
                text=f"{name} grows by {amount(growth, 'share')} in each quarter; a growth of "
                f"{amount(growth / 100, 'share')} is written {growth / 100:f}",
                origin=f"jobs.{name}.growth_per_quarter",
            )


def limiting_figures(inputs: Inputs) -> Iterator[Note]:
    """Of these, and of budgets, those by which there may be no plan."""
    yield from _hardly_any_left(inputs)
    for name, job in sorted(inputs.scenario.jobs.items()):
        yield from _of_odd_size(name, job, inputs)
        yield from _of_many_nodes(name, job, inputs)
    yield from idle_budgets(inputs, None)


def _hardly_any_left(inputs: Inputs) -> Iterator[Note]:
    """Policies that keep most of what there is from every job."""
    most = inputs.rules.figure("steep_share_kept_free")
    policies = inputs.scenario.policies
    kept = {"headroom": (policies.headroom, "each GPU's memory")}
    kept |= {
        f"growth_reserve.{gpu_type}": (share, f"the GPUs of {gpu_type}")
        for gpu_type, share in policies.growth_reserve.items()
    }
    for key, (share, what) in kept.items():
        if share is not None and share > most:
            yield Note(
                text=f"{amount(share, 'share')} of {what} are kept free, which leaves "
                f"{amount(1 - share, 'share')} to all jobs",
                origin=f"policies.{key}",
            )


def _of_odd_size(name: str, job: Job, inputs: Inputs) -> Iterator[Note]:
    """A model whose parameters are not quite those of its shape, or like no other's."""
    about = job.tune or job.serve
    if about is None:
        return
    model = inputs.catalog.models.get(about.model or "")
    if model is not None:
        counted = counted_parameters(model, model.experts)
        share = inputs.rules.figure("odd_parameters_share")
        low, high = counted.least_b * (1 - share), counted.most_b * (1 + share)
        if not low <= model.parameters_b <= high:
            yield Note(
                text=f"{about.model} is said to have {model.parameters_b:f} billion parameters, by "
                f"its shape it has {counted}",
                origin=f"catalog {about.model}",
            )
        return
    sizes = [one.parameters_b for one in inputs.catalog.models.values()]
    own = about.parameters_b
    if own is not None and sizes and not min(sizes) <= own <= max(sizes):
        yield Note(
            text=f"{name}: {own:f} billion parameters are those of no model of the catalog "
            f"({min(sizes):.3g} to {max(sizes):,.4g}): the key takes billions",
            origin=f"jobs.{name}.{job.kind}.parameters_b",
        )


def _of_many_nodes(name: str, job: Job, inputs: Inputs) -> Iterator[Note]:
    """A fixed job of more GPU memory than any cluster: MB for GB."""
    asked = job.fixed.gpu_memory_gb if job.fixed else None
    nodes = [inputs.catalog.nodes[one] for one in inputs.scenario.node_types_in_play]
    largest = max(
        (one.gpus.value * inputs.catalog.gpus[one.gpu_type].memory_gb.value for one in nodes),
        default=None,
    )
    if asked is not None and largest is not None and asked > largest * _NODES_OF_A_JOB:
        yield Note(
            text=f"{name} asks for {amount(asked, 'GB')} of GPU memory, {asked / largest:,.0f} "
            f"times what the largest node here has ({amount(largest, 'GB')}): the key takes GB, "
            "not MB",
            origin=f"jobs.{name}.fixed.gpu_memory_gb",
        )


def _stretched(name: str, job: Job, catalog: Catalog) -> Iterator[Note]:
    """A job of more tokens than its model was built for, where rope scaling is declared."""
    asked = job.tune or job.serve
    model = catalog.models.get(asked.model or "") if asked else None
    key, tokens = (
        ("sequence", job.tune.sequence)
        if job.tune
        else ("context", job.serve.context if job.serve else None)
    )
    if model is not None and tokens is not None and tokens > model.max_context:
        yield Note(
            text=f"{name} holds {tokens:,} tokens, its model is built for {model.max_context:,}: "
            "its rope scaling is declared, what the answers are worth is not",
            origin=f"jobs.{name}.{job.kind}.{key}",
        )


def _held_over(scenario: Scenario) -> Iterator[Note]:
    """Units in quarters that a count by quarter leaves out, where older files meant none.

    Told for one release, in which such files are mended; then this goes.
    """
    horizon = scenario.horizon
    silent: dict[str, list[str]] = {}
    for name, job in sorted(scenario.jobs.items()):
        if isinstance(job.count, dict):
            counted = zip(horizon.labels, job.counts(horizon), strict=True)
            unnamed = [one for one, count in counted if count and one not in job.count]
            if unnamed:
                silent[name] = unnamed
    if silent:
        told = [f"{name} ({some_of(held, _QUARTERS_NAMED)})" for name, held in silent.items()]
        yield Note(
            text="a figure of a count by quarter now holds until the next, where a quarter left "
            f"out had no unit before: {some_of(told, _JOBS_NAMED)}; write 0 in such a quarter if "
            "none is meant, the figure if it is",
            origin=f"jobs.{next(iter(silent))}.count" if len(silent) == 1 else "jobs",
        )


def _stale(inputs: Inputs) -> Iterator[Note]:
    as_of = inputs.scenario.horizon.earliest_order
    for offer in inputs.offers:
        if offer.price_date is None:
            continue
        days = (as_of - date.fromisoformat(offer.price_date)).days
        if days > inputs.rules.figure("stale_price_days"):
            yield Note(
                text=f"the price of {offer.name} is of {offer.price_date}, {count_of(days, 'day')} "
                f"before {as_of}, the first day on which this plan can order",
                origin=f"offers.{offer.name}",
            )
