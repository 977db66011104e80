"""Jobs survive the way into a table and back; what a table says wrongly is told cell by cell."""

import csv
import io
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl import Workbook, load_workbook

from planner.errors import InputError
from planner.exchange.portfolio import (
    Columns,
    jobs_from,
    portfolio_csv,
    read_columns,
    scenario_part,
)
from planner.exchange.workbook import workbook_grid
from planner.inputs.layers import read_layers
from planner.inputs.reading.grid import csv_grid
from planner.inputs.reading.locate import shipped
from planner.inputs.reading.reader import parse_document
from planner.inputs.text import UNFILLED, csv_text, plain_cell
from tests.properties.questions import drawing
from tests.stated import load_inputs

SHIPPED = sorted(shipped("scenarios").glob("*.yaml"))


def jobs_of(text, columns=None):
    return jobs_from(csv_grid(text, "p.csv"), columns or Columns())


def told(text, columns=None):
    with pytest.raises(InputError) as caught:
        jobs_of(text, columns)
    return [one.headline() for one in caught.value.findings]


# There and back


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_the_jobs_of_every_shipped_scenario_come_back_as_they_were(path):
    jobs = read_layers(path).composed().document.data["jobs"]
    assert jobs_of(portfolio_csv(jobs)) == jobs


@pytest.mark.parametrize("way", ["csv", "workbook"])
def test_counts_by_quarter_come_back_as_the_same_units_in_each_quarter(tmp_path, way):
    counts = {"grows": {"2027Q1": 1, "2027Q3": 2}, "ends": {"2027Q1": 3, "2027Q2": 0}, "plain": 2}
    jobs = {name: {"fixed": {"gpus": 1}, "count": count} for name, count in counts.items()}
    table = portfolio_csv(jobs)
    if way == "workbook":
        path = workbook(tmp_path, [*csv.reader(io.StringIO(table))])
        again = jobs_from(workbook_grid(path), Columns())
    else:
        again = jobs_of(table)
    (tmp_path / "part.yaml").write_text(
        scenario_part(again, "Jobs").replace(
            "jobs:",
            "horizon: {first_quarter: 2027Q1, quarters: 4}\n"
            "fleet: {a: {node_type: xe9680-h100, count: 1}}\njobs:",
            1,
        ),
        encoding="utf-8",
    )
    scenario = load_inputs(tmp_path / "part.yaml").scenario
    units = {name: job.units(scenario.horizon) for name, job in scenario.jobs.items()}
    assert units == {"grows": (1, 1, 2, 2), "ends": (3, 0, 0, 0), "plain": (2, 2, 2, 2)}


NAMES = st.text(
    st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]), min_size=1, max_size=30
).filter(lambda name: name == name.strip() and name.isprintable() and not UNFILLED.search(name))


@drawing(20)
@given(st.dictionaries(NAMES, NAMES, min_size=1, max_size=5))
def test_names_and_notes_come_back_whatever_a_spreadsheet_makes_of_them(notes):
    jobs = {name: {"fixed": {"gpus": 1}, "note": note} for name, note in notes.items()}
    text = portfolio_csv(jobs)
    assert jobs_of(text) == jobs
    part = scenario_part(jobs, "Jobs")
    assert parse_document(part, "part.yaml").data["jobs"] == jobs


@pytest.mark.parametrize(
    "text", ["=1+1", "+1 each", "@SUM(A1)", "-x", "＝1", "'=1", "''+x", "'tis"]
)
def test_no_cell_runs_and_each_is_read_as_it_was(text):
    (row,) = csv_text([[text]]).splitlines()
    assert row.strip('"')[0] not in "=+-@＝"
    assert plain_cell(row.strip('"')) == text


@pytest.mark.parametrize("number", [-5, "-12.50", "+3"])
def test_numbers_below_zero_stay_numbers(number):
    assert csv_text([[number]]) == f"{number}\n"


# Reading CSV


