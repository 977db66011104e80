"""Why there is no plan: the smallest conflict in the words of the user, and what would mend it."""
