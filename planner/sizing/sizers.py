"""Sizes all jobs of a scenario and the deployments that they ask for; like jobs once."""

from __future__ import annotations

from decimal import ROUND_UP, Decimal
from typing import Any

from planner.inputs.scenario.horizon import Run
from planner.inputs.scenario.job import SERVING_SUFFIX, Deploy, Job, Serve, Tune
from planner.inputs.scenario.scenario import ResolvedScenario
from planner.inputs.settled import Inputs
from planner.sizing.calibrate import calibrate
from planner.sizing.candidate import SizedJob
from planner.sizing.engine import Derivation, Reasoning
from planner.sizing.sizer import Sizer

WIDEST_SERVED = 16
"""In bits: serving rules know no wider weights, and a model tuned in fp32 is served at 16."""


def deployment(
    name: str, job: Job, counts: tuple[int, ...], sizer: Sizer, scenario: ResolvedScenario
) -> SizedJob | None:
    """The serving job of a tuned model; None where none is asked for, or none would serve yet.

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
    serve, origins = _served(job.tune, job.tune.deploy, reasoning)
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


def _served(tune: Tune, deploy: Deploy, reasoning: Reasoning) -> tuple[Serve, dict[str, str]]:
    """Return the base with its adapter, or the whole model that a full fine-tune gives.

    With the rules behind what the job does not state.
    """
    stated: dict[str, Any] = {"model": tune.model, "parameters_b": tune.parameters_b}
    is_whole = tune.method == "full"
    width = "deployed_bits" if is_whole else "weight_bits"
    size_gb = deploy.adapter_gb
    bits: int | None = deploy.bits if is_whole else None
    origins = {}
    if bits is None:
        bits = min(WIDEST_SERVED, int(reasoning.number(width) or WIDEST_SERVED))
        if is_whole or tune.base_bits is None:
            origins["weight_bits"] = _origin(reasoning.derive(width))
    if not is_whole:
        if size_gb is None:  # to the byte, rounded up
            exact = reasoning.number("storage_gb") or 0
            size_gb = Decimal(exact.numerator) / Decimal(exact.denominator)
            size_gb = size_gb.quantize(Decimal("1e-9"), ROUND_UP)
            origins["adapter_gb"] = _origin(reasoning.derive("storage_gb"))
        stated["adapters"] = {"count": 1, "size_gb": size_gb}
    return Serve.model_validate(stated | {"bits": bits}), origins


def _origin(derivation: Derivation | None) -> str:
    return derivation.known.origin if derivation else "none"


def size_portfolio(sizer: Sizer, scenario: ResolvedScenario) -> tuple[SizedJob, ...]:
    """Size all jobs of a scenario and the deployments that they ask for, sorted by name."""
    sized: list[SizedJob] = []
    for name, job in sorted(scenario.jobs.items()):
        sizing = sizer.size(job, peaks=job.peaks(scenario.horizon))
        counts = job.counts(scenario.horizon)
        release, deadline = (job.run or Run()).window
        units = job.units(scenario.horizon)
        mixed = job.serve is not None and job.serve.mixed
        if mixed:
            units = tuple(count * sizing.most_replicas for count in units)
        sized.append(
            SizedJob(
                name=name,
                kind=job.kind,
                derived_from=None,
                derived_by=None,
                team=job.team,
                units=units,
                sites=scenario.sites_of(job),
                sizing=sizing,
                release_hour=release,
                deadline_hour=deadline,
                runs=job.runs_per_quarter,
                keeps_gpu_type=scenario.keeps_gpu_type(job, job.kind),
                shares_traffic=mixed,
                units_open=mixed,
            )
        )
        derived = deployment(name, job, counts, sizer, scenario)
        if derived is not None:
            sized.append(derived)
    return tuple(sorted(sized, key=lambda one: one.name))


_MOST = 8
"""How many sizers are kept: successive variants differ in few settings."""

_APART = {"shortage": "refuse", "may_change_gpu_type": "none"}
"""Policies that affect no sizing, and that variants change."""


class Sizers:
    """Gives the same sizer wherever all that sizing depends on is the same.

    That is catalog, rules, measured runs, policies, GPU types and settings. Of the settings, only
    those count that some rule asks for: the price of energy sizes no job.
    """

    def __init__(self) -> None:
        self._kept: list[tuple[tuple[object, ...], Sizer]] = []

    def sizer(self, inputs: Inputs, gpu_types: tuple[str, ...] | None) -> Sizer:
        """Return the sizer for these inputs and GPU types; None: all of the catalog.

        Raises InputError if measured runs are given and none can be compared.
        """
        settings, rules = inputs.settings, inputs.rules
        policies = inputs.scenario.policies.model_copy(update=_APART)
        counting = tuple(value for name, value in settings if name in rules.asked)
        key = (inputs.catalog, rules, inputs.measured, counting, policies, gpu_types)
        found = next((kept for kept in self._kept if kept[0] == key), None)
        if found is None:
            of_files = (inputs.catalog, rules, settings, policies)
            calibration = None
            if inputs.measured:
                calibration = calibrate(inputs.measured, Sizer(*of_files), inputs.catalog, rules)
            found = key, Sizer(*of_files, gpu_types, calibration)
        others = [kept for kept in self._kept if kept is not found]
        self._kept = [*others[1 - _MOST :], found]
        return found[1]

    def portfolio(self, inputs: Inputs) -> tuple[SizedJob, ...]:
        """Return all jobs of these inputs, sized on the GPU types that their plan may use."""
        return size_portfolio(self.sizer(inputs, inputs.gpu_types_in_play), inputs.scenario)
