"""The rules that ship: sourced, exampled, correct, and documented."""

import re
from pathlib import Path

from planner.inputs.base import AsFact
from planner.inputs.load import load_rules
from planner.inputs.reading.reader import read_document
from planner.inputs.rules.book import RuleBook
from planner.inputs.rules.facts import FACTS, SETTINGS, UNITS
from planner.inputs.rules.rule import Rule
from planner.inputs.scenario.job import Adapters, Fixed, Parallelism, Serve, Tune
from planner.inputs.scenario.load import Disaggregated, Latency, Load, Speculative
from planner.inputs.settled import Settings
from planner.sizing.engine import run_examples
from tests.stated import changed

ROOT = Path(__file__).parents[2]
BOOK, FILES = load_rules(())
LONGEST_FILE_LINES = 400
"""What a reviewer takes in at a time."""


def test_every_example_comes_out_as_its_source_says():
    failed = [result for result in run_examples(BOOK) if not result.passed]
    assert failed == []


def test_a_file_holds_rules_of_its_subject_in_order_and_not_too_many():
    for file in {*(ROOT / "rules").rglob("*.yaml")} - {ROOT / "rules" / "sources.yaml"}:
        document = read_document(file)
        ids = list(document.data["rules"])
        assert ids == sorted(ids), f"put the rules of {file} in the order of their ids"
        ids += [case for rule in document.data["rules"].values() for case in rule.get("cases", ())]
        name = file.relative_to(ROOT / "rules").with_suffix("")
        folder = name.parent.as_posix() if name.parent.name else name.as_posix()
        for rule in ids:
            begins = rule.startswith((f"{folder}/", f"{name.as_posix()}/"))
            assert begins, f"{file}: the id {rule} does not begin with {folder}/"
        told = f"divide {file} by subjects: it has more than {LONGEST_FILE_LINES} lines"
        assert document.text.count("\n") <= LONGEST_FILE_LINES, told


def test_every_rule_of_every_file_is_in_the_book():
    held = []
    for file in FILES:
        for rule_id, rule in read_document(ROOT / file.path).data.get("rules", {}).items():
            held += rule.get("cases", (rule_id,))
    assert sorted(held) == list(BOOK.rules)


def test_every_source_is_cited_by_its_key_and_none_is_written_out_twice():
    sources = read_document(ROOT / "rules" / "sources.yaml").data["sources"]
    titles = [source["title"] for source in sources.values()]
    assert list(sources) == sorted(sources), "put rules/sources.yaml in the order of its keys"
    assert len(titles) == len(set(titles)), "rules/sources.yaml has one source twice"
    texts = [(ROOT / file.path).read_text(encoding="utf-8") for file in FILES]
    cited = set(re.findall(r"source: ([\w.-]+)", "".join(texts)))
    assert cited == set(sources), "rules/sources.yaml holds what rules cite, and nothing else"
    written = re.findall(r"^      - title: (.*)$", "".join(texts), re.MULTILINE)
    twice = set(written) & set(titles)
    assert not twice, "cite it by its key in rules/sources.yaml"


def test_every_setting_has_a_policy():
    assert {BOOK.setting(name).sets for name in SETTINGS} == set(SETTINGS)
    assert set(Settings.model_fields) <= set(SETTINGS)


def test_a_wrong_example_is_noticed():
    rule = BOOK.rules["serving/plain"]
    wrong = changed(rule.examples[0], expect=rule.examples[1].expect)
    broken = changed(rule, examples=(wrong,))
    failed = [r for r in run_examples(RuleBook.of([*BOOK.rules.values(), broken])) if not r.passed]
    assert [result.rule for result in failed] == ["serving/plain"]
    assert failed[0].message == "expected 84, got 168"


def test_a_rule_that_does_not_speak_in_its_own_example_fails():
    rule = BOOK.rules["serving/plain"]
    elsewhere = changed(rule.examples[0], given={"kind": "tune"})
    broken = changed(rule, examples=(elsewhere,))
    failed = [r for r in run_examples(RuleBook.of([*BOOK.rules.values(), broken])) if not r.passed]
    assert failed[0].message == "expected 168, got nothing"


def test_a_rule_without_source_or_example_fails():
    bare = Rule.model_validate(
        {
            "id": "x/bare",
            "title": "Bare",
            "kind": "formula",
            "result": {"name": "x", "unit": "GB"},
            "value": 1,
        }
    )
    failed = [result for result in run_examples(RuleBook.of([bare])) if not result.passed]
    assert [result.message for result in failed] == [
        "the rule names no source",
        "the rule has no example",
    ]


ORIGINS = {
    "job": "Also from the job",
    "model": "From the model",
    "gpu": "From the GPU type",
    "count": "From the count",
}


KEYS: dict[str, list[str]] = {}
"""Facts that a job states, with the keys of the scenario that do."""
_STATED = (Tune, Parallelism, Serve, Adapters, Load, Latency, Speculative, Disaggregated, Fixed)
for _section in _STATED:
    for _key, _fact in AsFact.of(_section).items():
        KEYS.setdefault(_fact.fact, []).append(_key)


def facts_of_keys() -> str:
    others = ", ".join(
        f"`{name}` ({' or '.join(f'`{key}`' for key in dict.fromkeys(keys))})"
        for name, keys in KEYS.items()
        if keys != [name]
    )
    return f"Keys that are called otherwise: {others}."


def facts_table(origin: str, title: str) -> str:
    lines = [f"| {title} | unit | meaning |", "|---|---|---|"]
    for fact in FACTS.values():
        if fact.origin == origin and fact.name not in KEYS:
            meaning = fact.meaning
            if fact.choices:
                meaning += f": {', '.join(f'`{choice}`' for choice in fact.choices)}"
            lines.append(f"| `{fact.name}` | {fact.unit} | {meaning} |")
    return "\n".join(lines)


def test_the_documentation_lists_every_unit_and_fact(golden):
    path = ROOT / "docs" / "rules.md"
    page = path.read_text(encoding="utf-8")
    assert {fact.origin for fact in FACTS.values()} == {*ORIGINS, "setting"}
    assert KEYS.keys() <= FACTS.keys()
    units = ", ".join(f"`{unit}`" for unit in sorted(UNITS - {"text"}, key=str.lower))
    tables = "\n\n".join((facts_of_keys(), *(facts_table(*one) for one in ORIGINS.items())))
    made = page
    for mark, listed in (("units", f"{units}."), ("facts", tables)):
        before, begin, rest = made.partition(f"<!-- {mark} -->\n")
        made = f"{before}{begin}\n{listed}\n\n<!-- end -->{rest.partition('<!-- end -->')[2]}"
    golden(path, made)
