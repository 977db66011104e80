"""A file with many mistakes tells them all at the first try, and nothing that follows from them."""

from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from click.testing import CliRunner

from planner.cli.app import planner
from planner.errors import InputError
from tests.stated import load_inputs

pytestmark = pytest.mark.usefixtures("small_world")

FILES = yaml.safe_load(Path(__file__).with_name("all_at_once.yaml").read_text(encoding="utf-8"))


class Slip(NamedTuple):
    """A place in the files, what is wrongly and what is rightly written there, and what is told."""

    place: str
    wrong: str
    right: str
    told: list[str]


SLIPS = tuple(Slip(place, **written) for place, written in FILES["slips"].items())


@pytest.fixture
def told(write):
    """Headlines of the mistakes, without their places, of the files in which all else is right."""

    def told(*, mended):
        written = {one.place: one.right if one in mended else one.wrong for one in SLIPS}
        write(FILES["catalog"].format(**written), "own.yaml")
        path = write(FILES["scenario"].format(**written))
        shown = CliRunner().invoke(planner, ["check", str(path)]).output
        lines = [line for line in shown.splitlines() if line.startswith("error: ")]
        return [line.removeprefix("error: ").split(": ", 1)[1] for line in lines]

    return told


def _expected(slips):
    return sorted(message for slip in slips for message in slip.told)


def _matched(found, expected):
    """What was told as expected, and beside it whatever else was."""
    known = [next((one for one in expected if line.startswith(one)), line) for line in found]
    return sorted(known)


def test_forty_mistakes_of_all_kinds_are_told_by_the_first_try(told):
    assert _matched(told(mended=()), _expected(SLIPS)) == _expected(SLIPS)


def test_the_same_files_without_them_have_no_mistake(told):
    assert told(mended=SLIPS) == []


@pytest.mark.parametrize("slip", SLIPS, ids=lambda slip: slip.place)
def test_each_mistake_is_told_beside_the_others_and_alone(told, slip):
    others = [one for one in SLIPS if one is not slip]

    assert _matched(told(mended=[slip]), _expected(SLIPS)) == _expected(others)
    assert _matched(told(mended=others), _expected(SLIPS)) == _expected([slip])


def findings(path, **asked):
    with pytest.raises(InputError) as error:
        load_inputs(path, **asked)
    return [finding.headline().partition(": ")[2] for finding in error.value.findings]


def test_a_setting_that_cannot_be_made_hides_no_mistake_of_the_file(write, scenario_text):
    scenario = write(scenario_text.replace("batch: 8", "batch: 0"))

    batch, setting = findings(scenario, settings=["jobs.chatt.count=2", "jobs.chat.count=3"])

    assert batch.startswith("jobs.tune-chat.tune.batch: 0 is too small")
    assert setting.startswith("there is no 'chatt' in `jobs`")


def test_what_a_catalog_that_cannot_be_read_may_define_is_not_called_unknown(write, scenario_text):
    scenario = write(
        scenario_text.replace("small-8b, method", "ours-9b, method").replace("batch: 8", "batch: 0")
        + "use: {catalog: [ours.yaml]}\n"
    )

    batch, missing = findings(scenario)

    assert batch.startswith("jobs.tune-chat.tune.batch")
    assert missing == "use.catalog[0]: 'ours.yaml': no such file"

    write("models: {ours-9b: {layers: 42}}\n", "ours.yaml")
    assert not [line for line in findings(scenario) if "unknown model" in line]


def test_a_character_that_cannot_be_seen_hides_no_other_mistake(write, scenario_text):
    scenario = write(scenario_text.replace("  chat:", "  ch\u200bat:").replace("8b}", "9b}"))

    unseen, model = sorted(findings(scenario))

    assert unseen == "holds U+200B ZERO WIDTH SPACE, which cannot be seen"
    assert model.startswith("jobs.chat.serve.model: unknown model 'small-9b'")


@pytest.mark.parametrize(
    ("written", "consequence"),
    [
        ("horizon: {first_quarter: 2027Q7, quarters: 4}", "outside the horizon"),
        ("jobs: 3", "running"),
        ("sites: {east: 3, main: {}}", "unknown site"),
        ("fleet: {own: {node_type: eight-h100, count: two}}", "no node"),
    ],
)
def test_what_follows_from_a_mistake_is_not_told(write, written, consequence):
    sections = {
        "format": "format: 1",
        "name": "name: Example",
        "horizon": "horizon: {first_quarter: 2027Q1, quarters: 4}",
        "sites": "sites: {east: {}, main: {}}",
        "fleet": "fleet: {own: {node_type: eight-h100, count: 2}}",
        "offers": "offers: {more: {node_type: eight-h100, kind: buy, site: east}}",
        "jobs": "jobs: {chat: {fixed: {gpus: 8}, count: {2027Q1: 1}, sites: [east, main]}}",
        "running": "running: [{job: chat, node: eight-h100/main/02}]",
    }
    sections[written.partition(":")[0]] = written

    told = findings(write("\n".join(sections.values()) + "\n"))

    assert not [line for line in told if consequence in line], told


def test_a_value_that_is_refused_is_told_once(write, scenario_text):
    scenario = write(scenario_text.replace("batch: 8", "batch: '${BATCH}'"))

    assert findings(scenario) == ["unresolved placeholder '${BATCH}'"]
