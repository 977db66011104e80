"""What Slurm tells of a cluster is counted once, and what is not counted is said."""

import pytest

from planner.errors import InputError
from planner.exchange.cluster import actuals_csv, read_names, usage_of_slurm
from planner.inputs.reading.grid import table_rows

ACTUALS = ("quarter", "job", "node_type", "count", "gpu_hours", "gpus")
HEADER = "JobID|JobName|State|Start|End|ElapsedRaw|AllocTRES\n"
SACCT = (
    HEADER
    + "1|chat|COMPLETED|2027-01-05T10:00:00|2027-01-05T12:00:00|7200"
    + "|billing=8,cpu=8,gres/gpu:h100=2,gres/gpu=2,mem=1G,node=1\n"
    + "1.batch|batch|COMPLETED|2027-01-05T10:00:00|2027-01-05T12:00:00|7200|cpu=8,gres/gpu=2\n"
    + "1.0|python|COMPLETED|2027-01-05T10:00:00|2027-01-05T12:00:00|7200|cpu=8,gres/gpu:h100=2\n"
    + "2|chat|RUNNING|2027-03-31T23:00:00|Unknown|7200|gres/gpu:a100_3g.20gb=1\n"
    + "3_1|tune|COMPLETED|2027-02-01T00:00:00|2027-02-01T01:00:00|3600|gres/gpu=8\n"
    + "3_2|tune|COMPLETED|2027-02-01T00:00:00|2027-02-01T01:00:00|3600|gres/gpu=8\n"
    + "4|tune|NODE_FAIL|2027-02-02T00:00:00|2027-02-02T01:00:00|3600|gres/gpu=8\n"
    + "4|tune|COMPLETED|2027-02-03T00:00:00|2027-02-03T01:00:00|3600|gres/gpu=8\n"
    + "5+0|wide|COMPLETED|2027-02-03T00:00:00|2027-02-03T01:00:00|3600|gres/gpu=1\n"
    + "5+1|wide|COMPLETED|2027-02-03T00:00:00|2027-02-03T01:00:00|3600|gres/gpu=1\n"
    + "6|etl|COMPLETED|2027-02-03T00:00:00|2027-02-03T01:00:00|3600|cpu=4,mem=8G\n"
    + "7_[5-9]|tune|PENDING|Unknown|Unknown|0|\n"
    + "8|chat|CANCELLED by 0|None|2027-02-03T01:00:00|0|\n"
)


def ended(
    job="9",
    state="COMPLETED",
    begins="2027-01-01T10:00:00",
    ends="2027-01-01T12:00:00",
    seconds="7200",
):
    """A line of a job on one GPU."""
    return f"{job}|a|{state}|{begins}|{ends}|{seconds}|gres/gpu=1\n"


def usage(text=SACCT, names=None):
    return usage_of_slurm(text, "sacct.txt", names or {})


def counts(found):
    return {key: len({one.run for one in parts}) for key, parts in found.held.items()}


def hours(found):
    return {
        key: sum(one.seconds * one.gpus for one in parts) / 3600
        for key, parts in found.held.items()
    }


def test_steps_types_requeues_and_components_are_counted_once():
    found = usage()
    assert counts(found) == {
        ("2027Q1", "chat"): 2,
        ("2027Q2", "chat"): 1,
        ("2027Q1", "tune"): 3,
        ("2027Q1", "wide"): 1,
    }
    assert hours(found)["2027Q1", "tune"] == 8 * 4, "both runs of the requeued job took their hour"
    assert hours(found)["2027Q1", "wide"] == 2


def test_a_run_over_the_end_of_a_quarter_is_in_both_with_its_hours_in_each():
    found = usage()
    assert hours(found)["2027Q1", "chat"] == 4 + 1
    assert hours(found)["2027Q2", "chat"] == 1


def test_what_is_left_out_is_said_with_its_reason():
    text = actuals_csv(usage())
    assert "# 1 job left out: held no GPU\n" in text
    assert "# 2 jobs left out: never started\n" in text
    assert "# runs from 2027-01-05 to 2027-04-01\n" in text


