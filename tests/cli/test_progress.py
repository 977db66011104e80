"""The sign of life on long solves."""

import io
import sys
import time

import pytest

from planner.cli import progress
from planner.cli.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def stderr_is(monkeypatch):
    """Called in the test itself: pytest puts its own standard error back between setup and test."""

    def put(stream):
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setattr(sys, "stderr", stream)
        return stream

    return put


def wait_for(text, stream):
    deadline = time.monotonic() + 5
    while text not in stream.getvalue():
        assert time.monotonic() < deadline, stream.getvalue()
        time.sleep(0.01)


def test_a_long_solve_says_what_it_is_doing(stderr_is, monkeypatch):
    terminal = stderr_is(Terminal())
    monkeypatch.setattr(progress, "_QUIET_SECONDS", 0.01)
    with Progress() as say:
        say("sizing jobs")
        wait_for("sizing jobs", terminal)
        say("counting nodes")
        wait_for("counting nodes", terminal)


def test_a_short_one_says_nothing(stderr_is):
    terminal = stderr_is(Terminal())
    with Progress() as say:
        say("sizing jobs")
    assert terminal.getvalue() == ""


def test_nothing_is_shown_where_nobody_looks(stderr_is, monkeypatch):
    pipe = stderr_is(io.StringIO())
    monkeypatch.setattr(progress, "_QUIET_SECONDS", 0.01)
    with Progress() as say:
        say("sizing jobs")
        time.sleep(0.05)
    assert pipe.getvalue() == ""
