from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from flavours import Flavour
from stage import Answer, Clock, Stage, hang_up, problem
from stage import json as answer
from test_retry import TABLE
from workers import ENDED, Protocol, client_of, jumping, lease_of, seen_by, worker_of

from svc_client import APIConnectionError, APIStatusError, SvcError, UnavailableError
from svc_client._retry import TOKENS_MAX, Failure, RetryQuestion, budgeted_retry
from svc_client._retry_budget import settle_attempt
from svc_client._world import MACHINE
from svc_client.worker import RunContext
from svc_client.worker._heartbeat import Heartbeat
from svc_client.worker._lease import HeldLease
from svc_client.worker._log import Log

BUDGET = TABLE["budget"]


def question_of(step: dict[str, Any]) -> RetryQuestion | None:
    """The question of a step; None after a success."""
    if step["failure"] is None:
        return None
    its, failure = {**BUDGET["defaults"], **step}, BUDGET["failures"][step["failure"]]
    return RetryQuestion(
        retry=its["retry"],
        key_given=its["keyGiven"],
        replayable=its["replayable"],
        failure=Failure(
            failure["kind"],
            failure.get("status", 0),
            failure.get("retryable"),
            failure.get("retryAfterSeconds"),
        ),
        failures=its["failures"],
        max_retries=its["maxRetries"],
        remaining=its["remainingSeconds"],
        random=its["random"],
    )


@pytest.mark.parametrize("sequence", BUDGET["sequences"], ids=lambda sequence: sequence["name"])
def test_the_budget_that_all_sdks_share(sequence: dict[str, Any]) -> None:
    kept: dict[str, int] = {}
    others = 0
    for step in sequence["steps"]:
        its, question = {**BUDGET["defaults"], **step}, question_of(step)
        for _ in range(its["times"]):
            others += 1
            server = f"other {others}" if its["server"] == "others" else its["server"]
            decided = budgeted_retry(question, kept.get(server, TOKENS_MAX))
            delay = settle_attempt(kept, server, question)
            left = kept.get(server, TOKENS_MAX)
            assert (delay, left) == decided
            assert (delay is not None) is step["retried"]
            assert len(kept) <= BUDGET["serversMax"]
        assert left == step["tokens"]


def test_has_the_size_of_the_table_and_names_every_sequence_once() -> None:
    names = [sequence["name"] for sequence in BUDGET["sequences"]]
    assert len(set(names)) == len(names) > 10
    assert BUDGET["tokensMax"] == TOKENS_MAX


OVERLOADED = problem(503, "overloaded", {"retryable": True, "retryAfterSeconds": 1}, {"retry-after": "1"})
OVERLOADED_QUESTION = question_of({"failure": "overloaded"})


def test_a_spent_budget_is_no_second_try_and_no_pause_for_each_client_of_the_server(sdk: Flavour) -> None:
    clock = Clock()
    with Stage(OVERLOADED) as stage:
        MACHINE.retry_tokens[stage.address] = 5
        base = sdk.client(stage, clock)
        with pytest.raises(UnavailableError):
            sdk.call(base, "health", options={"max_retries": 1})
        assert (len(stage.seen), MACHINE.retry_tokens[stage.address], clock.slept) == (2, 0, [1])
        clients = [
            base,
            base.with_options(max_retries=9),
            sdk.client(stage, clock, api_key="another"),
            sdk.client(f"{stage.address}/behind/a/path", clock),
            sdk.client(stage.address.replace("http", "HTTP"), clock),
            sdk.client(stage),
        ]
        for client in clients:
            with pytest.raises(UnavailableError) as refused:
                sdk.call(client, "health")
            assert (refused.value.code, refused.value.retry_after) == ("overloaded", 1)
    assert len(stage.seen) == 2 + len(clients)
    assert clock.slept == [1]


def test_both_clients_spend_the_budget_of_the_process(sdk: Flavour) -> None:
    with Stage(OVERLOADED) as stage, client_of(stage, world=jumping(Clock())) as other:
        for _ in range(50):
            with pytest.raises(UnavailableError):
                sdk.call(sdk.client(stage, Clock()), "health", options={"max_retries": 1})
            with pytest.raises(UnavailableError):
                other.health(options={"max_retries": 1})
        assert len(stage.seen) == 200
        for call in (other.health, lambda: sdk.call(sdk.client(stage, Clock()), "health")):
            with pytest.raises(UnavailableError):
                call()
    assert len(stage.seen) == 202


