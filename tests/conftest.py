"""One flag for all golden files, and the comparison that knows it; drawn examples have no clock.

Tests that need a program which is not installed are left out, and one line says so; with `CI=true`
in the environment each of them fails.
"""

from __future__ import annotations

import os
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest
from hypothesis import settings

from planner.inputs.catalog.merged import merged_catalog
from planner.inputs.reading.reader import read_document
from planner.inputs.rules.book import gathered_rules
from planner.sizing.sizers import Sizers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from planner.inputs.reading.locate import Located

ROOT = Path(__file__).parents[1]

settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")


# Shipped files are read once for thousands of tests: most plan in less time than reading takes.
# What tests start as processes reads them each time, as users do.


def _shipped(path: Path) -> bool:
    return any(path.is_relative_to(ROOT / folder) for folder in ("catalog", "rules"))


def _document_once(read: Callable[..., Any]) -> Callable[..., Any]:
    kept = cache(read)
    return lambda path, **how: (kept if _shipped(path) else read)(path, **how)


def _merged_once(merged: Callable[[tuple[Located, ...]], Any]) -> Callable[..., Any]:
    kept = cache(merged)

    def once(files: Sequence[Located]) -> Any:
        return (kept if all(_shipped(file.path) for file in files) else merged)(tuple(files))

    return once


mock.patch("planner.inputs.reading.locate.read_document", _document_once(read_document)).start()
mock.patch("planner.inputs.load.merged_catalog", _merged_once(merged_catalog)).start()
mock.patch("planner.inputs.load.gathered_rules", _merged_once(gathered_rules)).start()


# Jobs are sized once for many plans and their checks, as variants of one scenario are.


def _sized_once(sizer: Callable[..., Any]) -> Callable[..., Any]:
    one = Sizers()
    return lambda _, inputs, gpu_types: sizer(one, inputs, gpu_types)


mock.patch.object(Sizers, "sizer", _sized_once(Sizers.sizer)).start()


def pytest_addoption(parser):
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write the golden files anew instead of comparing with them",
    )


def _whole_or_failed(report):
    if report.skipped and os.environ.get("CI") == "true" and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"left out, which must not be where CI=true: {_reason(report)}"
    return report


def _reason(report):
    return report.longrepr[2].removeprefix("Skipped: ")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    return _whole_or_failed((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    return _whole_or_failed((yield))


def pytest_terminal_summary(terminalreporter):
    skipped = terminalreporter.stats.get("skipped", ())
    if told := Counter(map(_reason, skipped)):
        reasons = "; ".join(f"{count} ({reason})" for reason, count in told.items())
        terminalreporter.write_line(f"left out: {reasons}")


@pytest.fixture
def golden(request):
    """`golden("plan.md", text)` compares a text with a file in the test's own `golden` folder."""

    def compare(name: str, text: str) -> None:
        path = Path(request.path).parent / "golden" / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        expected = path.read_text(encoding="utf-8") if path.exists() else "(no golden file)"
        assert text == expected, f"{path} differs; run pytest --update-golden and read the diff"

    return compare
