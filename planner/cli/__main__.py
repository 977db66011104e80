"""`python -m planner.cli` does what `planner` does."""

from planner.cli import main

if __name__ == "__main__":  # a worker process loads this as well
    main()
