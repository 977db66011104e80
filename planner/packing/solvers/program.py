"""A linear or integer program as plain numbers, so that few modules know a solver's API."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

Sense = Literal["<=", ">=", "=="]


@dataclass(frozen=True, slots=True)
class Variable:
    """One column: bounds (no upper bound: None), cost and integrality."""

    name: str
    lower: float
    upper: float | None
    cost: float
    integer: bool


@dataclass(frozen=True, slots=True)
class ProgramRow:
    """One constraint: `sum(coefficient × variable) sense right`."""

    name: str
    terms: tuple[tuple[int, float], ...]
    sense: Sense
    right: float
    exact: bool = False
    """Whether a miss by one part in 10^8 matters, as by a cent in a budget."""
    tightens: bool = False
    """Whether it only tightens the relaxation: without it, the same plans remain."""
    owner: str = ""
    """The kind of constraint that states it; empty: what units take of nodes."""


@dataclass(slots=True)
class Program:
    """Minimize the cost of the variables subject to the rows."""

    variables: list[Variable] = field(default_factory=list)
    rows: list[ProgramRow] = field(default_factory=list)
    owner: str = ""
    """The owner of the rows that are added."""

    def variable(
        self,
        name: str,
        *,
        cost: float = 0.0,
        upper: float | None = None,
        integer: bool = False,
    ) -> int:
        """Add a column that starts at 0 and return its index."""
        self.variables.append(Variable(name, 0.0, upper, cost, integer))
        return len(self.variables) - 1

    def row(
        self,
        name: str,
        terms: dict[int, float],
        sense: Sense,
        right: float,
        *,
        exact: bool = False,
        tightens: bool = False,
    ) -> int:
        """Add a constraint and return its index; zero coefficients are left out."""
        kept = tuple((index, value) for index, value in sorted(terms.items()) if value)
        self.rows.append(ProgramRow(name, kept, sense, right, exact, tightens, self.owner))
        return len(self.rows) - 1

    def fixed(self, values: dict[int, float]) -> Program:
        """Return a copy with some variables held at a value."""
        variables = list(self.variables)
        for index, value in values.items():
            variables[index] = replace(variables[index], lower=value, upper=value)
        return Program(variables, self.rows)

    def priced(self, costs: dict[int, float]) -> Program:
        """Return a copy with another objective; variables that are not named cost nothing."""
        variables = [
            replace(variable, cost=costs.get(index, 0.0))
            for index, variable in enumerate(self.variables)
        ]
        return Program(variables, self.rows)
