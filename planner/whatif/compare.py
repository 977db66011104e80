"""Differences between two plans, inputs first; what each cause adds; the replay of a saved plan."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path as FilePath
from typing import Any, Literal

from pydantic import BaseModel

from planner.errors import Finding, InfeasibleError, InputError, LimitError, refuse
from planner.inputs.base import Frozen
from planner.inputs.catalog.catalog import Catalog
from planner.inputs.load import Question, inputs_from
from planner.inputs.reading.document import Path, settable
from planner.inputs.reading.locate import USED
from planner.inputs.reading.reader import parse_document
from planner.inputs.rules.book import RuleBook
from planner.inputs.settled import Inputs
from planner.inputs.text import count_of, flow
from planner.planning.make import make_plan
from planner.planning.plan import Occupant, Plan, Proof, Provenance, ShortJob
from planner.planning.store import Saved, carried_over, loads, read_saved, sound
from planner.whatif.actuals import Actual, PlannedAndActual, outcomes

FORMAT = "2.0"
"""Minor: additive changes. Major: older readers refuse the file."""


class SideFigures(Frozen):
    """A summary of one side."""

    label: str
    scenario: str
    status: str
    cost_cents: int
    bound_cents: int
    quarters: tuple[str, ...]
    short: int = 0
    """Jobs that give way: dropped, delayed or short of units."""


class InputChange(Frozen):
    """One value of the inputs that differs."""

    cause: str
    path: str
    before: str | None
    """As a file would say it, or as the price book does; None if neither says anything."""
    after: str | None


class PurchaseChange(Frozen):
    """Nodes of one offer that enter service in one quarter, or released owned nodes."""

    quarter: str
    kind: str
    """The kind of the offer; `sell` or `switch off`: nodes of the fleet entry that `offer`
    names."""
    offer: str
    node_type: str
    site: str
    before: int
    after: int
    before_cents: int
    """Not discounted; what a sale brings is below zero."""
    after_cents: int
    term_quarters: int | None = None
    """Reserve: the quarters for which each node is held."""


class Amount(Frozen):
    """One figure on both sides."""

    name: str
    quarter: str | None
    """None: over the whole horizon."""
    unit: str
    """`cents` or `GPUs`."""
    before: int | None
    """None if that side does not have it."""
    after: int | None


class JobMove(Frozen):
    """A job that runs elsewhere, on other GPUs or parts of them, or in another number."""

    job: str
    quarters: tuple[str, ...]
    before: str | None
    """`2 × 4 GPUs on xe9680-h200 @ main`; None if it does not run."""
    after: str | None


class ShortChange(Frozen):
    """A job that gives way on one side, or in another way than on the other."""

    job: str
    before: str | None
    """`dropped`, `delayed by 2 quarters`, `short of 6 of 40 units (2027Q3)`; None if it is kept
    as asked, or is no job."""
    after: str | None
    cause: str
    """Why it gives way on the side after, or else before."""


class CauseStep(Frozen):
    """What one cause adds to the cost, given all the causes before it."""

    causes: tuple[str, ...]
    """More than one if no plan exists with only some of them."""
    added_cents: int
    cost_cents: int
    """The net present cost after this step."""
    status: str
    """`proved` or `not proved`: of the plan after this step."""


class Waterfall(Frozen):
    """The cost of one plan turned into that of the other; the steps add up exactly."""

    steps: tuple[CauseStep, ...]
    missing: str | None = None
    """Why there are no steps."""


class Comparison(Frozen):
    """Two plans side by side; only what differs is listed, except for sums."""

    format: str = FORMAT
    before: SideFigures
    after: SideFigures
    inputs: tuple[InputChange, ...]
    unread: tuple[str, ...]
    """Sentences on inputs that could not be compared."""
    purchases: tuple[PurchaseChange, ...]
    costs: tuple[Amount, ...]
    """The present value by kind of cost, in cents; the last is the total."""
    waterfall: Waterfall
    short: tuple[ShortChange, ...] = ()
    """Jobs that give way: that side lacks what they would add to the cost."""
    moves: tuple[JobMove, ...]
    gpus: tuple[Amount, ...]
    """In service, by GPU type and quarter."""
    warnings_gone: tuple[str, ...]
    warnings_new: tuple[str, ...]
    demand: tuple[PlannedAndActual, ...] = ()
    """Units of the jobs of the plan before beside the actual ones, if actuals are given."""
    deliveries: tuple[PlannedAndActual, ...] = ()
    """Nodes that were to enter service by the plan before, beside those that did."""

    @property
    def same(self) -> bool:
        """Return whether the plans are the same in all that is compared."""
        lists = (self.inputs, self.purchases, self.costs[:-1], self.moves, self.gpus)
        others = (self.short, self.warnings_gone, self.warnings_new)
        return not any((*lists, *others)) and self.before.cost_cents == self.after.cost_cents


def compare_plans(
    before: Saved,
    after: Saved,
    planner: Callable[[Inputs], Plan] | None,
    actuals: Sequence[Actual] = (),
) -> Comparison:
    """Compare two sides.

    `planner` makes the plans between them for the waterfall, if it is given. `actuals` are
    compared with the plan before.
    """
    one, other = before.plan, after.plan
    demand, deliveries = outcomes(one, actuals)
    return Comparison(
        before=_figures(before),
        after=_figures(after),
        inputs=tuple(_inputs(before, after)),
        unread=tuple(_unread(before, after)),
        purchases=_purchases(one, other),
        costs=_costs(one, other),
        waterfall=(
            _waterfall(before, after, planner)
            if planner
            else Waterfall(steps=(), missing="the steps between the two plans were not planned")
        ),
        short=tuple(_short(one, other)),
        moves=tuple(_moves(one, other)),
        gpus=_changed("GPUs", _gpus(one, other), _gpus(other, one)),
        warnings_gone=_without(one, other),
        warnings_new=_without(other, one),
        demand=demand,
        deliveries=deliveries,
    )


def _figures(side: Saved) -> SideFigures:
    proof = side.plan.proof
    return SideFigures(
        label=side.label,
        scenario=side.plan.scenario,
        status=proof.status,
        cost_cents=proof.cost_cents,
        bound_cents=proof.bound_cents,
        quarters=side.plan.quarters,
        short=len(_giving_way(side.plan)),
    )


def _inputs(before: Saved, after: Saved) -> Iterator[InputChange]:
    for path, old, new in _differences((), before.question.data, after.question.data):
        if path[0] not in TITLES:
            yield InputChange(
                cause=cause_of(str(path[0]), str(path[-1])),
                path=settable(tuple(map(str, path))),
                before=_stated(before, path, old),
                after=_stated(after, path, new),
            )
    if before.inputs is None or after.inputs is None:
        return
    reads: dict[tuple[str, str], Callable[[Inputs], BaseModel]] = {
        ("prices", "price book"): lambda inputs: inputs.catalog_of_files.prices,
        ("catalog", "catalog"): lambda inputs: _unpriced(inputs.catalog_of_files),
        ("rules", "rule"): lambda inputs: inputs.rules,
    }
    for (cause, name), read in reads.items():
        one, other = read(before.inputs), read(after.inputs)
        if one == other:
            continue
        sides = (facts.model_dump(exclude={"own"}) for facts in (one, other))
        for path, old, new in _differences((), *sides):
            shown = settable(tuple(map(str, path[1:] if cause == "rules" else path)))
            yield InputChange(
                cause=cause,
                path=f"{name} {shown}",
                before=None if old is None else flow(_plain(old)),
                after=None if new is None else flow(_plain(new)),
            )


def _stated(side: Saved, path: Path, value: object) -> str | None:
    """Return a value as written; a price that is not stated is that of the price book."""
    if value is not None:
        return flow(value)
    if side.inputs is None or len(path) != 3 or path[0] != "offers":
        return None
    offer = side.question.data.get("offers", {}).get(path[1])
    listed = side.inputs.catalog_of_files.prices.usd_of(offer, path[2])
    return None if listed is None else f"{flow(listed)} (price book)"


def _plain(value: object) -> object:
    """Return a value as a file can hold it."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, tuple | list):
        return tuple(map(_plain, value))
    return value


