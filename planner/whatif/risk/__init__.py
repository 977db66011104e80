"""Many futures at once: what they cost, and what is bought now held against them."""
