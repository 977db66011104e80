"""How the engines of an endpoint are run: with drafts of tokens, with prefill of its own."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from planner.inputs.base import AsFact, Frozen, NotNegative, PositiveCount, PositiveNumber, Share

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

    @model_validator(mode="after")
    def _one_acceptance(self) -> Speculative:
        if (self.acceptance is None) == (self.tokens_per_step is None):
            raise ValueError(
                "give either `acceptance` or `tokens_per_step`, as a trial with your own prompts "
                "logs it: nothing else says what a draft is worth"
            )
        most = self.draft_tokens + 1
        if self.tokens_per_step is not None and self.tokens_per_step > most:
            raise ValueError(
                f"a step gives at most the {self.draft_tokens:,} tokens that are proposed and one "
                f"of the model's own: {most:,}, not {self.tokens_per_step:f}"
            )
        return self

    @model_validator(mode="after")
    def _one_draft(self) -> Speculative:
        if (self.draft_model is None) == (self.draft_gb is None):
            raise ValueError(
                "give either `draft_model` or `draft_gb`: what proposes tokens takes memory and "
                "time (`draft_gb: 0` for n-gram)"
            )
        return self
