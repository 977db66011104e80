import contextlib
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import InputError
from planner.inputs.catalog.catalog import FactSource, Model
from planner.inputs.checks.faults import fault_of_name
from planner.inputs.load import load_catalog
from planner.inputs.reading.diagnostics import validate
from planner.inputs.reading.hints import CALLED
from planner.inputs.reading.reader import parse_document
from planner.inputs.reading.shape import FieldTree
from planner.inputs.rules.rule import Publication
from planner.inputs.scenario.job import Job
from planner.inputs.scenario.scenario import ResolvedScenario
from planner.inputs.text import nearest
from tests.properties.questions import drawing

HINTS = yaml.safe_load(Path(__file__).with_name("hints.yaml").read_text(encoding="utf-8"))


def scenario(text):
    return validate(parse_document(text, "s.yaml"), ResolvedScenario)


def findings(text):
    with pytest.raises(InputError) as error:
        scenario(text)
    return error.value.findings


def job(text):
    """A scenario of one job, flow style."""
    head = "format: 1\nname: n\nhorizon: {first_quarter: 2027Q1, quarters: 4}\njobs:\n"
    return f"{head}  one: {text}\n"


def test_a_whole_number_may_be_written_with_a_point():
    assert scenario(job("{fixed: {gpus: 8.0}}")).jobs["one"].fixed.gpus == 8
    assert scenario(job("{serve: {model: m, bits: 8.0}}")).jobs["one"].serve.bits == 8


@pytest.mark.parametrize("value", ["8.5", "true", "'8'", "eight", "[8]", "{a: 8}", "010", "1e99"])
def test_what_is_no_count_is_refused_at_its_place(value):
    (finding,) = findings(job(f"{{fixed: {{gpus: {value}}}}}"))

    assert finding.path == "jobs.one.fixed.gpus"
    assert finding.line == 5


@pytest.mark.parametrize("text", ["2027", "1234e5", "12e4567", "010", "0123456", "NO", "on", "y"])
def test_text_stays_as_it_is_written(text):
    document = parse_document(job(f"{{fixed: {{gpus: 1}}, team: {text}, sites: [b, {text}]}}"), "x")
    built = validate(document, ResolvedScenario)

    assert (built.jobs["one"].team, built.jobs["one"].sites) == (text, ("b", text))
    assert document.value(("jobs", "one", "sites")) == ("b", text)


@pytest.mark.parametrize(
    ("written", "share"), [("15%", "0.15"), ("0.15", "0.15"), ("2.5 %", "0.025")]
)
def test_a_share_is_written_as_fraction_or_per_cent_and_stays_exact(written, share):
    built = scenario(job("{fixed: {gpus: 1}}") + f"policies: {{headroom: {written}}}\n")

    assert str(built.policies.headroom) == share


@pytest.mark.parametrize("written", HINTS)
def test_a_job_that_is_written_otherwise_is_told_how_to_write_it(written):
    told = [finding.hint for finding in findings(job(written))]
    assert told in (HINTS[written], [HINTS[written]])


def test_of_hundreds_of_mistakes_a_hundred_are_told():
    more = "".join(f"  job-{number}: {{fixed: {{gpus: none}}}}\n" for number in range(500))
    assert len(findings(f"{job('{fixed: {gpus: 1}}')}{more}")) == 100


def test_entries_without_names_are_told_to_have_them():
    text = job("{fixed: {gpus: 1}}").replace("  one: ", "  - ")

    assert "under a name of its own" in (findings(text)[0].hint or "")


def test_whatever_has_another_name_has_one_that_may_be_written():
    shape = FieldTree(ResolvedScenario)
    serve = [("serve", *key) for key in ((), ("load",), ("latency",), ("speculative",))]
    sections = ((), ("tune",), ("tune", "parallelism"), *serve, ("run",))
    job_keys = [("jobs", "one", *more) for more in sections]
    others = [
        (),
        ("sites", "one"),
        ("apis", "one"),
        ("fleet", "one"),
        ("offers", "one"),
        ("horizon",),
        ("finance",),
    ]
    paths = [*job_keys, ("jobs", "one", "fixed"), *others]
    known = {key for path in paths for key in shape.keys(path)}
    known |= {key for one in (Model, FactSource, Publication) for key in one.model_fields}
    assert {name.partition(":")[0] for names in CALLED.values() for name in names} <= known


