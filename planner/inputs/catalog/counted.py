"""Parameters that a written shape has, to hold against those that stand beside it."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from planner.inputs.text.words import count_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.inputs.catalog.catalog import Model

__all__ = ["Counted", "counted_parameters", "shape_faults"]

_RECURRENCE = 8
"""What the matrices of one recurrent layer hold at the most, in squares of the model's width."""
_SLACK = Decimal("1.25")
"""What is counted beside the decoder, or rounded in a name, is less than a quarter of a model."""


class Counted(NamedTuple):
    """Between how many billions (10^9) the weights of a shape are; equal where it tells all."""

    least_b: Decimal
    most_b: Decimal

    def __str__(self) -> str:
        """`70.6`, `11.2 to 37.5`, `at least 4.3`."""
        if not self.most_b.is_finite():
            return f"at least {self.least_b:,.4g}"
        return " to ".join(dict.fromkeys((f"{self.least_b:,.4g}", f"{self.most_b:,.4g}")))


def shape_faults(model: Model) -> Iterator[tuple[str, str]]:
    """Parameters that cannot be those of the shape beside them: the key, and both figures."""
    for key, experts in (
        ("parameters_b", model.experts),
        ("active_parameters_b", model.experts_per_token),
    ):
        stated: Decimal | None = getattr(model, key)
        if stated is not None and (experts is not None or key == "parameters_b"):
            counted = counted_parameters(model, experts)
            if not counted.least_b / _SLACK <= stated <= counted.most_b * _SLACK:
                shape = f"{count_of(model.layers, 'layer')}, {model.hidden:,} wide"
                told = f"{stated:f} billion do not fit the shape ({shape}), which has {counted}"
                yield key, told


def counted_parameters(model: Model, experts: int | None) -> Counted:
    """Count matrices: embeddings, attention, feed-forward; of a mixture so many of its experts.

    Where the shape leaves something open, such as whether the embeddings are one matrix or what
    stands in a recurrent layer, the least and the most differ.
    """
    hidden, attending = model.hidden, model.layers
    blocks = fewest = _blocks(model, experts)
    least, most = _attention(model)
    if model.attention == "hybrid":
        fewest, attending = 0, model.kv_layers or 0
        most += _RECURRENCE * hidden * hidden
    embeddings = model.vocab * hidden
    matrices = {True: (1, 1), False: (2, 2), None: (1, 2)}[model.tied_embeddings]
    lower = embeddings * matrices[0] + fewest + attending * least
    upper = embeddings * matrices[1] + blocks + model.layers * most
    is_known = model.intermediate is not None or model.experts is not None
    return Counted(
        Decimal(lower).scaleb(-9), Decimal(upper).scaleb(-9) if is_known else Decimal("Infinity")
    )


def _blocks(model: Model, experts: int | None) -> int:
    """Feed-forward blocks of all layers."""
    matrices = (3 if model.gated_mlp else 2) * model.hidden
    dense = matrices * (model.intermediate or 0)
    if experts is None:
        return model.layers * dense
    routing = model.hidden * (model.experts or 0)
    width = experts * (model.expert_intermediate or 0) + model.shared_expert_intermediate
    mixture = matrices * width + routing
    return (model.layers - model.dense_layers) * mixture + model.dense_layers * dense


def _attention(model: Model) -> tuple[int, int]:
    """The matrices of one layer: of a latent attention, its ranks are not known."""
    queries = model.hidden * model.head_dim * model.heads
    if model.kv_latent_dim is None:
        whole = 2 * (queries + model.hidden * model.head_dim * model.kv_heads)
        return whole, whole
    latent = model.kv_latent_dim * model.hidden
    widened = 2 * model.kv_latent_dim * model.heads * model.head_dim
    return latent + queries // 2, latent + 2 * queries + widened
