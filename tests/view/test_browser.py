"""The page in a real browser, from a server of its own. Needs Debian's chromium."""

import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.conftest import CONTRASTS

ROOT = Path(__file__).parents[2]
PLAN = quote("out/plan.json", safe="")
PAGES = ("", f"plan?of={PLAN}", f"what-if?of={PLAN}", f"job?of={PLAN}", f"sensitivity?of={PLAN}",
         f"compare?before={PLAN}&after={PLAN}", "nothing")  # fmt: skip


def started(folder, mark=""):
    """`planner view` as a process, and the address that it prints."""
    process = subprocess.Popen(
        [sys.executable, "-m", "planner.cli", "view", str(folder)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "MARK": mark},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


@pytest.fixture(scope="module")
def address(planned, tmp_path_factory):
    folder = tmp_path_factory.mktemp("served") / "study"
    shutil.copytree(planned, folder)
    process, printed = started(folder)
    yield printed
    process.send_signal(signal.SIGINT)
    assert process.wait(120) == 0
    process.stdout.close()


def test_every_page_is_quiet_never_scrolls_sideways_and_can_be_read_aloud(tab, address):
    """It asks its server alone; all that can be used has a name."""
    page = tab()
    for path in PAGES:
        page.goto(address + path)
        for width in (320, 400, 1280):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (path, width)
        nameless = page.evaluate(
            """() => [...document.querySelectorAll("a, button, input, select, textarea, progress")]
              .filter(e => e.type !== "hidden" && !(e.textContent.trim() || e.ariaLabel
                || (e.labels && [...e.labels].some(l => l.textContent.trim()))))
              .map(e => e.outerHTML)"""
        )
        assert nameless == [], path
        assert page.locator("h1").count() == page.locator("main").count() == 1
    assert [one for one in page.said if "404" not in one] == []
    assert all(one.startswith((address, "data:")) for one in page.asked)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_buttons_stand_out_from_their_ground(tab, address, scheme):
    page = tab(color_scheme=scheme)
    page.goto(f"{address}what-if?of=small%2Fplan.json")
    names = ["main button", "main label", "main legend", "main .faint", "header a", "main input"]
    assert min(page.evaluate(CONTRASTS, names)) >= 4


def test_two_tabs_ask_what_if_by_keyboard_alone_and_each_gets_its_answer(tab, address):
    tabs = [tab(), tab(400)]
    for place, page in enumerate(tabs, 1):
        page.goto(f"{address}what-if?of=small%2Fplan.json")
        page.get_by_label("Prices to buy").focus()
        page.keyboard.type(f"{5 * place}")
        page.keyboard.press("Enter")
    for place, page in enumerate(tabs, 1):
        page.wait_for_url("**/compare?**", timeout=120_000)
        assert f"Prices to buy +{5 * place} %" in page.locator("h1").inner_text()
        assert page.said == []


def test_a_figure_tells_its_sum_and_a_job_on_the_map_leads_to_its_why(tab, address):
    page = tab()
    page.goto(f"{address}plan?of={PLAN}")
    page.locator("td .n").first.focus()
    assert page.locator("#trace").inner_text().startswith("plan.json: ")
    page.locator("svg.map a").first.click()
    assert "/job?of=" in page.url
    page.get_by_label("Job").fill("claims")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="claims", exact=True).wait_for()


def alive(mark):
    """Processes that inherited a mark."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if f"MARK={mark}".encode() in (path / "environ").read_bytes().split(b"\0"):
                found.append(int(path.name))
        except OSError:
            continue
    return found


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="no /proc here")
def test_no_process_outlives_a_server_that_is_killed_while_it_plans(planned, tmp_path):
    mark = f"view-{os.getpid()}-{time.monotonic_ns()}"
    shutil.copytree(planned, tmp_path / "study")
    process, address = started(tmp_path / "study", mark)
    until = time.monotonic() + 300
    try:
        origin = address.rpartition("/")[0].rpartition("/")[0]
        form = urllib.request.Request(f"{address}what-if", b"of=scenario.yaml&units=20")
        form.add_header("Origin", origin)
        urllib.request.urlopen(form, timeout=120).close()
        while len(alive(mark)) < 3 and time.monotonic() < until:
            time.sleep(0.02)
        assert len(alive(mark)) >= 3  # the server, what starts processes for it, and one at work
    finally:
        process.kill()
        process.wait(120)
        process.stdout.close()
    while alive(mark) and time.monotonic() < until:
        time.sleep(0.05)
    assert alive(mark) == []
