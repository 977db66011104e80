"""The question that a user asks, section by section, and its JSON Schema."""
