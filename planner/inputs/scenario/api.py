"""APIs that answer requests for a price by the token, with no node of one's own."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from planner.inputs.base import Day, Frozen, Name, Number, PositiveNumber
from planner.inputs.scenario.spelling import Quarters

if TYPE_CHECKING:
    from planner.inputs.scenario.load import Load

_MILLION = 10**6

TokenPrice = Annotated[Number, Field(ge=0, le=10**5)]
"""USD for a million tokens."""


class Api(Frozen):
    """An API that serves one model."""

    model: str
    """Model id of the catalog; the API takes jobs that serve this model without adapters."""
    usd_per_million_input_tokens: TokenPrice
    """Price of a million tokens of prompts."""
    usd_per_million_output_tokens: TokenPrice
    """Price of a million tokens of answers."""
    usd_per_million_cached_tokens: TokenPrice | None = None
    """Price of a million tokens of prompts that its prefix cache holds (`load.cached_input`); as
    other prompts if left out."""
    requests_per_second: PositiveNumber | None = None
    """Rate limit at the peak, of all jobs together; none if left out."""
    available: Quarters = None
    """Quarters in which it can be used; all if left out."""
    price_date: Day | None = None
    """Day of the prices; old ones draw a warning."""
    quote: Name | None = None
    """Contract or price list; prices without one count as illustrative."""

    def usd_per_request(self, load: Load) -> Fraction:
        """What one request of mean length costs, USD."""
        cached = Fraction(load.cached_input) * load.input_tokens
        fresh = self.usd_per_million_input_tokens
        again = self.usd_per_million_cached_tokens
        return (
            (load.input_tokens - cached) * Fraction(fresh)
            + cached * Fraction(fresh if again is None else again)
            + load.output_tokens * Fraction(self.usd_per_million_output_tokens)
        ) / _MILLION
