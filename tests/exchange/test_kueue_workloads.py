"""Workloads of Kueue are counted once, from their admission to their end."""

import json

import pytest

import planner
from planner.errors import InputError

BEGAN, ENDED = "2027-01-05T10:00:00Z", "2027-01-05T12:00:00Z"


def workload(
    name="job-a-1f2e3",
    owner="tune-1",
    began=BEGAN,
    ended=ENDED,
    *,
    gpus=("8",),
    resource="nvidia.com/gpu",
    admitted="True",
    **status,
):
    """A workload as `kubectl get -o json` prints it."""
    conditions = [("Admitted", admitted, began)] if began else []
    conditions += [("Finished", "True", ended)] if ended else []
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "Workload",
        "metadata": {
            "name": name,
            "namespace": "ml",
            "creationTimestamp": "2027-01-01T00:00:00Z",
            "ownerReferences": [{"kind": "Job", "name": owner, "controller": True, "uid": "u"}],
        },
        "spec": {"queueName": "team", "podSets": [{"name": "main", "count": 1}]},
        "status": {
            "admission": {
                "clusterQueue": "team",
                "podSetAssignments": [
                    {"name": str(i), "resourceUsage": {"cpu": "64", "memory": "1Ti", resource: one}}
                    for i, one in enumerate(gpus)
                ],
            },
            "conditions": [
                {"type": kind, "status": holds, "lastTransitionTime": at, "reason": kind}
                for kind, holds, at in conditions
            ],
            **status,
        },
    }


@pytest.fixture
def read(tmp_path):
    """`read(workload(…), …)`: what is imported of a list of them."""

    def imported(*items, **how):
        path = tmp_path / "workloads.json"
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), "utf-8")
        return planner.import_table(path, **how)

    return imported


def rows(made):
    return [tuple(row.values()) for row in made.rows()]


def test_workloads_are_runs_of_their_jobs(read, tmp_path):
    names = tmp_path / "names.yaml"
    names.write_text("jobs: {tune-2: special, tune-*: claims}\n")
    made = read(
        workload("a"),
        workload("b", "tune-17", gpus=("8", "4")),
        workload("c", "tune-2"),
        workload("d", "shell"),
        mapping=names,
    )
    assert made.kind == "actuals"
    assert rows(made) == [
        ("2027Q1", "claims", "2", "40.0", "12"),
        ("2027Q1", "special", "1", "16.0", "8"),
    ]
    assert "# 1 job left out: are not in the mapping (16.0 GPU-hours)\n" in made.text


@pytest.mark.parametrize(
    "spelling", ["accumulatedPastExecutionTimeSeconds", "accumulatedPastExexcutionTimeSeconds"]
)
def test_attempts_before_an_eviction_count_right_before_the_last(read, spelling):
    made = read(
        workload(began="2027-03-31T22:00:00Z", ended="2027-04-01T02:00:00Z", **{spelling: 3600})
    )
    assert rows(made) == [
        ("2027Q1", "tune-1", "1", "24.0", "8"),
        ("2027Q2", "tune-1", "1", "16.0", "8"),
    ]


def test_one_that_still_runs_counts_up_to_the_latest_time_of_the_file(read):
    made = read(workload("a", "chat", ended=None), workload("b"))
    assert rows(made)[0] == ("2027Q1", "chat", "1", "16.0", "8")


@pytest.mark.parametrize("resource", ["amd.com/gpu", "nvidia.com/mig-1g.10gb", "habana.ai/gaudi"])
def test_gpus_of_all_makers_and_partitions_count(read, resource):
    assert rows(read(workload(resource=resource)))[0][-1] == "8"


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (workload(began=None, ended=None), "were not admitted"),
        (workload(admitted="False"), "have ended, and Kueue has cleared when they began"),
        (
            workload(began=None, ended=None, accumulatedPastExecutionTimeSeconds=60),
            "were evicted and wait",
        ),
        (workload(resource="example.com/fpga"), "held no GPU"),
        (workload(ended=BEGAN), "ended in the second in which they began"),
    ],
)
def test_what_is_left_out_is_said_with_its_reason(read, one, why):
    made = read(workload("other"), one)
    assert len(made.rows()) == 1
    assert f"# 1 job left out: {why}" in made.text


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([workload(gpus=("8k",))], "'8k' of nvidia.com/gpu is no whole number"),
        ([workload(began="noon")], r"items\[0\].status.conditions\[0\].lastTransitionTime: "),
        ([workload(), workload()], r"items\[1\]: ml/job-a-1f2e3 stands at items\[0\] already"),
        ([workload(began="1027-01-05T09:00:00Z")], "outside the years 2000 to 2099"),
    ],
)
def test_what_cannot_have_been_is_told_with_its_place(read, items, message):
    with pytest.raises(InputError, match=message):
        read(*items)
