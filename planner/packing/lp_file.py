"""Writes the master program as a file that any solver reads, in names that a person reads."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

from planner.packing.incumbent import Incumbent
from planner.packing.master import CENTS_PER_UNIT
from planner.packing.solver import Program, Variable, program_text
from planner.packing.translation import Translation

_USD_PER_UNIT = CENTS_PER_UNIT / 100
_NO_NAME = re.compile(r"[^A-Za-z0-9_.]+")
_PLACED = re.compile(r"(?!stays|units|buy|rent|reserve\[|fullest)([\w.-]+)\[([0-9]+),([0-9]+)\]")
"""`gpus[0,1]`: of pool 0 in quarter 1."""
_OF_OFFERS = ("deliveries", "lot", "lot-fewest", "lot-most", "one-lot")
"""Names whose first number is that of an offer's supply rather than a pool's."""
_LONGEST = 200
"""Characters of a name; readers of the format take 255."""


def written_program(translation: Translation, found: Incumbent) -> str:
    """Return the program of a finished search in CPLEX LP format, with the cuts that it found.

    Its least value is the bound of the plan in USD: net present cost, with the running cost of
    the owned nodes. Units that were fractional when the bound was computed are fractional here.
    """
    master = found.master

    def plain(name: str) -> str:
        """Return a name with pool, or offer, and quarter in words if it ends in their numbers."""
        placed = _PLACED.fullmatch(name)
        if placed is None:
            return name
        kind, number = placed[1], int(placed[2])
        places = master.problem.supplies if kind in _OF_OFFERS else master.problem.pools
        return f"{kind} {places[number].name} {translation.quarters[int(placed[3])]}"

    names = {index: plain(one.name) for index, one in enumerate(master.program.variables)}
    for (number, position), index in master.mode.items():
        job_class, members = master.problem.classes[number], translation.members[number]
        job, unit = members[0]
        more = f" and {len(members) - 1} more" if len(members) > 1 else ""
        way = job_class.modes[position].way or job_class.modes[position].gpu_type
        when = translation.quarters[job_class.quarters[0]]
        names[index] = f"units of {job} {unit}{more} on {way} from {when}"
    for (number, quarter), index in master.acquire.items():
        supply = master.problem.supplies[number]
        site = master.problem.pools[supply.pool].site
        names[index] = f"{supply.kind} {supply.name} at {site} in {translation.quarters[quarter]}"
    variables = [
        replace(one, name=name, cost=one.cost * _USD_PER_UNIT)
        for one, name in zip(master.program.variables, _apart(list(names.values())), strict=True)
    ]
    fixed_usd = master.problem.fixed_cost_cents / 100
    variables.append(Variable("running_cost_of_owned_nodes", 1.0, 1.0, fixed_usd, integer=False))
    rows = [
        replace(row, name=name)
        for row, name in zip(
            master.program.rows,
            _apart([plain(row.name) for row in master.program.rows]),
            strict=True,
        )
    ]
    return program_text(Program(variables, rows), found.relaxed, "lp")


def _apart(names: list[str]) -> list[str]:
    """Return names as the format takes them, each once."""
    plain = [f"n_{_NO_NAME.sub('_', name).strip('_')}"[:_LONGEST] for name in names]
    plain = [name.removeprefix("n_") if name[2:3].isalpha() else name for name in plain]
    often, seen = Counter(plain), Counter[str]()
    found = []
    for name in plain:
        seen[name] += 1
        found.append(f"{name}.{seen[name]}" if often[name] > 1 else name)
    return found
