"""A scenario put together: what it extends, its overrides, and settings beside it."""
