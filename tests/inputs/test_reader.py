import contextlib
import os
from decimal import Decimal

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import InputError
from planner.inputs.reading.reader import parse_document, read_document
from planner.reporting.findings import Styler, render_findings
from tests.effort import at_most
from tests.properties.questions import drawing


def read(text):
    return parse_document(text, "file.yaml").data


def refusal(content):
    with pytest.raises(InputError) as error:
        parse_document(content, "file.yaml")
    return error.value.findings


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("8", 8),
        ("-8", -8),
        ("8.0", Decimal("8.0")),
        ("0.1", Decimal("0.1")),
        ("1e6", Decimal("1e6")),
        ("true", True),
        ("false", False),
        ("null", None),
        ("~", None),
        ("010", "010"),
        ("0x1F", "0x1F"),
        ("12:30", "12:30"),
        ("1_000", "1_000"),
        ("1,000", "1,000"),
        ("2026-02-31", "2026-02-31"),
        ("NO", "NO"),
        ("on", "on"),
        ("y", "y"),
        ("True", "True"),
        ("12e4567", "12e4567"),
        ("nan", "nan"),
        ("'8'", "8"),
        ('"true"', "true"),
        ("15%", "15%"),
        ("2027Q1..2027Q3", "2027Q1..2027Q3"),
    ],
)
def test_a_plain_word_means_what_it_looks_like(written, value):
    found = read(f"key: {written}")["key"]

    assert found == value
    assert type(found) is type(value)


@drawing(50)
@given(st.decimals(-(10**12), 10**12, allow_nan=False, places=6))
def test_a_number_survives_reading_exactly(number):
    assert Decimal(read(f"key: {number:f}")["key"]) == number


def test_a_byte_order_mark_is_no_part_of_the_first_key():
    assert read(b"\xef\xbb\xbfname: x") == {"name": "x"}


@drawing(50)
@given(st.binary(max_size=200))
def test_no_bytes_do_worse_than_an_input_error(content):
    with contextlib.suppress(InputError):
        parse_document(content, "file.yaml")


@drawing(50)
@given(st.text(alphabet="ab:-[]{}&*!|>'\"%@`#?,.~<0 \t\n\\\x00\u200bé", max_size=60))
def test_no_arrangement_of_yaml_signs_does_worse_than_an_input_error(text):
    try:
        parse_document(text, "file.yaml")
    except InputError as error:
        for finding in error.findings:
            assert finding.file == "file.yaml"
            assert finding.line is None or finding.line <= text.count("\n") + 2


def test_places_are_known_for_keys_values_and_items():
    document = parse_document("a:\n  b: [10, 20]\n  c: text\n", "file.yaml")

    assert document.key_place(("a", "b")) == (2, 3)
    assert document.value_place(("a", "b", 1)) == (2, 11)
    assert document.value_place(("a", "c")) == (3, 6)
    assert document.source_line(3) == "  c: text"


def test_a_missing_path_is_placed_at_its_nearest_parent():
    document = parse_document("a:\n  b: 1\n", "file.yaml")

    assert document.value_place(("a", "x", "y")) == (1, 1)
    assert document.value_place(("x",)) == (1, 1)


def test_line_ends_of_windows_change_neither_data_nor_hash():
    unix = parse_document(b"a: 1\nb: 'x\n  y'\n", "file.yaml")
    windows = parse_document(b"a: 1\r\nb: 'x\r\n  y'\r\n", "file.yaml")

    assert windows.data == unix.data
    assert windows.sha256 == unix.sha256


@pytest.mark.parametrize("sign", ["[", "{a: ", "- "])
def test_deep_nesting_is_refused_at_once(sign):
    with at_most(cpu_s=1):
        (finding,) = refusal("a: \n  " + sign * 3000)

    assert "nested too deep" in finding.message


@pytest.mark.parametrize("character", ["\x00", "\x1b", "\x85", "\u2028", "\u202e", "\ufeff"])
def test_a_character_that_cannot_be_seen_is_named_with_its_place(character):
    (finding,) = refusal(f"a: 1\nb: x{character}y\n")

    assert (finding.line, finding.column) == (2, 5)
    assert f"U+{ord(character):04X}" in finding.message


def test_a_file_full_of_what_cannot_be_seen_is_told_as_far_as_anybody_reads():
    findings = refusal("a: x\u202ey\n" * 500)

    assert len(findings) == 100
    assert all("U+202E" in finding.message for finding in findings)


def test_more_values_than_any_portfolio_has_are_refused(monkeypatch):
    monkeypatch.setattr("planner.inputs.reading.reader.MOST_NODES", 1000)
    assert len(read("a: [" + "1, " * 900 + "]")["a"]) == 900
    (finding,) = refusal("a: [" + "1, " * 1100 + "]")

    assert finding.message == "too many values, at most 1,000"


def test_a_file_that_is_too_large_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "large.yaml"
    with path.open("wb") as file:
        file.truncate(500 * 2**20)

    with pytest.raises(InputError, match=r"too large \(500.0 MiB\), at most 16 MiB"):
        read_document(path)


def test_a_pipe_is_refused_without_waiting_for_it(tmp_path):
    path = tmp_path / "pipe.yaml"
    os.mkfifo(path)

    with pytest.raises(InputError, match="not an ordinary file"):
        read_document(path)


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match="is a directory"):
        read_document(tmp_path)


def test_a_missing_file_is_told_with_its_nearest_neighbour(tmp_path):
    (tmp_path / "quarterly.yaml").write_text("a: 1")

    with pytest.raises(InputError) as error:
        read_document(tmp_path / "quartely.yaml", shown_as="quartely.yaml")

    (finding,) = error.value.findings
    assert finding.headline() == "quartely.yaml: no such file"
    assert finding.hint == "did you mean 'quarterly.yaml'?"


def test_a_name_that_no_file_can_have_is_refused(tmp_path):
    with pytest.raises(InputError, match="not a usable file name"):
        read_document(tmp_path / "a\0b")


def test_a_line_that_would_fill_the_screen_is_shown_around_the_mistake():
    findings = refusal("a: [" + "1, " * 1000 + ".nan, " + "1, " * 1000 + "]")

    _, _, line, caret, *_ = render_findings(findings, Styler()).splitlines()
    assert len(line) < 140
    assert line[caret.index("^") :].startswith(".nan")


@pytest.fixture
def without_libyaml(monkeypatch):
    monkeypatch.setattr("planner.inputs.reading.reader._Loader", yaml.SafeLoader)


@pytest.mark.usefixtures("without_libyaml")
@pytest.mark.parametrize("text", ["a: [1, {b: 'x'}]\nc: 1e6\n", "a:\n- 1\n-\n  b: 010\n"])
def test_without_libyaml_the_same_is_read(text, monkeypatch):
    slow = parse_document(text, "file.yaml")
    monkeypatch.undo()

    assert slow.data == parse_document(text, "file.yaml").data


@pytest.mark.usefixtures("without_libyaml")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "a: 1\na: 2",
        "a: *b",
        "a: 'x",
        "a:\n\tb: 1",
        "a: " + "[" * 3000,
        "a: @",
        ": 1",
        "{{ x }}",
    ],
)
def test_without_libyaml_the_same_is_refused(text):
    assert refusal(text)
