"""Each file in tests/broken/tables is wrong; told.txt beside them says what a user is told."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from planner.cli.app import planner

TABLES = Path(__file__).parents[1] / "broken" / "tables"
TOLD = dict(
    line.partition(": ")[::2]
    for line in (TABLES / "told.txt").read_text(encoding="utf-8").splitlines()
)
"""What stands after `error: FILE` by file: place and words, and the hint in brackets."""


def test_every_broken_table_has_its_words():
    assert {path.name for path in TABLES.iterdir()} - {"told.txt"} == set(TOLD)


@pytest.mark.parametrize("name", TOLD)
def test_a_broken_table_is_refused_with_its_cell_and_nothing_is_written(
    tmp_path, monkeypatch, name
):
    monkeypatch.chdir(TABLES)
    out = tmp_path / "out.yaml"
    result = CliRunner().invoke(planner, ["import", name, "--out", str(out)])
    assert result.exit_code == 2
    assert not out.exists()
    assert told(result.stderr, name) == TOLD[name]


def told(output: str, name: str) -> str:
    """The first mistake with its hint, without the name of the file."""
    lines = output.splitlines()
    first = next(line for line in lines if line.startswith(f"error: {name}:"))
    hints = [line for line in lines if line.startswith("hint: ")]
    return " ".join(
        [first.removeprefix(f"error: {name}:").strip(), *(f"({one})" for one in hints[:1])]
    )
