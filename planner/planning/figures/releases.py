"""Owned nodes that the plan lets go: what they bring, and what they no longer cost."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from planner.costs import OF_A_SALE, in_cents, present_cents, released_costs, sale_usd
from planner.planning.figures.costs import released
from planner.planning.plan import NodeRelease
from planner.planning.words import amount, price

if TYPE_CHECKING:
    from planner.inputs.scenario.offer import Sale
    from planner.inputs.settled import Inputs
    from planner.packing import Translation
    from planner.packing.solution import Solution

__all__ = ["node_releases"]


def node_releases(
    inputs: Inputs, translation: Translation, solution: Solution
) -> tuple[NodeRelease, ...]:
    """One line for each entry and quarter: by quarter, sold before switched off."""
    lines = []
    for gone in released(inputs, translation, solution):
        entry, node = gone.entry, inputs.catalog.nodes[gone.entry.node_type]
        streams = released_costs(inputs, gone)
        saved = sum(sum(one.cents) for one in streams if one.name not in OF_A_SALE)
        up = sum(sum(one.cents) for one in streams if one.name == OF_A_SALE[1])
        each = in_cents(sale_usd(inputs, entry, gone.quarter) or Decimal(0)) if gone.sold else 0
        lines.append(
            NodeRelease(
                action="sell" if gone.sold else "switch off",
                entry=gone.name,
                node_type=entry.node_type,
                product=node.product,
                gpu_type=node.gpu_type,
                gpus_per_node=node.gpus.value,
                site=entry.site,
                quarter=inputs.scenario.horizon.labels[gone.quarter],
                count=gone.nodes,
                unit_price_cents=each,
                total_cents=gone.nodes * each,
                saved_cents=-gone.nodes * saved,
                given_up_cents=gone.nodes * up,
                present_cents=-gone.nodes * present_cents(streams),
                price_text=_price_text(inputs, entry.sale) if gone.sold and entry.sale else "",
                quote=entry.sale.quote if gone.sold and entry.sale else None,
            )
        )
    return tuple(lines)


def _price_text(inputs: Inputs, sale: Sale) -> str:
    """`stated`; `what 5 years leave of $250,000 paid in 2024Q1`."""
    if sale.paid_usd is None:
        return "as stated"
    life = amount(inputs.settings.useful_life_years.value, "years")
    return f"what {life} leave of {price(sale.paid_usd)} paid in {sale.bought}"
