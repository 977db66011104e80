"""The command as a user's shell sees it: whatever ends it is a sentence and an exit code."""

import io
import os
import signal
import sys
import time
from pathlib import Path
from threading import Event

import click
import pytest

from planner import __version__
from planner.cli import app, common
from planner.cli.common import ProgressLine
from planner.errors import LimitError
from planner.planning import files

FORBIDDEN = (b"Traceback", b"Exception ignored")


def test_data_goes_to_standard_output_and_mistakes_to_standard_error(scenario, process):
    good = process("check", scenario)
    assert (good.returncode, good.stderr) == (0, b"")
    scenario.write_text("format: 1\nnmae: x\n", encoding="utf-8")
    bad = process("check", scenario)
    assert (bad.returncode, bad.stdout) == (2, b"")
    assert b"scenario.yaml:2:1: " in bad.stderr


def test_a_pipe_gets_neither_colour_nor_the_terminals_width(process):
    result = process("catalog", "list", "gpus", COLUMNS="", TERM="xterm-256color")
    lines = result.stdout.decode().splitlines()
    assert b"\x1b" not in result.stdout
    assert max(map(len, lines)) <= 100


def test_an_output_without_the_symbols_gets_ascii(process):
    result = process("catalog", "show", "xe9680-h100", PYTHONIOENCODING="cp1252")
    assert result.returncode == 0
    assert result.stdout.isascii()
    assert not any(word in result.stderr for word in FORBIDDEN)


def test_a_file_that_may_not_be_read_is_one_line(scenario, process, as_others):
    scenario.chmod(0)
    result = process("check", scenario, before=as_others)
    assert result.returncode == 2
    assert b"cannot be read: Permission denied" in result.stderr


HEAVY = """\
import sys
from planner.cli.app import planner
from planner.planning import files
try:
    planner(sys.argv[1:-1])
except SystemExit:
    pass
loaded = set(sys.argv[-1].split(",")) & set(sys.modules)
sys.exit(repr(loaded) if loaded else 0)
"""


def test_help_loads_neither_rich_nor_a_solver(process):
    result = process("--help", "rich,pulp,highspy,numpy", code=HEAVY)
    assert result.returncode == 0, result.stderr


def test_check_loads_neither_rich_nor_a_solver(scenario, process):
    result = process("check", scenario, "rich,pulp,highspy,numpy", code=HEAVY)
    assert b"no mistakes" in result.stdout
    assert result.returncode == 0, result.stderr


def test_the_version_is_the_packages_own(run):
    assert run("--version").stdout == f"planner {__version__}\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_help_that_finds_no_room_ends_in_one_sentence(process):
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        result = process("--help", stdout=full)
    assert result.returncode == 2
    assert result.stderr.decode() == "error: No space left on device\n"


@pytest.fixture
def ended(capsys, monkeypatch):
    """`ended(error)`: exit code and words where a command ends with it; None: it ends well."""
    monkeypatch.setattr(app, "_INTERRUPTED", Event())
    monkeypatch.setattr("sys.stdout", io.StringIO())  # told_of closes what nobody reads

    def end(error: BaseException | None):
        def action(_):
            if error is not None:
                raise error
            return "done"

        ctx = click.Context(click.Command("plan"))
        try:
            return app.guarded(ctx, action), capsys.readouterr().err
        except click.exceptions.Exit as done:
            return done.exit_code, capsys.readouterr().err

    return end


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (LimitError("no plan in time"), 4, "no plan in time\n"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (MemoryError(), 4, "error: out of memory: no plan was made\n"),
        (OSError(12, "Cannot allocate memory"), 4, "error: out of memory: no plan was made\n"),
        (RuntimeError("can't start new thread"), 4, "error: out of memory: no plan was made\n"),
        (ImportError("x.so: failed to map segment"), 4, "error: out of memory: no plan was made\n"),
        (BrokenPipeError(32, "Broken pipe"), 141, ""),
        (OSError(28, "No space left on device"), 2, "error: No space left on device\n"),
        (PermissionError(13, "Permission denied", "out"), 2, "error: out: Permission denied\n"),
    ],
)
def test_what_can_befall_a_command_is_one_sentence_and_its_code(ended, error, code, words):
    found, told = ended(error)
    assert found == code
    assert told.endswith(words)
    assert told.count("\n") == words.count("\n")


def test_a_command_that_ends_well_gives_its_result_and_a_fault_of_ours_is_not_hidden(ended):
    assert ended(None) == ("done", "")
    with pytest.raises(ZeroDivisionError):
        ended(ZeroDivisionError())


def test_ctrl_c_that_a_library_turns_into_its_own_error_is_still_ctrl_c(ended):
    app._INTERRUPTED.set()
    assert ended(RuntimeError("what a library makes of it")) == (130, "interrupted\n")


def test_ctrl_c_waits_for_what_must_be_whole(monkeypatch):
    monkeypatch.setattr(app, "_INTERRUPTED", Event())
    before = signal.getsignal(signal.SIGINT)
    whole = []

    def write():
        with app._interrupts_heeded(), files._uninterrupted():
            os.kill(os.getpid(), signal.SIGINT)
            whole.append("written")

    with pytest.raises(KeyboardInterrupt):
        write()
    assert whole == ["written"]
    assert app._INTERRUPTED.is_set()
    assert signal.getsignal(signal.SIGINT) == before


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


class Pipe(io.StringIO):
    encoding = "utf-8"


@pytest.fixture
def bare(monkeypatch):
    """No variable of the environment says what a terminal can do."""
    for name in ("COLUMNS", "NO_COLOR", "TERM", "LC_ALL"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch.setenv


def test_a_terminal_has_colour_unless_it_or_the_user_refuses(bare):
    assert common._colour(Terminal())
    assert not common._colour(Pipe())
    bare("TERM", "dumb")
    assert not common._colour(Terminal())
    bare("TERM", "xterm")
    bare("NO_COLOR", "1")
    assert not common._colour(Terminal())


def test_the_width_is_what_was_asked_for_or_that_of_the_terminal(bare, monkeypatch):
    size = os.terminal_size((63, 20))
    monkeypatch.setattr("shutil.get_terminal_size", lambda _: size)
    assert common._width(Terminal()) == 63
    assert common._width(Pipe()) == 100
    for asked, given in (("40", 40), ("0", 63), ("wide", 63), ("99999", 1000)):
        bare("COLUMNS", asked)
        assert common._width(Terminal()) == given


def test_symbols_are_drawn_only_where_they_can_be_written(bare):
    assert common._unicode(Pipe())
    for name in ("ascii", "cp1252", "no-such-encoding"):
        narrow = Pipe()
        narrow.encoding = name
        assert not common._unicode(narrow)
    bare("LC_ALL", "C")
    assert not common._unicode(Pipe())


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
