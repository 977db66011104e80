"""The version of this package, by which results say what made them."""

__all__ = ["__version__"]

__version__ = "0.1.0"
