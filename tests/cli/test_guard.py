"""Whatever ends a command is a sentence and an exit code, and output fits what takes it."""

import io
import os
import signal
from threading import Event

import click
import pytest

from planner.cli import app, common
from planner.errors import LimitError
from planner.planning import files


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
