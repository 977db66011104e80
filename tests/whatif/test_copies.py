"""Tasks in copies of this process."""

import os

import pytest

from planner.whatif import copies


@pytest.fixture(autouse=True)
def _copied(monkeypatch):
    """As where nothing else runs in this process, whoever runs the tests."""
    monkeypatch.setattr(copies, "may_copy", lambda: True)


def test_two_tasks_are_done_at_the_same_time_in_two_processes():
    there, here = copies.side_by_side(lambda: (os.getpid(), "x" * 200_000), os.getpid)
    assert (there[1], here) == ("x" * 200_000, os.getpid())
    assert there[0] != here


def test_where_no_copy_may_be_made_all_is_done_here(monkeypatch):
    monkeypatch.setattr(copies, "may_copy", lambda: False)
    assert copies.side_by_side(os.getpid, os.getpid) == (os.getpid(), os.getpid())


def test_the_task_of_a_copy_that_dies_is_done_here():
    here = os.getpid()

    def killed_elsewhere():
        if os.getpid() != here:
            os.kill(os.getpid(), 9)
        return os.getpid()

    assert copies.side_by_side(killed_elsewhere, os.getpid) == (here, here)


def test_a_mistake_in_a_copy_is_told_by_its_parent_alone(capfd):
    def wrong():
        raise ValueError("told once")

    with pytest.raises(ValueError, match="told once"):
        copies.side_by_side(wrong, os.getpid)
    assert capfd.readouterr() == ("", "")
