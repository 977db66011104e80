"""Hugging Face configurations as models of the catalog, read as data and never run."""
