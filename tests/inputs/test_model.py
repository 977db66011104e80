"""A model of the catalog cannot hold figures that contradict each other."""

from typing import Any

import pytest
from pydantic import ValidationError

from planner.errors import InputError
from planner.inputs.catalog.catalog import Catalog, Model, PriceBook
from planner.inputs.load import load_catalog
from planner.inputs.reading.diagnostics import validate_values
from planner.inputs.scenario.job import Job
from planner.sizing.subject import job_facts

PLAIN: dict[str, Any] = {
    "name": "our/model",
    "parameters_b": 8,
    "layers": 32,
    "hidden": 4096,
    "heads": 32,
    "kv_heads": 8,
    "head_dim": 128,
    "vocab": 32000,
    "max_context": 8192,
    "source": "model card",
}
MIXTURE = PLAIN | {"experts": 8, "experts_per_token": 2, "expert_intermediate": 14336}


@pytest.mark.parametrize(
    ("figures", "told"),
    [
        (PLAIN | {"kv_heads": 5}, "32 heads cannot share 5 KV heads evenly"),
        (PLAIN | {"active_parameters_b": 9}, "`active_parameters_b` 9 is more than all 8"),
        (PLAIN | {"experts_per_token": 2}, "without `experts` there is no"),
        (PLAIN | {"experts": 8}, "`experts` needs `experts_per_token` and `expert_intermediate`"),
        (MIXTURE | {"experts_per_token": 9}, "9 is more than all 8 experts"),
        (MIXTURE | {"dense_layers": 32}, "leaves none of 32 layers to experts"),
        (PLAIN | {"sliding_window": 4096}, "`sliding_window` and `sliding_layers` need each other"),
        (PLAIN | {"sliding_layers": 16}, "`sliding_window` and `sliding_layers` need each other"),
        (
            PLAIN | {"sliding_window": 4096, "sliding_layers": 16, "kv_layers": 17},
            "are more than all 32 layers",
        ),
        (PLAIN | {"attention": "hybrid"}, "attention `hybrid` needs `kv_layers`"),
        (PLAIN | {"attention": "mla"}, "attention `mla` needs `kv_latent_dim`"),
        (PLAIN | {"kv_latent_dim": 576}, "`kv_latent_dim` belongs to"),
        (PLAIN | {"state_mb_per_sequence": 10}, "`state_mb_per_sequence` belongs to"),
    ],
)
def test_a_contradiction_is_told(figures: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Model.model_validate(figures)
    assert told in str(caught.value)


def test_several_contradictions_are_told_at_once() -> None:
    with pytest.raises(InputError) as caught:
        validate_values(PLAIN | {"kv_heads": 5, "attention": "mla"}, Model, str)
    first, second = sorted(finding.message for finding in caught.value.findings)
    assert "evenly" in first
    assert "kv_latent_dim" in second


def facts_of(figures: dict[str, Any]) -> dict[str, Any]:
    shipped, _ = load_catalog()
    prices = PriceBook(header=shipped.prices.header)
    models = {"our": Model.model_validate(figures)}
    catalog = Catalog(sources={}, gpus={}, nodes={}, models=models, prices=prices)
    job = Job.model_validate({"serve": {"model": "our", "bits": 16}})
    return {name: known.value for name, known in job_facts(job, catalog).items()}


def test_rules_learn_what_a_dense_model_keeps_and_not_what_it_is_without() -> None:
    facts = facts_of(PLAIN)
    assert (facts["kv_layers"], facts["sliding_layers"], facts["state_mb_per_sequence"]) == (
        32,
        0,
        0,
    )
    assert facts["gated_mlp"] is True
    absent = {"experts", "dense_layers", "shared_expert_intermediate", "sliding_window"}
    assert not absent & facts.keys()
    assert not {"tied_embeddings", "kv_latent_dim", "native_bits", "intermediate"} & facts.keys()


def test_rules_learn_of_a_mixture_that_it_has_no_shared_expert() -> None:
    facts = facts_of(MIXTURE)
    assert (facts["experts"], facts["shared_expert_intermediate"], facts["dense_layers"]) == (
        8,
        0,
        0,
    )


def test_a_state_that_nobody_knows_stays_unknown() -> None:
    hybrid = PLAIN | {"attention": "hybrid", "kv_layers": 4}
    assert "state_mb_per_sequence" not in facts_of(hybrid)
    assert facts_of(hybrid | {"state_mb_per_sequence": 0})["state_mb_per_sequence"] == 0
    assert facts_of(hybrid)["kv_layers"] == 4


def test_layers_that_slide_do_not_keep_the_whole_context() -> None:
    facts = facts_of(PLAIN | {"sliding_window": 4096, "sliding_layers": 24})
    assert (facts["kv_layers"], facts["sliding_layers"], facts["sliding_window"]) == (8, 24, 4096)
