"""A bare parameter count of a stated family gives the shape that the family's models have."""

from fractions import Fraction

import pytest

from planner.inputs.catalog.catalog import Model
from planner.inputs.load import load_catalog, load_rules
from planner.inputs.rules.facts import FACTS
from planner.sizing.engine import Known, Reasoning

BOOK, _ = load_rules()
CATALOG, _ = load_catalog()

CURRENT = {
    "llama": ("llama-3-", "llama-3.1-", "llama-3.2-", "llama-3.3-"),
    "mistral": ("mistral-7b-v0.3", "mistral-large"),
    "qwen": ("qwen3-",),
    "granite": ("granite-3",),
    "gemma": ("gemma-3-",),
}
"""Ids of the generation whose shape each family has."""

MODELS = [
    (family, name)
    for family, prefixes in CURRENT.items()
    for name, model in CATALOG.models.items()
    if name.startswith(prefixes) and model.experts is None
]


def inferred(family: str, parameters_b: Fraction) -> Reasoning:
    return Reasoning(
        BOOK,
        {
            "family": Known(family, "text", "job"),
            "parameters_b": Known(parameters_b, "10^9 parameters", "job"),
        },
    )


def model_of(name: str) -> Model:
    return CATALOG.models[name]


def test_every_family_has_models_to_be_held_against() -> None:
    assert set(CURRENT) == set(FACTS["family"].choices)
    assert len(MODELS) >= 25
    assert {family for family, _ in MODELS} == set(CURRENT)


@pytest.mark.parametrize(("family", "name"), MODELS)
def test_the_shape_of_a_catalogued_model_follows_from_its_family_and_size(
    family: str, name: str
) -> None:
    model = model_of(name)
    reasoning = inferred(family, Fraction(model.parameters_b))
    for fact in ("layers", "hidden", "heads", "kv_heads", "head_dim", "intermediate", "vocab"):
        value = reasoning.number(fact)
        assert value is not None, fact
        assert abs(value / getattr(model, fact) - 1) <= Fraction(2, 100), fact
    assert reasoning.number("kv_layers") == model.whole_context_layers
    assert reasoning.number("sliding_layers") == model.sliding_layers
    assert reasoning.number("state_mb_per_sequence") == 0


@pytest.mark.parametrize("family", CURRENT)
@pytest.mark.parametrize("parameters_b", ["0.3", "1.5", "7", "9", "14", "24", "40", "100", "500"])
def test_heads_are_whole_and_shared_evenly_at_every_size(family: str, parameters_b: str) -> None:
    reasoning = inferred(family, Fraction(parameters_b))
    heads, kv_heads = reasoning.number("heads"), reasoning.number("kv_heads")
    assert heads is not None
    assert kv_heads is not None
    assert heads.denominator == 1
    assert heads % kv_heads == 0
    intermediate = reasoning.number("intermediate")
    assert intermediate is not None
    assert intermediate >= 64


def test_what_is_guessed_is_listed_as_an_assumption() -> None:
    layers = inferred("llama", Fraction(8)).derive("layers")
    assert layers is not None
    assert layers.assumed == ("Layers of a Llama of this size (shapes/layers-llama)",)


def test_without_a_family_nothing_is_inferred() -> None:
    facts = {"parameters_b": Known(Fraction(8), "10^9 parameters", "job")}
    assert Reasoning(BOOK, facts).derive("layers") is None
