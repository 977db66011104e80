"""Tables of measured runs: one reader for what ships and for a user's own."""

from fractions import Fraction

import pytest

from planner.errors import InputError
from planner.inputs.load import load_catalog
from planner.inputs.measured import COLUMNS, read_measured

HEADER = "model,method,batch,sequence,gpus,gpu_type,outcome,kind,measured_gb,measured_gib"
RUN = "llama-3.1-8b,lora,8,4096,2,h100-80gb-sxm,,allocated,,36.5"


@pytest.fixture(scope="module")
def catalog():
    return load_catalog()[0]


@pytest.fixture
def read(tmp_path, catalog):
    def reader(*lines: str, encoding: str = "utf-8", newline: str = "\n"):
        path = tmp_path / "runs.csv"
        path.write_bytes(newline.join(lines).encode(encoding))
        return read_measured(path, catalog, shown_as="runs.csv")

    return reader


@pytest.fixture
def refused(read):
    def mistakes(*lines: str) -> list[str]:
        with pytest.raises(InputError) as refusal:
            read(*lines)
        return [finding.headline() for finding in refusal.value.findings]

    return mistakes


def test_a_row_says_what_a_scenario_says(read):
    (run,) = read(HEADER, RUN)
    assert (run.tune.model, run.tune.method, run.tune.batch) == ("llama-3.1-8b", "lora", 8)
    assert (run.gpus, run.gpu_type, run.outcome, run.kind) == (
        2,
        "h100-80gb-sxm",
        "fit",
        "allocated",
    )
    assert run.job.tune == run.tune
    assert run.line == 2


def test_gib_are_of_two_to_the_thirtieth_and_gb_of_ten_to_the_ninth(read):
    binary, decimal = read(HEADER, RUN, "llama-3.1-8b,lora,8,4096,1,,,reserved,36.5,")
    assert binary.peak_gb == Fraction("36.5") * 2**30 / 10**9
    assert decimal.peak_gb == Fraction("36.5")


def test_columns_may_stand_in_any_order_and_empty_cells_are_left_out(read):
    (run,) = read(
        "measured_gb,kind,sequence,gradient_checkpointing,method,parameters_b,batch",
        "20.5,nvidia-smi,2048,off,qlora,7.5,",
    )
    assert run.tune.gradient_checkpointing == "off"
    assert run.tune.batch is None
    assert run.gpus == 1


def test_comments_empty_lines_windows_line_ends_and_a_byte_order_mark_are_passed_over(read):
    runs = read("\ufeff# our own runs", HEADER, "", RUN, ",,,,,,,,,", RUN, newline="\r\n")
    assert [run.line for run in runs] == [4, 6]


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_cells_may_be_parted_as_in_a_portfolio_whatever_a_note_holds(read, delimiter):
    written = (line.replace(",", delimiter) for line in (HEADER, RUN))
    assert read("# a, b, c, d, e, f, g, h, i, j, k", *written) == read("", HEADER, RUN)


SERVED = "model,bits,gpu_type,input_tokens,output_tokens,concurrency,tpot_ms,engine"


@pytest.mark.parametrize(
    ("first", "header"),
    [
        (("sep=;",), SERVED.replace(",", ";")),
        ((), SERVED.replace(",", ", ")),
        ((), ",".join(f'"{name}"' for name in SERVED.split(","))),
    ],
)
def test_serving_runs_are_known_by_their_columns_however_the_header_is_written(read, first, header):
    row = "llama-3.1-8b,16,h100-80gb-sxm,500,100,8,12,vLLM 0.6.1"
    (run,) = read(*first, header, row.replace(",", ";") if first else row)
    assert run.output_tokens == 100


def test_seconds_among_milliseconds_are_refused_with_the_figure(tmp_path, catalog):
    path = tmp_path / "runs.csv"
    path.write_text(f"{SERVED}\nllama-3.1-8b,16,h100-80gb-sxm,500,100,8,0.012,vLLM 0.6.1\n")
    with pytest.raises(InputError, match="write 12 if it is in s") as refusal:
        read_measured(path, catalog, shown_as="runs.csv")
    assert refusal.value.findings[0].headline().startswith("runs.csv:2:7: tpot_ms: 0.012 is less")


