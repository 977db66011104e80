"""The examples in docs/examples are what the commands of `make examples` write today."""

import io
import json
import re
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import pytest
from click.testing import CliRunner

from planner.cli.app import planner
from planner.packing.solver import solver_version

FOLDER = "$(EXAMPLE)"
SOLVED = ("plan", "alternatives", "sensitivity")
"""Commands that solve; all others draw what these have found."""
DATA = ("plan.json", "alternatives.json", "sensitivity.json")


@pytest.fixture(scope="module")
def examples(root, renewing) -> Iterator[Path]:
    """Paths of scenarios are recorded as they were named: from the root."""
    folder: Path = root / "docs" / "examples" / "quickstart"
    with chdir(root):
        if renewing:
            shutil.rmtree(folder, ignore_errors=True)
            run(recipe(root), folder)
        yield folder


def recipe(root: Path) -> list[list[str]]:
    """What `make examples` runs."""
    told = re.search(
        r"^examples:.*?\n\n", (root / "Makefile").read_text(), re.DOTALL | re.MULTILINE
    )
    assert told
    return [line.split() for line in re.findall(r"\$\(BIN\)/planner (.*)", told[0])]


def run(commands: list[list[str]], out: Path) -> None:
    for words in commands:
        asked = [word.replace(FOLDER, str(out)) for word in words]
        done = CliRunner().invoke(planner, asked, prog_name="planner")
        assert done.exit_code == 0, done.stderr


def contents(folder: Path) -> dict[str, object]:
    """Each file; of a workbook what is packed in it, since packing is not alike everywhere."""
    return {
        path.relative_to(folder).as_posix(): unpacked(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def unpacked(path: Path) -> object:
    if path.suffix != ".xlsx":
        return path.read_bytes()
    with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as book:
        return {name: book.read(name) for name in book.namelist()}


def test_the_documents_are_drawn_from_the_plan_that_lies_beside_them(root, examples, tmp_path):
    for name in DATA:
        shutil.copy(examples / name, tmp_path)
    run([words for words in recipe(root) if words[0] not in SOLVED], tmp_path)
    drawn, shipped = contents(tmp_path), contents(examples)
    assert len(drawn) > 14
    for name, content in drawn.items():
        assert content == shipped[name], f"{name} is not what is drawn now: run `make golden`"


def test_the_plan_and_what_stands_beside_it_come_out_again(root, examples, tmp_path):
    """To the byte with the solver that made it; another may place jobs otherwise at this cost."""
    run([words for words in recipe(root) if words[0] in SOLVED], tmp_path)
    shipped = json.loads((examples / "plan.json").read_text(encoding="utf-8"))
    if shipped["provenance"]["solver"] == solver_version():
        for name, content in contents(tmp_path).items():
            assert content == unpacked(examples / name), f"{name} is old: run `make golden`"
        return
    found = json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))
    assert found["proof"]["cost_cents"] == shipped["proof"]["cost_cents"]
    assert found["provenance"]["files"] == shipped["provenance"]["files"]
    for name in DATA[1:]:
        here, there = (json.loads((at / name).read_text()) for at in (tmp_path, examples))
        assert here["question"] == there["question"]
        assert costs(here) == costs(there)


def costs(document: object) -> list[object]:
    """Every cost of a result, in the order of its plans."""
    if isinstance(document, dict):
        own = [document["cost_cents"]] if "cost_cents" in document else []
        return own + [cost for value in document.values() for cost in costs(value)]
    return (
        [cost for value in document for cost in costs(value)] if isinstance(document, list) else []
    )


@pytest.mark.parametrize(
    ("name", "most"), [("justification", 6000), ("plan", 4500), ("quarterly", 3550)]
)
def test_what_a_small_purchase_takes_to_read_does_not_grow(examples, name, most):
    words = len((examples / f"{name}.md").read_text(encoding="utf-8").split())
    assert words <= most, (
        f"{name}.md has {words - most} words too many: say less elsewhere in it, or raise its "
        "bound here if readers want what is new"
    )


def test_the_examples_are_light(examples):
    assert sum(path.stat().st_size for path in examples.rglob("*") if path.is_file()) < 2_000_000
