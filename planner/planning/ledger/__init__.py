"""Sums over a plan for documents, each with the formula over plan.json that gives it."""
