"""Whatever is asked, a plan that is written is read again, passes its check, and is the same."""

from hypothesis import given
from hypothesis import strategies as st

import planner
from tests.properties.questions import QUESTIONS, drawing

MORE = st.sampled_from(
    [
        {"fixed": {"gpu_memory_gb": 20}, "team": "alpha", "priority": 80},
        {"tune": {"model": "llama-3.1-70b", "method": "full", "sequence": 8192, "batch": 64}},
        {
            "tune": {
                **{"model": "llama-3.1-8b", "method": "qlora", "sequence": 2048, "batch": 4},
                **{"dataset_tokens": 50_000_000, "deploy": {}},
            }
        },
    ]
)
POLICIES = st.fixed_dictionaries(
    {"shortage": st.just("drop")},
    optional={
        "mig": st.sampled_from(["same-node", "own-node"]),
        "shared_gpus": st.just(True),
        "spare_nodes": st.just(1),
    },
)


@drawing(8)
@given(question=QUESTIONS, more=MORE, policies=POLICIES)
def test_a_written_plan_is_read_and_is_the_same(question, more, policies):
    asked = question.with_jobs(more=more).with_policies(**policies)
    made = planner.plan(asked.parts(), gap=0.001)
    again = planner.read_plan(made.to_json())
    assert again._plan == made._plan
    assert again.to_json() == made.to_json()
