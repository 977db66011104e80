"""Figures of a placed plan: costs and who bears them, budgets, use of pools and sites."""
