"""Plans variants of one scenario, each once; and finds what given nodes lack for its jobs.

What a variant comes to does not depend on who plans it, nor beside which others.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

from planner.costs import entry_quarters
from planner.errors import LimitError
from planner.inputs.load import Question
from planner.inputs.override import Override
from planner.inputs.reading.locate import USED
from planner.inputs.scenario.offer import FleetEntry
from planner.inputs.scenario.scenario import Budget
from planner.inputs.settled import Inputs
from planner.packing import Translation, translate
from planner.packing.incumbent import Infeasible
from planner.packing.nowhere import Claim, with_apis
from planner.packing.pack import attempt
from planner.packing.scenario_program import Order
from planner.packing.triage import triage
from planner.planning.assemble import Request
from planner.planning.jobs import stuck_jobs
from planner.planning.make import Goal, NearPlan, committed_plan, make_plan, near_plan
from planner.planning.plan import Plan
from planner.sizing import SizedJob
from planner.sizing.candidate import Sizing
from planner.sizing.sizers import Sizers
from planner.version import __version__
from planner.whatif.results import JobShort, PlanSummary, tried

_FIRST = 101
"""The priority of units that are required, before all that may be stated."""


@dataclass(frozen=True, slots=True)
class Commitment:
    """Nodes that a plan acquires, and when they were to be in service."""

    offer: str
    node_type: str
    site: str
    quarters: tuple[str, ...]
    count: int


def commitments(plan: Plan) -> tuple[Commitment, ...]:
    """All that a plan acquires for whole quarters."""
    nodes = Counter(
        (node.entry, node.node_type, node.site, node.in_service)
        for node in plan.nodes
        if node.origin != "owned" and not node.hours
    )
    return tuple(
        Commitment(offer, node_type, site, quarters, count)
        for (offer, node_type, site, quarters), count in sorted(nodes.items())
    )


def short_quarters(
    inputs: Inputs, committed: Sequence[Commitment], sizers: Sizers, time_limit_s: float
) -> tuple[str, ...]:
    """Quarters in which owned and committed nodes do not hold all jobs, policies kept.

    Beside them, nodes that come and go within a quarter may be had as they are offered. Each
    quarter is looked at by itself: a unit may change its GPU type between them. Nodes are ordered
    as early as need be, and miss the quarters for which not even that is early enough.
    Raises LimitError where the time ends before it is known.
    """
    jobs = sizers.portfolio(inputs)
    labels = inputs.scenario.horizon.labels
    entries = {offer.name: entry_quarters(inputs, offer) for offer in inputs.offers}
    earliest = {name: labels[quarters[0]] for name, quarters in entries.items() if quarters}
    return tuple(
        label
        for place, label in enumerate(labels)
        if not _quarter_holds(
            inputs, jobs, _nodes_in_service(inputs, committed, earliest, label), place, time_limit_s
        )
    )


def _nodes_in_service(
    inputs: Inputs, committed: Sequence[Commitment], earliest: dict[str, str], quarter: str
) -> dict[str, FleetEntry]:
    """Everything in service in a quarter."""
    fleet = {
        name: entry.model_copy(update={"retires": None, "may_switch_off": False, "sale": None})
        for name, entry in inputs.scenario.fleet.items()
        if entry.retires is None or quarter < str(entry.retires)
    }
    for number, one in enumerate(committed):
        if quarter in one.quarters and one.offer in earliest and quarter >= earliest[one.offer]:
            entry = FleetEntry(node_type=one.node_type, site=one.site, count=one.count)
            fleet[f"committed {number}"] = entry
    return fleet


def _quarter_holds(
    inputs: Inputs,
    jobs: tuple[SizedJob, ...],
    fleet: dict[str, FleetEntry],
    place: int,
    time_limit_s: float,
) -> bool:
    active = _active_jobs(jobs, [job.units[place] for job in jobs], place)
    if not active:
        return True
    by_the_hour = {offer.name for offer in inputs.offers if offer.step_hours}
    asked = _one_quarter(inputs, fleet, place, by_the_hour)
    translation = with_apis(asked, translate(asked, active))
    if not all(inputs.scenario.apis_of(job.name) for job in stuck_jobs(active, translation)):
        return False
    try:
        attempt(translation, asked_gap=1.0, time_limit_s=time_limit_s)
    except Infeasible:
        return False
    return True


def units_short(inputs: Inputs, sizers: Sizers, time_limit_s: float) -> tuple[JobShort, ...] | None:
    """The fewest units, the highest priority first, that the owned nodes do not hold.

    Each quarter is looked at by itself, as if nothing ran yet, and so is each unit: of a job, some
    may run. A deployment whose model is not tuned for want of room has nothing to serve. None where
    the time, in seconds for each quarter, ends before it is known.
    """
    jobs = sizers.portfolio(inputs)
    kept: dict[str, list[int]] = {job.name: [] for job in jobs}
    for place, label in enumerate(inputs.scenario.horizon.labels):
        asked = [min(job.units[place], _units_to_serve(inputs, job, kept, place)) for job in jobs]
        fleet = _nodes_in_service(inputs, (), {}, label)
        try:
            lacking = _units_without_room(
                inputs, _active_jobs(jobs, asked, place), fleet, place, time_limit_s
            )
        except (Infeasible, LimitError):
            return None
        for job, units in zip(jobs, asked, strict=True):
            kept[job.name].append(units - lacking[job.name])
    found = (
        JobShort(
            job=job.name,
            asked=job.endpoints(),
            short=job.lacking(kept[job.name]),
        )
        for job in jobs
    )
    return tuple(one for one in found if any(one.short))


def _units_without_room(
    inputs: Inputs,
    active: tuple[SizedJob, ...],
    fleet: dict[str, FleetEntry],
    place: int,
    time_limit_s: float,
) -> Counter[str]:
    """By job: units that have no room in a quarter."""
    every = Counter({job.name: job.units[0] for job in active})
    if not active or not fleet:
        return every
    asked = _one_quarter(inputs, fleet, place)
    stuck = {job.name for job in stuck_jobs(active, translate(asked, active))}
    translation = translate(asked, tuple(job for job in active if job.name not in stuck))
    stated = inputs.scenario.jobs
    roots = {job.name: stated[job.root] for job in active}
    shared = {job.name for job in active if job.shares_traffic}  # kept, or short, as a whole
    claims = tuple(
        Claim(
            f"{name}\n{number:06}",  # a name of its own, in the order of the units
            _FIRST if roots[name].required else roots[name].priority,
            required=False,
            starts=(((demand, len(members) if name in shared else 1),),),
        )
        for demand, members in enumerate(translation.members)
        for name, number in members
        if name not in shared or number == 1
    )
    found = triage(translation.problem, claims, asked_gap=1.0, time_limit_s=time_limit_s)
    lacking = Counter({name: every[name] for name in stuck})
    late = [name.partition("\n")[0] for name, delay in found.delays.items() if delay is None]
    for name in late:
        lacking[name] += every[name] if name in shared else 1
    return lacking


def _active_jobs(
    jobs: Sequence[SizedJob], units: Sequence[int], place: int
) -> tuple[SizedJob, ...]:
    """Jobs with so many units in one quarter, those that have any, with its replicas."""
    return tuple(
        job.model_copy(update={"units": (count,), "sizing": _in_quarter(job.sizing, place)})
        for job, count in zip(jobs, units, strict=True)
        if count
    )


def _in_quarter(sizing: Sizing, place: int) -> Sizing:
    """The same for a horizon of this quarter alone."""
    candidates = (
        one.model_copy(
            update={
                "replicas": one.replicas_in(place),
                "replicas_by_quarter": (),
                "serving": one.serving
                and one.serving.model_copy(update={"peaks": (one.serving.peaks[place],)}),
            }
        )
        if one.replicas_by_quarter or one.serving
        else one
        for one in sizing.candidates
    )
    return sizing.model_copy(update={"candidates": tuple(candidates)})


def _one_quarter(
    inputs: Inputs, fleet: dict[str, FleetEntry], place: int, offered: Container[str] = ()
) -> Inputs:
    """One quarter in which these nodes, and offers, are all there is."""
    scenario = inputs.scenario
    horizon = scenario.horizon
    now = horizon.model_copy(update={"first_quarter": horizon.first_quarter + place, "quarters": 1})
    offers = {name: offer for name, offer in scenario.offers.items() if name in offered}
    only = {"horizon": now, "fleet": fleet, "offers": offers, "running": (), "budget": Budget()}
    return inputs.model_copy(
        update={
            "scenario": scenario.model_copy(update=only),
            "offers": tuple(offer for offer in inputs.offers if offer.name in offered),
        }
    )


def _units_to_serve(
    inputs: Inputs, job: SizedJob, kept: Mapping[str, Sequence[int]], place: int
) -> int:
    """Units of a deployment for whose model a run was kept before; of other jobs all."""
    tuned = inputs.scenario.jobs[job.derived_from].tune if job.derived_from else None
    if job.derived_from is None or tuned is None or tuned.deploy is None:
        return job.units[place]
    counts = inputs.scenario.jobs[job.derived_from].counts(inputs.scenario.horizon)
    first = next(quarter for quarter, units in enumerate(job.units) if units)
    delay = first - next(quarter for quarter, runs in enumerate(counts) if runs)
    runs = kept[job.derived_from][: max(0, place - delay + 1)]
    return max(runs, default=0) * tuned.deploy.replicas if delay else job.units[place]


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
    purchases: tuple[Order, ...] | None = None
    """What is bought in each variant, whatever it asks for; None: what is best in it."""


class VariantPlanner:
    """Plans variants of a scenario whose files are read once, and whose sizings are shared."""

    def __init__(
        self,
        config: WorkerConfig,
        question: Question | None = None,
        sizers: Sizers | None = None,
    ) -> None:
        """Read the files, unless that is done; raises InputError."""
        self.config = config
        self.question = question or Question(
            config.scenario, catalog=config.catalog, rules=config.rules, text=config.text
        )
        self._sizers = sizers or Sizers()
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
        config = self.config
        if config.purchases is not None:
            return committed_plan(self._request(inputs), config.purchases)
        return make_plan(
            inputs,
            asked_gap=config.gap,
            time_limit_s=config.time_limit_s,
            sizers=self._sizers,
            price_choices=False,
        )

    def _request(self, inputs: Inputs) -> Request:
        return Request(inputs, self._sizers, self.config.gap, self.config.time_limit_s)

    def translation(self, inputs: Inputs) -> Translation:
        """The packing problem of inputs in which all jobs are kept; raises InputError."""
        return translate(inputs, self._sizers.portfolio(inputs))

    def near(self, inputs: Inputs, goal: Goal, most_cents: int) -> NearPlan:
        """Plan for a goal that is no money, with the same limits; raises as `near_plan`."""
        return near_plan(self._request(inputs), goal, most_cents)

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
    """Plans one variant of a scenario with any further settings, each once."""

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
        """Record the figures of what is asked, so that it is not planned again."""
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
