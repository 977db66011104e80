"""Many problems that differ in a few figures: stated once, and asked again and again."""
