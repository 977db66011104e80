"""The tutorial, followed step by step: its files are written, its commands run."""

import re
import shlex
from pathlib import Path

from click.testing import CliRunner

from planner.cli.app import planner

_BLOCK = re.compile(r"^```(yaml|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LEFT_OUT = "[...]\n"


def test_every_command_of_the_tutorial_prints_what_it_shows(root, tmp_path, monkeypatch):
    text = (root / "docs" / "tutorial.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    mine, commands = Path("mine.yaml"), 0
    for language, block in _BLOCK.findall(text):
        if language == "yaml":
            before = "" if block.startswith("format:") else f"{mine.read_text('utf-8')}\n"
            mine.write_text(before + block, encoding="utf-8")
            continue
        command, _, shown = block.partition("\n")
        words = shlex.split(command.removeprefix("$ planner "))
        printed = CliRunner().invoke(planner, words, env={"COLUMNS": "80"}, prog_name="planner")
        rest = printed.output
        for part in filter(None, shown.split(LEFT_OUT)):
            assert part in rest, f"{command} no longer prints:\n{part}\nbut\n{rest}"
            rest = rest.partition(part)[2]
        commands += 1
    assert commands == 8
