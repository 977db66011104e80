"""The same command on the same files writes the same bytes, wherever and however it is started."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

ALONE = ("--jobs", "1")
NOBODY = "import os; os.environ.pop('HOME', None)\nfrom planner.cli.app import main\nmain()"


@pytest.fixture
def written(scenario, process, tmp_path, monkeypatch):
    """`written("here", TZ="UTC")`: files of plan and report, and what plan says."""
    text = scenario.read_text(encoding="utf-8")

    def write(folder, **env):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        Path("scenario.yaml").write_text(text, encoding="utf-8")
        printed = []
        for command in (("plan", "scenario.yaml"), ("report", "out/plan.json", *ALONE)):
            result = process(*command, "--out", "out", code=NOBODY, **env)
            assert result.returncode == 0, result.stderr
            printed.append(result.stdout)
        return {path.name: path.read_bytes() for path in Path("out").iterdir()}, printed[0]

    return write


def test_folder_hash_seed_time_zone_and_locale_change_no_byte_of_any_document(written):
    first, _ = written("one", PYTHONHASHSEED="1", TZ="Pacific/Chatham")
    plain = {"LC_ALL": "C", "TZ": "UTC", "COLUMNS": "40"}
    second, narrow = written("two", PYTHONHASHSEED="2", **plain)
    assert narrow.isascii()
    assert max(map(len, narrow.splitlines())) <= 40
    assert {Path(name).suffix for name in first} >= {".json", ".md", ".html", ".xlsx"}
    assert [name for name in first if first[name] != second[name]] == []
    assert json.loads(first["plan.json"])["provenance"]["files"][0][1] == "scenario.yaml"
