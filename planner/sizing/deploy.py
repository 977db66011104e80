"""The serving job that a tuning job asks for: derived, sized and named by rule."""

from __future__ import annotations

from decimal import ROUND_UP, Decimal
from typing import TYPE_CHECKING

from planner.inputs.scenario.job import SERVING_SUFFIX, Adapters, Job, Serve
from planner.sizing.candidate import SizedJob

if TYPE_CHECKING:
    from planner.inputs.rules.expression import Exact
    from planner.inputs.scenario.job import Tune
    from planner.inputs.scenario.scenario import Scenario
    from planner.sizing.engine import Derivation, Reasoning
    from planner.sizing.sizer import Sizer

__all__ = ["deployment"]

WIDEST_SERVED = 16
"""Bits; serving rules know no wider weights, and a model tuned in fp32 is served at 16."""


def deployment(
    name: str, job: Job, counts: tuple[int, ...], sizer: Sizer, scenario: Scenario
) -> SizedJob | None:
    """The serving job of a tuned model; None where the horizon ends before it would serve.

    A model that is tuned again keeps serving: as many units as were ever tuned at once so far.
    """
    if job.tune is None or job.tune.deploy is None:
        return None
    reasoning = sizer.reasoning(job)
    delay = reasoning.derive("deployment_delay_quarters")
    if delay is None:
        return None
    quarters = int(reasoning.number("deployment_delay_quarters") or 0)
    units = tuple(
        max(counts[: max(0, quarter - quarters + 1)], default=0) * job.tune.deploy.replicas
        for quarter in range(len(counts))
    )
    if not any(units):
        return None
    serve, origins = _serve(job.tune, reasoning)
    return SizedJob(
        name=f"{name}{SERVING_SUFFIX}",
        kind="serve",
        derived_from=name,
        derived_by=delay.known.origin.removeprefix("rule "),
        team=job.team,
        units=units,
        sites=scenario.sites_of(job),
        keeps_gpu_type=scenario.keeps_gpu_type(job, "serve"),
        sizing=sizer.size(Job(serve=serve), origins),
    )


def _serve(tune: Tune, reasoning: Reasoning) -> tuple[Serve, dict[str, str]]:
    """The base with its adapter beside it, or the whole model that a full fine-tune gives."""
    if tune.method == "full":
        return _whole_model(tune, reasoning)
    weights = reasoning.derive("weight_bits")
    origins = {"weight_bits": _origin(weights)} if tune.base_bits is None else {}
    size_gb = tune.deploy.adapter_gb if tune.deploy else None
    if size_gb is None:
        size_gb = _size(reasoning.number("storage_gb"))
        origins["adapter_gb"] = _origin(reasoning.derive("storage_gb"))
    bits = min(WIDEST_SERVED, int(reasoning.number("weight_bits") or WIDEST_SERVED))
    adapters = Adapters(count=1, size_gb=size_gb)
    return _serving(tune, bits, adapters), origins


def _whole_model(tune: Tune, reasoning: Reasoning) -> tuple[Serve, dict[str, str]]:
    stated = tune.deploy.bits if tune.deploy else None
    bits = stated or int(reasoning.number("deployed_bits") or WIDEST_SERVED)
    origins = {} if stated else {"weight_bits": _origin(reasoning.derive("deployed_bits"))}
    return _serving(tune, bits, None), origins


def _serving(tune: Tune, bits: int, adapters: Adapters | None) -> Serve:
    return Serve.model_validate(
        {
            "model": tune.model,
            "parameters_b": tune.parameters_b,
            "bits": bits,
            "adapters": adapters,
        }
    )


def _origin(derivation: Derivation | None) -> str:
    return derivation.known.origin if derivation else "none"


def _size(size_gb: Exact | None) -> Decimal:
    """An adapter's size to the byte, rounded up."""
    exact = size_gb or 0
    numerator, denominator = exact.numerator, exact.denominator
    return (Decimal(numerator) / Decimal(denominator)).quantize(Decimal("1e-9"), ROUND_UP)
