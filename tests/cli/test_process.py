"""The command as a user's shell sees it."""

from pathlib import Path

import pytest

from planner import __version__

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
try:
    planner(sys.argv[1:-1])
except SystemExit:
    pass
loaded = set(sys.argv[-1].split(",")) & set(sys.modules)
sys.exit(repr(loaded) if loaded else 0)
"""


def test_help_is_there_before_anything_heavy_is_loaded(process):
    result = process("--help", "pydantic,rich,pulp,highspy,yaml,numpy", code=HEAVY)
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
