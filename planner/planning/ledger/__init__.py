"""Sums over a plan for documents, each with its formula over plan.json."""
