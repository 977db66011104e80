import pytest

from planner.reporting.document import Bullets, Column, Paragraph, Table, Verbatim
from planner.reporting.markdown import render


def test_a_cell_cannot_end_its_cell_or_open_markup():
    name = "a|b `c` <script>alert(1)</script> [x](javascript:1) *y* ~z~"
    text = render((Table((Column("Job"),), ((name,),)),))
    row = text.splitlines()[2]
    assert row == (
        r"| a\|b \`c\` &lt;script&gt;alert(1)&lt;/script&gt; \[x\](javascript:1) \*y\* \~z\~ |"
    )


def test_a_line_break_in_a_name_stays_in_its_row():
    text = render((Table((Column("Job"),), (("one\ntwo\r|",),)),))
    assert text.splitlines()[2] == r"| one\\ntwo\\r\| |"


def test_a_name_does_not_mention_anybody():
    assert "&#64;somebody" in render((Paragraph("@somebody"),))
    assert "xe9680 @ main" in render((Paragraph("xe9680 @ main"),))


@pytest.mark.parametrize("start", ["# x", "> x", "- x", "1. x", "+ x", "=== x"])
def test_a_paragraph_cannot_start_a_block_of_another_kind(start):
    assert render((Paragraph(start),))[0] in "\\&1="
    assert not render((Paragraph(start),)).startswith(start)


def test_an_item_that_begins_with_a_sign_is_no_list_of_its_own():
    assert render((Bullets(("- gone", "+ new", "1. one", "plain")),)) == (
        "- \\- gone\n- \\+ new\n- 1\\. one\n- plain\n"
    )


def test_a_fence_is_longer_than_any_in_its_lines():
    text = render((Verbatim(("a ```` b",)),))
    assert text == "`````text\na ```` b\n`````\n"