def test_names_of_slurm_become_those_of_the_scenario_by_a_mapping(tmp_path):
    path = tmp_path / "map.yaml"
    path.write_text("jobs: {c*t: assistant, wide: assistant}\n", encoding="utf-8")
    found = usage(names=read_names(path))
    assert counts(found) == {("2027Q1", "assistant"): 3, ("2027Q2", "assistant"): 1}
    assert len(found.left_out["are not in the mapping"]) == 4
    assert "# 4 jobs left out: are not in the mapping (32.0 GPU-hours)\n" in actuals_csv(found)


def test_a_job_without_a_start_is_left_out_with_its_gpu_hours():
    found = usage(HEADER + "9|a|COMPLETED|UNKNOWN|UNKNOWN|7200|gres/gpu=8\n")
    assert "# 1 job left out: have no start (16.0 GPU-hours)\n" in actuals_csv(found)


def test_the_table_is_the_one_that_compare_reads():
    rows = [
        {column: cell.text for column, cell in row.cells.items()}
        for row in table_rows(actuals_csv(usage()), "a.csv", ACTUALS)
    ]
    tuned = {"quarter": "2027Q1", "job": "tune", "count": "3", "gpu_hours": "32.0", "gpus": "8"}
    assert tuned in rows
    assert len(rows) == 4


def test_the_components_of_a_job_hold_their_gpus_together_and_its_attempts_do_not():
    """An attempt with two components of 4 and 8 GPUs, and another one after it on 6."""
    lines = (
        "9+0|a|NODE_FAIL|2027-01-01T10:00:00|2027-01-01T12:00:00|7200|gres/gpu=4\n"
        "9+1|a|NODE_FAIL|2027-01-01T10:00:01|2027-01-01T12:00:00|7199|gres/gpu=8\n"
        "9+0|a|COMPLETED|2027-01-01T12:00:00|2027-01-01T14:00:00|7200|gres/gpu=6\n"
    )
    (row,) = table_rows(actuals_csv(usage(HEADER + lines)), "a.csv", ACTUALS)
    assert (row.value("count"), row.value("gpus")) == (1, 12)


def test_a_name_that_a_spreadsheet_would_run_comes_back_from_the_table():
    text = SACCT.replace("|tune|", "|=HYPERLINK(1)|")
    rows = table_rows(actuals_csv(usage(text)), "a.csv", ACTUALS)
    assert "=HYPERLINK(1)" in {row.cells["job"].text for row in rows}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (ended(begins="1970-01-01T00:00:00"), "outside the years 2000 to 2100"),
        (ended(ends="Unknown", seconds="9" * 30), "outside the years 2000 to 2100"),
    ],
)
def test_a_line_that_does_not_read_or_cannot_have_been_is_told(line, message):
    with pytest.raises(InputError) as caught:
        usage(HEADER + line)
    assert str(caught.value).startswith("sacct.txt:2: ")
    assert message in str(caught.value)
    assert len(caught.value.findings) == 1


def test_all_that_is_wrong_is_told_at_once_in_the_order_of_the_lines():
    with pytest.raises(InputError) as caught:
        usage(HEADER + ended(state="X", seconds="y") + ended() + ended() + ended(ends="z"))
    assert [one.line for one in caught.value.findings] == [2, 2, 4, 5]


def test_a_job_that_was_suspended_or_ran_while_clocks_were_put_back_is_read():
    assert usage(HEADER + ended(seconds="60")).held
    assert usage(HEADER + ended(seconds=str(3 * 3600))).held


def test_another_attempt_of_a_job_is_no_line_that_stands_there_twice():
    again = ended(begins="2027-01-01T11:00:00", seconds="60")
    assert len(usage(HEADER + ended() + again).held) == 1


def test_a_job_that_ended_soon_after_others_still_ran_is_not_in_the_future():
    running = ended("8", state="RUNNING", ends="Unknown")
    soon = ended(begins="2027-01-03T00:00:00", ends="2027-01-04T00:00:00")
    assert usage(HEADER + running + soon).held
    with pytest.raises(InputError, match=r"sacct.txt:3: End 2035-01-01 00:00:00 is in the future"):
        usage(HEADER + running + ended(ends="2035-01-01T00:00:00"))
