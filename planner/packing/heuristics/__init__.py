"""Ways to a good plan where counting alone does not give one."""
