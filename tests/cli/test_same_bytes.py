"""The same command on the same files writes the same bytes, wherever and however it is started."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


@pytest.fixture
def written(scenario, process, tmp_path, monkeypatch):
    """`written("here", "--jobs", "1", TZ="UTC")`: files of plan and report, made in that folder."""
    text = scenario.read_text(encoding="utf-8")

    def write(folder, *jobs, **env):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        Path("scenario.yaml").write_text(text, encoding="utf-8")
        for command in (("plan", "scenario.yaml"), ("report", "out/plan.json", *jobs)):
            result = process(*command, "--out", "out", **env)
            assert result.returncode == 0, result.stderr
        return {path.name: path.read_bytes() for path in Path("out").iterdir()}

    return write


def test_folder_hash_seed_time_zone_locale_and_workers_change_no_byte_of_any_document(written):
    first = written("one", "--jobs", "1", PYTHONHASHSEED="1", TZ="Pacific/Chatham")
    second = written("three", PYTHONHASHSEED="2", LC_ALL="C", TZ="UTC")
    assert {Path(name).suffix for name in first} >= {".json", ".md", ".html", ".xlsx"}
    assert [name for name in first if first[name] != second[name]] == []
    assert json.loads(first["plan.json"])["provenance"]["files"][0][1] == "scenario.yaml"
