"""Steps of tiny models on the CPU; taken up where the extra `measure` is installed."""

import pytest

from planner.errors import InputError
from planner.exchange.training import observe
from planner.inputs.scenario.job import Tune

TINY = {
    "model_type": "llama",
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "intermediate_size": 64,
    "vocab_size": 128,
    "tie_word_embeddings": True,
}

pytestmark = pytest.mark.filterwarnings("default")


@pytest.mark.parametrize(
    "more",
    [
        {"method": "full", "precision": "bf16", "gradient_accumulation": 2},
        {"method": "full", "optimizer": "adamw-fused", "gradient_checkpointing": "off"},
        {"method": "lora", "adapter_targets": "mlp", "adapter_dora": True},
    ],
    ids=str,
)
def test_a_tiny_model_takes_its_steps_on_the_cpu(more):
    tune = Tune.model_validate({"model": "tiny", "batch": 2, "sequence": 8} | more)
    seen = observe(TINY, tune, 2, 1, device="cpu")
    assert seen.seconds_per_step is not None
    assert seen.allocated_bytes is None
    assert "torch" in seen.framework


def test_a_configuration_that_transformers_does_not_know_is_refused():
    tune = Tune.model_validate({"model": "tiny", "method": "lora", "batch": 2, "sequence": 8})
    with pytest.raises(InputError, match="transformers refuses the configuration"):
        observe({"model_type": "none-such"}, tune, 2, 1, device="cpu")
