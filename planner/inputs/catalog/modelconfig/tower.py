"""The tower that reads pictures, as a configuration states it: its parameters, and its patches."""

from __future__ import annotations

from dataclasses import dataclass

from planner.inputs.catalog.modelconfig.section import ConfigSection, TowerType


@dataclass(frozen=True, slots=True)
class Tower:
    """A tower with what joins it to the decoder."""

    parameters: int
    patches_per_image_token: int
    """Patches of a picture that become one token of the prompt."""


def read_tower(whole: ConfigSection, tower: ConfigSection, kind: TowerType, hidden: int) -> Tower:
    """Count a tower whose pictures become tokens of a decoder of this width.

    Mistakes are noted in the findings that both sections share.
    """

    def figure(name: str) -> int:
        return tower.count(kind.names.get(name, name))

    layers, width, patch = (
        figure(name) for name in ("num_hidden_layers", "hidden_size", "patch_size")
    )
    ratio = tower.optional("mlp_ratio")
    wide = width * ratio if ratio else figure("intermediate_size")
    norm = 2 * width if kind.centred else width
    matrices = 4 * width * width + (3 if kind.gated else 2) * width * wide
    bias = 4 * width + (2 if kind.gated else 1) * wide + width if kind.biased else 0
    layer = matrices + bias + 2 * norm + (2 * width if kind.scaled else 0)
    frames = tower.optional("temporal_patch_size") or 1
    pixels = 3 * frames * patch * patch * width + (width if kind.patch_bias else 0)
    grid = (tower.count("image_size") // patch) ** 2 if kind.positions == "grid" else 0
    if kind.positions == "stated":
        grid = tower.count("num_position_embeddings")
    once = 2 if kind.class_token else 0  # the token, and its position where these are learned
    joint, patches = _joint(whole, tower, kind, width, hidden, grid)
    total = layers * layer + pixels + (grid + once) * width + kind.norms * norm + joint
    return Tower(parameters=total, patches_per_image_token=patches)


def _joint(
    whole: ConfigSection, tower: ConfigSection, kind: TowerType, width: int, hidden: int, grid: int
) -> tuple[int, int]:
    """Parameters of what joins the tower to the decoder, and the patches that make one token."""
    if kind.joined == "projection":
        return width * hidden + width, max(1, grid // whole.count("mm_tokens_per_image"))
    if kind.joined == "mlp":
        return width * hidden + hidden * hidden + 2 * hidden, 1
    if kind.joined == "pixel-shuffle":
        merged = 4 * width
        return 2 * merged + merged * hidden + hidden * hidden + 2 * hidden, 4
    if kind.joined == "patch-merger":
        merged = whole.count("spatial_merge_size") ** 2
        return width + merged * width * width + width * hidden + hidden * hidden, merged
    merged = tower.count("spatial_merge_size") ** 2
    across, out = merged * width, tower.count(kind.names.get("out_hidden_size", "out_hidden_size"))
    norm = 2 if kind.centred else 1
    merger = across * across + across + across * out + out
    deep = len(tower.items("deepstack_visual_indexes", int) or ())
    return merger + norm * width + deep * (merger + norm * across), merged
