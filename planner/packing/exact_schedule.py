"""Exact schedule: places for all runs, or the proof that there are none.

Where the list schedule leaves a run without a place, CP-SAT is asked, up to a limit of work.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

from planner.packing import work
from planner.packing.list_schedule import Cap, Placed, Room, Waiting

_PROGRAM = Path(__file__).with_name("cp_sat.py")
_START_S, _UNIT_S = 0.5, 10.0
"""Seconds that starting CP-SAT takes on a usual machine, and each of its units of work."""
_MOST_PLACES = 20_000
"""Runs times nodes, beyond which CP-SAT is not asked."""


@dataclass(frozen=True, slots=True)
class ExactSchedule:
    """What is known about the runs of a quarter on the nodes that they may use."""

    placed: tuple[Placed, ...] | None = None
    """Places for all of them; None: none were found."""
    ways: tuple[int, ...] = ()
    """For each run, which of its ways that is."""
    impossible: bool = False
    """Whether it is proved that there are none, whichever GPUs of a node each run takes."""


def exactly(
    rooms: Sequence[Room], runs: Sequence[Waiting], caps: Sequence[Cap], most_s: float
) -> ExactSchedule:
    """Look for places of all runs for so many seconds of work; `caps` are as yet unused."""
    if most_s <= _START_S or len(rooms) * len(runs) > _MOST_PLACES:
        return ExactSchedule()
    answer = _answer(
        {
            "rooms": [
                {
                    "pool": room.pool,
                    "gpus": room.gpus,
                    "cpus": room.cpus,
                    "memory_mb": room.memory_mb,
                    "whole": room.whole,
                    "scarce": room.scarce,
                }
                for room in rooms
            ],
            "runs": [[_way(way, caps) for way in one.ways] for one in runs],
            "caps": [cap.use.most for cap in caps],
            "work": (most_s - _START_S) / _UNIT_S,
        }
    )
    work.add(_START_S + answer.get("work", 0.0) * _UNIT_S)
    if answer["kind"] != "found":
        return ExactSchedule(impossible=answer["kind"] == "impossible")
    placed, ways = [], []
    for one, (way, start, places) in zip(runs, answer["runs"], strict=True):
        taken = one.ways[way]
        placed.append(Placed(taken.pool, taken.shape, start, tuple(map(tuple, places))))
        ways.append(way)
    return ExactSchedule(tuple(placed), tuple(ways))


def _way(way: Waiting, caps: Sequence[Cap]) -> dict[str, Any]:
    run = way.shape.run
    return {
        "pool": way.pool,
        "hours": run.hours,
        "earliest": run.earliest,
        "latest": run.latest,
        "gpus": way.on_node.gpus,
        "cpus": way.on_node.cpus,
        "memory_mb": way.on_node.memory_mb,
        "nodes": way.nodes,
        "caps": [number for number, cap in enumerate(caps) if cap.counts(way)],
    }


def _answer(question: dict[str, Any]) -> dict[str, Any]:
    """Ask CP-SAT; nothing is known if the guard ends it, or the system does."""
    left_s = work.guarded_s()
    try:
        done = subprocess.run(
            [sys.executable, "-P", str(_PROGRAM)],
            input=json.dumps(question),
            capture_output=True,
            text=True,
            timeout=None if left_s == inf else max(0.0, left_s),
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"kind": "unknown"}
    if done.returncode < 0:  # killed, such as for lack of memory
        return {"kind": "unknown"}
    if done.returncode:
        raise RuntimeError(f"CP-SAT ended with {done.returncode}: {done.stderr[-500:]}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found
