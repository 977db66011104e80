"""Every example of docs/python.md, and of the functions of the API, does what it says."""

import doctest
import importlib
import inspect
import re
import shutil
from pathlib import Path

import pytest

import planner

ROOT = Path(__file__).parents[2]
FUNCTIONS = sorted(name for name in dir(planner) if inspect.isfunction(getattr(planner, name)))
CLASSES = sorted(name for name in dir(planner) if inspect.isclass(getattr(planner, name)))


@pytest.fixture
def in_a_project(tmp_path, monkeypatch) -> None:
    shutil.copytree(ROOT / "scenarios", tmp_path / "scenarios")
    monkeypatch.chdir(tmp_path)


def _run(test: doctest.DocTest) -> None:
    told: list[str] = []
    done = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=told.append)
    assert done.attempted, f"{test.name} has no example"
    assert not done.failed, "".join(told)


@pytest.mark.usefixtures("in_a_project")
def test_the_page_on_python_is_true():
    text = (ROOT / "docs/python.md").read_text(encoding="utf-8")
    _run(doctest.DocTestParser().get_doctest(text, {}, "docs/python.md", None, None))


@pytest.mark.usefixtures("in_a_project")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_has_an_example_that_runs(name):
    function = getattr(planner, name)
    module = importlib.import_module(function.__module__)
    _run(doctest.DocTestFinder(recurse=False).find(function, name, module)[0])


@pytest.mark.usefixtures("in_a_project")
@pytest.mark.parametrize("name", CLASSES)
def test_the_examples_of_a_class_run(name):
    found = doctest.DocTestFinder().find(getattr(planner, name), name)
    for test in (one for one in found if one.examples):
        _run(test)


def test_the_page_names_what_is_public():
    words = re.findall(r"\w+", (ROOT / "docs/python.md").read_text(encoding="utf-8"))
    assert {*FUNCTIONS, *CLASSES} - {*words} <= {"ExitCode", "Finding", "Result"}
