"""The public functions of `import planner`, and what they return."""
