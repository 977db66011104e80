"""An assistant asks over MCP, in this process and over the pipes of one of its own."""

import json
import os
import sys
from pathlib import Path

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from planner.cli.servers import server

ROOT = Path(__file__).parents[2]
TOOLS = {"size", "check", "plan", "explain", "compare"}


@pytest.fixture
def ask():
    """`ask("check", scenario=…)`: what the tool gives, and whether it is an error."""

    def asked(tool, **given):
        async def call():
            async with Client(server()) as client:
                return await client.call_tool(tool, given)

        found = anyio.run(call)
        told = found.content[0].text if found.is_error else found.structured_content
        return told, found.is_error

    return asked


@pytest.fixture
def answer(ask):
    """`answer("check", scenario=…)`: what the tool gives, which is no error."""

    def answered(tool, **given):
        found, is_error = ask(tool, **given)
        assert not is_error, found
        return found

    return answered


def test_the_tools_say_what_they_do_and_that_one_alone_writes():
    async def listed():
        async with Client(server()) as client:
            return (await client.list_tools()).tools, client.instructions

    tools, instructions = anyio.run(listed)
    assert {one.name for one in tools} == TOOLS
    assert all(one.description and one.input_schema["properties"] for one in tools)
    assert [one.name for one in tools if not one.annotations.read_only_hint] == ["plan"]
    assert "illustrative" in instructions


def test_a_job_is_sized_as_on_the_command_line(answer, run):
    job = {"tune": {"model": "llama-3.1-8b", "method": "lora", "sequence": 1024, "batch": 8}}
    found = answer("size", job=job)
    words = ("--model", "llama-3.1-8b", "--method", "lora", "--sequence", "1024", "--batch", "8")
    whole = json.loads(run("size", *words, "--format", "json").stdout)
    gpus = [(one["gpu_type"], one["gpus"]) for one in whole["candidates"]]
    assert sorted((one["gpu_type"], one["gpus"]) for one in found["ways"]) == gpus
    assert {one["gpu_type"] for one in found["rejected"]}.isdisjoint(name for name, _ in gpus)


def test_a_scenario_is_checked_as_a_file_and_as_text(answer, varied):
    by_path = answer("check", scenario=str(varied))
    assert by_path["variations"] == ["two", "dear", "nothing", "stress"]
    assert [one["job"] for one in by_path["jobs"]] == ["assistant", "claims"]
    assert answer("check", scenario=varied.read_text(encoding="utf-8")) == by_path


def test_mistakes_are_told_with_place_and_hint(ask, scenario):
    text = scenario.read_text(encoding="utf-8").replace("count:", "cuont:")
    told, is_error = ask("check", scenario=text)
    assert is_error
    assert "<text>:5:" in told
    assert "did you mean 'count'?" in told


def test_a_plan_is_saved_explained_and_compared(answer, ask, varied):
    made = answer("plan", scenario=str(varied), save_as="plans/base")
    assert made["status"] == "proved"
    assert made["bound_usd"] <= made["cost_usd"]
    assert made["saved"] == ["plans/base/plan.json", "plans/base/plan.md"]
    assert any("illustrative" in one for one in made["warnings"])
    told = answer("explain", plan_json="plans/base/plan.json", job="claims")["told"]
    assert "claims" in told
    by_plan = answer("compare", before="plans/base/plan.json", after=str(varied))
    assert by_plan["same"]
    dear = answer("compare", before=str(varied), set={"offers.h200.price_usd": "+10%"})
    assert "offers.h200.price_usd" in dear["told"]
    assert answer("compare", before=str(varied), apply=["two"])["added_usd"] < 0
    message, is_error = ask("plan", scenario=str(varied), save_as="plans/base")
    assert is_error
    assert "is there already" in message


def test_without_a_plan_the_reasons_are_told_and_nothing_is_written(ask, varied):
    told, is_error = ask("plan", scenario=str(varied), apply=["nothing"], save_as="out")
    assert is_error
    assert "no plan exists" in told
    assert not Path("out").exists()


@pytest.mark.parametrize("name", ["../secret.yaml", "/etc/passwd", "link/secret.yaml", "a\0b"])
def test_no_file_outside_the_folder_is_read_or_written(ask, scenario, tmp_path, name):
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "secret.yaml").write_text(scenario.read_text(encoding="utf-8"), encoding="utf-8")
    (inner / "link").symlink_to(tmp_path)
    os.chdir(inner)  # the fixture `scenario` goes back
    text = (tmp_path / "secret.yaml").read_text(encoding="utf-8")
    for tool, given in (
        ("check", {"scenario": name}),
        ("plan", {"scenario": text, "save_as": name}),
        ("explain", {"plan_json": name, "job": "claims"}),
        ("compare", {"before": name}),
    ):
        told, is_error = ask(tool, **given)
        assert is_error
        assert "lies outside" in told
    there = sorted(one.name for one in tmp_path.iterdir())
    assert there == ["inner", "scenario.yaml", "secret.yaml"]


def test_what_is_not_asked_rightly_is_an_error_too(ask, scenario):
    for tool, given, words in (
        ("size", {"job": {"tune": {"model": "llama-9", "method": "lora"}}}, "'llama-9'"),
        ("size", {"job": "tune"}, "job"),
        ("plan", {"scenario": str(scenario), "time_limit_seconds": -1}, "above 0"),
        ("explain", {"plan_json": "none.json", "job": "a"}, "no such file"),
    ):
        told, is_error = ask(tool, **given)
        assert is_error
        assert words in told


def test_the_command_answers_over_its_pipes(scenario, tmp_path):
    start = StdioServerParameters(
        command=sys.executable,
        args=["-m", "planner.cli", "mcp", str(tmp_path)],
        env={"PYTHONPATH": str(ROOT)},
    )

    async def call():
        async with Client(start, read_timeout_seconds=300) as client:
            tools = await client.list_tools()
            made = await client.call_tool("plan", {"scenario": scenario.name})
            return tools.tools, made

    tools, made = anyio.run(call)
    assert {one.name for one in tools} == TOOLS
    assert made.structured_content["status"] == "proved"
    assert made.structured_content["saved"] == []


def test_without_the_package_it_is_said_what_to_install(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    done = run("mcp")
    assert done.exit_code == 2
    assert "pip install 'gpu-fit-planner[mcp]'" in done.stderr
