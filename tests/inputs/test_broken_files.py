"""Each file in tests/broken holds one mistake; told.txt beside them says what a user is told."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from planner.errors import InputError
from planner.inputs.load import load_catalog, load_rules
from tests.inputs.hints import BY_THE_WRITER, follow
from tests.stated import load_inputs

BROKEN = Path(__file__).parents[1] / "broken"
HINT = "    hint: "
READ: dict[str, Callable[[Path], Any]] = {
    "scenario": load_inputs,
    "catalog": lambda path: load_catalog([path]),
    "rules": lambda path: load_rules([path]),
}


def folder_of(kind):
    return BROKEN if kind == "scenario" else BROKEN / kind


def told_in(folder):
    """Headline and hint by file name."""
    lines = (folder / "told.txt").read_text(encoding="utf-8").splitlines()
    table = {}
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if not line.startswith(HINT):
            hint = below.removeprefix(HINT) if below.startswith(HINT) else None
            table[line.partition(":")[0]] = (line, hint)
    return table


TOLD = {kind: told_in(folder_of(kind)) for kind in READ}


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    """The broken files, to mend."""
    return shutil.copytree(BROKEN, tmp_path_factory.mktemp("mended") / "broken")


@pytest.mark.usefixtures("small_world")
@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in READ for name in TOLD[kind]])
def test_a_broken_file_is_refused_with_place_words_and_a_hint_that_works(kind, name, copied):
    file = copied / folder_of(kind).relative_to(BROKEN) / name
    with pytest.raises(InputError) as refusal:
        READ[kind](file)
    (finding,) = refusal.value.findings
    headline, hint = TOLD[kind][name]
    assert finding.headline().replace(f"{file.parent}/", "") == headline
    assert finding.hint == hint
    if finding.source_line is not None:
        assert finding.line
        assert finding.source_line == file.read_text(encoding="utf-8").split("\n")[finding.line - 1]
        assert finding.column is not None or kind == "rules"
        assert (finding.column or 0) <= len(finding.source_line) + 1
    if hint is not None and follow(file, finding):
        READ[kind](file)
    elif hint is not None:
        assert any(re.fullmatch(words, hint) for words in BY_THE_WRITER), hint


@pytest.mark.parametrize("kind", READ)
def test_every_broken_file_has_its_words(kind):
    assert {path.name for path in folder_of(kind).glob("*.yaml")} == set(TOLD[kind])


@pytest.mark.parametrize(
    "word", ["pydantic", "Decimal", "None", "tuple", "dict", "Input should", "Value error"]
)
def test_no_message_speaks_python(word):
    for told in BROKEN.rglob("told.txt"):
        assert word not in told.read_text(encoding="utf-8")
