"""The part of a plan that says which jobs are dropped or delayed, and what would keep them."""

from __future__ import annotations

from typing import Literal

from planner.inputs.base import Frozen
from planner.inputs.text.words import count_of
from planner.plan.parts.opinion import SecondOpinion

__all__ = ["PriorityUse", "ProvedStep", "ShortJob", "Shortage"]


class ShortJob(Frozen):
    """A job that is dropped or delayed."""

    name: str
    deployment: str | None
    """The job derived from it, for which the same holds."""
    priority: int
    """From 0 to 100; the highest is kept first."""
    outcome: Literal["dropped", "delayed"]
    delay_quarters: int
    """0 where it is dropped."""
    asked: tuple[int, ...]
    """Units by quarter that the scenario asks for."""
    cause: str
    """Why it cannot be kept as asked, beside all that is kept."""
    remedies: tuple[str, ...]
    """Each by itself would keep it as asked; empty where none was found."""

    @property
    def how(self) -> str:
        """`dropped` or `delayed by 2 quarters`."""
        late = count_of(self.delay_quarters, "quarter")
        return "dropped" if self.outcome == "dropped" else f"delayed by {late}"


class PriorityUse(Frozen):
    """What came of the jobs of one priority."""

    priority: int
    jobs: int
    """Of the scenario; deployments derived from them are not counted."""
    dropped: int
    delayed: int
    proved: bool
    """Whether fewer cannot be dropped, nor delayed, with all that comes first kept."""


class ProvedStep(Frozen):
    """A step of the triage that was proved, and what other solvers say of it."""

    counted: str
    """`jobs of priority 50 that are dropped`; empty: the cost of what keeps as much."""
    least: int
    """No plan that keeps what came before has fewer; of the cost: none costs less, cents."""
    second_opinions: tuple[SecondOpinion, ...]


class Shortage(Frozen):
    """Who gives way where not everything fits."""

    priorities: tuple[PriorityUse, ...]
    """The highest first; every priority of a job that asks for something."""
    jobs: tuple[ShortJob, ...]
    """By priority, the highest first, then by name."""
    bound_cents: int
    """No plan that drops and delays as few costs less, whichever of the equals they are."""
    steps: tuple[ProvedStep, ...] = ()
    """Where other solvers were asked; that nobody gives way needs no confirmation."""

    def ahead_of(self, job: ShortJob) -> tuple[str, ...]:
        """Jobs that give way, too, and get room that is made before this one does.

        Fewer are dropped before fewer are delayed, the highest priority first.
        """
        place = _turn(job)
        return tuple(one.name for one in self.jobs if _turn(one) < place)

    def proves(self, cost_cents: int, asked_gap: float) -> bool:
        """Whether nobody gives way without need, and no other choice of them is cheaper.

        `asked_gap` is the share of the cost that counts as none.
        """
        every = all(use.proved for use in self.priorities)
        return every and cost_cents - self.bound_cents <= asked_gap * cost_cents


def _turn(job: ShortJob) -> tuple[bool, int]:
    return job.outcome == "delayed", -job.priority
