"""Plans in short, and results that are kept beside a plan.

A result that is kept beside a plan is sealed, and says which question it answers: a report reads it
and plans nothing.
"""

from __future__ import annotations

import json
import operator
from collections import Counter
from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import Literal, TypeVar

from pydantic import Field, ValidationError

from planner.errors import CheckError, ExitCode, Finding, InfeasibleError, InputError, LimitError
from planner.inputs.base import Frozen
from planner.inputs.layers import stated
from planner.inputs.reading.locate import USED
from planner.inputs.reading.reader import parse_document
from planner.inputs.scenario.offer import OfferKind
from planner.inputs.settled import Inputs
from planner.planning.plan import Plan
from planner.planning.store import digest_of, each_once

PlanOutcome = Literal["proved", "not proved", "infeasible", "no plan in time", "failed its check"]

_EXIT_CODES: dict[PlanOutcome, ExitCode] = {
    "proved": ExitCode.PROVED,
    "not proved": ExitCode.LIMIT,
    "infeasible": ExitCode.INFEASIBLE,
    "no plan in time": ExitCode.LIMIT,
    "failed its check": ExitCode.UNVERIFIED,
}


class Acquired(Frozen):
    """Nodes of one offer that enter service in one quarter."""

    quarter: str
    kind: OfferKind
    offer: str
    node_type: str
    site: str
    count: int
    """Nodes, or hours or terms of nodes where they come and go within a quarter."""
    step_hours: int | None = None
    """Hours of one of them there."""
    chosen: bool = False
    """Whether the offer is for other sites, too."""


class JobShort(Frozen):
    """Units of one job that find no room, quarter by quarter."""

    job: str
    """Of the scenario, or the deployment derived from one."""
    asked: tuple[int, ...]
    short: tuple[int, ...]


class PlanSummary(Frozen):
    """One plan in short, or why there is none."""

    result: PlanOutcome
    reason: str = ""
    """In the user's words, where there is no plan."""
    cost_cents: int | None = None
    """Net present cost; None here and below where there is no plan."""
    bound_cents: int | None = None
    """No plan costs less."""
    capex_cents: int | None = None
    """Purchases within the horizon, not discounted."""
    rent_cents: int | None = None
    """Rents and reservations within the horizon, not discounted."""
    committed_cents: int | None = None
    """What reservations cost after the horizon; in no other figure."""
    order_by: str | None = None
    """ISO date of the first order; None also where nothing is acquired."""
    acquired: tuple[Acquired, ...] = ()
    """By quarter of entry, then by offer."""
    on_apis: tuple[str, ...] = Field(default=(), exclude_if=operator.not_)
    """Jobs whose requests an API answers; left out where none is."""
    nodes: int | None = None
    """In service in the quarter in which most are, owned ones included."""
    node_types: int | None = None
    """Different ones among the nodes in service."""
    gpus: int | None = None
    """In service in the last quarter."""
    gpus_held: int | None = None
    """Of these, those that jobs hold."""
    gpus_idle: float | None = None
    """Share of the GPU-hours in service that no job holds."""
    power_w: int | None = None
    """By nameplates, in the quarter with the most; None where the catalog lacks one of them."""
    drawn_w: int | None = None
    """What the nodes in service draw under load, mean over the quarters; None as for `power_w`."""
    moves: int | None = None
    """Units that change node when a quarter begins."""
    short: tuple[str, ...] = ()
    """Jobs that give way."""
    dropped: tuple[str, ...] = ()
    """Those of them that run in no quarter; the others start later, or are short of units."""
    units_short: tuple[JobShort, ...] = Field(default=(), exclude_if=operator.not_)
    """Those of them that are short of units; left out where none is."""
    short_quarters: tuple[str, ...] | None = None
    """Quarters in which nodes that were committed before do not hold all jobs; None where nobody
    asked, or the time ended before it was known."""

    @property
    def giving_way(self) -> tuple[tuple[str, ...], tuple[JobShort, ...]]:
        """Who gives way, and who is short of which units."""
        return self.short, self.units_short

    @property
    def given_way(self) -> tuple[int, int]:
        """Jobs that give way, and units that jobs are short of, each once for each quarter."""
        return len(self.short), sum(sum(one.short) for one in self.units_short)

    @property
    def exit_code(self) -> ExitCode:
        """How `planner plan` would end."""
        return _EXIT_CODES[self.result]


def require_plan(figures: PlanSummary, what: str) -> None:
    """Raise, in place of a plan that is needed, what planning would have raised."""
    words = f"{what}: {figures.reason}"
    if figures.result == "infeasible":
        raise InfeasibleError(words, ())
    if figures.result == "no plan in time":
        raise LimitError(words)
    if figures.result == "failed its check":
        raise CheckError((words,))


def tried(planner: Callable[[], Plan]) -> PlanSummary:
    """Plan, and say in place of a plan why there is none; raises InputError alone."""
    try:
        return summary_of(planner())
    except InfeasibleError as error:
        return PlanSummary(result="infeasible", reason=error.cause)
    except LimitError as error:
        return PlanSummary(result="no plan in time", reason=str(error))
    except CheckError as error:
        return PlanSummary(result="failed its check", reason=error.violations[0])


