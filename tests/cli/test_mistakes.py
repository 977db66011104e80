"""Whatever is asked wrongly is told in the words of the command line, before anything is done."""

import json
import shlex
import shutil
import sys
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import ROOT
from tests.cli.test_size import QWEN

MISTAKES = yaml.safe_load(Path(__file__).with_name("mistakes.yaml").read_text(encoding="utf-8"))
FILES = {
    "sweep.yaml": "format: 1\nscenario: scenario.yaml\ngrid: {set: {finance.pue: [1.2, 1.5]}}\n",
    "what-if.yaml": "extends: scenario.yaml\napply: [dear]\n",
    "rules.yaml": "rules: {a/b: {title: x}}\n",
    "table.csv": "job,fixed.gpus\na,none\n",
    "mapping.yaml": "always: {no: 1}\n",
    "t5.json": json.dumps({"model_type": "t5"}),
    "qwen.json": json.dumps(QWEN),
    "runs.csv": "model,method,batch\nllama-3.1-8b,lorra,8\n",
}
WORDS = {
    "LORA": "--model llama-3.1-8b --method lora --batch 8 --sequence 2048",
    "SERVE": "--parameters-b 8 --serve",
    "report plan.json": "report plan.json --what-if none",
}


@pytest.fixture
def folder(varied, planned, monkeypatch):
    """The scenario with its plan, and files of other kinds; WeasyPrint is not installed."""
    for name, text in FILES.items():
        Path(name).write_text(text, encoding="utf-8")
    Path("bytes.json").write_bytes(b"\xff\xfe")
    shutil.copy(planned / "plan.json", "plan.json")
    shutil.copy(ROOT / "scenarios" / "quickstart.yaml", "quickstart.yaml")
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    return varied.parent


@pytest.mark.parametrize("command", MISTAKES)
def test_a_mistake_is_told_and_nothing_is_written(folder, run, command):
    asked, says = command, MISTAKES[command]
    for word, stands_for in WORDS.items():
        asked = asked.replace(word, stands_for)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    result = run(*shlex.split(asked))
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    told = " ".join(result.stderr.split())
    for words in [says] if isinstance(says, str) else says:
        assert words.strip() in told, told
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
