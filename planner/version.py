"""The version of the planner; releases are told in CHANGELOG.md."""

__version__ = "0.1.0"
