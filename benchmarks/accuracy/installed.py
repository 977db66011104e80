"""Estimators that pip installs, asked in a process of their own: their packages need not be ours.

`PEERS_PYTHON` names the interpreter that has them, this one if it is not set. Who is not installed
is left out, and standard error says so.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from math import isnan
from typing import TYPE_CHECKING, Final

from benchmarks.accuracy.peers import Case, Peer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["installed"]

_MIB: Final = 2**20
_FITCHECK: Final = """
import json, sys
from importlib.metadata import version
from fitcheck import GpuSpec, ModelConfig, TrainingConfig, estimate
print(version("fitcheck-llm"), flush=True)
gpu = GpuSpec("any", 10**6, 10**6)
for line in sys.stdin:
    asked = json.loads(line)
    try:
        made = estimate(ModelConfig(**asked["model"]), TrainingConfig(**asked["run"]), gpu)
        print(made.total_mib - made.overhead_mib, flush=True)
    except ValueError:
        print("nan", flush=True)
"""
"""Without its overhead: the CUDA context and what the allocator wastes, which peaks leave out."""
_TARGETS: Final = {
    "qv": ("q_proj", "v_proj"),
    "attention": ("q_proj", "k_proj", "v_proj", "o_proj"),
    "mlp": ("gate_proj", "up_proj", "down_proj"),
    "all-linear": (*("q_proj", "k_proj", "v_proj", "o_proj"), "gate_proj", "up_proj", "down_proj"),
}
_OPTIMIZERS: Final = {"adamw-fused": "adamw", "paged-adamw-32bit": "adamw"}


@contextmanager
def installed() -> Iterator[list[Peer]]:
    """All that answer, until the end."""
    python = os.environ.get("PEERS_PYTHON", sys.executable)
    try:
        process = subprocess.Popen(
            [python, "-c", _FITCHECK],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
    except OSError:  # no such interpreter
        _tell_lacking(python)
        yield []
        return
    with process:  # whose input is closed then, which ends it
        asked = _Asked(process)
        version = asked.line()
        if not version:
            _tell_lacking(python)
        yield [Peer(f"fitcheck {version}", asked)] if version else []


def _tell_lacking(python: str) -> None:
    print(
        f"fitcheck-llm does not run with {python}: its rows are left out; PEERS_PYTHON names an "
        "interpreter that has it",
        file=sys.stderr,
    )


class _Asked:
    """A process that gives MiB for each case, line by line."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def line(self) -> str:
        """What it says next; nothing where it has ended."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def __call__(self, case: Case) -> float | None:
        """Bytes of one GPU; None where it has no figure for it."""
        assert self._process.stdin is not None
        if case.model.experts is not None:
            return None
        print(json.dumps(_fitcheck(case)), file=self._process.stdin, flush=True)
        mib = float(self.line())
        return None if isnan(mib) else mib * _MIB / case.run.gpus


def _fitcheck(case: Case) -> Mapping[str, Mapping[str, object]]:
    """Its words for a run: one GPU with adapters or all parameters, four or eight bits, or none."""
    model, tune = case.model, case.run.tune
    bits = 4 if case.quantized and tune.base_bits != 8 else tune.base_bits
    return {
        "model": {
            "name": model.name,
            "num_params": int(case.parameters),
            "hidden_size": model.hidden,
            "num_layers": model.layers,
            "num_attention_heads": model.heads,
            "num_kv_heads": model.kv_heads,
            "intermediate_size": model.intermediate,
            "vocab_size": model.vocab,
            "head_dim": model.head_dim,
            "tie_word_embeddings": bool(model.tied_embeddings),
        },
        "run": {
            "precision": "fp32" if tune.precision == "fp32" else "bf16",
            "quantization": {4: "nf4", 8: "int8"}.get(bits or 16, "none"),
            "double_quant": bool(tune.double_quantization) and bits == 4,
            "optimizer": _OPTIMIZERS.get(tune.optimizer, tune.optimizer),
            "batch_size": max(1, round(case.sequences)),
            "seq_len": tune.sequence,
            "lora_rank": None if case.full else tune.adapter_rank or 16,
            "lora_targets": _TARGETS[tune.adapter_targets],
            "grad_checkpoint": case.checkpointed,
            "flash_attn": tune.attention_kernel != "eager",
        },
    }
