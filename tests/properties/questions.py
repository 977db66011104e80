"""What a random question is made of, and how it is written as a scenario."""

import os
from dataclasses import dataclass, field, replace
from typing import Any, Self

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from planner.errors import InfeasibleError
from planner.inputs.text import flow

_LONG = os.environ.get("PLANNER_FUZZ")


def drawing(examples: int) -> settings:
    """A few draws, always the same; with PLANNER_FUZZ=N, as `make fuzz` sets it, N new ones."""
    return settings(
        max_examples=int(_LONG) if _LONG else examples,
        derandomize=not _LONG,
        suppress_health_check=list(HealthCheck),
    )


def draws(usual: int, many: int) -> int:
    """How many problems a loop draws: with PLANNER_FUZZ, `many`."""
    return many if _LONG else usual


@dataclass(frozen=True)
class Question:
    """A scenario in parts, each as a mapping that would stand in the file."""

    quarters: int
    owned: int
    offers: dict[str, dict[str, Any]]
    jobs: dict[str, dict[str, Any]]
    policies: dict[str, Any] = field(default_factory=dict)

    def parts(self) -> dict[str, Any]:
        """Plain data, in the order in which it is written."""
        return {
            "format": 1,
            "name": "Drawn",
            "horizon": {"first_quarter": "2027Q1", "quarters": self.quarters},
            "fleet": {"own": {"node_type": "xe9680-h100", "count": self.owned}},
            "offers": self.offers,
            "policies": self.policies,
            "jobs": self.jobs,
        }

    def with_jobs(self, **jobs: Any) -> Self:
        return replace(self, jobs={**self.jobs, **jobs})

    def with_offer(self, name: str, **changes: Any) -> Self:
        return replace(self, offers={**self.offers, name: {**self.offers[name], **changes}})

    def with_policies(self, **policies: Any) -> Self:
        return replace(self, policies={**self.policies, **policies})


def written(parts: dict[str, Any]) -> str:
    """The text of a scenario."""
    return "".join(f"{key}: {flow(value)}\n" for key, value in parts.items() if value != {})


def cost_cents(planned: Any, question: Question) -> float:
    """The least cost; infinite where there is no plan."""
    try:
        plan = planned(written(question.parts()))
    except InfeasibleError:
        return float("inf")
    assert plan.proof.status == "proved"
    return float(plan.proof.cost_cents)


_NEEDS = st.sampled_from(
    [
        {"gpus": 1},
        {"gpus": 2},
        {"gpus": 3},
        {"gpus": 5},
        {"gpus": 8},
        {"gpu_memory_gb": 20},
        {"gpu_memory_gb": 43},
        {"gpu_memory_gb": 76},
        {"gpu_memory_gb": 130},
    ]
)
_CONDITIONS = st.sampled_from(
    [{}, {}, {"quarters": "2027Q1"}, {"gpu_types": ["h100-80gb-sxm", "h200-141gb-sxm"]}]
)
_RATES = st.sampled_from([1, 9])
_WORK = st.one_of(
    st.builds(lambda need: {"fixed": need}, _NEEDS),
    st.builds(
        lambda need, hours: {"fixed": need, "run": {"hours": hours}},
        _NEEDS,
        st.sampled_from([20, 700]),
    ),
    st.builds(
        lambda rate: {
            "serve": {
                "model": "llama-3.1-8b",
                "load": {"requests_per_second": rate, "input_tokens": 1000, "output_tokens": 200},
            }
        },
        _RATES,
    ),
)
"""What holds its GPUs all quarter, what runs for hours, and an endpoint with its traffic."""
JOBS = st.builds(
    lambda work, count, conditions: {**work, "count": count, **conditions},
    _WORK,
    st.integers(1, 3),
    _CONDITIONS,
)
_BOUGHT = st.builds(
    lambda node, thousands: {"node_type": node, "kind": "buy", "price_usd": 1000 * thousands},
    st.sampled_from(["r760xa-l40s", "xe9680-h100", "xe9680-h200"]),
    st.integers(60, 400),
)
_RENTED = st.builds(
    lambda node, halves, maximum: {
        "node_type": node,
        "kind": "rent",
        "price_usd_per_gpu_hour": halves / 2,
        "maximum": maximum,
    },
    st.sampled_from(["r760xa-l40s", "xe9680-h200"]),
    st.integers(2, 12),
    st.integers(1, 3),
)
QUESTIONS = st.builds(
    Question,
    quarters=st.integers(1, 2),
    owned=st.integers(1, 2),
    offers=st.fixed_dictionaries({"alpha": _BOUGHT, "beta": _BOUGHT, "gamma": _RENTED}),
    jobs=st.dictionaries(st.sampled_from(["one", "two", "three"]), JOBS, min_size=2, max_size=3),
)
