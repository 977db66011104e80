"""Mutation check: `make mutations` breaks places that matter, one at a time, in a copy.

Each place of mutations.yaml must be noticed: at least one of the tests named beside it fails. One
whose text has changed must be written anew there; until then the check fails. `make mutations
ONLY=quota` breaks those alone whose name holds that word.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import yaml

ROOT = Path(__file__).parents[1]
_LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "out")


class Mutation(NamedTuple):
    """One way to break the planner."""

    name: str
    file: str
    old: str
    """Stands in the file exactly once."""
    new: str
    tests: str
    """What pytest is asked to run, with blanks between."""


_TABLE = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
MUTATIONS = tuple(Mutation(name, **stated) for name, stated in _TABLE.items())


def main(word: str) -> int:
    """Break each in turn; 1 where one is not noticed or not found."""
    chosen = [one for one in MUTATIONS if word in one.name]
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        shutil.copytree(ROOT, copy, ignore=_LEFT_OUT)
        bad = [one.name for one in chosen if not _noticed(copy, one)]
    print(f"{len(chosen) - len(bad)} of {len(chosen)} are noticed")
    return bool(bad or not chosen)


def _noticed(copy: Path, mutation: Mutation) -> bool:
    path = copy / mutation.file
    text = path.read_text(encoding="utf-8")
    if text.count(mutation.old) != 1:
        times = text.count(mutation.old)
        print(f"{mutation.name}: its text stands {times} times in {mutation.file}: write it anew")
        return False
    path.write_text(text.replace(mutation.old, mutation.new), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    told = subprocess.run(
        [*command, *mutation.tests.split()],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    path.write_text(text, encoding="utf-8")
    failed = [line for line in told.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    if told.returncode != 1 or not failed:
        print(f"{mutation.name}: NOT noticed by {mutation.tests}, pytest {told.returncode}")
        return False
    print(f"{mutation.name}: {failed[0].partition(' - ')[0]}")
    return True


if __name__ == "__main__":
    sys.exit(main(" ".join(sys.argv[1:])))
