"""Tasks in copies of this process."""

import os
import signal
import time
from typing import Any

import pytest

from planner.whatif.desk import copies
from planner.whatif.desk.copies import Copy


@pytest.fixture(autouse=True)
def _copied(monkeypatch):
    """As where nothing else runs in this process, whoever runs the tests."""
    monkeypatch.setattr(copies, "may_copy", lambda: True)


def copy_of(task: Any, **how: Any) -> Copy[Any, Any]:
    return Copy(task, **how)


def ended(process):
    """Whether a process is gone, within a few seconds."""
    for _ in range(500):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False


def test_a_task_is_done_in_another_process_beside_this_one():
    with copy_of(lambda _: (os.getpid(), "x" * 200_000)) as copy:
        there, told = copy.result()
    assert told == "x" * 200_000
    assert there != os.getpid()
    assert ended(there)


def test_a_copy_waits_for_what_it_is_told():
    with copy_of(lambda told: (told() * 2, os.getpid())) as copy:
        copy.tell("so " * 50_000)
        doubled, there = copy.result()
    assert doubled == "so " * 100_000
    assert there != os.getpid()


def test_a_copy_that_does_not_listen_is_told_all_the_same():
    with copy_of(lambda _: os.getpid()) as copy:
        time.sleep(0.2)  # it has ended by now
        copy.tell("x" * 1_000_000)
        assert copy.result() != os.getpid()


@pytest.mark.parametrize("apart", [True, False])
def test_where_no_copy_may_or_shall_be_made_all_is_done_here(monkeypatch, apart):
    monkeypatch.setattr(copies, "may_copy", lambda: not apart)
    with copy_of(lambda told: (told(), os.getpid()), apart=apart) as copy:
        copy.tell("news")
        assert copy.result() == ("news", os.getpid())


def test_nothing_is_done_here_where_nobody_asks_for_it():
    with copy_of(lambda _: pytest.fail("done"), apart=False):
        pass


def test_the_task_of_a_copy_that_dies_is_done_here_with_what_it_was_told():
    here = os.getpid()

    def killed_elsewhere(told):
        if os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return told(), os.getpid()

    with copy_of(killed_elsewhere) as copy:
        copy.tell("news")
        assert copy.result() == ("news", here)


def test_a_mistake_in_a_copy_is_told_by_its_parent_alone(capfd):
    def wrong(_):
        raise ValueError("told once")

    with pytest.raises(ValueError, match="told once"), copy_of(wrong) as copy:
        copy.result()
    assert capfd.readouterr() == ("", "")


def test_a_copy_for_which_nobody_waits_ends():
    reads, writes = os.pipe()

    def long(_):
        os.write(writes, b"%d" % os.getpid())
        time.sleep(60)

    with copy_of(long):
        there = int(os.read(reads, 20))
    assert ended(there)


def test_a_copy_ends_with_its_parent():
    """However the parent ends: here it is killed, and can end nobody itself."""
    reads, writes = os.pipe()

    def long(_):
        os.write(writes, b"%d" % os.getpid())
        time.sleep(60)

    parent = os.fork()
    if not parent:
        with copy_of(long) as copy:
            copy.result()
    there = int(os.read(reads, 20))
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    assert ended(there)
