"""Plans variants of one scenario, each once.

What a variant comes to does not depend on who plans it, nor beside which others.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from planner.errors import LimitError
from planner.inputs.load import Question
from planner.packing import translate
from planner.planning.make import make_plan
from planner.sizing.sizers import Sizers
from planner.version import __version__
from planner.whatif.fixed_purchases import short_quarters, units_short
from planner.whatif.plan_summary import tried

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from planner.inputs.layers.override import Override
    from planner.inputs.settled import Inputs
    from planner.packing import Translation
    from planner.planning.constrained import Goal, NearPlan, Purchase
    from planner.planning.plan import Plan
    from planner.whatif.fixed_purchases import Commitment
    from planner.whatif.plan_summary import JobShort, PlanSummary


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
        files = [
            (file.role, file.sha256) for file in inputs.files if file.role in ("catalog", "rules")
        ]
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


class Executor(Protocol):
    """Plans any number of variants; what they come to does not depend on who is in it."""

    def plan(
        self, variants: Mapping[str, Variant], done: Callable[[str, PlanSummary], None]
    ) -> None:
        """Plan variants by their keys and hand over each as it is done.

        Raises LimitError where workers die again and again.
        """


class CachedRunner:
    """Plans of what is asked, with more settings."""

    def __init__(
        self,
        planner: VariantPlanner,
        executor: Executor,
        asked: Variant,
        progress: Callable[[str], None],
    ) -> None:
        self.planner = planner
        self.progress = progress
        self._executor = executor
        self._asked = asked
        self._figures: dict[str, PlanSummary] = {}

    @cached_property
    def inputs(self) -> Inputs:
        """The inputs of what is asked; raises InputError."""
        return self.planner.inputs(self._asked)

    def inputs_with(self, settings: tuple[Override, ...]) -> Inputs:
        """The same with more settings; raises InputError."""
        return self.planner.inputs(self._with(settings))

    def _with(self, settings: tuple[Override, ...]) -> Variant:
        return Variant(self._asked.apply, (*self._asked.settings, *settings))

    def know(self, figures: PlanSummary) -> None:
        """What is asked need not be planned: it comes to this."""
        self._figures[self.planner.key(self._asked)] = figures

    def one(self, settings: tuple[Override, ...] = ()) -> PlanSummary:
        """One plan; without settings that of what is asked."""
        (figures,) = self.all([settings])
        return figures

    def all(self, wanted: Iterable[tuple[Override, ...]]) -> list[PlanSummary]:
        """Several plans, in this order; those that there are not yet are made together."""
        variants = [self._with(one) for one in wanted]
        keys = [self.planner.key(variant) for variant in variants]
        fresh = {
            key: variant
            for key, variant in zip(keys, variants, strict=True)
            if key not in self._figures
        }
        number = len(self._figures) + len(fresh)

        def done(key: str, figures: PlanSummary) -> None:
            self._figures[key] = figures
            self.progress(f"planning, {len(self._figures):,} of {number:,} or a few more")

        self._executor.plan(fresh, done)
        return [self._figures[key] for key in keys]
