"""Variants of a scenario planned: here, by processes beside this one, or on a cluster."""
