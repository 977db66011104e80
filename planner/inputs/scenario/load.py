"""An endpoint: what arrives by quarter, how long its users wait, and how its engines are run."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from planner.inputs.base import (
    LARGEST_COUNT_PER_QUARTER,
    AsFact,
    Count,
    Frozen,
    NotNegative,
    PositiveCount,
    PositiveNumber,
    Share,
    exactly_one,
    whole,
)
from planner.inputs.scenario.horizon import ByQuarter, Horizon, in_force

TRAFFIC = ("requests_per_second", "tokens_per_day", "users")
"""Keys of a load that say how much arrives; one of them stands."""

DAY_SECONDS = 86_400
HOUR_SECONDS = 3_600

RateByQuarter = ByQuarter[PositiveNumber, NotNegative]

Percentile = Annotated[Literal[50, 90, 95, 99], BeforeValidator(whole)]


class LengthPercentiles(Frozen):
    """Tokens that so many of a hundred prompts, or answers, do not exceed; any of them."""

    p50: PositiveCount | None = None
    """Tokens of the median."""
    p90: PositiveCount | None = None
    """Tokens that ten of a hundred exceed."""
    p95: PositiveCount | None = None
    """Tokens that five of a hundred exceed."""
    p99: PositiveCount | None = None
    """Tokens that one of a hundred exceeds."""

    @property
    def stated(self) -> dict[str, int]:
        """Those that are stated, by their names."""
        tokens = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: one for name, one in tokens.items() if one is not None}

    @property
    def longest(self) -> int:
        """Tokens of the highest one; 0 where none is known."""
        return max(self.stated.values(), default=0)

    def at(self, percentile: int) -> int | None:
        """Tokens at one of them, None if it is not stated."""
        return self.stated.get(f"p{percentile}")

    @model_validator(mode="after")
    def _ascending(self) -> LengthPercentiles:
        tokens = [*self.stated.values()]
        if not tokens:
            raise ValueError("give at least one of `p50`, `p90`, `p95` and `p99`")
        if tokens != sorted(tokens):
            raise ValueError("a higher percentile has at least as many tokens as a lower one")
        return self


class Load(Frozen):
    """What arrives at an endpoint; with it the replicas follow from throughput and latency."""

    requests_per_second: Annotated[RateByQuarter | None, AsFact("requests/s")] = None
    """Requests per second over all replicas."""
    tokens_per_day: Annotated[RateByQuarter | None, AsFact("tokens/day")] = None
    """Tokens per day, prompts and answers together; in place of requests."""
    users: Annotated[RateByQuarter | None, AsFact("users")] = None
    """Users at work at the same time; with `requests_per_user_hour`, in place of requests."""
    requests_per_user_hour: Annotated[PositiveNumber | None, AsFact("requests/h")] = None
    """Requests that one of these users sends in an hour."""
    growth_per_quarter: Annotated[Share, Field(gt=-1, le=LARGEST_COUNT_PER_QUARTER)] | None = None
    """Growth of the traffic from quarter to quarter, from the first active one on; not beside
    figures by quarter."""
    peak_to_mean: Annotated[PositiveNumber, Field(ge=1, le=1000)] = Field(
        default=1, validate_default=True
    )
    """Traffic of the busiest minutes, for which replicas are planned, over the figure above."""
    arrivals_cv: Annotated[NotNegative, Field(le=100), AsFact("ratio")] = Field(
        default=1, validate_default=True
    )
    """Coefficient of variation of the gaps between requests: 1 is Poisson, more is bursts."""
    input_tokens: Annotated[PositiveCount, AsFact("tokens")]
    """Mean tokens of one request."""
    input_percentiles: LengthPercentiles | None = None
    """How long requests get, `{p50: 600, p95: 4000}`: the longer wait longer for their answer."""
    input_cv: Annotated[NotNegative, Field(le=100), AsFact("ratio")] = Field(
        default=0, validate_default=True
    )
    """Coefficient of variation of the tokens of requests: 0 is all alike."""
    image_tokens: Annotated[Count, AsFact("tokens")] = 0
    """Those of `input_tokens` that images become, which the tower of the model computes first."""
    output_tokens: Annotated[Count, AsFact("tokens")]
    """Mean tokens of one answer; 0 where a text is embedded, ranked or classified."""
    output_percentiles: LengthPercentiles | None = None
    """How long answers get; the longer ones end later."""
    cached_input: Annotated[Share, Field(ge=0, lt=1), AsFact("share")] = Field(
        default=0, validate_default=True
    )
    """Share of the prompts' tokens that the prefix cache holds."""

    @model_validator(mode="after")
    def _one_figure(self) -> Load:
        stated = [name for name in TRAFFIC if getattr(self, name) is not None]
        if len(stated) != 1:
            raise ValueError(
                "give one of `requests_per_second`, `tokens_per_day` and `users`"
                + (f", not {' and '.join(f'`{name}`' for name in stated)}" if stated else "")
            )
        if (self.users is None) != (self.requests_per_user_hour is None):
            raise ValueError("`users` and `requests_per_user_hour` go together")
        if self.image_tokens > self.input_tokens:
            raise ValueError(
                f"`image_tokens` ({self.image_tokens:,}) are a part of `input_tokens`, which are "
                f"{self.input_tokens:,}"
            )
        if self.output_percentiles is not None and not self.output_tokens:
            raise ValueError("`output_percentiles` are of answers, and `output_tokens: 0` has none")
        if isinstance(self._stated, dict) and self.growth_per_quarter is not None:
            raise ValueError(
                f"`{stated[0]}` by quarter already says how traffic grows; leave out "
                "`growth_per_quarter`, or give one figure"
            )
        return self

    @property
    def _stated(self) -> Decimal | dict[str, Decimal]:
        return self.requests_per_second or self.tokens_per_day or self.users or {}

    def times(self, share: Fraction) -> Load:
        """The same with a share of its traffic."""
        key = next(name for name in TRAFFIC if getattr(self, name) is not None)
        part, stated = Decimal(share.numerator) / share.denominator, self._stated
        if isinstance(stated, dict):
            return self.model_copy(update={key: {at: one * part for at, one in stated.items()}})
        return self.model_copy(update={key: stated * part})

    def peaks(self, horizon: Horizon | None = None, begins: int = 0) -> tuple[Fraction, ...]:
        """Requests per second at the peak of each quarter; without a horizon the highest alone.

        `begins` is the quarter from 0 from which on the traffic grows, none before it.
        """
        # requests per second at the peak for each one of the figure that is stated
        stated, each = self._stated, Fraction(self.peak_to_mean)
        if self.tokens_per_day is not None:
            each /= DAY_SECONDS * (self.input_tokens + self.output_tokens)
        elif self.requests_per_user_hour is not None:
            each *= Fraction(self.requests_per_user_hour) / HOUR_SECONDS
        if horizon is None:
            figures = stated.values() if isinstance(stated, dict) else (stated,)
            return (Fraction(max(figures)) * each,)
        growth = 1 + Fraction(self.growth_per_quarter or 0)
        return tuple(
            Fraction(in_force(stated, quarter) or 0) * growth ** max(0, number - begins) * each
            for number, quarter in enumerate(horizon.all_quarters)
        )


