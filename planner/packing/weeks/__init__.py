"""Runs of some weeks: few nodes more than the bound counts, and units seated on them."""
