"""`python -m planner.cli` does what `planner` does."""

from planner.cli.app import main

main()
