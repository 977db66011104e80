"""Variants of a scenario planned: here, by copies of this process, or on a cluster."""
