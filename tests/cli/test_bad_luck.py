"""What becomes of a plan when the solver, the disk, the terminal or the user gives out."""

import errno
import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import openpyxl
import pulp
import pytest

from planner.packing import solver, work

ROOT = Path(__file__).parents[2]
SILENT = (b"Traceback", b"Exception ignored", b"terminate called")
SOON_S = 120
"""By then a command has ended, however busy the machine is; what hangs, hangs for far longer."""


def files(folder="."):
    """All files below a folder but the scenario."""
    return sorted(path.name for path in Path(folder).rglob("*") if path.name != "scenario.yaml")


def start(*args, code=None, **how):
    launch = ["-m", "planner.cli"] if code is None else ["-c", code]
    return subprocess.Popen(
        [sys.executable, *launch, *args],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **how,
    )


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (pulp.PulpSolverError("lost its way"), "the solver failed: lost its way"),
        (RuntimeError("HiGHS threw"), "the solver failed: HiGHS threw"),
        (MemoryError(), "the solver ran out of memory"),
    ],
)
def test_a_solver_that_crashes_is_a_limit_in_one_sentence(scenario, run, monkeypatch, error, words):
    def crash(watched, lp):
        raise error

    monkeypatch.setattr(solver._WatchedHighs, "callSolver", crash)
    result = run("plan", scenario, "--out", "out")
    assert (result.exit_code, result.stdout) == (4, "")
    assert words in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not files()


HANGING = """\
import sys, threading, time, highspy
from planner.packing import solver
def hang(model):
    thread = threading.Thread(target=time.sleep, args=(3600,), daemon=True)
    thread.start()
    return thread
highspy.Highs.startSolve = hang
solver._GRACE_S, solver._LAST_GRACE_S = 0.1, 0.3
from planner.cli.app import main
main()
"""


def test_a_solver_that_hangs_is_given_up(scenario):
    process = start("plan", str(scenario), "--time-limit", "0.2", "--out", "out", code=HANGING)
    _, told = process.communicate(timeout=SOON_S)
    assert process.returncode == 4, told
    assert b"the solver did not stop at its time limit" in told
    assert not files()


CBC = """\
#!/bin/sh
echo $$ > "{pid}"
exec sleep 3600
"""


@pytest.fixture
def slow_cbc(tmp_path, monkeypatch):
    """A CBC that never answers; the file tells its process."""
    script, pid = tmp_path / "cbc", tmp_path / "pid"
    script.write_text(CBC.format(pid=pid), encoding="utf-8")
    script.chmod(0o755)
    monkeypatch.setattr(pulp.PULP_CBC_CMD, "pulp_cbc_path", str(script))
    return pid


def test_a_second_solver_that_hangs_is_killed_and_confirms_nothing(
    scenario, run, slow_cbc, monkeypatch
):
    monkeypatch.setattr(solver, "_LAST_GRACE_S", 0.2)
    monkeypatch.setattr(work, "GUARD", 1e6)
    result = run("plan", scenario, "--crosscheck", "--time-limit", "1", "--format", "json")
    assert result.exit_code == 0, result.stderr
    opinions = json.loads(result.stdout)["proof"]["second_opinions"]
    assert sorted(one["verdict"] for one in opinions)[0] == "confirmed"
    assert len({one["verdict"] for one in opinions}) == 2
    with pytest.raises(ProcessLookupError):
        os.kill(int(slow_cbc.read_text()), 0)


GRID = (
    """\
format: 1
scenario: scenario.yaml
grid: {set: {finance.pue: ["""
    + ", ".join(f"1.{one:02}" for one in range(99))
    + """]}}
"""
)
SLOW = """\
import sys
from planner.packing import solver
class Slow(solver._WatchedHighs):
    def callSolver(self, lp):
        sys.stderr.write("solving\\n")
        sys.stderr.flush()
        import time
        time.sleep(3600)
solver._WatchedHighs = Slow
from planner.cli.app import main
main()
"""


def test_ctrl_c_while_solving_ends_at_once_with_130_and_nothing_written(scenario):
    process = start("plan", str(scenario), "--out", "out", code=SLOW)
    assert process.stderr.readline() == b"solving\n"
    process.send_signal(signal.SIGINT)
    shown, told = process.communicate(timeout=SOON_S)
    assert (process.returncode, shown, told) == (130, b"", b"interrupted\n")
    assert not files()


LOADING = """\
import importlib.abc, sys, time
class Slow(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == awaited:
            sys.stderr.write("loading\\n")
            sys.stderr.flush()
            time.sleep(3600)
awaited = sys.argv.pop()
sys.meta_path.insert(0, Slow())
from planner.cli import main
main()
"""


@pytest.mark.parametrize(
    ("words", "module"),
    [
        (("--help",), "click"),
        (("plan", "scenario.yaml"), "highspy"),
    ],
)
def test_ctrl_c_while_the_command_is_loaded_is_one_word_and_130(scenario, words, module):
    process = start(*words, module, code=LOADING)
    assert process.stderr.readline() == b"loading\n"
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=SOON_S)
    assert (process.returncode, told) == (130, b"interrupted\n")


LITTLE = {
    "check": ("check", "scenario.yaml"),
    "plan": ("plan", "scenario.yaml", "--out", "out"),
    "sweep": ("sweep", "grid.yaml", "--out", "out", "--jobs", "2"),
    "doctor": ("doctor",),
}
ENOUGH = ("check",)


