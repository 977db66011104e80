"""Measures the planner against its targets: `python -m benchmarks`."""