@pytest.mark.parametrize(
    ("delimiter", "word"), [(",", "commas"), (";", "semicolons"), ("\t", "tabs")]
)
def test_the_delimiter_is_found_and_said(delimiter, word):
    text = delimiter.join(["job", "fixed.gpus"]) + "\n" + delimiter.join(["a", "2"]) + "\n"
    grid = csv_grid(text, "p.csv")
    assert word in grid.said
    assert jobs_from(grid, Columns()) == {"a": {"fixed": {"gpus": 2}}}


def test_hundreds_of_bad_rows_and_columns_are_told_a_hundred_at_a_time():
    columns = ",".join(f"column {number}" for number in range(500))
    for text in ("job,fixed.gpus\n" + "a,none\n" * 500, f"job,{columns}\na{',' * 500}\n"):
        with pytest.raises(InputError) as caught:
            jobs_from(csv_grid(text, "p.csv"), Columns())
        assert len(caught.value.findings) in (100, 101)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("job,fixed.gpus\na,1.5\n", "p.csv:2:2: fixed.gpus: 1.5"),
        ("job,gpu_types\na,[h100\n", "p.csv:2:2: gpu_types: "),
        ("job,fixed.gpu\na,1\n", "p.csv:1:2: 'fixed.gpu' is no column of jobs"),
        ("name,fixed.gpus\na,1\n", "p.csv:1:1: 'name' is no column of jobs"),
        ("fixed.gpus\n1\n", "p.csv:1:1: no column names the job"),
        ("job,team\na,x\n", "p.csv:2:1: a: a job has exactly one of"),
        ("job,tune.method\na,lora\n", "p.csv:2:1: "),
        ("job,run\na,{hours: 3}\n", "p.csv:2:2: run: holds a section"),
    ],
)
def test_a_mistake_is_told_with_its_cell(text, message):
    assert any(one.startswith(message) for one in told(text)), told(text)


def test_a_first_line_that_names_the_delimiter_is_followed():
    grid = csv_grid("sep=;\njob;fixed.gpus;note\na;2;x,y,z,u\n", "p.csv")
    assert jobs_from(grid, Columns()) == {"a": {"fixed": {"gpus": 2}, "note": "x,y,z,u"}}
    assert grid.rows[0][0].line == 3


# Mapping


def test_a_foreign_table_is_read_by_its_mapping(tmp_path):
    path = tmp_path / "map.yaml"
    path.write_text(
        "columns: {Title: job, GPUs wanted: fixed.gpus}\nignore: [Cost centre]\n"
        "always: {team: ml, fixed.cpus: 8}\n",
        encoding="utf-8",
    )
    columns = read_columns(path)
    assert jobs_of("Title;GPUs wanted;Cost centre\nx;3;77\n", columns) == {
        "x": {"fixed": {"gpus": 3, "cpus": 8}, "team": "ml"}
    }
    path.write_text("always: {fixd.cpus: 8}\n", encoding="utf-8")
    assert "always: 'fixd.cpus' is no column of jobs" in told(
        "job,fixed.gpus\na,1\n", read_columns(path)
    )


MAPPING = """\
columns:
  Title: job
  Method:
    LoRA: {tune.method: lora}
    QLoRA: {tune.method: qlora, tune.base_bits: 4}
    serve: {serve: {}}
  Model: [tune.model, serve.model]
  Parallel: [serve.concurrency, tune.batch]
  Length: [serve.context, tune.sequence]
values: {Model: {Llama 8B: llama-3.1-8b}}
always: {tune.offload: none, team: ml}
"""
MAPPED = {
    "a": {
        "tune": {
            **{"method": "lora", "model": "llama-3.1-8b", "batch": 8, "sequence": 4096},
            "offload": "none",
        },
        "team": "ml",
    },
    "b": {
        "tune": {
            **{"method": "qlora", "base_bits": 4, "model": "llama-3.1-70b", "batch": 4},
            **{"sequence": 2048, "offload": "none"},
        },
        "team": "ml",
    },
    "c": {
        "serve": {"model": "llama-3.1-8b", "concurrency": 16, "context": 8192},
        "team": "ml",
    },
}
TABLE: list[list[object]] = [
    ["Title", "Model", "Method", "Parallel", "Length"],
    ["a", "llama 8b", "LoRA", 8, 4096],
    ["b", "llama-3.1-70b", "qlora", 4, 2048],
    ["c", "Llama 8B", "Serve", 16, 8192],
]


