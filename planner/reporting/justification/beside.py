"""What stands beside a plan in its documents."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planner.planning.plan import Plan
    from planner.whatif.comparison.comparison import Comparison
    from planner.whatif.results import Alternatives, Sensitivity

__all__ = ["Beside"]


@dataclass(frozen=True, slots=True)
class Beside:
    """Results about the same question, as far as there are any."""

    plans: Mapping[str, Plan] = field(default_factory=lambda: MappingProxyType({}))
    """Other plans by name, to stand among the options."""
    alternatives: Alternatives | None = None
    sensitivity: Sensitivity | None = None
    since: Comparison | None = None
    """The last plan against this one."""
    changed: tuple[str, ...] = ()
    """What of the inputs of the plan is not as it was when it was made, a sentence each."""
