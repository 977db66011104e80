"""The part of a plan that says what each team holds and is charged."""

from __future__ import annotations

from typing import Literal

from planner.inputs.base import Frozen

__all__ = ["Chargeback", "QuotaUse", "TeamUse"]


class QuotaUse(Frozen):
    """One quota of a team and what its jobs hold of it."""

    gpu_type: str | None
    """None: all types together."""
    limit_gpus: tuple[int | None, ...]
    """By quarter; None: no limit."""
    gpus: tuple[int, ...]
    """Held in each quarter, at the hour at which most are."""


class TeamUse(Frozen):
    """What the jobs of one team hold, and what they are charged."""

    team: str | None
    """None: jobs without a team."""
    gpus: tuple[int, ...]
    """Held in each quarter, at the hour at which most are."""
    gpu_hours: float
    """GPUs held × hours of the quarters."""
    delivered_gpu_hours: float
    """Of those: the runs of tuning jobs where their time is known, and all of other jobs."""
    open_gpu_hours: float
    """Of those: held by tuning jobs whose run time is not known."""
    charged_cents: tuple[int, ...]
    """Share of the net present cost, by quarter of use."""
    cost_cents: int
    """Their sum."""
    usd_per_gpu_hour: float | None
    """None where nothing is held."""
    usd_per_delivered_gpu_hour: float | None
    """None where nothing is delivered, or some run time is not known."""
    quotas: tuple[QuotaUse, ...]
    """All types together first, then by GPU type."""


class Chargeback(Frozen):
    """The net present cost shared among the teams by the GPUs that they hold; adds up exactly."""

    idle: Literal["separate", "spread"]
    """Whether what nobody holds stands by itself or is charged to the teams that use the pool."""
    teams: tuple[TeamUse, ...]
    """By name; jobs without a team last."""
    idle_gpu_hours: float
    """In service and held by no job, spare nodes included."""
    idle_cents: tuple[int, ...]
    """Cost of what nobody holds and nobody is charged, by quarter."""