class Latency(Frozen):
    """How long users will wait; any of the three figures."""

    ttft_ms: Annotated[PositiveNumber | None, AsFact("ms", fact="ttft_target_ms")] = None
    """Time to the first token."""
    tpot_ms: Annotated[PositiveNumber | None, AsFact("ms", fact="tpot_target_ms")] = None
    """Time per output token after the first."""
    e2e_ms: Annotated[PositiveNumber | None, AsFact("ms", fact="e2e_target_ms")] = None
    """Time to the end of an answer of mean length."""
    percentile: Annotated[Percentile, AsFact("percentile", fact="latency_percentile")] = 95
    """Percentile of the latency: the share of the requests that must be as quick."""

    @model_validator(mode="after")
    def _some_target(self) -> Latency:
        if self.ttft_ms is None and self.tpot_ms is None and self.e2e_ms is None:
            raise ValueError("give at least one of `ttft_ms`, `tpot_ms` and `e2e_ms`")
        if self.ttft_ms is not None and self.e2e_ms is not None and self.e2e_ms < self.ttft_ms:
            raise ValueError(
                f"an answer ends no sooner than its first token comes: `e2e_ms` "
                f"({self.e2e_ms:f}) is less than `ttft_ms` ({self.ttft_ms:f})"
            )
        return self

    @property
    def targets_ms(self) -> dict[str, Decimal]:
        """What is stated, by its key."""
        stated = {"ttft_ms": self.ttft_ms, "tpot_ms": self.tpot_ms, "e2e_ms": self.e2e_ms}
        return {key: ms for key, ms in stated.items() if ms is not None}

    def times(self, factor: Fraction) -> Latency:
        """The same with targets so many times as long."""
        part = Decimal(factor.numerator) / factor.denominator
        longer = {key: ms * part for key, ms in self.targets_ms.items()}
        return self.model_copy(update=longer)


