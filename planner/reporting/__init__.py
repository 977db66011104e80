"""The report room: it shows plans, sizings and facts, and works out no more than their sums."""
