"""The report room: it formats plans, sizings and facts, and computes nothing."""
