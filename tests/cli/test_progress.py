"""The sign of life on long solves."""

import io
import sys
import time

import pytest

from planner.cli import common
from planner.cli.common import ProgressLine


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
    deadline = time.monotonic() + 120
    while text not in stream.getvalue():
        assert time.monotonic() < deadline, stream.getvalue()
        time.sleep(0.01)


def test_a_terminal_is_told_what_is_being_done(stderr_is):
    terminal = stderr_is(Terminal())
    with ProgressLine() as say:
        say("sizing jobs")
        wait_for("sizing jobs", terminal)
        say("counting nodes")
        wait_for("counting nodes", terminal)


def test_a_pipe_gets_a_line_now_and_then_and_none_of_a_short_run(stderr_is, monkeypatch):
    pipe = stderr_is(io.StringIO())
    with ProgressLine() as say:
        say("sizing jobs")
    assert pipe.getvalue() == ""
    monkeypatch.setattr(common, "_FIRST_LINE_SECONDS", 0.01)
    with ProgressLine() as say:
        say("sizing jobs")
        wait_for("sizing jobs (", pipe)
        say("counting nodes")
        wait_for("counting nodes (", pipe)
    told = pipe.getvalue()
    assert told.endswith(" s so far)\n")
    time.sleep(0.1)
    assert pipe.getvalue() == told, "nothing is told of what is over"


def test_lines_become_rarer_the_longer_it_takes(stderr_is, monkeypatch):
    pauses = []

    class Over:
        def wait(self, pause):
            pauses.append(pause)
            return len(pauses) == 6

        def is_set(self):
            return False

    stderr_is(io.StringIO())
    waiting = ProgressLine()
    monkeypatch.setattr(waiting, "_over", Over())
    waiting._write()
    assert pauses == [10, 20, 40, 60, 60, 60]


def test_quiet_says_nothing_of_long_work(run, scenario, monkeypatch):
    monkeypatch.setattr(common, "_FIRST_LINE_SECONDS", 0.001)
    assert "s so far)" in run("plan", scenario).stderr
    assert run("plan", scenario, "--quiet").stderr == ""