def _differences(
    outer: Path, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[tuple[Path, Any, Any]]:
    """Yield paths with different values, at the outermost path that one side lacks."""
    for key in dict.fromkeys((*before, *after)):
        old, new = before.get(key), after.get(key)
        path = (*outer, key)
        if isinstance(old, dict) and isinstance(new, dict):
            yield from _differences(path, old, new)
        elif old != new:
            yield path, old, new


def _unread(before: Saved, after: Saved) -> Iterator[str]:
    if before.inputs and after.inputs:
        return
    one, other = (
        {file for file in side.plan.provenance.files if file[0] in USED} for side in (before, after)
    )
    if differ := sorted({path for _, path, _ in one ^ other}):
        yield f"these files that the scenarios use differ: {', '.join(differ)}"


def _purchases(before: Plan, after: Plan) -> tuple[PurchaseChange, ...]:
    counts: dict[tuple[str, str, str, str, str, int], list[int]]
    counts = defaultdict(lambda: [0, 0, 0, 0])
    for place, plan in enumerate((before, after)):
        for line in plan.acquisitions:
            term = line.term_quarters or 0
            key = (line.quarter, line.kind, line.offer, line.node_type, line.site, term)
            counts[key][place] += line.count
            counts[key][place + 2] += line.total_cents
        for gone in plan.releases:
            let_go = (gone.quarter, gone.action, gone.entry, gone.node_type, gone.site, 0)
            counts[let_go][place] += gone.count
            counts[let_go][place + 2] -= gone.total_cents
    keys = ("quarter", "kind", "offer", "node_type", "site", "term_quarters")
    figures = ("before", "after", "before_cents", "after_cents")
    return tuple(
        PurchaseChange.model_validate(
            {**dict(zip(keys, (*key[:-1], key[-1] or None), strict=True))}
            | dict(zip(figures, amounts, strict=True))
        )
        for key, amounts in sorted(counts.items())
        if amounts[::2] != amounts[1::2]
    )


_Figures = dict[tuple[str, str | None], int]
"""By name and quarter."""


def _changed(unit: str, before: _Figures, after: _Figures) -> tuple[Amount, ...]:
    return tuple(
        Amount(name=name, quarter=quarter, unit=unit, before=old, after=new)
        for name, quarter in sorted(before.keys() | after.keys(), key=lambda key: (key[0], key[1]))
        for old, new in [(before.get((name, quarter)), after.get((name, quarter)))]
        if old != new
    )


def _costs(before: Plan, after: Plan) -> tuple[Amount, ...]:
    def lines(plan: Plan) -> _Figures:
        return {(line.name, None): line.present_cents for line in plan.costs}

    ends = before.proof.cost_cents, after.proof.cost_cents
    name = "net present cost"
    whole = Amount(name=name, quarter=None, unit="cents", before=ends[0], after=ends[1])
    return (*_changed("cents", lines(before), lines(after)), whole)


def _giving_way(plan: Plan) -> dict[str, ShortJob]:
    return {job.name: job for job in plan.shortage.jobs} if plan.shortage else {}


def _short(before: Plan, after: Plan) -> Iterator[ShortChange]:
    """Yield jobs that do not give way alike, the most important first."""
    one, other = _giving_way(before), _giving_way(after)
    for job in sorted((one | other).values(), key=lambda job: (-job.priority, job.name)):
        old, new = (
            found[job.name].how(plan.quarters) if job.name in found else None
            for plan, found in ((before, one), (after, other))
        )
        if old != new:
            yield ShortChange(job=job.name, before=old, after=new, cause=job.cause)


def _gpus(plan: Plan, beside: Plan) -> _Figures:
    """Return the GPUs in service by type; a type that only the other plan has is 0."""
    types = {pool.gpu_type for pool in (*plan.pools, *beside.pools)}
    found = Counter({(name, quarter): 0 for name in types for quarter in plan.quarters})
    for pool in plan.pools:
        for quarter, gpus in zip(plan.quarters, pool.gpus, strict=True):
            found[pool.gpu_type, quarter] += gpus
    return dict(found.items())


def _moves(before: Plan, after: Plan) -> Iterator[JobMove]:
    """Return the jobs that run elsewhere; quarters with the same change share a line."""
    one, other = _places(before), _places(after)
    quarters = [quarter for quarter in before.quarters if quarter in after.quarters]
    for job in dict.fromkeys(name for name, _ in (*one, *other)):
        runs: dict[tuple[str | None, str | None], list[str]] = {}
        for quarter in quarters:
            pair = one.get((job, quarter)), other.get((job, quarter))
            if pair[0] != pair[1]:
                runs.setdefault(pair, []).append(quarter)
        for (old, new), found in runs.items():
            yield JobMove(job=job, quarters=tuple(found), before=old, after=new)


def _places(plan: Plan) -> dict[tuple[str, str], str]:
    """Return `2 × 4 GPUs on xe9680-h100 @ main` by job and quarter, counting like pieces."""
    pools = {node.id: f"{node.node_type} @ {node.site}" for node in plan.nodes}
    found: dict[tuple[str, str], str] = {}
    for quarter, uses in zip(plan.quarters, plan.placements, strict=True):
        held: dict[str, dict[tuple[str, int, int], tuple[str, list[Occupant]]]] = {}
        for use in uses:
            for item in use.occupants:
                pieces = held.setdefault(item.job, {})
                pieces.setdefault(item.piece, (pools[use.node], []))[1].append(item)
        for job, pieces in held.items():
            alike = Counter(f"{_holding(items)} on {pool}" for pool, items in pieces.values())
            told = (f"{count:,} × {what}" for what, count in sorted(alike.items()))
            found[job, quarter] = ", ".join(told)
    for job, (api, units) in ((one.name, on) for one in plan.jobs for on in one.on_apis):
        for quarter, count in zip(plan.quarters, units, strict=True):
            if count:
                nodes = f"{on}, " if (on := found.get((job, quarter))) else ""
                found[job, quarter] = f"{nodes}API: {count:,} on {api}"
    return found


def _holding(items: Sequence[Occupant]) -> str:
    """Say what one piece holds: whole GPUs, over all its nodes, or a part of one."""
    part = items[0].part
    if part is None:
        return count_of(sum(len(item.gpus) for item in items), "GPU")
    return part.profile or f"{part.taken:,} MB of a GPU"


def _without(plan: Plan, other: Plan) -> tuple[str, ...]:
    """Return warnings of one plan that the other does not have."""
    known = {(note.text, note.origin) for note in other.warnings}
    return tuple(
        f"{note.text} ({note.origin})" if note.origin not in note.text else note.text
        for note in plan.warnings
        if (note.text, note.origin) not in known
    )


CAUSES = ("horizon", "fleet", "demand", "offers", "catalog", "prices", "rules", "policies")
"""The order in which a waterfall takes causes from one side to the other."""

TITLES = ("format", "name", "description", "owner", "objective", "benefit", "if_not_met")
"""Sections of a scenario that change no plan."""
_SECTIONS = {
    **dict.fromkeys(TITLES, "policies"),
    "horizon": "horizon",
    "sites": "fleet",
    "fleet": "fleet",
    "running": "fleet",
    "jobs": "demand",
    "offers": "offers",
    "apis": "offers",
    "policies": "policies",
    "finance": "policies",
    "budget": "policies",
    "teams": "policies",
    "use": "catalog",
}
"""The cause of each section; a key of an offer or an API that is in `_PRICES` is a price."""

_PRICED = ("offers", "apis")
_PRICES = (
    "price_usd",
    "price_usd_per_gpu_hour",
    "price_breaks",
    "price_date",
    "quote",
    "licence_included",
    "usd_per_million_input_tokens",
    "usd_per_million_output_tokens",
    "usd_per_million_cached_tokens",
)
"""Keys of an offer or an API that say what it costs."""


def cause_of(section: str, key: str = "") -> str:
    """Return the cause of a value in a section of the scenario; `key` is its last key."""
    if section in _PRICED and key in _PRICES:
        return "prices"
    return _SECTIONS[section]


def facts_of(side: Saved) -> tuple[Catalog, RuleBook]:
    """Return the catalog and rules of a side, as far as they are known."""
    assert side.inputs is not None
    return side.inputs.catalog_of_files, side.inputs.rules


def _unpriced(catalog: Catalog) -> Catalog:
    return catalog.model_copy(update={"prices": None})


def _only(offer: dict[str, Any], *, prices: bool) -> dict[str, Any]:
    """Return what a section says of prices, or all else."""
    return {key: value for key, value in offer.items() if (key in _PRICES) == prices}


def differing(before: Saved, after: Saved) -> tuple[str, ...]:
    """Return the causes in which the two sides differ, in order.

    What files they use counts by what stands in them.
    """
    found = {one.cause for one in _inputs(before, after) if not one.path.startswith("use.")}
    if before.inputs and after.inputs and before.inputs.measured != after.inputs.measured:
        found.add("catalog")
    return tuple(sorted(found, key=CAUSES.index))


def mixed(before: Saved, after: Saved, taken: Collection[str]) -> Inputs:
    """Return the inputs of `before` with the parts of `after` that belong to these causes.

    Raises InputError if the parts do not go together.
    """

    def side(cause: str) -> Saved:
        return after if cause in taken else before

    data: dict[str, Any] = {}
    for section in (*before.question.data, *after.question.data):
        source = side(cause_of(section)).question.data
        if section in source:
            data[section] = source[section]
    for section in data.keys() & set(_PRICED):  # an offer that is not there keeps its own price
        prices = side("prices").question.data.get(section, {})
        data[section] = {
            name: _only(offer, prices=False) | _only(prices.get(name, offer), prices=True)
            for name, offer in data[section].items()
        }
    catalog, rules = facts_of(side("catalog"))[0], facts_of(side("rules"))[1]
    catalog = catalog.model_copy(update={"prices": facts_of(side("prices"))[0].prices})
    question = replace(before.question, data=data, branch={})
    cataloged = side("catalog").inputs
    assert cataloged is not None
    return inputs_from(
        question, lambda: (catalog, ()), lambda: (rules, ()), lambda _: (cataloged.measured, ())
    )


THE_REST = "planner"
"""The cause of a difference that no input explains: another version, or an open gap."""


def _waterfall(before: Saved, after: Saved, planner: Callable[[Inputs], Plan]) -> Waterfall:
    """Exchange one cause after another, planning each time.

    A step for which no plan exists, or whose parts do not go together, is joined to the next.
    """
    if before.inputs is None or after.inputs is None:
        return Waterfall(steps=(), missing=before.missing or after.missing)
    steps: list[CauseStep] = []
    cost, end = before.plan.proof.cost_cents, after.plan.proof

    def step(causes: Sequence[str], proof: Proof) -> None:
        nonlocal cost
        added, cost = proof.cost_cents - cost, proof.cost_cents
        steps.append(
            CauseStep(causes=tuple(causes), added_cents=added, cost_cents=cost, status=proof.status)
        )

    causes = differing(before, after)
    pending: list[str] = []
    for number, cause in enumerate(causes, 1):
        pending.append(cause)
        try:
            last = number == len(causes)
            step(pending, end if last else planner(mixed(before, after, causes[:number])).proof)
        except (InfeasibleError, InputError, LimitError):
            continue
        pending = []
    if cost != end.cost_cents:
        step((THE_REST,), end)
    return Waterfall(steps=tuple(steps))


def planned_side(label: str, inputs: Inputs, planner: Callable[[Inputs], Plan]) -> Saved:
    """Plan a scenario; what planning raises is raised with the side's name."""
    question = parse_document(inputs.question, label)
    try:
        plan = planner(inputs)
    except InfeasibleError as error:
        raise InfeasibleError(f"{label}: {error.headline}", error.reasons, error.remedies) from None
    except LimitError as error:
        raise LimitError(f"{label}: {error}") from None
    return Saved(label, plan, question, inputs)


class ChangedOrigin(Frozen):
    """Something that a plan comes from and that is not as it was."""

    what: Literal["file", "version"]
    name: str
    recorded: str | None
    """sha256 of a file, or a version; None, here and below, where there was or is none."""
    present: str | None


class Replay(Frozen):
    """What came of making a plan again."""

    format: str = FORMAT
    plan: str
    """The file, as it was named."""
    files: int
    """Input files that the plan records."""
    proved: bool
    """Whether the saved plan is; one that is not may come out otherwise on a slower machine."""
    origins: tuple[ChangedOrigin, ...]
    """Files and versions that differ."""
    parts: tuple[str, ...]
    """Keys of plan.json that differ."""
    comparison: Comparison | None
    """The figures of the saved plan and of the one made now; None where nothing differs."""

    @property
    def identical(self) -> bool:
        """Whether the plan made now is the saved one, byte for byte."""
        return not self.parts


def replay_plan(
    text: str,
    label: str,
    read: Callable[[FilePath], str],
    progress: Callable[[str], None] | None = None,
) -> Replay:
    """Plan again from the files that a plan.json names, looked for from the current folder.

    `read` gives the text of an earlier plan, where what runs today was taken from one. Raises
    InputError for what is no plan as it was written and for inputs that are not there, and what
    planning raises.
    """
    saved = loads(text, label)
    made_by = saved.provenance
    planner = partial(
        make_plan,
        asked_gap=saved.proof.asked_gap,
        time_limit_s=made_by.time_limit_s,
        crosscheck=made_by.crosscheck,
        progress=progress,
    )
    after = planned_side(f"{label}, made again", _recorded(made_by, label, read), planner)
    parts = tuple(
        key for key in Plan.model_fields if getattr(saved, key) != getattr(after.plan, key)
    )
    comparison = None
    if parts:
        with sound(label):
            before, without_choices = read_saved(text, label), partial(planner, price_choices=False)
            comparison = compare_plans(before, after, without_choices)
    return Replay(
        plan=label,
        files=len(made_by.files),
        proved=saved.proof.status == "proved",
        origins=tuple(_origins(made_by, after.plan.provenance)),
        parts=parts,
        comparison=comparison,
    )


def _recorded(made_by: Provenance, label: str, read: Callable[[FilePath], str]) -> Inputs:
    options = made_by.options
    scenario, earlier = made_by.path_of("scenario"), made_by.path_of("placement")
    if scenario is None:
        raise InputError(Finding("records no scenario file to plan again", file=label))
    catalog, rules = tuple(map(FilePath, options.catalog)), tuple(map(FilePath, options.rules))
    missing = [
        Finding(
            f"{str(path)!r}, from which it was made, is not here",
            file=label,
            hint="replay it in the folder from which it was planned",
        )
        for path in (scenario, *catalog, *rules, *filter(None, [earlier]))
        if not path.exists()
    ]
    refuse(missing)
    question = Question(scenario, catalog=catalog, rules=rules)
    inputs = question.inputs(options.variations, options.settings)
    return carried_over(inputs, read(earlier), earlier) if earlier else inputs


def _origins(recorded: Provenance, present: Provenance) -> Iterator[ChangedOrigin]:
    before, after = (
        {
            ("version", "planner", ""): made_by.planner_version,
            ("version", "solver", ""): made_by.solver,
            **{("file", path, role): digest for role, path, digest in made_by.files},
        }
        for made_by in (recorded, present)
    )
    for what, name, role in dict.fromkeys((*before, *after)):
        old, new = before.get((what, name, role)), after.get((what, name, role))
        if old != new:
            yield ChangedOrigin.model_validate(
                {"what": what, "name": name, "recorded": old, "present": new}
            )
