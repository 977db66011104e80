"""What alternatives and sensitivity come to, as data that is kept beside a plan.

A result is sealed, and says which question it answers: a report reads it and plans nothing.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Literal, TypeVar

from pydantic import ValidationError

from planner.errors import Finding, InputError
from planner.inputs.base import Frozen
from planner.inputs.layers.override import Override
from planner.inputs.layers.written import stated
from planner.inputs.reading.reader import parse_document
from planner.planning.store import digest_of, each_once
from planner.whatif.plan_summary import JobShort, PlanSummary

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planner.inputs.settled import Inputs
    from planner.planning.plan import Plan

K = TypeVar("K", bound="StoredResult")

FORMAT = "1.0"
"""Minor: additive. Major: readers refuse."""


class StoredResult(Frozen):
    """A result that says what was asked."""

    format: str = FORMAT
    question: str
    """sha256 of the scenario with all its changes, the catalog and the rules."""


def question_of(asked: Inputs) -> str:
    """What is asked, for a result; the same whatever the files are called."""
    return _digest(asked.question, ((file.role, file.sha256) for file in asked.files))


def question_behind(plan: Plan) -> str:
    """What a plan was asked."""
    return _digest(plan.question, ((role, sha) for role, _, sha in plan.provenance.files))


def _digest(question: str, files: Iterable[tuple[str, str]]) -> str:
    # Neither the order of keys nor the place where a value was written is asked about.
    data = parse_document(question, "scenario").data if question else {}
    facts = sorted(file for file in files if file[0] in ("catalog", "rules"))
    return sha256(repr((stated(data), facts)).encode()).hexdigest()


def dumps(found: StoredResult) -> str:
    """Write a result as JSON, with the digest of all else under `digest`."""
    document = found.model_dump(mode="json")
    return json.dumps({**document, "digest": digest_of(document)}, indent=1) + "\n"


def loads(kind: type[K], text: str, shown_as: str) -> K:
    """Read what `dumps` wrote; raises InputError for what is none, or was changed since."""
    try:
        document = json.loads(text, object_pairs_hook=each_once(text, shown_as))
        digest = document.pop("digest")
        if digest != digest_of(document):
            raise InputError(Finding("was changed after the planner had written it", shown_as))
        return kind.model_validate_json(json.dumps(document))
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError, ValidationError):
        words = f"is no {kind.__name__.lower()} as this planner writes it"
        raise InputError(Finding(words, shown_as, hint="make it again")) from None


class Best(Frozen):
    """What was reached, and what is proved of all plans within the tolerance."""

    value: float
    bound: float
    """None of them has less; of headroom: none has more."""
    unit: Literal["node types", "% free", "W", "quarters waited", "moves"]


class AlternativePlan(Frozen):
    """One plan beside the cheapest."""

    name: str
    objective: str
    """What it is best in, or what it asks."""
    settings: tuple[Override, ...] = ()
    """With which `planner plan` makes this plan; empty for goals that are no setting."""
    figures: PlanSummary | None = None
    best: Best | None = None
    """How good it is in that, where that is a number, and how good any could be."""
    left_out: str | None = None
    """Why there is no such plan here."""
    units_short: tuple[JobShort, ...] | None = None
    """Doing nothing: the fewest units that the owned nodes do not hold, each quarter by itself; by
    job, of which some are. None for others, and where the time ended before it was known."""


class Alternatives(StoredResult):
    """A scenario's cheapest plan, and others."""

    scenario: str
    within: float | None
    """Share by which near-optimal plans may cost more than the cheapest; None: not asked."""
    quarters: tuple[str, ...] = ()
    """Labels."""
    cheapest: PlanSummary
    others: tuple[AlternativePlan, ...]


class Moved(Frozen):
    """A plan with one figure moved."""

    by: float
    """Share of the value, or weeks; negative: down."""
    settings: tuple[Override, ...]
    """With which `planner plan` makes this plan."""
    figures: PlanSummary


class SwitchingPoint(Frozen):
    """Between these two the recommendation changes."""

    before: Moved
    """Nearer to the scenario; acquires what its plan does."""
    after: Moved


class Swing(Frozen):
    """One figure, moved down and up."""

    name: str
    unit: Literal["share", "weeks"]
    stated: str
    low: Moved
    high: Moved
    turns: tuple[SwitchingPoint, ...]
    """At most one each way: the nearest that was found."""

    @property
    def spread_cents(self) -> int | None:
        """How far apart the costs are; None where an end has no plan."""
        ends = (self.low.figures.cost_cents, self.high.figures.cost_cents)
        return None if None in ends else abs((ends[1] or 0) - (ends[0] or 0))

    @property
    def without_plan(self) -> tuple[Moved, ...]:
        """Where there is no plan: the least move that was tried, at most one each way."""
        tried = (self.low, self.high, *(turn.after for turn in self.turns))
        gone = [one for one in tried if one.figures.cost_cents is None]
        ways = ([one for one in gone if one.by < 0], [one for one in gone if one.by > 0])
        return tuple(min(way, key=lambda one: abs(one.by)) for way in ways if way)


class Corner(Frozen):
    """A plan with two figures moved as far as each is moved alone."""

    first_by: float
    """Share of the value, or weeks; negative: down."""
    second_by: float
    settings: tuple[Override, ...]
    """With which `planner plan` makes this plan."""
    figures: PlanSummary
    interplay_cents: int | None
    """What both together add to the cost beyond what each adds alone; None where one of the four
    plans that this takes does not exist."""


class Pair(Frozen):
    """Two figures, moved together."""

    first: str
    second: str
    corners: tuple[Corner, ...]
    """Both down, the second up, the first up, both up."""


class Sensitivity(StoredResult):
    """One scenario, figure by figure: first what leaves no plan, then the widest swing."""

    scenario: str
    swing: float
    """Share by which values are moved either way."""
    weeks: int
    """Weeks by which lead times are."""
    precision: float
    """Turns are closed in to this share of the value."""
    base: PlanSummary
    swings: tuple[Swing, ...]
    pairs: tuple[Pair, ...] = ()
    """Of the figures that come first above."""
