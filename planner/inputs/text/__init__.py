"""Words, plain values and cells: what a text means, and how a person would say it."""
