"""The version of this package, by which results say what made them."""

__version__ = "0.1.0"