@pytest.mark.parametrize(
    ("word", "choices", "meant"),
    [
        ("kind", ("pinned",), []),
        ("cost", ("count",), []),
        ("units", ("sites",), []),
        ("currncy", ("currency", "concurrency"), ["currency"]),
        ("price", ("price_usd",), ["price_usd"]),
        ("prio", ("priority",), ["priority"]),
        ("tokens", ("dataset_tokens",), ["dataset_tokens"]),
        ("batch_size", ("batch",), ["batch"]),
        ("meta-llama/Llama-3.1-8B", ("llama-3.1-8b",), ["llama-3.1-8b"]),
        ("cuont", ("count", "sites"), ["count"]),
        ("too", ("two", "three"), ["two"]),
        ("mgi", ("mig",), ["mig"]),
        ("cpu", ("pue",), []),
        ("output_usd", ("usd_per_million_output_tokens",), ["usd_per_million_output_tokens"]),
    ],
)
def test_what_is_far_fetched_is_not_suggested(word, choices, meant):
    assert nearest(word, choices, most=1) == meant


@pytest.mark.parametrize(
    ("sort", "name", "hint"),
    [
        ("node type", "h200 NVL", "write one of xe7740-h200-nvl, xe7745-h200-nvl"),
        ("node type", "B300", "did you mean 'xe9780-b300'?"),
        ("node type", "XE9680-H100", "did you mean 'xe9680-h100'?"),
        ("node type", "Dell PowerEdge XE9680L (H200)", "did you mean 'xe9680l-h200'?"),
        ("node type", "dell-xe9680-8xh100", "did you mean 'xe9680-h100'?"),
        ("node type", "8x l4-24gb", "did you mean 'xe7740-l4'?"),
        ("GPU type", "A100 40GB PCIe", "did you mean 'a100-40gb-pcie'?"),
        ("GPU type", "NVIDIA A100-SXM4-80GB", "did you mean 'a100-80gb-sxm'?"),
        ("GPU type", "A100-80G", "write one of a100-80gb-pcie, a100-80gb-sxm"),
        ("GPU type", "MI300", "did you mean 'mi300x-192gb'?"),
        ("GPU type", "h200-141gb-sxn", "did you mean 'h200-141gb-sxm'?"),
        (
            "GPU type",
            "A10",
            "`planner catalog list gpus` lists them, a file of your own may add one",
        ),
        ("model", "llama3.1:70b", "did you mean 'llama-3.1-70b'?"),
        ("model", "TheBloke/Llama-2-7B-GPTQ", "did you mean 'llama-2-7b'?"),
    ],
)
def test_a_product_is_known_by_the_words_of_its_name(sort, name, hint):
    catalog, _ = load_catalog()
    fault = fault_of_name(sort, name, catalog)

    assert fault is not None
    assert fault[1] == hint


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("1Q27", "2027Q1"),
        ("Q1 2027", "2027Q1"),
        ("q1/2027", "2027Q1"),
        ("2027 Q1", "2027Q1"),
        ("2027-q1", "2027Q1"),
        ("Q3'27", "2027Q3"),
        ("2027-08", "2027Q3"),
        ("2027-11-30", "2027Q4"),
        ("H1 2028", "2028Q1 (Q1 to Q4)"),
        ("01.02.27", "2027Q1 (Q1 to Q4)"),
    ],
)
def test_a_quarter_in_another_form_is_told_how_it_is_written(written, meant):
    (finding,) = findings(job(f"{{fixed: {{gpus: 1}}, quarters: {written!r}}}"))

    assert finding.message == f"{written!r} is not a calendar quarter, write it as {meant}"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("23.11.2026", "2026-11-23"),
        ("11/23/2026", "2026-11-23"),
        ("23/11/2026", "2026-11-23"),
        ("2026/1/5", "2026-01-05"),
        ("2026-11-23T00:00:00Z", "2026-11-23"),
        ("20261123", "2026-11-23"),
        ("03/04/2026", "YYYY-MM-DD"),
        ("2026-11", "YYYY-MM-DD"),
    ],
)
def test_a_date_in_another_form_is_told_how_it_is_written_unless_it_may_be_another(written, meant):
    text = job("{fixed: {gpus: 1}}").replace("quarters: 4", f"quarters: 4, as_of: {written}")

    assert findings(text)[0].message == f"{written!r} is not a date, write it as {meant}"


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.decimals(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12)
    | st.sampled_from(["2027Q1", "2027Q1..2027Q3", "all", "15%", "lora", "2026-01-01"]),
    lambda inner: (
        st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(
            st.sampled_from(["tune", "serve", "fixed", "model", "method", "count", "gpus"])
            | st.text(min_size=1, max_size=5),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)


@drawing(100)
@given(
    section=st.sampled_from([*ResolvedScenario.model_fields, "surprise"]),
    value=VALUES,
    job_key=st.sampled_from([None, *Job.model_fields]),
)
def test_no_value_anywhere_does_worse_than_an_input_error(section, value, job_key):
    document = parse_document(job("{fixed: {gpus: 1}}"), "s.yaml")
    if job_key:
        document.data["jobs"]["one"][job_key] = value
    else:
        document.data[section] = value

    with contextlib.suppress(InputError):
        validate(document, ResolvedScenario)
