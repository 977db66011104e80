"""The command line: argv in, exit code out; no arithmetic, nothing heavy before it is needed."""

from planner.cli.app import main

__all__ = ["main"]
