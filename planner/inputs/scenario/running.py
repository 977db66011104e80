"""Where jobs run today, entry by entry: the placement from which a plan moves what it moves."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from planner.inputs.base import Frozen, Name, PositiveCount

__all__ = ["Running"]


class Running(Frozen):
    """Units of one job that run on one node, on several whole nodes, or somewhere in a pool."""

    job: Name
    """The job that runs; its entries are its units 1, 2, … in the order listed."""
    node: Name | None = None
    """Owned node that holds them, named as in a plan: `xe9680-h100/frankfurt/03`."""
    nodes: Annotated[tuple[Name, ...], Field(min_length=2)] | None = None
    """For one unit over several whole nodes: all of them."""
    pool: Name | None = None
    """Where the node does not matter: node type and site, `xe9680-h100/frankfurt`."""
    gpus: PositiveCount | None = None
    """GPUs that each unit holds there."""
    count: PositiveCount = 1
    """Units there."""
    pinned: bool = False
    """Whether they must stay; others may move at a cost."""

    @model_validator(mode="after")
    def _one_place(self) -> Running:
        if sum(place is not None for place in (self.node, self.nodes, self.pool)) != 1:
            raise ValueError("give exactly one of `node`, `nodes` and `pool`")
        return self

    @model_validator(mode="after")
    def _one_unit_on_several(self) -> Running:
        if self.nodes is not None and self.count > 1:
            raise ValueError("`nodes` are those of one unit; write an entry for each unit")
        return self
