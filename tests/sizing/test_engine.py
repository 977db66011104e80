"""Applying rules: contradictions, gaps and fallbacks are said, never papered over."""

from fractions import Fraction

import pytest

from planner.errors import InputError
from planner.inputs.rules.book import RuleBook
from planner.inputs.rules.rule import Rule
from planner.inputs.scenario.job import Job
from planner.sizing.engine import Known, Reasoning
from tests.stated import changed


def formula(rule_id, result, text, inputs=None, **more):
    fields = {
        "id": rule_id,
        "title": f"Rule {rule_id}",
        "kind": "formula",
        "inputs": inputs or {},
        "result": {"name": result, "unit": "GB"},
        "formula": text,
    }
    return Rule.model_validate(fields | more)


def reasoning(rules, **facts):
    known = {name: Known(Fraction(value), "GB", "job") for name, value in facts.items()}
    return Reasoning(RuleBook.of(rules), known)


def test_a_fallback_speaks_only_where_no_other_rule_does():
    firm = formula("a/firm", "x_gb", "1", applies={"memory_gb": {"min": 10}})
    fallback = formula("a/fallback", "x_gb", "2", fallback=True)
    assert reasoning([firm, fallback], memory_gb=10).value("x_gb") == 1
    assert reasoning([firm, fallback], memory_gb=9).value("x_gb") == 2


def test_a_stated_fact_wins_over_a_rule():
    rules = [formula("a/one", "memory_gb", "1")]
    assert reasoning(rules, memory_gb=7).value("memory_gb") == 7
    assert reasoning(rules).value("memory_gb") == 1


def test_a_figure_that_nobody_gives_leaves_the_result_unknown_and_is_named():
    rules = [
        formula("a/one", "x_gb", "y_gb", {"y_gb": "GB"}),
        formula("a/two", "y_gb", "adapter_gb", {"adapter_gb": "GB"}),
    ]
    assert reasoning(rules).derive("x_gb") is None
    assert reasoning(rules).why_unknown("x_gb") == "adapter_gb"


def test_a_default_is_an_assumption_and_an_absent_rule_is_none():
    rules = [
        formula(
            "a/one",
            "x_gb",
            "adapter_gb + host_memory_gb",
            {
                "adapter_gb": {"unit": "GB", "meaning": "adapter size", "default": 3},
                "host_memory_gb": {"unit": "GB", "otherwise": 0},
            },
        )
    ]
    derived = reasoning(rules).derive("x_gb")
    assert derived.known.value == 3
    assert derived.assumed == ("adapter size 3 (a/one)",)
    assert [known.origin for _, known in derived.inputs] == ["assumed", "none"]


def test_what_depends_on_a_closer_situation_is_derived_there():
    rules = [
        formula("a/one", "x_gb", "memory_gb * 2", {"memory_gb": "GB"}),
        formula("a/two", "y_gb", "x_gb + gpu_memory_gb", {"x_gb": "GB", "gpu_memory_gb": "GB"}),
    ]
    job = reasoning(rules, memory_gb=5)
    gpu = job.within({"gpu_memory_gb": Known(Fraction(80), "GB", "gpu")})
    assert job.derive("y_gb") is None
    assert gpu.value("y_gb") == 90
    assert gpu.derive("x_gb") is job.derive("x_gb")


def test_a_users_rule_that_contradicts_a_shipped_one_is_refused(sizer, rules):
    mine = changed(rules.rules["serving/plain"], id="mine/serving")
    book = RuleBook.of([*rules.rules.values(), mine])
    with pytest.raises(InputError, match="mine/serving and serving/plain"):
        sizer(book=book).size(Job.model_validate({"serve": {"parameters_b": 10}}))


def test_without_a_rule_a_job_is_rejected_and_told_what_is_missing(sizer, rules):
    book = RuleBook.of(r for r in rules.rules.values() if r.id != "serving/plain")
    sizing = sizer(book=book).size(Job.model_validate({"serve": {"parameters_b": 10}}))
    assert sizing.candidates == ()
    assert {one.rule for one in sizing.rejections} == {"rules"}
    assert "nothing is known of memory_gb" in sizing.rejections[0].message
