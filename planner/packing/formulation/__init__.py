"""The master program: its variables and rows, kind by kind, and variants of it."""