_Engines = Annotated[PositiveCount, Field(le=64)]


class Disaggregated(Frozen):
    """Prefill and decode on engines of their own, side by side in each replica."""

    prefill_engines: Annotated[_Engines | None, AsFact("engines")] = None
    """Engines of each replica that take prompts in; chosen on each GPU type if left out."""
    decode_engines: Annotated[_Engines | None, AsFact("engines")] = None
    """Engines of each replica that decode; goes with `prefill_engines`."""

    @model_validator(mode="after")
    def _both(self) -> Disaggregated:
        if (self.prefill_engines is None) != (self.decode_engines is None):
            raise ValueError(
                "give both `prefill_engines` and `decode_engines`, or neither, to have them chosen"
            )
        return self


class Speculative(Frozen):
    """Speculative decoding: a draft proposes tokens, the model verifies them in one step."""

    draft_tokens: Annotated[PositiveCount, Field(le=64), AsFact("tokens")]
    """Tokens that a draft proposes for each step (`num_speculative_tokens`), one after the
    other."""
    acceptance: Annotated[
        Annotated[Share, Field(ge=0, le=1)] | None, AsFact("share", fact="draft_acceptance")
    ] = None
    """Share of the proposed tokens that the model accepts, as engines log it; or give
    `tokens_per_step`."""
    tokens_per_step: Annotated[Annotated[PositiveNumber, Field(ge=1)] | None, AsFact("tokens")] = (
        None
    )
    """Tokens that a step gives on the average, the model's own among them: the acceptance length
    that engines log."""
    draft_model: Annotated[str | None, AsFact()] = None
    """Model of the catalog that proposes tokens; or give `draft_gb`."""
    draft_gb: Annotated[NotNegative | None, AsFact("GB")] = None
    """Weights of the draft as loaded (EAGLE, Medusa, MTP); 0 where it is looked up in the prompt
    (n-gram)."""

    _one_acceptance = exactly_one(
        "acceptance",
        "tokens_per_step",
        told="give either `acceptance` or `tokens_per_step`, as a trial with your own prompts logs "
        "it: nothing else says what a draft is worth",
    )
    _one_draft = exactly_one(
        "draft_model",
        "draft_gb",
        told="give either `draft_model` or `draft_gb`: what proposes tokens takes memory and time "
        "(`draft_gb: 0` for n-gram)",
    )

    @model_validator(mode="after")
    def _no_more_than_a_step_gives(self) -> Speculative:
        most = self.draft_tokens + 1
        if self.tokens_per_step is not None and self.tokens_per_step > most:
            raise ValueError(
                f"a step gives at most the {self.draft_tokens:,} tokens that are proposed and one "
                f"of the model's own: {most:,}, not {self.tokens_per_step:f}"
            )
        return self