@pytest.mark.parametrize(
    ("command", "mebibytes"),
    [("check", 120), ("plan", 260), ("sweep", 120), ("doctor", 120)],
)
def test_little_memory_is_enough_or_one_sentence(scenario, command, mebibytes):
    Path("grid.yaml").write_text(GRID, encoding="utf-8")
    most = mebibytes << 20
    process = start(
        *LITTLE[command],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)),
    )
    shown, told = process.communicate(timeout=SOON_S)
    if command in ENOUGH:
        assert (process.returncode, told) == (0, b"")
        return
    assert (process.returncode, shown) == (4, b"")
    assert told.startswith(b"error: too little memory: the limit is %d MiB, " % mebibytes)
    assert told.count(b"\n") == 1
    assert not files("out")


def test_a_workbook_is_read_within_little_memory(scenario):
    book = openpyxl.Workbook()
    assert book.active is not None
    book.active.append(["name"])
    book.save("jobs.xlsx")
    most = 260 << 20
    words = ("import", "jobs.xlsx", "--out", "jobs.yaml")
    process = start(*words, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)))
    _, told = process.communicate(timeout=SOON_S)
    assert process.returncode == 2, told
    assert b"jobs.xlsx: " in told
    assert not any(word in told for word in (*SILENT, b"OpenBLAS", b"memory"))


@pytest.mark.parametrize("which", [resource.RLIMIT_AS, resource.RLIMIT_DATA])
def test_the_memory_that_planning_is_said_to_need_is_enough(scenario, which):
    most = 400 << 20 if which == resource.RLIMIT_AS else 250 << 20
    words = ("plan", str(scenario), "--out", "out")
    process = start(*words, preexec_fn=lambda: resource.setrlimit(which, (most, most)))
    _, told = process.communicate(timeout=SOON_S)
    assert process.returncode == 0, told
    assert files("out") == ["plan.json", "plan.md"]


def running(process: str) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    except OSError:
        return False


def test_ctrl_c_while_workers_begin_ends_all_of_them_without_a_word_of_theirs(scenario):
    """A terminal sends it to every process of the command, also to one that has just begun."""
    Path("grid.yaml").write_text(GRID, encoding="utf-8")
    words = ("sweep", "grid.yaml", "--out", "out", "--jobs", "2")
    process = start(*words, start_new_session=True)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    workers: list[str] = []
    while len(workers) < 2:
        assert process.poll() is None
        workers = children.read_text(encoding="ascii").split()
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    shown, told = process.communicate(timeout=SOON_S)
    assert (process.returncode, shown) == (130, b"")
    assert told.splitlines()[-1] == b"interrupted"
    assert not any(word in told for word in SILENT)
    until = time.monotonic() + SOON_S
    while any(map(running, workers)):
        assert time.monotonic() < until
        time.sleep(0.05)


def test_a_disk_that_fills_up_leaves_the_old_plan_whole(scenario, run):
    assert run("plan", scenario, "--out", "out").exit_code == 0
    before = Path("out/plan.json").read_bytes()
    scenario.write_text(scenario.read_text(encoding="utf-8").replace("6}", "7}"), encoding="utf-8")
    process = start(
        "plan",
        str(scenario),
        "--force",
        "--out",
        "out",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)),
    )
    shown, told = process.communicate(timeout=SOON_S)
    assert (process.returncode, shown) == (2, b"")
    assert b"plan.json: cannot be written: File too large" in told
    assert Path("out/plan.json").read_bytes() == before
    assert files("out") == ["plan.json", "plan.md"]


def test_a_disk_that_is_full_after_the_first_file_leaves_none(scenario, run, monkeypatch):
    write = Path.write_bytes

    def written(path, content):
        if path.name.endswith("plan.md"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(path, content)

    monkeypatch.setattr(Path, "write_bytes", written)
    result = run("plan", scenario, "--out", "out")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "out/plan.md: cannot be written: No space left on device" in result.stderr
    assert not Path("out").exists()


def test_a_standard_output_that_is_closed_is_told_before_anything_is_planned(scenario):
    process = start("plan", str(scenario), "--out", "out", preexec_fn=lambda: os.close(1))
    _, told = process.communicate(timeout=SOON_S)
    assert process.returncode == 2
    assert told.startswith(b"error: standard output is closed; ")
    assert told.count(b"\n") == 1
    assert not files()


def test_without_standard_error_or_input_a_plan_is_written_whole(scenario):
    def close():
        os.close(0)
        os.close(2)

    process = start("plan", str(scenario), "--out", "out", preexec_fn=close)
    shown, _ = process.communicate(timeout=SOON_S)
    assert process.returncode == 0
    assert shown
    assert json.loads(Path("out/plan.json").read_text(encoding="utf-8"))["format"]


def test_two_runs_into_one_folder_leave_one_whole_plan(scenario):
    # With --force, since whichever starts late finds a plan that it may not overwrite.
    both = [start("plan", str(scenario), "--out", "out", "--force") for _ in range(2)]
    told = [process.communicate(timeout=SOON_S) for process in both]
    assert [process.returncode for process in both] == [0, 0], told
    assert files("out") == ["plan.json", "plan.md"]
    assert told[0][0] == told[1][0]
    assert json.loads(Path("out/plan.json").read_text(encoding="utf-8"))["format"]


def test_a_reader_that_takes_ten_lines_of_a_plan_ends_it_quietly(scenario, process):
    reader, writer = os.pipe()
    os.close(reader)
    result = process("plan", scenario, "--out", "out", stdout=writer)
    os.close(writer)
    assert result.returncode == 141
    assert result.stderr == b"wrote out/plan.json and out/plan.md\n"
    assert files("out") == ["plan.json", "plan.md"]
