"""docs/model.md has every variable and every row of the integer program."""

import ast
import re
from pathlib import Path

STATING = ("build.py", "hourly_nodes.py", "constraints/*.py")
NAMED = ("variable", "row", "capacity_row")
SUBPROBLEMS = {"weight", "covers"}
"""Of the linear program that looks for a cut."""


def test_the_page_on_the_model_names_every_variable_and_row():
    root = Path(__file__).parents[2]
    page = (root / "docs" / "model.md").read_text(encoding="utf-8")
    prose = re.sub(r"(?ms)^```.*?^```$", "", page)
    told = {re.sub(r"(-[gjkr])*(\[.*)?$", "", name) for name in re.findall(r"`([^`]+)`", prose)}
    stated = set()
    for pattern in STATING:
        for path in (root / "planner" / "packing").glob(pattern):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                match node:
                    case ast.Call(func=ast.Attribute(attr=called), args=[name, *_]):
                        stated |= _beginning(name) if called in NAMED else set()
    assert len(stated) > 40
    assert stated - SUBPROBLEMS <= told, sorted(stated - SUBPROBLEMS - told)


def _beginning(name: ast.expr) -> set[str]:
    """What a name begins with, where it is written as one text: `job_class` of f"demand[{d}]"."""
    first = name.values[0] if isinstance(name, ast.JoinedStr) else name
    if not isinstance(first, ast.Constant):
        return set()
    return {re.sub(r"-$", "", str(first.value).partition("[")[0])}
