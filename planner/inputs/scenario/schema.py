"""The JSON Schema of a scenario, for editors: what may be written, and what it means."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from planner.inputs import base
from planner.inputs.scenario import horizon, scenario

_QUARTER = r"[0-9]{4}Q[1-4]"
_QUARTERS = {"type": "string", "pattern": rf"^({_QUARTER}(\.\.{_QUARTER})?|all)$"}
_BOUNDS = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
}


class _AsWritten(GenerateJsonSchema):
    """Describes values as a person writes them, not as they are held."""

    def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002
        """Leave out titles that only repeat the key."""
        return False

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        """Say of each key what stands below its field."""
        described = super().model_schema(schema)
        model: type[BaseModel] = schema["cls"]
        meanings = base.docstrings(model)
        for key, field in described.get("properties", {}).items():
            if key in meanings:
                field["description"] = meanings[key]
        ones = [
            {"oneOf": [{"required": [key]} for key in keys]} for keys in base.alternatives(model)
        ]
        return described | (ones[0] if len(ones) == 1 else {"allOf": ones} if ones else {})

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> JsonSchemaValue:  # noqa: ARG002
        """Give a number; numbers in quotes are refused."""
        return {"type": "number"}

    def function_before_schema(
        self, schema: core_schema.BeforeValidatorFunctionSchema
    ) -> JsonSchemaValue:
        """Add the spellings that a validator turns into the plain value."""
        reads = schema["function"]["function"]
        inner = self.generate_inner(schema["schema"])
        if reads is base.share:
            return {"anyOf": [inner, {"type": "string", "pattern": r"^[-+]?[0-9.]+ *%$"}]}
        if reads is horizon.quarters:
            several = {"type": "array", "items": _QUARTERS, "minItems": 1}
            return {"anyOf": [_QUARTERS, several]}
        if reads is base.switched:
            return {"anyOf": [inner, {"type": "boolean"}]}
        if reads is base.priority:
            return {"anyOf": [inner, {"enum": list(base.PRIORITIES)}]}
        return inner

    def function_after_schema(
        self, schema: core_schema.AfterValidatorFunctionSchema
    ) -> JsonSchemaValue:
        """Add the pattern of quarters that are keys."""
        if schema["function"]["function"] is horizon.quarter_key:
            return {"type": "string", "pattern": "^[0-9]{4}Q[1-4]$"}
        return self.generate_inner(schema["schema"])

    def tagged_union_schema(self, schema: core_schema.TaggedUnionSchema) -> JsonSchemaValue:
        """Give the alternatives; which one is meant shows in the value itself."""
        return {"anyOf": [self.generate_inner(choice) for choice in schema["choices"].values()]}


def scenario_schema() -> dict[str, Any]:
    """Give the JSON Schema (2020-12) of a scenario file, the same at every call."""
    raw = scenario.ScenarioFile.model_json_schema(schema_generator=_AsWritten)
    schema: dict[str, Any] = _tidied(raw)
    whole = {"required": schema.pop("required")}
    schema["anyOf"] = [{"required": ["extends"]}, whole]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _tidied(schema: Any) -> Any:  # noqa: ANN401 - JSON
    """Say only what a writer can use: no nulls, no defaults of whole sections, plain bounds."""
    if isinstance(schema, list):
        return [_tidied(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    tidy: dict[str, Any] = {}
    for key, value in schema.items():
        if key in ("properties", "patternProperties", "$defs"):
            tidy[key] = {name: _tidied(inner) for name, inner in value.items()}
        elif key == "anyOf":
            tidy |= _without_null([_tidied(choice) for choice in value])
        elif key in _BOUNDS:
            continue
        elif key != "default" or not (value is None or isinstance(value, dict | list)):
            tidy[key] = _tidied(value)
    if "patternProperties" in tidy:
        tidy["additionalProperties"] = False
    return _with_bounds(tidy, schema)


def _without_null(choices: list[dict[str, Any]]) -> dict[str, Any]:
    kept = [choice for choice in choices if choice != {"type": "null"}]
    return kept[0] if len(kept) == 1 else {"anyOf": kept}


def _with_bounds(tidy: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """Put the bounds where the number is; guards against slips of the hand are left out."""
    bounds = {
        word: schema[key]
        for key, word in _BOUNDS.items()
        if key in schema and abs(schema[key]) < base.LARGEST_COUNT
    }
    if "anyOf" in tidy:
        for choice in tidy["anyOf"]:
            if choice.get("type") in ("number", "integer"):
                choice |= bounds  # noqa: PLW2901 - in place
        return tidy
    return tidy | bounds
