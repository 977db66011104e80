"""Checks of a whole scenario together with the catalog and the rules."""
