"""`python -m planner.cli` does what `planner` does."""

from planner.cli import main

main()
