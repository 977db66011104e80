"""Facts with their sources: GPU types, node types, models and prices, merged from files."""
