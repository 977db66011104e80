"""GPU capacity planner: rules say what each job needs, an integer program says what to buy.

>>> import planner
>>> plan = planner.plan("scenarios/quickstart.yaml")
>>> plan.status
'proved'

The names below are the public API, and what docs/python.md says of them holds from one minor
version to the next. Everything else is private.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.version import __version__ as __version__

if TYPE_CHECKING:
    from planner.api import (
        Alternatives,
        Comparison,
        Plan,
        Risk,
        Scenario,
        Sensitivity,
        Sizes,
        Sweep,
        alternatives,
        check,
        compare,
        export,
        load,
        plan,
        read_plan,
        report,
        risk,
        sensitivity,
        size,
        sweep,
    )
    from planner.errors import (
        CheckError,
        DisagreementError,
        Finding,
        InfeasibleError,
        InputError,
        LimitError,
        PlannerError,
    )

__all__ = [
    "Alternatives",
    "CheckError",
    "Comparison",
    "DisagreementError",
    "Finding",
    "InfeasibleError",
    "InputError",
    "LimitError",
    "Plan",
    "PlannerError",
    "Risk",
    "Scenario",
    "Sensitivity",
    "Sizes",
    "Sweep",
    "alternatives",
    "check",
    "compare",
    "export",
    "load",
    "plan",
    "read_plan",
    "report",
    "risk",
    "sensitivity",
    "size",
    "sweep",
]


def __getattr__(name: str) -> object:
    """Load the API when a name of it is first asked for, so that `import planner` costs nothing."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    errors = import_module("planner.errors")
    found: object = getattr(errors, name, None) or getattr(import_module("planner.api"), name)
    return found


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
