"""Plans variants of one scenario, one after the other.

What a variant comes to does not depend on who plans it, nor beside which others.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.errors import LimitError
from planner.inputs.load import Question
from planner.inputs.reading.locate import USED
from planner.packing import translate
from planner.planning.make import make_plan
from planner.sizing.sizers import Sizers
from planner.version import __version__
from planner.whatif.variants.fixed_purchases import short_quarters, units_short
from planner.whatif.variants.plan_summary import tried

if TYPE_CHECKING:
    from pathlib import Path

    from planner.inputs.layers.override import Override
    from planner.inputs.settled import Inputs
    from planner.packing import Translation
    from planner.planning.constrained import Goal, NearPlan, Purchase
    from planner.planning.plan import Plan
    from planner.whatif.variants.fixed_purchases import Commitment
    from planner.whatif.variants.plan_summary import JobShort, PlanSummary

__all__ = ["AS_STATED", "Variant", "VariantPlanner", "WorkerConfig"]


@dataclass(frozen=True, slots=True)
class Variant:
    """What is asked of a scenario: its overrides and scenarios by name, then further overrides."""

    apply: tuple[str, ...] = ()
    settings: tuple[Override, ...] = ()

    @property
    def label(self) -> str:
        """As a person would say it on the command line."""
        return ", ".join((*self.apply, *map(str, self.settings))) or "as it is"

    def with_more(self, other: Variant) -> Variant:
        """Both: the other's overrides and settings come later, and win."""
        return Variant((*self.apply, *other.apply), (*self.settings, *other.settings))


AS_STATED = Variant()
"""Nothing is changed."""


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """All that a worker must be told."""

    scenario: Path
    catalog: tuple[Path, ...] = ()
    rules: tuple[Path, ...] = ()
    gap: float = 1e-4
    time_limit_s: float = 60.0
    text: str | None = None
    """What the scenario's file said, where a plan records it."""
    committed: tuple[Commitment, ...] | None = None
    """Nodes of a plan: do they hold the jobs of each variant? None: nobody asks."""
    purchases: tuple[Purchase, ...] | None = None
    """What is bought in each variant, whatever it asks for; None: what is best in it."""


class VariantPlanner:
    """Plans variants of a scenario whose files are read once, and whose sizings are shared."""

    def __init__(self, config: WorkerConfig, question: Question | None = None) -> None:
        """Read the files, unless that is done; raises InputError."""
        self.config = config
        self.question = question or Question(
            config.scenario, catalog=config.catalog, rules=config.rules, text=config.text
        )
        self._sizers = Sizers()
        self._keys: dict[Variant, str] = {}

    @property
    def name(self) -> str:
        """The scenario's title, or its file's name where it has none."""
        stated = self.question.layers.composed().document.data
        return str(stated.get("name", self.config.scenario.name))

    def inputs(self, variant: Variant) -> Inputs:
        """The inputs of a variant; raises InputError."""
        return self.question.inputs(variant.apply, variant.settings)

    def key(self, variant: Variant) -> str:
        """All that the figures of a variant depend on, in short; raises InputError."""
        if variant not in self._keys:
            self._keys[variant] = self._key(variant)
        return self._keys[variant]

    def _key(self, variant: Variant) -> str:
        inputs = self.inputs(variant)
        files = [(file.role, file.sha256) for file in inputs.files if file.role in USED]
        config = self.config
        given = config.committed if config.purchases is None else config.purchases
        effort = (config.gap, config.time_limit_s, given)
        asked = repr((__version__, effort, files, inputs.question))
        return hashlib.sha256(asked.encode()).hexdigest()[:24]

    def plan(self, inputs: Inputs) -> Plan:
        """Plan with the gap and limits of the configuration; raises what planning raises."""
        if self.config.purchases is not None:
            from planner.planning.constrained import committed_plan  # noqa: PLC0415 - seldom

            return committed_plan(
                inputs,
                self.config.purchases,
                asked_gap=self.config.gap,
                time_limit_s=self.config.time_limit_s,
                sizers=self._sizers,
            )
        return make_plan(
            inputs,
            asked_gap=self.config.gap,
            time_limit_s=self.config.time_limit_s,
            sizers=self._sizers,
            price_choices=False,
        )

    def translation(self, inputs: Inputs) -> Translation:
        """The packing problem of inputs in which all jobs are kept; raises InputError."""
        return translate(inputs, self._sizers.portfolio(inputs))

    def near(self, inputs: Inputs, goal: Goal, most_cents: int) -> NearPlan:
        """Plan for a goal that is no money, with the same limits; raises as `near_plan`."""
        from planner.planning.constrained import near_plan  # noqa: PLC0415 - seldom needed

        config = self.config
        return near_plan(
            inputs,
            goal,
            most_cents,
            asked_gap=config.gap,
            time_limit_s=config.time_limit_s,
            sizers=self._sizers,
        )

    def units_short(self, inputs: Inputs) -> tuple[JobShort, ...] | None:
        """What the owned nodes alone do not hold, quarter by quarter; None: not known in time."""
        return units_short(inputs, self._sizers, self.config.time_limit_s)

    def figures(self, variant: Variant) -> PlanSummary:
        """What a variant comes to."""
        inputs = self.inputs(variant)
        figures = tried(lambda: self.plan(inputs))
        committed = self.config.committed
        if committed is None:
            return figures
        try:
            short = short_quarters(inputs, committed, self._sizers, self.config.time_limit_s)
        except LimitError:
            return figures
        return figures.model_copy(update={"short_quarters": short})
