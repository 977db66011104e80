"""GPU capacity planner: rules say what each job needs, an integer program says what to buy."""

__version__ = "0.1.0"
