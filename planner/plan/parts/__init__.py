"""The parts of a plan as values: servers, moves, shortage, teams, the second opinion."""
