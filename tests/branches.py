"""Which branches of `planner/` the tests take: `python -m tests.branches .coverage.json`.

The file is written by slipcover, whose own limit counts lines and branches together; held here is
the share of branches alone. What tests start as processes is not measured. Of modules that no test
imports slipcover knows nothing, so there must be none.
"""

import json
import sys
from pathlib import Path
from typing import Any

LEAST = 0.95
_IN_A_PROCESS = ("__main__", "cp_sat")
"""Modules that only run as a process of their own."""
_SHOWN = 12


def told(measured: dict[str, Any]) -> tuple[float, str]:
    """The share of branches that are taken, and where most of the others are."""
    files = measured["files"]
    taken = sum(len(file["executed_branches"]) for file in files.values())
    left = {name: file["missing_branches"] for name, file in files.items()}
    every = taken + sum(map(len, left.values()))
    share = taken / every
    modules = {
        str(path) for path in Path("planner").rglob("*.py") if path.stem not in _IN_A_PROCESS
    }
    lines = [f"{taken:,} of {every:,} branches of planner/ are taken by the tests: {share:.2%}"]
    if share < LEAST:
        lines.append(f"at least {LEAST:.0%} must be; most are left (line → line) in:")
        for name in sorted(left, key=lambda name: (-len(left[name]), name))[:_SHOWN]:
            lines.append(f"  {name}: " + ", ".join(f"{a} → {b or 'end'}" for a, b in left[name]))
    if unseen := sorted(modules - left.keys()):
        lines.append(f"no test imports {', '.join(unseen)}")
    return 0.0 if unseen else share, "\n".join(lines)


if __name__ == "__main__":
    share, words = told(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    print(words)
    sys.exit(share < LEAST)
