"""Holds predictions against published measurements: `python -m benchmarks.accuracy`."""