@pytest.fixture
def mapped(tmp_path):
    """`mapped(text)`: the mapping that a file of this text says."""

    def read(text):
        path = tmp_path / "map.yaml"
        path.write_text(text, encoding="utf-8")
        return read_columns(path)

    return read


def test_one_column_goes_where_the_kind_of_job_or_its_word_says(mapped):
    assert jobs_of(csv_text(TABLE), mapped(MAPPING)) == MAPPED


@pytest.mark.parametrize(
    ("row", "told_of"),
    [
        ("d,llama-3.1-8b,LoRAx,,", "p.csv:2:3: Method: 'LoRAx' is not in the mapping, which has"),
        ("d,llama-3.1-8b,,,", "p.csv:2:2: is `tune.model` or `serve.model`"),
        ("d,llama-3.1-8b,serve,many,", "p.csv:2:4: serve.concurrency: "),
        ("d,,serve,1,100", "p.csv:2:3: serve: "),
    ],
)
def test_what_a_mapping_does_not_decide_is_told_at_its_cell(mapped, row, told_of):
    found = told(f"Title,Model,Method,Parallel,Length\n{row}\n", mapped(MAPPING))
    assert any(one.startswith(told_of) for one in found), found


def test_two_cells_that_say_the_same_are_told(mapped):
    text = "Title,Model,Method,Parallel,Length,tune.base_bits\nd,llama-3.1-8b,QLoRA,8,2048,8\n"
    (found,) = told(text, mapped(MAPPING))
    assert found.startswith("p.csv:2:6: tune.base_bits: another cell of the row says it, too")


@pytest.mark.parametrize(
    ("mapping", "told_of"),
    [
        ("columns: {Title: job, M: {LoRA: {tune.metod: lora}}}", "p.csv:1:2: 'tune.metod' is no"),
        ("columns: {Title: job, M: [tune.model, tune.mdel]}", "p.csv:1:2: 'tune.mdel' is no"),
        (
            "columns: {Title: job, M: {x: {fixed: {gpus: 3}}}}",
            "p.csv:2:2: fixed: holds a section",
        ),
        ("columns: {Title: job, M: fixed.gpus}\nvalues: {N: {x: y}}", "values.N: the table has no"),
    ],
)
def test_a_mapping_that_names_nothing_is_told(mapped, mapping, told_of):
    found = told("Title,M\na,x\n", mapped(mapping))
    assert any(one.startswith(told_of) for one in found), found


@pytest.mark.parametrize(
    ("mapping", "told_of"),
    [
        ("columns: {M: []}", "map.yaml:1:11: columns.M: "),
        ("columns: {M: {}}", "map.yaml:1:11: columns.M: "),
        ("columns: {M: {LoRA: tune.method}}", "map.yaml:1:"),
        ("vlaues: {M: {a: b}}", "map.yaml:1:1: "),
    ],
)
def test_a_mapping_of_another_shape_is_told_with_its_place(mapped, mapping, told_of):
    with pytest.raises(InputError) as caught:
        mapped(mapping)
    found = [one.headline() for one in caught.value.findings]
    assert any(told_of in one for one in found), found
    assert not any("several" in one or "by value" in one for one in found), found


# Workbooks


def workbook(tmp_path, rows, change=lambda sheet: None):
    book = Workbook()
    book.remove(book.worksheets[0])
    sheet = book.create_sheet("Jobs")
    for row in rows:
        sheet.append(row)
    change(sheet)
    path = tmp_path / "p.xlsx"
    book.save(path)
    return path


ROWS = [["job", "fixed.gpus", "growth_per_quarter", "note"], ["a", 2.0, 0.1, "=text"]]


def test_a_workbook_is_read_as_its_csv_would_be(tmp_path):
    def as_text(sheet):
        sheet["D2"].data_type = "s"

    path = workbook(tmp_path, ROWS, as_text)
    assert jobs_from(workbook_grid(path), Columns()) == jobs_of(
        "job,fixed.gpus,growth_per_quarter,note\na,2,0.1,'=text\n"
    )


