import json
from pathlib import Path

from planner.inputs.scenario.scenario import ResolvedScenario
from planner.inputs.scenario.schema import scenario_schema

COMMITTED = Path(__file__).parents[2] / "docs" / "schema" / "scenario.schema.json"


def test_the_committed_schema_is_the_one_that_the_models_give(golden):
    golden(COMMITTED, json.dumps(scenario_schema(), indent=2, ensure_ascii=False) + "\n")


def test_no_key_is_open_to_unknown_ones():
    schema = scenario_schema()
    for definition in (schema, *schema["$defs"].values()):
        assert definition["additionalProperties"] is False


def test_required_keys_are_those_of_the_model_unless_the_file_extends_another():
    required = [
        name for name, field in ResolvedScenario.model_fields.items() if field.is_required()
    ]

    assert "required" not in scenario_schema()
    assert scenario_schema()["anyOf"] == [{"required": ["extends"]}, {"required": required}]


def test_only_words_of_json_schema_are_used():
    text = json.dumps(scenario_schema())
    for word in ('"ge"', '"gt"', '"le"', '"lt"', '"null"'):
        assert f"{word}:" not in text
