"""The same file, or the same name, twice: what reads as one must not count as two."""

import pytest

from planner.errors import InputError
from planner.inputs.load import load_catalog, load_rules
from planner.inputs.text import folded
from tests.stated import load_inputs

pytestmark = pytest.mark.usefixtures("small_world")

PRICES = (
    "purchase:\n  four-l40s: {price_usd: 90000, date: 2026-09-01, source: maker, basis: estimate}\n"
)


def refusal(load, *args, **named):
    with pytest.raises(InputError) as error:
        load(*args, **named)
    return error.value.findings


@pytest.mark.parametrize("again", ["prices.yaml", "./prices.yaml", "folder/../prices.yaml"])
@pytest.mark.parametrize("load", [load_catalog, load_rules])
def test_a_file_is_named_once_on_the_command_line(write, load, again):
    path = write("rules: {}\n" if load is load_rules else PRICES, "prices.yaml")
    write("", "folder/empty.txt")

    (finding,) = refusal(load, [path, path.parent / again])

    assert finding.message == f"is the same file as {path}"


def test_a_file_is_not_named_again_by_a_link_or_by_its_folder(write, tmp_path):
    path = write(PRICES, "mine/prices.yaml")
    (tmp_path / "link.yaml").symlink_to(path)

    for again in (tmp_path / "link.yaml", tmp_path / "mine"):
        (finding,) = refusal(load_catalog, [path, again])
        assert finding.message == f"is the same file as {path}"


def test_an_option_does_not_name_what_the_scenario_uses(write, scenario_text):
    prices = write(PRICES, "prices.yaml")
    scenario = write(scenario_text + "use: {catalog: [prices.yaml]}\n")

    (finding,) = refusal(load_inputs, scenario, catalog=[prices])

    assert finding.headline() == f"{prices}: is the same file as {prices}"
    assert finding.hint == "name it once"


def test_a_scenario_that_extends_itself_by_a_link_is_told(write, tmp_path):
    scenario = write("extends: link.yaml\n")
    (tmp_path / "link.yaml").symlink_to(scenario)

    (finding,) = refusal(load_inputs, scenario)

    assert finding.message == "leads in a circle: scenario.yaml -> link.yaml"


@pytest.mark.parametrize(
    ("section", "shipped", "own"),
    [("models", "small-8b", "Small-8B"), ("nodes", "four-l40s", "Four-L40S")],
)
def test_an_id_that_looks_like_a_shipped_one_is_told(write, section, shipped, own):
    path = write(f"{section}:\n  {own}: {{extends: {shipped}}}\n", "own.yaml")

    first, *_ = refusal(load_catalog, [path])

    assert first.path == f"{section}.{own}"
    assert first.message.startswith(f"{own!r} differs from {shipped!r} in case alone")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("chat", "CHAT"),
        ("Straße", "STRASSE"),
        ("KI  Chat", "ki chat"),
        ("café", "cafe\u0301"),
        ("chat", "\u0441hat"),
        ("chat", "\uff43hat"),
        ("a-b", "a\u2013b"),
        ("\ufb01ne", "fine"),
        ("chat", "ch\ufe0fat"),
        ("H100", "\u041d100"),
    ],
)
def test_names_that_look_alike_are_folded_alike(one, other):
    assert folded(one) == folded(other)


@pytest.mark.parametrize(("one", "other"), [("chat", "chart"), ("ki", "k1"), ("über", "uber")])
def test_names_that_can_be_told_apart_are_not(one, other):
    assert folded(one) != folded(other)


def test_names_that_differ_are_no_mistake(write, scenario_text):
    more = "teams: {red: {}, réd: {}, blue-1: {}, blue_1: {}}\n"

    assert len(load_inputs(write(scenario_text + more)).scenario.teams) == 4
