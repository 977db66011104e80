"""Model shapes agree with the parameters that stand beside them."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from planner.inputs.catalog import Catalog, Model

SHARED_EXPERTS = {"qwen1.5-moe-a2.7b", "deepseek-moe-16b"}


def parameters(model: Model, experts: int | None, expert_width: int) -> int:
    """Weights that the shape implies: embeddings, attention, feed-forward, norms."""
    embeddings = model.vocab * model.hidden * (1 if model.tied_embeddings else 2)
    attention = 2 * model.hidden * model.head_dim * (model.heads + model.kv_heads)
    matrices = 3 if model.gated_mlp else 2
    feed_forward = (experts or 1) * matrices * model.hidden * expert_width
    router = model.hidden * (model.experts or 0)
    layer = attention + feed_forward + router + 2 * model.hidden
    return embeddings + model.layers * layer + model.hidden


def test_more_than_eighty_models_are_there(catalog: Catalog) -> None:
    assert len(catalog.models) >= 80


@pytest.mark.parametrize(
    ("model", "parameters_b"),
    [
        ("llama-3.1-70b", "70.553706496"),
        ("llama-3.1-8b", "8.030261248"),
        ("llama-3.1-405b", "405.8533888"),
        ("llama-2-70b", "68.976648192"),
        ("granite-3.0-8b", "8.170848256"),
        ("mixtral-8x7b", "46.702792704"),
        ("qwen2.5-72b", "72.706203648"),
    ],
)
def test_parameters_are_exact(catalog: Catalog, model: str, parameters_b: str) -> None:
    assert catalog.models[model].parameters_b == Decimal(parameters_b)


def test_parameters_of_dense_models_follow_from_their_shape_within_two_per_cent(
    catalog: Catalog,
) -> None:
    dense = {key: it for key, it in catalog.models.items() if it.experts is None and it.gated_mlp}
    assert len(dense) >= 60
    for key, model in dense.items():
        assert model.intermediate is not None, key
        implied = parameters(model, None, model.intermediate)
        assert abs(implied / (model.parameters_b * 10**9) - 1) < Decimal("0.02"), key


def test_parameters_of_mixtures_follow_from_their_shape_and_so_do_those_used_per_token(
    catalog: Catalog,
) -> None:
    mixtures = {
        key: it for key, it in catalog.models.items() if it.experts and key not in SHARED_EXPERTS
    }
    assert len(mixtures) >= 7
    for key, model in mixtures.items():
        assert model.expert_intermediate is not None, key
        assert model.active_parameters_b is not None, key
        for experts, stated_b in (
            (model.experts, model.parameters_b),
            (model.experts_per_token, model.active_parameters_b),
        ):
            implied = parameters(model, experts, model.expert_intermediate)
            assert abs(implied / (stated_b * 10**9) - 1) < Decimal("0.02"), key


def test_only_mixtures_use_fewer_parameters_per_token_than_they_have(catalog: Catalog) -> None:
    for key, model in catalog.models.items():
        of_mixtures = (
            model.experts_per_token,
            model.expert_intermediate,
            model.active_parameters_b,
        )
        assert all(part is not None for part in of_mixtures) == bool(model.experts), key
        if model.active_parameters_b is not None:
            assert model.active_parameters_b < model.parameters_b, key


def test_heads_are_shared_evenly_and_a_window_is_narrower_than_the_context(
    catalog: Catalog,
) -> None:
    for key, model in catalog.models.items():
        assert model.heads % model.kv_heads == 0, key
        assert model.sliding_window is None or model.sliding_window < model.max_context, key


def test_ids_are_lower_case_and_no_two_models_share_a_name(catalog: Catalog) -> None:
    assert all(key == key.lower() for key in catalog.models)
    names = [model.name.lower() for model in catalog.models.values()]
    assert len(names) == len(set(names))


def test_a_context_that_the_source_does_not_state_is_an_assumption(catalog: Catalog) -> None:
    assert catalog.models["granite-3.1-8b"].basis == "assumption"
    assert catalog.models["granite-3.0-8b"].basis != "assumption"