@pytest.mark.parametrize("said", [answer({}), problem(404, "not_found"), problem(409, "quota_exceeded")])
def test_an_answer_gives_back(sdk: Flavour, said: Answer) -> None:
    with Stage(said) as stage:
        MACHINE.retry_tokens[stage.address] = 7
        with suppress(APIStatusError):
            sdk.call(sdk.client(stage, Clock()), "health", options={"max_retries": 0})
        with suppress(APIStatusError):
            sdk.raw(sdk.client(stage, Clock()), "health")
        assert MACHINE.retry_tokens[stage.address] == 9


def test_so_do_an_absence_an_unread_body_and_a_write_that_is_never_retried(sdk: Flavour) -> None:
    with Stage(problem(404, "not_found"), answer({}), answer([])) as stage:
        MACHINE.retry_tokens[stage.address] = 7
        client = sdk.client(stage, Clock())
        assert sdk.call(client, "get_record_import_job", "j") is None
        sdk.shut(sdk.stream(client, "health"))
        sdk.call(client, "lease_canonical_outbox", "t", {"consumerId": "c"})
        assert MACHINE.retry_tokens[stage.address] == 10


def test_what_no_server_answered_does_not(sdk: Flavour) -> None:
    def token() -> str:
        raise SvcError("no token")

    with Stage(hang_up) as stage:
        MACHINE.retry_tokens[stage.address] = 4
        with pytest.raises(SvcError, match="no token"):
            sdk.call(sdk.client(stage, Clock(), token=token), "health")
        assert stage.seen == []
        with pytest.raises(APIConnectionError):
            sdk.call(sdk.client(stage, Clock()), "health")
        assert MACHINE.retry_tokens[stage.address] == 4


class Yielding:
    """A question that hands the processor to another thread in the middle of each decision."""

    def __getattr__(self, name: str) -> object:
        os.sched_yield()
        return getattr(OVERLOADED_QUESTION, name)


@pytest.mark.skipif(not hasattr(os, "sched_yield"), reason="there is no way to yield here")
def test_threads_spend_no_token_twice() -> None:
    kept: dict[str, int] = {}
    retried: list[float] = []

    def spend() -> None:
        for _ in range(100):
            delay = settle_attempt(kept, "server", Yielding())  # type: ignore[arg-type]
            if delay is not None:
                retried.append(delay)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=spend) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert (len(retried), kept) == (100, {"server": 0})


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_does_not_wait_for_a_thread_of_its_parent() -> None:
    deciding, forked = threading.Event(), threading.Event()

    class Slow(Yielding):
        def __getattr__(self, name: str) -> object:
            deciding.set()
            forked.wait()
            return super().__getattr__(name)

    thread = threading.Thread(target=settle_attempt, args=({}, "server", Slow()))
    thread.start()
    deciding.wait()
    child = os.fork()
    if child == 0:
        # It would wait for ever: the alarm ends it.
        signal.alarm(60)
        settle_attempt({}, "server", None)
        os._exit(0)
    forked.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0


class Spent(dict[str, int]):
    """A budget that stays empty."""

    def pop(self, *_: object) -> int:
        return 0


def test_a_spent_budget_holds_back_no_heartbeat_no_write_under_the_lease_and_no_completion() -> None:
    def work(context: RunContext) -> object:
        context.checkpoint("k", 1)
        return {"done": True}

    clock, done = Clock(), threading.Event()
    clock.chance = 1.0
    checkpoint = answer({"key": "k", "content": 1})
    protocol = Protocol(
        checkpoints=[OVERLOADED, OVERLOADED, checkpoint],
        complete=[OVERLOADED, OVERLOADED, ENDED],
        heartbeat=[OVERLOADED, OVERLOADED, seen_by(done, answer(lease_of()))],
    )
    world = replace(jumping(clock), retry_tokens=Spent())
    with Stage(protocol) as stage, client_of(stage, world=world) as client:
        worker, recorder = worker_of(client, {"h": work}, lease_seconds=60)
        assert worker.deliver("7") == "executed"
        # The lease is a plain dict, and the class takes the generated type.
        held = HeldLease(world, lease_of(), seconds=60, until=world.now() + 60)  # type: ignore[arg-type]
        Heartbeat(lambda: client, 20, world, Log(recorder)).keep(held, done)
    assert {name: len(protocol.sent(name)) for name in ("checkpoints", "complete", "heartbeat")} == {
        "checkpoints": 3,
        "complete": 3,
        "heartbeat": 3,
    }
