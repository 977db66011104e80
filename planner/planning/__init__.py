"""Turns a solution into a plan: assembles, costs, checks, stores and explains it."""
