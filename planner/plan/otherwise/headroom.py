"""Whether a plan exists if less of each GPU's memory is kept free."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from planner.errors import LimitError
from planner.packing import translate
from planner.packing.found import Infeasible
from planner.packing.pack import attempt
from planner.packing.work import spent
from planner.plan.eligible import stuck_jobs
from planner.plan.words import amount

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.inputs.settled import Inputs
    from planner.sizing.sizers import Sizers

__all__ = ["less_headroom"]

_TIME_S = 10.0
"""For all questions together."""


def less_headroom(inputs: Inputs, sizers: Sizers) -> Iterator[str]:
    """The most headroom, in whole per cent, with which a plan has all jobs; proved by that plan."""
    stated = inputs.settings.headroom.value
    deadline = spent() + _TIME_S
    enough, too_much = Decimal(-1), stated * 100
    asked = Decimal(0)
    while asked < too_much and spent() < deadline:
        if _plannable(inputs, asked / 100, sizers, deadline):
            enough = asked
        elif enough < 0:
            return
        else:
            too_much = asked
        asked = (enough + too_much) // 2
        if asked <= enough:
            break
    if enough >= 0:
        told = amount(stated, "share")
        yield f"lower policies.headroom from {told} to {amount(enough / 100, 'share')}"


def _plannable(inputs: Inputs, headroom: Decimal, sizers: Sizers, deadline: float) -> bool:
    setting = inputs.settings.headroom.model_copy(update={"value": headroom})
    settings = inputs.settings.model_copy(update={"headroom": setting})
    asked = inputs.model_copy(update={"settings": settings})
    jobs = sizers.portfolio(asked)
    translation = translate(asked, jobs)
    if stuck_jobs(jobs, translation):
        return False
    try:
        left_s = max(0.1, deadline - spent())
        attempt(translation, asked_gap=1.0, time_limit_s=left_s)
    except (Infeasible, LimitError):
        return False
    return True
