"""The answer: made concrete, costed, checked from the inputs alone, and explained."""
