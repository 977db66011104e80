"""From files to models: every key and value with its place, every mistake in the user's words."""
