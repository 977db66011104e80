"""A part of the catalog with models of unknown peak, the shipped rules, and a sizer over both."""

from decimal import Decimal

import pytest

from planner.inputs.catalog.catalog import DenseTflops, Model
from planner.inputs.load import load_catalog, load_rules
from planner.inputs.scenario.job import Job
from planner.inputs.scenario.scenario import Policies, ResolvedScenario
from planner.inputs.settled import Setting, Settings
from planner.sizing import Sizer
from planner.sizing.count import Tries
from planner.sizing.engine import Known
from planner.sizing.subject import gpu_facts
from tests.stated import changed


def on(sizing, gpu_type):
    """The first candidate on a GPU type."""
    return next(one for one in sizing.candidates if one.gpu_type == gpu_type)


def figure_of(candidate, name):
    """A figure by its name in the sums."""
    return next(step.result.value for step in candidate.trace if step.result.name == name)


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


GPUS = (
    *("a100-80gb-sxm", "h100-80gb-sxm", "h200-141gb-sxm", "b200-180gb-sxm"),
    *("l40s-48gb", "l4-24gb", "mi300x-192gb", "gaudi3-128gb"),
)
NODES = ("xe9680-h100", "xe8640-h100", "xe9680-a100", "xe9680-h200", "r760xa-l40s")
MODELS = {
    "llama-3.1-8b": model("8.030261248", 32, 4096, 32),
    "llama-3.1-70b": model("70.553706496", 80, 8192, 64),
    "mixture": model("46.7", 32, 4096, 32, active="12.9"),
    "latent": model("15.7", 27, 2048, 16, attention="mla") | {"kv_latent_dim": 576},
}


@pytest.fixture(scope="session")
def catalog(shipped):
    """Models whose peak nobody can tell, on some of what ships; of L4 the speed is not known."""
    slow = {"dense_tflops": DenseTflops(), "bandwidth_gb_per_s": None}
    gpus = {name: shipped.gpus[name] for name in GPUS}
    gpus["l4-24gb"] = changed(gpus["l4-24gb"], **slow)
    return changed(
        shipped,
        gpus=gpus,
        nodes={name: shipped.nodes[name] for name in NODES},
        models={name: Model.model_validate(shape) for name, shape in MODELS.items()},
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
def whole_sizer(shipped, rules, settings):
    """A sizer over all of it."""
    return Sizer(shipped, rules, settings(), Policies())


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
