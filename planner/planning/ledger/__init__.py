"""Figures that a document derives from a plan, each with the sum over plan.json that gives it."""
