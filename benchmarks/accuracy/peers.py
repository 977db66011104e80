"""What others would say of a run: rules of thumb and estimators, from their published formulas.

Each is our own code after the formula that its source states, in bytes of one GPU. Where a source
knows no sharding, what it counts for the whole run is divided by the GPUs, which flatters it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from planner.inputs.catalog.catalog import Model
    from planner.inputs.measured import Measurement

__all__ = ["PEERS", "Case", "Peer", "case_of"]

_GB: Final = 1e9


@dataclass(frozen=True, slots=True)
class Case:
    """A run as a peer sees it: shape, settings and what one GPU takes in one pass."""

    model: Model
    run: Measurement
    tokens: float
    """Tokens per GPU and pass."""
    sequences: float

    @property
    def parameters(self) -> float:
        """All parameters."""
        return float(self.model.parameters_b) * _GB

    @property
    def width(self) -> float:
        """Width of the feed-forward block that a token passes."""
        model = self.model
        if model.experts_per_token and model.expert_intermediate:
            return float(model.expert_intermediate * model.experts_per_token)
        return float(model.intermediate or 4 * model.hidden)

    @property
    def full(self) -> bool:
        """Whether all parameters are trained."""
        return self.run.tune.method == "full"

    @property
    def quantized(self) -> bool:
        """Whether the base is held at 4 or 8 bits."""
        return self.run.tune.method == "qlora"

    @property
    def mixed(self) -> bool:
        """Whether 32-bit master weights are kept."""
        return (self.run.tune.precision or self.run.tune.usual_precision).endswith("-mixed")

    @property
    def checkpointed(self) -> bool:
        """Whether activations are computed again."""
        return self.run.tune.gradient_checkpointing != "off"

    @property
    def adapter(self) -> float:
        """Parameters of the LoRA matrices; 0 where everything is trained."""
        if self.full:
            return 0.0
        model, rank = self.model, self.run.tune.adapter_rank or 16
        hidden, heads = model.hidden, model.heads * model.head_dim
        kv = model.kv_heads * model.head_dim
        query_value = (hidden + heads) + (hidden + kv)
        attention = 2 * query_value
        block = (3 if model.gated_mlp else 2) * (hidden + self.width)
        by_target = {
            "qv": query_value,
            "attention": attention,
            "mlp": block,
            "all-linear": attention + block,
        }
        return rank * model.layers * by_target[self.run.tune.adapter_targets]


def case_of(model: Model, run: Measurement) -> Case | None:
    """See a run as its formulas need it; None where batch or sequence are open."""
    tune = run.tune
    if tune.sequence is None or tune.batch is None:
        return None
    passes = tune.gradient_accumulation * run.gpus
    sequences = float(tune.micro_batch or max(1, tune.batch // passes))
    return Case(model=model, run=run, tokens=sequences * tune.sequence, sequences=sequences)


def accelerate(case: Case) -> float:
    """Hugging Face accelerate `estimate-memory` (github:huggingface/accelerate@16cb6eb8).

    The largest of model, gradients and Adam step: twice the 32-bit model for 16-bit training, four
    times for 32-bit. No batch, no sequence, no adapters.
    """
    bytes_per_parameter = 16 if case.run.tune.precision == "fp32" else 8
    return bytes_per_parameter * case.parameters / case.run.gpus


def deepspeed(case: Case) -> float:
    """DeepSpeed `estimate_zero3_model_states_mem_needs` (github:deepspeedai/DeepSpeed@38327e07).

    18 bytes for each parameter, trained or frozen, sharded, and the largest layer gathered.
    """
    largest = case.model.hidden * max(case.model.vocab, case.width)
    return 4 * largest + 18 * case.parameters / case.run.gpus


def cookbook(case: Case) -> float:
    """EleutherAI cookbook `calc_transformer_mem` (github:EleutherAI/cookbook@827ee3b), ZeRO-3.

    2 + 4 + 12 bytes for each parameter, communication buffers, and 34 bytes for each token, layer
    and hidden element, which checkpointing does not take away.
    """
    gpus, model = case.run.gpus, case.model
    buffers = 0.0 if gpus == 1 else 2 * 5e8 + 2 * 1e9
    activations = 34 * case.tokens * model.hidden * model.layers
    if not case.checkpointed:
        scores = 5 * model.heads * case.tokens / case.sequences / model.hidden
        activations *= 1 + scores / 34
    return 18 * case.parameters / gpus + buffers + activations


def fm_training_estimator(case: Case) -> float:
    """IBM fm-training-estimator (github:foundation-model-stack/fm-training-estimator@1d04f05).

    The shape of GPT-2 for the parameters, Korthikanti's activations with attention scores, divided
    by the layers where they are checkpointed; adapters count the inputs of their matrices.
    """
    model, gpus = case.model, case.run.gpus
    hidden, layers = model.hidden, model.layers
    parameters = layers * (12 * hidden**2 + 13 * hidden) + model.vocab * hidden + 4 * hidden
    if case.full:
        sequence = case.tokens / case.sequences
        activations = case.tokens * hidden * layers * (34 + 5 * model.heads * sequence / hidden)
        if case.checkpointed:
            activations /= layers
        return 8 * parameters / gpus + activations
    weight = 2.0
    if case.quantized:
        weight = 0.515875 if case.run.tune.double_quantization else 0.5625
    matrices = {"qv": 2, "mlp": 3, "attention": 4, "all-linear": 7}[case.run.tune.adapter_targets]
    inputs = 2 * case.tokens * hidden * matrices * layers
    return (weight * parameters + 8 * case.adapter) / gpus + inputs


def unsloth_studio(case: Case) -> float:
    """Unsloth Studio `VRAM_ESTIMATION.md` (github:unslothai/unsloth@015bdef0).

    Weights by part, activations of a layer or two with Hugging Face's checkpointing, no term for
    the logits, 1.4 GB for CUDA; each GPU after the first counts 85 %.
    """
    model, gpus = case.model, case.run.gpus
    hidden, kv = model.hidden, model.kv_heads * model.head_dim
    outer = model.vocab * hidden * (1 if model.tied_embeddings else 2)
    inner = case.parameters - outer
    by_inner = 2.0
    if case.quantized:
        by_inner = 2 / 3.6 if case.run.tune.double_quantization else 2 / 3.2
    weights = by_inner * inner + 2 * outer
    trained = case.parameters if case.full else case.adapter
    optimizer = {"adamw-8bit": 4, "paged-adamw-32bit": 8, "sgd": 4}.get(case.run.tune.optimizer, 6)
    layer = case.tokens * (hidden + 2 * kv + 2 + 2 * case.width) * 2 * 1.25
    kept = (2.0 if case.full else 1.0) if case.checkpointed else float(model.layers)
    if case.run.tune.attention_kernel == "eager":
        layer += 24 * model.heads * case.tokens**2 / case.sequences
    gradients = max(2 * trained, 0.15 * weights) if case.full else 2 * trained
    states = weights + gradients + optimizer * trained + (0 if case.full else 2 * trained)
    return (states + kept * layer + 1.4e9) / (1 + 0.85 * (gpus - 1))


def training_hub(case: Case) -> float:
    """Red Hat training_hub `memory_estimator`, the middle of its three bounds.

    Everything at 4 bytes (2 for adapters); activations of all layers and the logits, the larger of
    the two for adapters; QLoRA never below one byte per parameter, for loading.
    """
    model, gpus = case.model, case.run.gpus
    if case.full:
        activations = 4 * case.tokens * model.layers * model.hidden
        outputs = 4 * case.tokens * model.vocab * 8 / 3
        return 1.1 * (16 * case.parameters / gpus + activations + outputs)
    width = 0.5 if case.quantized else 2.0
    activations = 2 * case.tokens * model.layers * model.hidden
    outputs = 2 * case.tokens * model.vocab * 2
    states = (width * case.parameters + 16 * case.adapter) / gpus
    peak = states + max(activations, outputs)
    return 1.1 * max(peak, case.parameters / gpus if case.quantized else 0.0)


def llama_factory(case: Case) -> float:
    """LLaMA-Factory's table of hardware needs (github:hiyouga/LLaMA-Factory@ff6d4d12:README.md).

    18 bytes for each parameter in mixed precision, 8 in pure bf16, 2 for LoRA, 1 and a half for
    QLoRA at 8 and 4 bits; "estimated" by its own words.
    """
    if case.full:
        each = 18.0 if case.mixed else 8.0
    elif case.quantized:
        each = 1.0 if case.run.tune.base_bits == 8 else 0.5
    else:
        each = 2.0
    return each * case.parameters / case.run.gpus


def watsonx(case: Case) -> float:
    """IBM watsonx.ai: on average 4 (full), 2 (LoRA), 1 (QLoRA) GPUs of 80 GB, whatever the model.

    https://www.ibm.com/docs/en/software-hub: Requirements for tuning foundation models.
    """
    gpus = {"full": 4, "lora": 2, "qlora": 1}.get(case.run.tune.method, 1)
    return gpus * 80e9 / case.run.gpus


@dataclass(frozen=True, slots=True)
class Peer:
    """One estimator: its name and what it says, bytes of one GPU."""

    name: str
    says: Callable[[Case], float | None]

    def predicted_gb(self, run: Measurement, models: Mapping[str, Model]) -> float | None:
        """Its figure for a run, GB of 10^9 bytes; None where it has no formula for it."""
        model = models.get(run.tune.model or "")
        case = case_of(model, run) if model and run.tune.method != "p-tuning" else None
        said = None if case is None else self.says(case)
        return None if said is None else said / _GB


PEERS: Final = (
    Peer("IBM watsonx baseline", watsonx),
    Peer("LLaMA-Factory table", llama_factory),
    Peer("accelerate", accelerate),
    Peer("DeepSpeed ZeRO-3", deepspeed),
    Peer("EleutherAI cookbook", cookbook),
    Peer("fm-training-estimator", fm_training_estimator),
    Peer("Unsloth Studio", unsloth_studio),
    Peer("training_hub", training_hub),
)
