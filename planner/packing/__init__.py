"""Packs a sized portfolio onto whole nodes at minimum cost, with a proved bound."""

from planner.packing import work  # noqa: F401 - first, as it refuses what the others cannot
from planner.packing.pack import solve
from planner.packing.problem import Problem
from planner.packing.solution import Solution, Status
from planner.packing.translation import Translation, translate

__all__ = ["Problem", "Solution", "Status", "Translation", "solve", "translate"]
