"""What one job says that contradicts itself, or the model that it names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from planner.inputs.checks.faults import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.inputs.catalog.catalog import Catalog, Model
    from planner.inputs.scenario.job import Job, Serve, Tune

__all__ = ["contradictions"]

_OF_ADAPTERS: Final = (
    "adapter_rank",
    "adapter_targets",
    "adapter_precision",
    "adapter_dropout",
    "adapter_units",
)
"""What only LoRA and QLoRA have."""


def contradictions(job: Job, catalog: Catalog) -> Iterator[Fault]:
    """Find all of these, each with its path in the job; an unknown model is passed over."""
    if job.tune is not None:
        for found in _tune(job.tune, catalog.models.get(job.tune.model or "")):
            yield found._replace(path=("tune", *found.path))
    if job.serve is not None:
        for found in _serve(job.serve, catalog.models.get(job.serve.model or "")):
            yield found._replace(path=("serve", *found.path))


def _tune(tune: Tune, model: Model | None) -> Iterator[Fault]:
    if model is not None and tune.sequence is not None and tune.sequence > model.longest_context:
        yield _too_long("sequence", tune.sequence, tune.model, model)
    if tune.method not in ("lora", "qlora"):
        for key in _OF_ADAPTERS:
            if key in tune.model_fields_set and getattr(tune, key) is not None:
                message = f"the method {tune.method} has no {key.replace('_', ' ')}"
                yield Fault((key,), message, "leave it out")
    if "double_quantization" in tune.model_fields_set and (
        tune.method != "qlora" or tune.base_bits == 8
    ):
        yield Fault(
            ("double_quantization",),
            "only the base of QLoRA at 4 bit has scales to quantize",
            "leave it out",
        )
    if model is not None and tune.sharding == "tensor" and model.heads == 1:
        message = f"{tune.model} has one attention head, which tensor parallelism cannot divide"
        yield Fault(("sharding",), message)
    yield from _deploy(tune)


def _deploy(tune: Tune) -> Iterator[Fault]:
    if tune.deploy is None:
        return
    if tune.deploy.bits is not None and tune.method != "full":
        yield Fault(
            ("deploy", "bits"),
            f"the method {tune.method} keeps the weight width of its base",
            "leave it out; only a full fine-tune is deployed at another width",
        )
    if tune.deploy.adapter_gb is not None and tune.method == "full":
        yield Fault(("deploy", "adapter_gb"), "a full fine-tune has no adapter", "leave it out")


def _serve(serve: Serve, model: Model | None) -> Iterator[Fault]:
    if model is None:
        return
    if serve.context is not None and serve.context > model.longest_context:
        yield _too_long("context", serve.context, serve.model, model)
    published = model.native_bits
    if published is not None and "bits" in serve.model_fields_set and serve.bits > published:
        yield Fault(
            ("bits",),
            f"{serve.model} is published at {published} bit, so {serve.bits} bit would only "
            "take more memory",
            "leave `bits` out",
        )


def _too_long(key: str, tokens: int, name: str | None, model: Model) -> Fault:
    return Fault(
        (key,), f"{tokens:,} tokens are more than {name} takes ({model.longest_context:,})"
    )
