"""GPU capacity planner: rules say what each job needs, an integer program says what to buy.

`import planner` gives a function for each command of the command line, the classes of what they
return, and the errors that they raise. Each is loaded when it is first used. These names are
public; all else may change with any version.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from planner.errors import (
    CheckError,
    DisagreementError,
    ExitCode,
    Finding,
    InfeasibleError,
    InputError,
    LimitError,
    PlannerError,
    PlannerWarning,
)
from planner.version import __version__

if TYPE_CHECKING:
    from planner.api.documents import ExportResult as ExportResult
    from planner.api.documents import ReportResult as ReportResult
    from planner.api.documents import export as export
    from planner.api.documents import report as report
    from planner.api.imports import ImportResult as ImportResult
    from planner.api.imports import InitResult as InitResult
    from planner.api.imports import import_table as import_table
    from planner.api.imports import init as init
    from planner.api.imports import table_template as table_template
    from planner.api.planning import ComparisonResult as ComparisonResult
    from planner.api.planning import Effort as Effort
    from planner.api.planning import ExplainResult as ExplainResult
    from planner.api.planning import JobsResult as JobsResult
    from planner.api.planning import PlanResult as PlanResult
    from planner.api.planning import ReplayResult as ReplayResult
    from planner.api.planning import Work as Work
    from planner.api.planning import compare as compare
    from planner.api.planning import explain as explain
    from planner.api.planning import plan as plan
    from planner.api.planning import read_plan as read_plan
    from planner.api.planning import replay as replay
    from planner.api.result import Result as Result
    from planner.api.result import page_files as page_files
    from planner.api.scenario import Changes as Changes
    from planner.api.scenario import Scenario as Scenario
    from planner.api.scenario import check as check
    from planner.api.scenario import load as load
    from planner.api.sizing import KnowledgeResult as KnowledgeResult
    from planner.api.sizing import MeasureResult as MeasureResult
    from planner.api.sizing import SizeResult as SizeResult
    from planner.api.sizing import catalog as catalog
    from planner.api.sizing import doctor as doctor
    from planner.api.sizing import examine_rules as examine_rules
    from planner.api.sizing import measure as measure
    from planner.api.sizing import rules as rules
    from planner.api.sizing import schema as schema
    from planner.api.sizing import size as size
    from planner.api.variants import AlternativesResult as AlternativesResult
    from planner.api.variants import RiskResult as RiskResult
    from planner.api.variants import SensitivityResult as SensitivityResult
    from planner.api.variants import SweepResult as SweepResult
    from planner.api.variants import alternatives as alternatives
    from planner.api.variants import risk as risk
    from planner.api.variants import sensitivity as sensitivity
    from planner.api.variants import sweep as sweep

_MODULES = {
    "documents": ("ExportResult", "ReportResult", "export", "report"),
    "imports": ("ImportResult", "InitResult", "import_table", "init", "table_template"),
    "planning": (
        *("ComparisonResult", "Effort", "ExplainResult", "JobsResult", "PlanResult"),
        *("ReplayResult", "Work", "compare", "explain", "plan", "read_plan", "replay"),
    ),
    "result": ("Result", "page_files"),
    "scenario": ("Changes", "Scenario", "check", "load"),
    "sizing": (
        *("KnowledgeResult", "MeasureResult", "SizeResult", "catalog", "doctor"),
        *("examine_rules", "measure", "rules", "schema", "size"),
    ),
    "variants": (
        *("AlternativesResult", "RiskResult", "SensitivityResult", "SweepResult"),
        *("alternatives", "risk", "sensitivity", "sweep"),
    ),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "CheckError",
    "DisagreementError",
    "ExitCode",
    "Finding",
    "InfeasibleError",
    "InputError",
    "LimitError",
    "PlannerError",
    "PlannerWarning",
    "__version__",
]
__all__ += _MODULE_OF  # noqa: PLE0605 - a list of names


def __getattr__(name: str) -> Any:  # noqa: ANN401 - typed above
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'planner' has no attribute {name!r}")
    value = getattr(import_module(f"planner.api.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
