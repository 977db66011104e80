"""Hugging Face configurations as models of the catalog, read as data and never run."""

from planner.inputs.catalog.modelconfig.config import parse_model_config, read_model_config

__all__ = ["parse_model_config", "read_model_config"]
