"""Inputs: YAML in, frozen and settled values out, every mistake with its place."""
