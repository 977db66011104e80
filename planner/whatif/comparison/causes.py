"""Parts of the inputs by which two plans can differ, and inputs mixed from two sides of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from planner.whatif.comparison.sides import SideInputs

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

__all__ = ["CAUSES", "TITLES", "cause_of", "differing", "mixed"]

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


def differing(before: SideInputs, after: SideInputs) -> tuple[str, ...]:
    """Causes in which the two sides differ, in order."""
    return tuple(cause for cause in CAUSES if _part(before, cause) != _part(after, cause))


def _part(source: SideInputs, cause: str) -> object:
    data: dict[str, Any] = source.question.data
    offers: dict[tuple[str, str], Any] = {
        (section, name): offer
        for section in _PRICED
        for name, offer in data.get(section, {}).items()
    }
    if cause == "catalog":
        return source.catalog.model_copy(update={"prices": None})
    if cause == "rules":
        return source.rules
    if cause == "prices":
        stated = {name: _only(offer, _is_price) for name, offer in offers.items()}
        return source.catalog.prices, {name: prices for name, prices in stated.items() if prices}
    if cause == "offers":
        return {name: _only(offer, _is_no_price) for name, offer in offers.items()}
    return {k: v for k, v in data.items() if k not in TITLES and cause_of(k) == cause}


def _is_price(key: str) -> bool:
    return key in _PRICES


def _is_no_price(key: str) -> bool:
    return key not in _PRICES


def _only(offer: dict[str, Any], wanted: Callable[[str], bool]) -> dict[str, Any]:
    return {key: value for key, value in offer.items() if wanted(key)}


def mixed(before: SideInputs, after: SideInputs, taken: Collection[str]) -> SideInputs:
    """The inputs of `before`, with the parts of `after` that belong to the causes taken."""

    def side(cause: str) -> SideInputs:
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
    catalog = side("catalog").catalog.model_copy(update={"prices": side("prices").catalog.prices})
    question = replace(before.question, data=data, branch={})
    return SideInputs(question, catalog, side("rules").rules)


def _mixed_prices(offers: dict[str, Any], prices: dict[str, Any]) -> dict[str, Any]:
    """Offers with their prices from elsewhere; one that is not there keeps its own."""
    return {
        name: _only(offer, _is_no_price) | _only(prices.get(name, offer), _is_price)
        for name, offer in offers.items()
    }