@pytest.mark.parametrize(
    ("engine", "version"),
    [("vLLM 0.6.1 in docker", "0.6.1"), ("vLLM main", None), ("a server of our own", None)],
)
def test_a_version_is_taken_from_whatever_words_name_the_engine(tmp_path, catalog, engine, version):
    path = tmp_path / "runs.csv"
    path.write_text(f"{SERVED}\nllama-3.1-8b,16,h100-80gb-sxm,500,100,8,12,{engine}\n")
    (run,) = read_measured(path, catalog)
    assert run.job().serve.engine_version == version  # type: ignore[operator,union-attr]


def test_a_note_of_digits_stays_text(read):
    (run,) = read(f"{HEADER},note,name", f"{RUN},2024,7")
    assert (run.note, run.name) == ("2024", "7")


def test_a_run_that_only_fitted_needs_its_gpu_type(read, refused):
    (run,) = read(HEADER, "llama-3.1-8b,lora,8,4096,1,h100-80gb-sxm,fit,,,")
    assert run.peak_gb is None
    assert refused(HEADER, "llama-3.1-8b,lora,8,4096,1,,fit,,,") == [
        "runs.csv:2: nothing was measured: give `measured_gb`, or `gpu_type` if it fitted"
    ]


def test_all_mistakes_of_all_rows_are_told_with_line_and_column(refused):
    found = refused(
        HEADER,
        "llama-3.1-8b,lorra,0,4096,1,,,allocated,10,",
        RUN,
        "llama-3.1-8c,lora,8,4096,1,h100,,allocated,10,",
    )
    assert found[0].startswith("runs.csv:2:2: method: 'lorra' is not one of full, lora")
    assert found[1].startswith("runs.csv:2:3: batch: 0 is too small")
    assert found[2].startswith("runs.csv:4:1: model: ")
    assert found[3].startswith("runs.csv:4:6: gpu_type: ")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("m,lora,8,4096,1,,,allocated,,", "nothing was measured"),
        ("m,lora,8,4096,1,,,,10,", "say in `kind` what was read"),
        ("m,lora,8,4096,1,,,allocated,10,9", "give the peak of one GPU once"),
        ("m,lora,8,4096,1,h100-80gb-sxm,oom,allocated,10,", "ran out of memory has no figures"),
        ("m,lora,8,4096,1,,oom,,,", "ran out of memory needs `gpu_type`"),
        ("m,lora,8,4096,1,,,allocated,-1,", "measured_gb: -1 is too small"),
        ("m,lora,8,4096,1,,,allocated,.nan,", "measured_gb: .nan is not a finite number"),
        ("m,lora,8,4096,1,,,allocated,about 10,", "measured_gb: 'about 10' is not a number"),
        ("m,lora,8,4096,1,,,peak,10,", "kind: 'peak' is not one of allocated"),
        ("m,lora,8,4096,1,,,allocated,10", "has 9 cells, the header has 10"),
        ("m,lora,8,4096,8,h100-80gb-sxm,,allocated,400,", "400 GB are more than one h100-80gb-sxm"),
        ("m,lora,8,4096,99999,,,allocated,10,", "gpus: 99999 is too large"),
    ],
)
def test_a_row_that_cannot_be_meant_is_refused(refused, row, said):
    (found,) = refused(HEADER, row.replace("m,", "llama-3.1-8b,", 1))
    assert said in found


def test_a_misspelled_column_is_refused_with_the_nearest_one(read):
    with pytest.raises(InputError) as refusal:
        read("model,methode,kind", "llama-3.1-8b,lora,allocated")
    misspelled, missing = refusal.value.findings
    assert misspelled.headline() == "runs.csv:1:2: methode: unknown column"
    assert misspelled.hint == "did you mean 'method'?"
    assert missing.headline() == "runs.csv:1: method: this column is missing"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([""], "runs.csv: is empty, a header and a row are needed"),
        ([HEADER], "runs.csv:1:1: there is no run below the header"),
        ([f"{HEADER},model", f"{RUN},x"], "runs.csv:1:11: model: stands twice in the header"),
        ([HEADER, '"llama-3.1-8b'], "runs.csv:2: a quoted cell begins here and never ends"),
    ],
)
def test_a_table_that_is_none_is_refused(refused, lines, said):
    assert said in refused(*lines)


def test_every_word_of_a_tuning_job_that_memory_depends_on_is_a_column():
    assert {"model", "method", "precision", "sharding", "loss_kernel", "offload"} <= set(COLUMNS)
    assert not {"deploy", "deadline_hours", "line", "tune"} & set(COLUMNS)
