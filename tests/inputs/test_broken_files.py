"""Each file in tests/broken holds one mistake; told.txt beside them says what a user is told."""

from pathlib import Path

import pytest

from planner.errors import InputError
from planner.inputs.load import load_catalog, load_inputs, load_rules

BROKEN = Path(__file__).parents[1] / "broken"
HINT = "    hint: "


def told_in(folder):
    """Headline and hint by file name."""
    lines = (folder / "told.txt").read_text(encoding="utf-8").splitlines()
    table = {}
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if not line.startswith(HINT):
            hint = below.removeprefix(HINT) if below.startswith(HINT) else None
            table[line.partition(":")[0]] = (line, hint)
    return table


TOLD = told_in(BROKEN)


@pytest.mark.usefixtures("small_world")
@pytest.mark.parametrize("name", TOLD)
def test_a_broken_file_is_refused_with_place_words_and_hint(name):
    with pytest.raises(InputError) as refusal:
        load_inputs(BROKEN / name)
    (finding,) = refusal.value.findings
    headline, hint = TOLD[name]
    assert finding.headline().replace(f"{BROKEN}/", "") == headline
    assert finding.hint == hint
    if finding.source_line is not None:
        assert finding.line
        assert finding.column
        lines = (BROKEN / name).read_text(encoding="utf-8").split("\n")
        assert finding.source_line == lines[finding.line - 1]
        assert finding.column <= len(finding.source_line) + 1


def test_every_broken_file_has_its_words():
    assert {path.name for path in BROKEN.glob("*.yaml")} == set(TOLD)


LOADERS = {"catalog": load_catalog, "rules": load_rules}
OF_THE_HOUSE = [(kind, name) for kind in LOADERS for name in told_in(BROKEN / kind)]
"""Catalog and rule files of one's own."""


@pytest.mark.usefixtures("small_world")
@pytest.mark.parametrize(("kind", "name"), OF_THE_HOUSE)
def test_a_broken_catalog_or_rule_is_refused_with_place_words_and_hint(kind, name):
    with pytest.raises(InputError) as refusal:
        LOADERS[kind]([BROKEN / kind / name])
    (finding,) = refusal.value.findings

    headline, hint = told_in(BROKEN / kind)[name]
    assert finding.headline().replace(f"{BROKEN / kind}/", "") == headline
    assert finding.hint == hint


@pytest.mark.parametrize("kind", LOADERS)
def test_every_broken_catalog_and_rule_has_its_words(kind):
    assert {path.name for path in (BROKEN / kind).glob("*.yaml")} == set(told_in(BROKEN / kind))


@pytest.mark.parametrize(
    "word", ["pydantic", "Decimal", "None", "tuple", "dict", "Input should", "Value error"]
)
def test_no_message_speaks_python(word):
    for told in BROKEN.rglob("told.txt"):
        assert word not in told.read_text(encoding="utf-8")
