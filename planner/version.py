"""The version of this package, by which results say what made them; and the usual effort."""

__version__ = "0.1.0"

GAP, TIME_LIMIT_SECONDS = 1e-4, 60.0
"""How far a plan is proved, and for how many seconds of work that is tried, unless told."""
