"""One flag for all that is generated, and the comparison that knows it.

Tests that need a program which is not installed are left out, and one line says so; with `CI=true`
in the environment each of them fails.
"""

import gc
import os
import shutil
from collections import Counter
from pathlib import Path

import pytest

# What is imported and collected lives to the end: going through it for garbage again and again
# takes a sixth of the time of all tests.
gc.set_threshold(100_000, 20, 20)


def pytest_configure(config):
    """What starts the workers of xdist runs no test, and needs nothing of the planner."""
    if not config.getoption("numprocesses", None):
        config.pluginmanager.import_plugin("tests.once")


def pytest_collection_finish():
    gc.collect()
    gc.freeze()


def pytest_addoption(parser):
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write what is generated anew instead of comparing with it; no other test runs",
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


def pytest_collection_modifyitems(config, items):
    """With `--update-golden` only tests run that write a file."""
    if config.getoption("--update-golden"):
        items[:] = [item for item in items if "renewing" in item.fixturenames]


@pytest.fixture(scope="session")
def renewing(request):
    """Whether what is generated is written anew."""
    return request.config.getoption("--update-golden")


@pytest.fixture
def golden(request, renewing):
    """`golden("plan.md", text)`: the file in the test's own `golden` folder holds this text.

    A whole path stands for any other file: `golden(root / "README.md", text)`.
    """

    def compare(name: str | Path, text: str) -> None:
        path = Path(request.path).parent / "golden" / name
        if renewing:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        held = path.read_text(encoding="utf-8") if path.exists() else "(no such file)"
        assert held == text, f"{path} is old: run `make golden`, and read the difference"

    return compare


CONTRASTS = """(names) => {
  const light = c => { const [r, g, b] = c.match(/[\\d.]+/g).slice(0, 3).map(v => {
    v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; });
    return .2126 * r + .7152 * g + .0722 * b; };
  const ground = e => { for (; e; e = e.parentElement) {
    const c = getComputedStyle(e).backgroundColor;
    if (!c.endsWith(", 0)")) return light(c); } return 1; };
  return names.map(name => {
    const e = document.querySelector(name);
    const a = light(getComputedStyle(e).color), b = ground(e);
    return (Math.max(a, b) + .05) / (Math.min(a, b) + .05); }); }"""
"""For `page.evaluate`: how far the first element of each selector stands out from its ground."""


@pytest.fixture(scope="module")
def browser():
    api = pytest.importorskip("playwright.sync_api", reason="playwright is in the extra `dev`")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("no Chromium here: `apt-get install chromium` runs the tests in a browser")
    with api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture
def tab(browser):
    """`tab(width)`: an empty tab that remembers what its console said and what it asked for."""
    contexts = []

    def opened(width=1280, **options):
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        context.set_default_timeout(120_000)
        contexts.append(context)
        page = context.new_page()
        page.said, page.asked = [], []
        page.on("console", lambda message: page.said.append(message.text))
        page.on("pageerror", lambda error: page.said.append(str(error)))
        page.on("request", lambda request: page.asked.append(request.url))
        return page

    yield opened
    for context in contexts:
        context.close()
