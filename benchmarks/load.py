"""Far more than a company has: it ends with an answer or an honest limit, in bounded memory."""

from __future__ import annotations

import gc
import os
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.processes import run
from benchmarks.scenario import write_scenario
from benchmarks.start import starts
from benchmarks.table import Row
from planner.errors import ExitCode
from planner.inputs.load import inputs_from, load_catalog, load_rules
from planner.inputs.reading.reader import parse_document
from planner.planning.make import make_plan

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["growth_of_plans", "under_load"]

_GIB = 1024**3
_ANSWERS = {
    ExitCode.PROVED: "proved",
    ExitCode.INPUT: "refused",
    ExitCode.LIMIT: "not proved",
}
_FOUND_OR_LIMIT = (ExitCode.PROVED, ExitCode.LIMIT)

_NODE = """\
  own-{number:03d}:
    vendor: V
    product: P
    gpu_type: {gpu}
    gpus: {{value: {gpus}, source: {at}}}
    cpu_cores: {{value: {cores}, source: {at}}}
    host_memory_gb: {{value: {memory}, source: {at}}}
    mean_power_kw: {{value: {power}, source: {at}}}"""
_OFFER = "  buy-{number:03d}: {{node_type: own-{number:03d}, kind: buy, price_usd: {price}}}"
_GPUS = ("h100-80gb-sxm", "h200-141gb-sxm", "a100-80gb-sxm", "l40s-48gb")

_SMALL = """\
format: 1
name: One of a thousand
horizon: {{first_quarter: 2027Q1, quarters: 2}}
fleet: {{own: {{node_type: xe9680-h100, count: {owned}}}}}
offers: {{more: {{node_type: xe9680-h200, kind: buy, price_usd: {price}}}}}
jobs:
  chat: {{fixed: {{gpus: 2}}, count: {count}, growth_per_quarter: 50%}}
  other: {{fixed: {{gpu_memory_gb: 100}}}}
"""


def under_load() -> Iterator[Row]:
    """Portfolios, horizons and catalogs that no company has, each as a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        jobs, quarters, nodes = (Path(folder) / f"{name}.yaml" for name in ("jobs", "q", "nodes"))
        write_scenario(jobs, 100_000)
        yield _row("100,000 jobs, one quarter", jobs, (ExitCode.PROVED,), 900)
        write_scenario(quarters, 2_000, quarters=40)
        yield _row("2,000 jobs, 40 quarters", quarters, _FOUND_OR_LIMIT, 900)
        write_scenario(quarters, 20, quarters=50)
        yield _row("50 quarters", quarters, (ExitCode.INPUT,), 50)
        for number in (1, 4):
            write_with_nodes(nodes, jobs=2_000, nodes=200, quarters=number)
            what = f"2,000 jobs, 200 node types, {number} quarter{'s' if number > 1 else ''}"
            yield _row(what, nodes, _FOUND_OR_LIMIT, 900)
    grown = growth_of_plans(1_000, warm_up=100)
    yield Row(
        "a thousand plans in one process, after the first hundred",
        f"{grown / 2**20:+.1f} MiB",
        "≤ 8 MiB",
        grown <= 8 * 2**20,
    )


def _row(what: str, scenario: Path, expected: tuple[ExitCode, ...], most: float) -> Row:
    done = run("plan", str(scenario), "--out", str(scenario.parent / "out"), "--force")
    answer = _ANSWERS.get(ExitCode(done.code), f"exit code {done.code}")
    taken = starts(done.processor_seconds)
    wanted = " or ".join(_ANSWERS[code] for code in expected)
    return Row(
        what,
        f"{answer}; {taken:.0f} R; {done.peak_bytes / _GIB:.2f} GiB",
        f"{wanted}; ≤ {most:g} R; ≤ 2 GiB",
        done.code in expected and taken <= most and done.peak_bytes <= 2 * _GIB,
    )


def write_with_nodes(path: Path, *, jobs: int, nodes: int, quarters: int) -> None:
    """Write a scenario with a catalog beside it: so many node types, each offered at a price."""
    kinds = [
        {
            "number": number,
            "gpu": _GPUS[number % 4],
            "gpus": 4 if number % 3 else 8,
            "at": "https://example.org",
            "cores": 64 + number,
            "memory": 1024 + 8 * number,
            "power": 3 + number / 100,
            "price": 120_000 + 1_111 * number + (60_000 if number % 4 < 2 else 0),
        }
        for number in range(nodes)
    ]
    lines = ["nodes:", *(_NODE.format(**kind) for kind in kinds)]
    path.with_name("own.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    write_scenario(path, jobs, quarters=quarters)
    head, _, rest = path.read_text(encoding="utf-8").partition("offers:\n")
    offers = "\n".join(_OFFER.format(**kind) for kind in kinds)
    text = (
        f"{head}use: {{catalog: [own.yaml]}}\noffers:\n{offers}\njobs:{rest.partition('jobs:')[2]}"
    )
    path.write_text(text, encoding="utf-8")


def growth_of_plans(plans: int, *, warm_up: int) -> int:
    """Bytes of memory that plans one after another leave behind, once the first have been made."""
    facts, book = cache(load_catalog), cache(load_rules)
    before = 0
    for number in range(plans):
        if number == warm_up:
            before = _resident_bytes()
        text = _SMALL.format(owned=1 + number % 3, count=1 + number % 7, price=200_000 + number)
        make_plan(inputs_from(parse_document(text, "small.yaml"), facts, book))
    return _resident_bytes() - before


def _resident_bytes() -> int:
    gc.collect()
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
