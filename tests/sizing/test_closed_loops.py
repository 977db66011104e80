"""Clients that each ask anew when they are answered, beside simulated ones."""

from statistics import mean

import pytest

from planner.inputs.measured import ServingMeasurement
from planner.sizing.calibrate import replica_of
from planner.sizing.engine import Known

RUN = {
    "line": 2,
    "model": "llama-3.1-8b",
    "bits": 16,
    "gpu_type": "h100-80gb-sxm",
    "input_tokens": 1024,
    "output_tokens": 256,
    "engine": "vLLM 0.13",
    "lengths": "equal",
    "ttft_ms": 100,
    "tpot_ms": 10,
}


@pytest.fixture
def replica_like(shipped_sizer):
    """`replica_like(concurrency=8)`: the run in words, and what rules say of it."""

    def like(**more):
        run = ServingMeasurement.model_validate(RUN | more)
        return run, replica_of(run, shipped_sizer)

    return like


def simulated(run, replica, pass_tokens, each=10):
    """Mean times, s, to the first token and for each further one, of `each` requests of a client.

    vLLM decodes one token of every answer in a pass and fills it up with prompts, in parts where
    they do not fit; SGLang takes all waiting prompts in, pass by pass, before it decodes on. Who is
    answered asks anew a millisecond later, when the next pass is under way.
    """
    clients = run.concurrency

    def step_s(flight):
        known = {"in_flight": Known(max(1, flight), "requests", "tried")}
        return float(replica.within(known).number("decode_step_s"))

    steps = [step_s(flight) for flight in range(clients + 1)]
    token_s = float(replica.number("prefill_s")) / run.input_tokens
    launch_s = float(replica.number("prefill_pass_s"))
    left, now = clients * (each - 1), 0.0
    waiting = [[0.0, run.input_tokens] for _ in range(clients)]
    coming: list[list[float]] = []
    decoding: list[list[float]] = []
    firsts, others = [], []
    while waiting or decoding or coming:
        if not waiting and not decoding:
            now = max(now, coming[0][0])
        while coming and coming[0][0] <= now:
            waiting.append(coming.pop(0))
        alone = run.engine.startswith("SGLang") and bool(waiting)
        budget, ready, answering = pass_tokens, [], [] if alone else list(decoding)
        while waiting and budget > 0:
            part = min(budget, waiting[0][1])
            waiting[0][1] -= part
            budget -= part
            if waiting[0][1] == 0:
                ready.append(waiting.pop(0)[0])
        taken = pass_tokens - budget
        flight = 0 if alone else len(decoding) + len(ready)
        began, now = now, now + steps[flight] + taken * token_s + (launch_s if taken else 0)
        for answer in answering:
            answer[1] -= 1
            if answer[1] == 0:
                decoding.remove(answer)
                others.append((now - answer[0]) / (run.output_tokens - 1))
                if left:
                    left -= 1
                    coming.append([now + 0.001, run.input_tokens])
        for asked in ready:
            firsts.append(now - asked)
            decoding.append([now, run.output_tokens - 1])
        assert now > began
    return mean(firsts), mean(others)


@pytest.mark.parametrize("engine", ["vLLM 0.13", "SGLang 0.5.9"])
@pytest.mark.parametrize("clients", [4, 8, 32, 128])
def test_clients_with_equal_requests_wait_for_the_prompts_of_a_pass(replica_like, engine, clients):
    run, replica = replica_like(engine=engine, concurrency=clients)
    first_s, other_s = simulated(run, replica, int(replica.number("pass_tokens")))
    assert float(replica.number("ttft_ms")) == pytest.approx(1000 * first_s, rel=0.15)
    assert float(replica.number("tpot_ms")) == pytest.approx(1000 * other_s, rel=0.05)


def test_clients_that_ask_few_times_wait_for_more_of_each_others_first_prompts(replica_like):
    """Of two requests of each client, one comes with those of all others."""

    def waits(**more):
        return float(replica_like(lengths="varied", concurrency=32, **more)[1].number("ttft_ms"))

    assert waits(requests=320) == waits()
    prompt_ms = 1000 * float(replica_like(concurrency=32)[1].number("prefill_s"))
    assert waits(requests=64) - waits() == pytest.approx((0.25 - 0.05) * 31 * prompt_ms)


def test_a_first_token_waits_until_the_engine_looks_for_requests(replica_like):
    """Half of 30 steps on the average, and for the prompts of others who wait with it."""

    def waits(clients, **more):
        found = replica_like(lengths="varied", concurrency=clients, **more)[1]
        return float(found.number("ttft_ms"))

    at = replica_like(lengths="varied", concurrency=32)[1].number
    step_ms, prompt_ms = (1000 * float(at(name)) for name in ("decode_step_s", "prefill_s"))
    later = 14.5 * step_ms + 29 / 256 * 31 * prompt_ms
    assert waits(32, poll_steps=30) - waits(32) == pytest.approx(later)
    assert waits(1, poll_steps=30) == waits(1)
