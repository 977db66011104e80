"""From a solution to a plan: assembled, costed, checked, stored and explained."""
