"""Commands that ask again what a plan was asked, as a reader may type them."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from planner.planning.plan import Plan

__all__ = ["command_for"]


def command_for(name: str, plan: Plan, out: str = "DIR") -> str:
    """`planner sensitivity scenarios/quarterly.yaml --set finance.pue=1.2 --out DIR`.

    A plan that took over what runs in another is asked again through what it records itself.
    """
    if any(role == "placement" for role, _, _ in plan.provenance.files):
        again = ["planner", "report", f"{out}/plan.json", "--what-if", "all", "--out", out]
        return shlex.join([*again, "--force"])
    asked = plan.provenance.options
    words = ["planner", name]
    words += [path for role, path, _ in plan.provenance.files if role == "scenario"]
    for option, values in (
        ("--scenario", asked.variations),
        ("--set", asked.settings),
        ("--catalog", asked.catalog),
        ("--rules", asked.rules),
    ):
        words += [word for value in values for word in (option, value)]
    return shlex.join([*words, "--out", out])
