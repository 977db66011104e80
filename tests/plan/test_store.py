"""A plan survives the disk, and nothing else passes for one."""

import json
import random

import pytest

from planner.errors import CheckError, InputError
from planner.planning.files import write_atomically
from planner.planning.store import dumps, loads
from tests.properties.questions import draws
from tests.sealed import sealed
from tests.stated import changed, table


def test_a_plan_read_back_is_the_same_plan_and_the_same_bytes(plan):
    text = dumps(plan)
    again = loads(text, "plan.json")
    assert again == plan
    assert dumps(again) == text


@pytest.mark.parametrize("edit", ["what is left out", "what is no number"])
def test_a_plan_that_its_file_would_not_give_back_is_not_written(plan, edit):
    first, *others = plan.nodes
    read_otherwise = (changed(first, sold=""), *others)
    not_read = changed(plan.proof, gap=float("nan"))
    changes = {
        "what is left out": {"nodes": read_otherwise},
        "what is no number": {"proof": not_read},
    }
    with pytest.raises(CheckError, match="would not say what was checked"):
        dumps(plan.model_copy(update=changes[edit]))


def test_the_file_is_plain_json_that_ends_with_a_line_feed(plan):
    text = dumps(changed(plan, scenario="für München"))
    assert text.endswith("}\n")
    assert "\r" not in text
    assert "für München" in text
    written = json.loads(text)
    assert len(written["provenance"].pop("digest")) == 64
    steps = written.pop("steps")
    for sizing in written["sizings"].values():
        for candidate in sizing["candidates"]:
            candidate["trace"] = [steps[number] for number in candidate["trace"]]
    assert {**written, "scenario": plan.scenario} == plan.model_dump(mode="json")


def test_a_step_that_many_candidates_share_stands_once(plan):
    written = json.loads(dumps(plan))
    traces = [
        candidate["trace"]
        for sizing in written["sizings"].values()
        for candidate in sizing["candidates"]
    ]
    assert {number for trace in traces for number in trace} == {*range(len(written["steps"]))}
    assert len({json.dumps(step) for step in written["steps"]}) == len(written["steps"])
    written["sizings"][next(iter(written["sizings"]))]["candidates"][0]["trace"].append(10**6)
    with pytest.raises(InputError, match="does not belong in a plan"):
        loads(sealed(json.dumps(written)), "p.json")


def test_each_job_and_each_node_stands_on_a_line_of_its_own(plan):
    lines = dumps(plan).splitlines()
    assert sum(line.startswith('  {"name":"chat"') for line in lines) == 1
    assert sum(line.startswith('  {"id":"eight-h100/main/') for line in lines) == 3


@table(__file__)
def test_what_is_no_plan_is_refused_by_name(text, message):
    with pytest.raises(InputError) as caught:
        loads(text, "p.json")
    assert message in str(caught.value)


def test_brackets_without_end_are_refused_at_once():
    with pytest.raises(InputError, match="nested too deep"):
        loads("[" * 100_000, "p.json")


def test_a_newer_minor_format_is_read(plan):
    text = dumps(plan).replace('"format": "3.0"', '"format": "3.7"')
    assert loads(sealed(text), "p.json").format == "3.7"


def test_an_unknown_key_is_refused(plan):
    text = dumps(plan).replace('"as_of"', '"as_off"')
    with pytest.raises(InputError, match="as_off"):
        loads(sealed(text), "p.json")


def _places(value, path=()):
    """Every plain value in a document, by its path."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in inner:
        if isinstance(item, dict | list):
            yield from _places(item, (*path, key))
        else:
            yield (*path, key)


def test_a_plan_edited_anywhere_is_refused(plan):
    text = dumps(plan)
    for path in random.Random(6).sample([*_places(json.loads(text))], draws(60, 400)):
        document = json.loads(text)
        *outer, last = path
        within = document
        for key in outer:
            within = within[key]
        within[last] = "3.9" if path == ("format",) else f"not {within[last]}"
        with pytest.raises(InputError, match=r"was changed after the planner had written it"):
            loads(json.dumps(document), "p.json")


def test_line_ends_and_spacing_are_no_part_of_what_is_sealed(plan):
    text = dumps(plan)
    assert loads(text.replace("\n", "\r\n"), "p.json") == plan
    assert loads(json.dumps(json.loads(text), indent=4), "p.json") == plan


def test_half_a_character_is_no_plan(plan):
    document = json.loads(dumps(plan))
    document["scenario"] = "\ud800"
    with pytest.raises(InputError, match="does not belong in a plan"):
        loads(sealed(json.dumps(document)), "p.json")


def test_a_file_is_replaced_whole(tmp_path):
    target = tmp_path / "plan.json"
    target.write_text("old")
    write_atomically({target: "new ü\n"})
    assert target.read_bytes() == "new ü\n".encode()
    assert [path.name for path in tmp_path.iterdir()] == ["plan.json"]
    (tmp_path / "b").write_text("x")
    assert target.stat().st_mode == (tmp_path / "b").stat().st_mode, "the usual permissions"


def test_a_failed_write_leaves_nothing_behind(tmp_path):
    (tmp_path / "plan.json").mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        write_atomically({tmp_path / "plan.json": "x"})
    assert [path.name for path in tmp_path.iterdir()] == ["plan.json"]
    with pytest.raises(InputError, match=r"missing/plan\.json: cannot be written: No such file"):
        write_atomically({tmp_path / "missing" / "plan.json": "x"})