def faults(path, sheet=None):
    with pytest.raises(InputError) as caught:
        jobs_from(workbook_grid(path, sheet), Columns())
    return [one.headline() for one in caught.value.findings]


def test_a_cell_that_holds_more_than_it_shows_is_told_by_its_address(tmp_path):
    path = workbook(tmp_path, [["job", "fixed.gpus"], ["a", "x\u200b"]])
    (told,) = faults(path)
    assert "p.xlsx: Jobs!B2: holds U+200B ZERO WIDTH SPACE" in told


def test_of_several_sheets_one_must_be_named_and_hidden_ones_do_not_count(tmp_path):
    path = workbook(tmp_path, [*ROWS[:1], ["a", 1, None, None]])
    book = load_workbook(path)
    book.create_sheet("Old").sheet_state = "hidden"
    book.save(path)
    assert jobs_from(workbook_grid(path), Columns()) == {"a": {"fixed": {"gpus": 1}}}
    book.create_sheet("Notes")
    book.save(path)
    assert "has 2 visible sheets" in faults(path)[0]
    assert jobs_from(workbook_grid(path, "Jobs"), Columns()) == {"a": {"fixed": {"gpus": 1}}}
    assert "has no visible sheet 'Old'" in faults(path, "Old")[0]


def test_what_a_workbook_hides_is_told_with_what_becomes_of_it(tmp_path):
    def hide(sheet):
        for row in (3, 5, 6, 7):
            sheet.row_dimensions[row].hidden = True
        sheet.row_dimensions[99].hidden = True
        sheet.column_dimensions["C"].hidden = True
        sheet.parent.create_sheet("Old").sheet_state = "veryHidden"

    rows = [["job", "fixed.gpus", "fixed.cpus"], *([one, 1, 1] for one in "abcdef")]
    grid = workbook_grid(workbook(tmp_path, rows, hide))
    assert list(jobs_from(grid, Columns())) == list("abcdef")
    assert grid.hidden == (
        "hidden rows 3, 5, 6, 7 of sheet 'Jobs': read like all others; delete them there if that "
        "is not meant",
        "hidden column C of sheet 'Jobs': read like all others; delete it there if that is not "
        "meant",
        "hidden sheet 'Old': not read; show it, and name it with `--sheet`",
    )
    shown = workbook_grid(workbook(tmp_path, rows))
    assert (shown.rows, shown.hidden) == (grid.rows, ())


def test_rows_that_a_filter_leaves_out_and_folded_columns_are_told(tmp_path):
    def filtered(sheet):
        sheet.auto_filter.ref = "A1:C3"
        sheet.auto_filter.add_filter_column(0, ["a"])
        sheet.row_dimensions[3].hidden = True
        sheet.column_dimensions.group("B", "C", hidden=True)

    rows = [["job", "fixed.gpus", "fixed.cpus"], ["a", 1, 1], ["b", 1, 1]]
    grid = workbook_grid(workbook(tmp_path, rows, filtered))
    assert [one.partition(" of ")[0] for one in grid.hidden] == [
        "hidden row 3",
        "hidden columns B, C",
    ]


def test_a_workbook_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("planner.exchange.workbook._LARGEST_INFLATED_BYTES", 2**20)
    path = tmp_path / "p.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb", b"\0" * 2 * 2**20)
    assert "would unpack to 2 MiB, at most 1 MiB" in faults(path)[0]


def test_a_workbook_with_a_broken_part_is_read_right_or_refused(tmp_path):
    path = workbook(tmp_path, [["job", "fixed.gpus"], ["a", 1]])
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    refused = set()
    for name, content in parts.items():
        with zipfile.ZipFile(path, "w") as archive:
            for other, whole in parts.items():
                archive.writestr(other, whole if other != name else content[: len(content) // 2])
        try:
            assert jobs_from(workbook_grid(path), Columns()) == {"a": {"fixed": {"gpus": 1}}}
        except InputError:
            refused.add(name)
    assert {"xl/worksheets/sheet1.xml", "xl/workbook.xml", "[Content_Types].xml"} <= refused
