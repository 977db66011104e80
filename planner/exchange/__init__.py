"""What other tools read of a plan, and what is read of theirs."""
