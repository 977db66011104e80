from planner.reporting.document import Bullets, Column, Heading, Paragraph, Table, Verbatim
from planner.reporting.terminal import TerminalOptions, render

WIDE = Table(
    (Column("Job", wraps=True), Column("Cost, USD", "right"), Column("Order by")),
    (("chat", "1,234", "2027-01-01"), ("", "5", "2027-02-01")),
    ("Sum", "1,239", ""),
)


def test_a_table_too_wide_for_the_page_becomes_records():
    assert render((WIDE,), TerminalOptions(22)) == (
        "chat\n  Cost, USD: 1,234\n  Order by: 2027-01-01\n"
        "chat\n  Cost, USD: 5\n  Order by: 2027-02-01\n"
        "Sum\n  Cost, USD: 1,239\n"
    )


def test_a_record_that_begins_with_a_number_says_of_what():
    table = Table((Column("Priority", "right"), Column("Jobs", "right")), (("75", "2"),))
    assert render((table,), TerminalOptions(20)).splitlines()[0].split() == ["Priority", "Jobs"]
    wide = Table((*table.columns, Column("Kept as asked")), (("75", "2", "1"),))
    assert render((wide,), TerminalOptions(20)).startswith("Priority 75\n")


def test_wide_characters_do_not_push_columns_apart():
    table = Table((Column("Job"), Column("N", "right")), (("日本", "1"), ("abcd", "2")))
    lines = render((table,), TerminalOptions(40)).splitlines()
    assert lines[2] == "日本  1"
    assert lines[3] == "abcd  2"


def test_control_characters_of_a_name_are_written_out():
    blocks = (Paragraph("a\x1b[31mb"), Bullets(("c\rd",)), Verbatim(("e\x07f",)))
    text = render(blocks, TerminalOptions(80))
    assert text.splitlines() == [r"a\x1b[31mb", r"· c\rd", "", r"e\x07f"]


def test_a_long_verbatim_line_is_folded_with_a_hanging_indent():
    text = render((Verbatim(("  node  " + "word " * 10,)),), TerminalOptions(30))
    lines = text.splitlines()
    assert len(lines) > 1
    assert all(line.startswith("      ") for line in lines[1:])


def test_letters_that_an_ascii_page_lacks_are_escaped():
    text = render(
        (Heading("Größe × 2"), Paragraph("≤ 5 … – “x”")), TerminalOptions(40, unicode=False)
    )
    assert text.startswith("-- Gr\\xf6\\xdfe x 2 ---")
    assert text.splitlines()[1] == '<= 5 ... - "x"'
