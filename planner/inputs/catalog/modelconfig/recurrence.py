"""Weights and state of layers that keep a state instead of keys and values."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["LinearAttention", "Mamba", "Mamba2", "Recurrence"]

CONVOLUTION_BYTES = 2
"""The last inputs of the convolution are kept in the type of the weights, 16 bit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mamba:
    """A Mamba layer, with norms of step, input and output as Jamba has them."""

    hidden: int
    state_bytes: int
    """Bytes of one element of the state."""
    inner: int
    rank: int
    state: int
    kernel: int

    def weights(self) -> int:
        """Parameters of one layer."""
        projections = 3 * self.hidden * self.inner + self.inner * (2 * self.rank + 2 * self.state)
        convolution = self.inner * (self.kernel + 1)
        norms = self.rank + 2 * self.state
        return projections + convolution + norms + self.inner * (self.state + 2)

    def bytes_per_sequence(self) -> int:
        """What one layer keeps of one sequence."""
        window = self.inner * (self.kernel - 1) * CONVOLUTION_BYTES
        return self.inner * self.state * self.state_bytes + window


@dataclass(frozen=True, slots=True, kw_only=True)
class Mamba2:
    """A Mamba-2 layer."""

    hidden: int
    state_bytes: int
    heads: int
    head_dim: int
    groups: int
    state: int
    kernel: int

    @property
    def _convolved(self) -> int:
        return self.heads * self.head_dim + 2 * self.groups * self.state

    def weights(self) -> int:
        """Parameters of one layer."""
        inner = self.heads * self.head_dim
        projections = self.hidden * (inner + self._convolved + self.heads + inner)
        return projections + self._convolved * (self.kernel + 1) + 3 * self.heads + inner

    def bytes_per_sequence(self) -> int:
        """What one layer keeps of one sequence."""
        window = self._convolved * (self.kernel - 1) * CONVOLUTION_BYTES
        return self.heads * self.head_dim * self.state * self.state_bytes + window


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearAttention:
    """A gated delta-rule layer, as Qwen3-Next has it."""

    hidden: int
    state_bytes: int
    key_heads: int
    value_heads: int
    key_dim: int
    value_dim: int
    kernel: int

    @property
    def _convolved(self) -> int:
        return 2 * self.key_heads * self.key_dim + self.value_heads * self.value_dim

    def weights(self) -> int:
        """Parameters of one layer."""
        values = self.value_heads * self.value_dim
        projections = self.hidden * (self._convolved + 2 * values + 2 * self.value_heads)
        return projections + self._convolved * self.kernel + 2 * self.value_heads + self.value_dim

    def bytes_per_sequence(self) -> int:
        """What one layer keeps of one sequence."""
        window = self._convolved * (self.kernel - 1) * CONVOLUTION_BYTES
        matrices = self.value_heads * self.key_dim * self.value_dim
        return matrices * self.state_bytes + window


Recurrence = Mamba | Mamba2 | LinearAttention
