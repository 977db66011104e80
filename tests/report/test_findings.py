import pytest

from planner.errors import Finding
from planner.reporting.findings import Styler, render_findings

TYPO = Finding(
    "'qlorra' is not one of full, lora, qlora, p-tuning",
    file="scenario.yaml",
    line=12,
    column=13,
    path="jobs.chat-tune.tune.method",
    source_line="    method: qlorra",
    hint="did you mean 'qlora'?",
)


def test_of_very_many_mistakes_as_many_are_shown_as_anybody_reads_and_all_are_counted():
    shown = render_findings((TYPO,) * 5000, Styler())
    assert shown.count("error: ") == 200
    assert shown.endswith("5,000 mistakes; the first 200 are shown\n")


def test_the_caret_stands_under_its_character_after_wide_letters_and_tabs():
    finding = Finding("x", file="f", line=1, column=4, source_line="日\t: bad")
    lines = render_findings((finding,), Styler()).splitlines()
    assert lines[2] == "1 | 日 : bad"
    assert lines[3] == "  |     ^"


def test_a_very_long_line_is_cut_around_the_mistake():
    line = "a" * 500 + "!" + "b" * 500
    finding = Finding("x", file="f", line=1, column=501, source_line=line)
    lines = render_findings((finding,), Styler()).splitlines()
    assert len(lines[2]) < 140
    assert lines[2][lines[3].index("^")] == "!"


@pytest.mark.parametrize("width", [30, 60, 80, 100])
@pytest.mark.parametrize("column", [1, 3, 40, 501, 1001])
def test_an_excerpt_is_no_wider_than_the_terminal_and_shows_the_mistake(width, column):
    line = "a" * (column - 1) + "!" + "b" * (1002 - column)
    finding = Finding("x", file="f", line=12345, column=column, source_line=line)
    _, _, excerpt, caret, *_ = render_findings((finding,), Styler(width=width)).splitlines()
    assert len(excerpt) <= max(width, 30)
    assert excerpt[caret.index("^")] == "!"


def test_no_file_steers_the_terminal():
    finding = Finding("bad \x1b[2J", file="f", line=1, column=1, source_line="\x1b]0;x\x07")
    assert "\x1b" not in render_findings((finding,), Styler())


def test_colour_is_only_paint():
    coloured = render_findings((TYPO,), Styler(colour=True))
    assert coloured.replace("\x1b[1;31m", "").replace("\x1b[36m", "").replace(
        "\x1b[0m", ""
    ) == render_findings((TYPO,), Styler())


def test_ascii_findings_hold_ascii_alone():
    assert render_findings((Finding("größer – 8"),), Styler(unicode=False)).isascii()
