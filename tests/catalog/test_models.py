"""Model shapes agree with the parameters that stand beside them."""

from decimal import Decimal

import pytest

from planner.inputs.catalog.catalog import Catalog, Model


def feed_forward(model: Model, width: int) -> int:
    return (3 if model.gated_mlp else 2) * model.hidden * width


def parameters(model: Model, experts: int | None) -> int:
    """Weights that the shape implies: embeddings, attention, feed-forward, norms."""
    embeddings = model.vocab * model.hidden * (1 if model.tied_embeddings else 2)
    attention = 2 * model.hidden * model.head_dim * (model.heads + model.kv_heads)
    dense = feed_forward(model, model.intermediate or 0)
    if experts is None:
        blocks = model.layers * dense
    else:
        mixture = (
            experts * feed_forward(model, model.expert_intermediate or 0)
            + feed_forward(model, model.shared_expert_intermediate)
            + model.hidden * (model.experts or 0)
        )
        blocks = (model.layers - model.dense_layers) * mixture + model.dense_layers * dense
    return embeddings + model.layers * (attention + 2 * model.hidden) + blocks + model.hidden


def assert_counted(key: str, implied: int, stated_b: Decimal) -> None:
    wrong = abs(implied / (stated_b * 10**9) - 1) >= Decimal("0.02")
    assert not wrong, f"{key}: its shape has {implied / 10**9:g} billion parameters, not {stated_b}"


def test_parameters_of_dense_models_follow_from_their_shape_within_two_per_cent(
    catalog: Catalog,
) -> None:
    dense = {
        key: it
        for key, it in catalog.models.items()
        if it.experts is None and it.gated_mlp and it.attention == "gqa"
    }
    assert len(dense) >= 60
    for key, model in dense.items():
        assert model.intermediate is not None, key
        assert_counted(key, parameters(model, None), model.parameters_b)


def test_parameters_of_mixtures_follow_from_their_shape_and_so_do_those_used_per_token(
    catalog: Catalog,
) -> None:
    mixtures = {
        key: it for key, it in catalog.models.items() if it.experts and it.attention == "gqa"
    }
    assert len(mixtures) >= 12
    for key, model in mixtures.items():
        assert model.expert_intermediate is not None, key
        assert model.active_parameters_b is not None, key
        for experts, stated_b in (
            (model.experts, model.parameters_b),
            (model.experts_per_token, model.active_parameters_b),
        ):
            assert_counted(key, parameters(model, experts), stated_b)


@pytest.mark.parametrize(
    ("model", "published_b"),
    [
        ("deepseek-v3", 671),
        ("kimi-k2", 1026),
        ("glm-5", 744),
        ("minimax-m2.5", 229),
        ("llama-4-maverick", 400),
        ("qwen3.5-397b-a17b", 397),
        ("nemotron-3-super-120b-a12b", 120),
        ("granite-4.0-h-small", 32),
        ("qwen3.5-9b", "8.953803264"),
        ("lfm2-8b-a1b", "8.34"),
        ("lfm2-1.2b", "1.17"),
    ],
)
def test_parameters_of_models_with_another_attention_are_as_published(
    catalog: Catalog, model: str, published_b: int | str
) -> None:
    assert abs(catalog.models[model].parameters_b / Decimal(published_b) - 1) < Decimal("0.01")


def test_what_a_model_keeps_of_the_past_is_as_its_configuration_says(catalog: Catalog) -> None:
    gemma, deepseek = catalog.models["gemma-3-27b"], catalog.models["deepseek-v3"]
    assert (gemma.sliding_window, gemma.sliding_layers, gemma.whole_context_layers) == (
        1024,
        52,
        10,
    )
    assert (deepseek.kv_latent_dim, deepseek.whole_context_layers) == (576, 61)
    granite = catalog.models["granite-4.0-h-small"]
    assert (granite.layers, granite.whole_context_layers) == (40, 4)
    # 36 layers, each 128 heads of 64 x 128 and 3 inputs of 8192 + 2 x 128, at 16 bit
    state = 36 * 2 * (128 * 64 * 128 + 3 * (8192 + 256))
    assert granite.state_mb_per_sequence == Decimal(state).scaleb(-6)


def test_ids_are_lower_case_and_no_two_models_share_a_name(catalog: Catalog) -> None:
    assert all(key == key.lower() for key in catalog.models)
    names = [model.name.lower() for model in catalog.models.values()]
    assert len(names) == len(set(names))
