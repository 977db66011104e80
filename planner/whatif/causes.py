"""Why one plan costs more than another, cause by cause."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

from planner.errors import InfeasibleError, InputError, LimitError
from planner.inputs.base import Frozen
from planner.inputs.catalog.catalog import Catalog
from planner.inputs.load import inputs_from
from planner.inputs.reading.reader import parse_document
from planner.inputs.rules.book import RuleBook
from planner.inputs.settled import Inputs
from planner.planning.plan import Plan
from planner.planning.store import Saved


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


CAUSES = ("horizon", "fleet", "demand", "offers", "catalog", "prices", "rules", "policies")
"""In the order in which a waterfall takes them from one side to the other."""

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
"""Cause of each section; a key of an offer or an API that is in `_PRICES` is a price."""

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
    """The cause that a value of a section of the scenario belongs to; `key` is its last key."""
    if section in _PRICED and key in _PRICES:
        return "prices"
    return _SECTIONS[section]


def differing(before: Saved, after: Saved) -> tuple[str, ...]:
    """Causes in which the two sides differ, in order."""
    return tuple(cause for cause in CAUSES if _part(before, cause) != _part(after, cause))


def _part(side: Saved, cause: str) -> object:
    data: dict[str, Any] = side.question.data
    catalog, rules = facts_of(side)
    offers: dict[tuple[str, str], Any] = {
        (section, name): offer
        for section in _PRICED
        for name, offer in data.get(section, {}).items()
    }
    if cause == "catalog":
        return catalog.model_copy(update={"prices": None})
    if cause == "rules":
        return rules
    if cause == "prices":
        stated = {name: _only(offer, prices=True) for name, offer in offers.items()}
        return catalog.prices, {name: prices for name, prices in stated.items() if prices}
    if cause == "offers":
        return {name: _only(offer, prices=False) for name, offer in offers.items()}
    return {k: v for k, v in data.items() if k not in TITLES and cause_of(k) == cause}


def facts_of(side: Saved) -> tuple[Catalog, RuleBook]:
    """Catalog and rules of a side of which they are known."""
    assert side.inputs is not None
    return side.inputs.catalog_of_files, side.inputs.rules


def _only(offer: dict[str, Any], *, prices: bool) -> dict[str, Any]:
    """What is said of the price, or all else."""
    return {key: value for key, value in offer.items() if (key in _PRICES) == prices}


def mixed(before: Saved, after: Saved, taken: Collection[str]) -> Inputs:
    """The inputs of `before`, with the parts of `after` that belong to the causes taken.

    Raises InputError where the parts do not go together.
    """

    def side(cause: str) -> Saved:
        return after if cause in taken else before

    data: dict[str, Any] = {}
    for section in (*before.question.data, *after.question.data):
        source = side(cause_of(section)).question.data
        if section in source:
            data[section] = source[section]
    priced = side("prices").question.data
    for section in _PRICED:
        if section in data:
            data[section] = _mixed_prices(data[section], priced.get(section, {}))
    (catalog, _), (prices, _), (_, rules) = map(facts_of, map(side, ("catalog", "prices", "rules")))
    catalog = catalog.model_copy(update={"prices": prices.prices})
    question = replace(before.question, data=data, branch={})
    return inputs_from(question, lambda: (catalog, ()), lambda: (rules, ()))


def _mixed_prices(offers: dict[str, Any], prices: dict[str, Any]) -> dict[str, Any]:
    """Offers with their prices from elsewhere; one that is not there keeps its own."""
    return {
        name: _only(offer, prices=False) | _only(prices.get(name, offer), prices=True)
        for name, offer in offers.items()
    }


THE_REST = "planner"
"""Cause of a difference that no input explains: another version, or a gap that is not closed."""


class CauseStep(Frozen):
    """What one cause adds to the cost, given all the causes before it."""

    causes: tuple[str, ...]
    """More than one where no plan exists with only some of them."""
    added_cents: int
    cost_cents: int
    """Net present cost after this step."""
    status: str
    """`proved` or `not proved`: of the plan after this step."""


class Waterfall(Frozen):
    """The cost of one plan turned into that of the other; the steps add up exactly."""

    steps: tuple[CauseStep, ...]
    missing: str | None = None
    """Why there are no steps."""


def waterfall(before: Saved, after: Saved, planner: Callable[[Inputs], Plan]) -> Waterfall:
    """Exchange one cause after the other, planning each time.

    A step for which no plan exists, or whose parts do not go together, is joined to the next.
    """
    if before.inputs is None or after.inputs is None:
        return Waterfall(steps=(), missing=before.missing or after.missing)
    steps: list[CauseStep] = []
    cost = before.plan.proof.cost_cents
    end = after.plan.proof
    causes = differing(before, after)
    pending: list[str] = []
    for number, cause in enumerate(causes, 1):
        pending.append(cause)
        if number == len(causes):
            proof = end
        else:
            try:
                proof = planner(mixed(before, after, causes[:number])).proof
            except (InfeasibleError, InputError, LimitError):
                continue
        steps.append(
            CauseStep(
                causes=tuple(pending),
                added_cents=proof.cost_cents - cost,
                cost_cents=proof.cost_cents,
                status=proof.status,
            )
        )
        cost, pending = proof.cost_cents, []
    if cost != end.cost_cents:
        steps.append(
            CauseStep(
                causes=(THE_REST,),
                added_cents=end.cost_cents - cost,
                cost_cents=end.cost_cents,
                status=end.status,
            )
        )
    return Waterfall(steps=tuple(steps))
