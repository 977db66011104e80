"""What the planner imports is declared, and what is declared is imported and explained."""

import re
import sys
import tomllib
from importlib.metadata import packages_distributions

import pytest

_IMPORT = re.compile(r"^ *(?:from (\w+)[\w.]* import |import (\w+))", re.MULTILINE)


@pytest.fixture(scope="session")
def declared(root):
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    optional = (one for name, extra in extras.items() if name != "dev" for one in extra)
    stated = (*project["dependencies"], *optional)
    return {_plain(re.split(r"[^\w.-]", one)[0]) for one in stated}


@pytest.fixture(scope="session")
def imported(root):
    """Names of the distributions that modules of `planner` import from."""
    names = {
        found[1] or found[2]
        for path in (root / "planner").rglob("*.py")
        for found in _IMPORT.finditer(path.read_text(encoding="utf-8"))
    }
    foreign = names - sys.stdlib_module_names - {"planner"}
    of = packages_distributions()
    return {_plain(of.get(name, [name])[0]) for name in foreign}


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")


def test_what_is_imported_is_declared_and_the_other_way_round(declared, imported):
    assert imported == declared


def test_every_library_is_explained(declared, root):
    told = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = told.partition("## Libraries")[2].partition("\n## ")[0].lower()
    assert {name for name in declared if name not in section} == set()
