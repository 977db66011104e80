"""A small catalog with exact figures, the shipped rules, and a sizer over both."""

from __future__ import annotations

from decimal import Decimal

import pytest

from planner.inputs.catalog.catalog import Catalog
from planner.inputs.load import load_catalog, load_rules
from planner.inputs.scenario.job import Job
from planner.inputs.scenario.scenario import Policies, ResolvedScenario
from planner.inputs.settled import Setting, Settings
from planner.sizing import Sizer
from planner.sizing.engine import Known
from planner.sizing.subject import gpu_facts
from planner.sizing.tries import Tries


def figure(value):
    return {"value": value, "source": "bench"}


def gpu(family, memory_gb, driver_mib=None, bf16=None, vendor="nvidia", bandwidth=None):
    entry = {
        "vendor": vendor,
        "family": family,
        "form_factor": "SXM",
        "memory_gb": figure(Decimal(memory_gb)),
        "kubernetes_resource": f"{vendor}.com/gpu",
    }
    if driver_mib:
        entry["driver_memory_mib"] = figure(driver_mib)
    if bf16:
        entry["dense_tflops"] = {"bf16": figure(Decimal(bf16))}
    if bandwidth:
        entry["bandwidth_gb_per_s"] = figure(bandwidth)
    return entry


def node(gpu_type, gpus):
    return {
        "vendor": "Dell",
        "product": "PowerEdge",
        "gpu_type": gpu_type,
        "gpus": figure(gpus),
        "cpu_cores": figure(112),
        "host_memory_gb": figure(Decimal(2048)),
    }


def model(parameters_b, layers, hidden, heads, attention="gqa", active=None):
    entry = {
        "name": "bench/model",
        "parameters_b": Decimal(parameters_b),
        "layers": layers,
        "hidden": hidden,
        "heads": heads,
        "kv_heads": 8,
        "head_dim": 128,
        "vocab": 128256,
        "max_context": 131072,
        "attention": attention,
        "source": "bench",
    }
    if active:
        entry["active_parameters_b"] = Decimal(active)
    return entry


GPUS = {
    "a100-80gb-sxm": gpu("a100", 80, 81920, 312, bandwidth=2039),
    "h100-80gb-sxm": gpu("h100", 80, 81559, 989, bandwidth=3350),
    "h200-141gb-sxm": gpu("h200", 141, 143771, 989, bandwidth=4800),
    "l40s-48gb": gpu("l40s", 48, 46068, 362, bandwidth=864),
    "l4-24gb": gpu("l4", 24, 23034),
    "b200-180gb-sxm": gpu("b200", 180, 183359, 2250, bandwidth=8000),
    "mi300x-192gb": gpu("mi300x", 192, None, 1300, "amd", 5300),
    "gaudi3-128gb": gpu("gaudi3", 128, None, 1677, "intel", 3700),
}


@pytest.fixture(scope="session")
def catalog():
    return Catalog.model_validate(
        {
            "sources": {"bench": {"title": "Figures of this test"}},
            "gpus": GPUS,
            "nodes": {
                "xe9680-h100": node("h100-80gb-sxm", 8),
                "xe8640-h100": node("h100-80gb-sxm", 4),
                "xe9680-a100": node("a100-80gb-sxm", 8),
                "xe9680-h200": node("h200-141gb-sxm", 8),
                "r760xa-l40s": node("l40s-48gb", 4),
            },
            "models": {
                "llama-3.1-8b": model("8.030261248", 32, 4096, 32),
                "llama-3.1-70b": model("70.553706496", 80, 8192, 64),
                "mixture": model("46.7", 32, 4096, 32, active="12.9"),
                "latent": model("15.7", 27, 2048, 16, attention="mla") | {"kv_latent_dim": 576},
            },
            "prices": {
                "header": {
                    "id": "none",
                    "date": "2026-11-21",
                    "illustrative": True,
                    "notice": "No prices are needed here.",
                }
            },
        }
    )


@pytest.fixture(scope="session")
def rules():
    book, _ = load_rules(())
    return book


@pytest.fixture(scope="session")
def settings(rules):
    def build(**stated):
        return Settings(
            **{
                name: Setting(
                    value=Decimal(str(stated[name]))
                    if name in stated
                    else rules.setting(name).value,
                    unit=rules.setting(name).unit,
                    origin="scenario" if name in stated else f"rule {rules.setting(name).id}",
                    assumed=name not in stated,
                )
                for name in Settings.model_fields
            }
        )

    return build


@pytest.fixture(scope="session")
def sizer(catalog, rules, settings):
    def build(policies=None, book=None, **stated):
        return Sizer(catalog, book or rules, settings(**stated), policies or Policies())

    return build


@pytest.fixture(scope="session")
def shared_sizer(sizer):
    return sizer()


@pytest.fixture(scope="session")
def shipped():
    """The catalog that ships."""
    return load_catalog([])[0]


@pytest.fixture(scope="session")
def shipped_sizer(shipped, rules, settings):
    """A sizer over it, on GPU types of several kinds."""
    kinds = ("h100-80gb-sxm", "h200-141gb-sxm", "b200-180gb-sxm", "l40s-48gb", "mi300x-192gb")
    return Sizer(shipped, rules, settings(), Policies(), gpu_types=kinds)


@pytest.fixture(scope="session")
def replica(shipped, shipped_sizer):
    """`replica(serve, held)`: what rules say of one that holds so many requests.

    The figure of a name is asked for, with all of these in flight, or fewer.
    """

    def at(serve, held, gpu_type="h100-80gb-sxm", gpus=1):
        reasoning = shipped_sizer.reasoning(Job.model_validate({"serve": serve}))
        known = reasoning.within({"concurrency": Known(held, "requests", "tried")})
        situation = Tries(known).on(gpu_facts(gpu_type, shipped), gpus)

        def figure(name, in_flight=held):
            flying = {"in_flight": Known(in_flight, "requests", "tried")}
            found = situation.within(flying).number(name)
            assert found is not None, name
            return float(found)

        return figure

    return at


@pytest.fixture
def size(shared_sizer):
    """`size(tune={...})` gives the sizing of a job."""
    return lambda **job: shared_sizer.size(Job.model_validate(job))


@pytest.fixture
def candidate(size):
    """`candidate("h100-80gb-sxm", tune={...})` gives the candidate on one GPU type, or None."""

    def find(gpu_type, **job):
        found = {one.gpu_type: one for one in size(**job).candidates}
        return found.get(gpu_type)

    return find


@pytest.fixture
def rejections(size):
    """`rejections("l40s-48gb", tune={...})` gives the rules that speak against a GPU type."""

    def find(gpu_type, **job):
        return [one.rule for one in size(**job).rejections if one.gpu_type == gpu_type]

    return find


@pytest.fixture
def scenario():
    def build(jobs, quarters=4):
        return ResolvedScenario.model_validate(
            {
                "format": 1,
                "name": "bench",
                "horizon": {"first_quarter": "2027Q1", "quarters": quarters},
                "jobs": jobs,
            }
        )

    return build