def summary_of(plan: Plan) -> PlanSummary:
    """The figures of a plan."""
    acquired = [
        Acquired(
            quarter=line.quarter,
            kind=line.kind,
            offer=line.offer,
            node_type=line.node_type,
            site=line.site,
            count=line.count,
            step_hours=line.step_hours,
            chosen=bool(line.sites),
        )
        for line in sorted(plan.acquisitions, key=lambda line: (line.quarter, line.offer))
    ]
    staying = [node for node in plan.nodes if not node.hours]
    in_service = Counter(quarter for node in staying for quarter in node.in_service)
    short = plan.shortage.jobs if plan.shortage else ()
    hours = sum(sum(pool.gpu_hours) for pool in plan.pools)
    held = sum(sum(pool.gpu_hours_used) for pool in plan.pools)
    nameplates, draws = _taken(plan, "power_w"), _taken(plan, "mean_power_w")
    return PlanSummary(
        result=plan.proof.status,
        cost_cents=plan.proof.cost_cents,
        bound_cents=plan.proof.bound_cents,
        capex_cents=sum(line.total_cents for line in plan.acquisitions if line.kind == "buy"),
        rent_cents=sum(line.total_cents for line in plan.acquisitions if line.kind != "buy"),
        committed_cents=sum(line.committed_cents for line in plan.acquisitions),
        order_by=min((line.order_by for line in plan.acquisitions), default=None),
        acquired=tuple(acquired),
        on_apis=tuple(job.name for job in plan.jobs if job.on_apis),
        nodes=max(in_service.values(), default=0),
        node_types=len({node.node_type for node in plan.nodes if node.in_service}),
        gpus=sum(pool.gpus[-1] for pool in plan.pools),
        gpus_held=sum(pool.gpus_used[-1] for pool in plan.pools),
        gpus_idle=round(1 - held / hours, 6) if hours else 0.0,
        power_w=None if nameplates is None else max(nameplates.values(), default=0),
        drawn_w=None if draws is None else round(sum(draws.values()) / len(plan.quarters)),
        moves=sum(plan.moves),
        short=tuple(job.name for job in short),
        dropped=tuple(job.name for job in short if job.outcome == "dropped"),
        units_short=tuple(
            JobShort(job=job.name, asked=job.asked, short=job.short)
            for job in short
            if any(job.short)
        ),
    )


def _taken(plan: Plan, need: str) -> Counter[str] | None:
    """What the nodes in service take in each quarter; None where the catalog lacks one of them."""
    each = {facts.node_type: facts.takes.get(need) for facts in plan.node_types}
    taken: Counter[str] = Counter()
    for node in (node for node in plan.nodes if not node.hours):
        amount = each.get(node.node_type)
        if amount is None:
            return None
        for quarter in node.in_service:
            taken[quarter] += amount
    return taken


K = TypeVar("K", bound="StoredResult")

FORMAT = "2.0"
"""Minor: additive changes. Major: older readers refuse the file."""


class StoredResult(Frozen):
    """A result that says what was asked."""

    format: str = FORMAT
    question: str
    """sha256 of the scenario with all its changes, the catalog and the rules."""
    scenario: str


def question_of(asked: Inputs) -> str:
    """What is asked, for a result; the same whatever the files are called."""
    return _digest(asked.question, ((file.role, file.sha256) for file in asked.files))


def question_behind(plan: Plan) -> str:
    """What a plan was asked."""
    return _digest(plan.question, ((role, sha) for role, _, sha in plan.provenance.files))


def _digest(question: str, files: Iterable[tuple[str, str]]) -> str:
    # Neither the order of keys nor the place where a value was written is asked about.
    data = parse_document(question, "scenario").data if question else {}
    facts = sorted(file for file in files if file[0] in USED)
    return sha256(repr((stated(data), facts)).encode()).hexdigest()


def dumps(found: StoredResult) -> str:
    """Write a result as JSON, with the digest of all else under `digest`."""
    document = found.model_dump(mode="json")
    return json.dumps({**document, "digest": digest_of(document)}, indent=1) + "\n"


def loads(kind: type[K], text: str, shown_as: str) -> K:
    """Read what `dumps` wrote; raises InputError for what is none, or was changed since."""
    try:
        document = json.loads(text, object_pairs_hook=each_once(shown_as))
        found, own = document["format"], kind.model_fields["format"].default
        if found.partition(".")[0] != own.partition(".")[0]:
            told = f"has format {found}, this planner reads {own}"
            raise InputError(Finding(told, shown_as, hint="make it again"))
        digest = document.pop("digest")
        if digest != digest_of(document):
            raise InputError(Finding("was changed after the planner had written it", shown_as))
        return kind.model_validate_json(json.dumps(document))
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError, ValidationError):
        words = f"is no {kind.__name__.lower()} as this planner writes it"
        raise InputError(Finding(words, shown_as, hint="make it again")) from None
