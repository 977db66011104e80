"""How the cost answers to one figure at a time, and to two."""
