"""Workers that ask for their next run with a completion."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from service import running
from stage import Answer, Stage, empty, hang_up, problem
from stage import json as answer
from workers import (
    ENDED,
    TOKEN,
    LogRecorder,
    Protocol,
    client_of,
    delivered,
    ended,
    external,
    lease_of,
    run_of,
    seen_by,
    start,
    still,
    wait,
    worker_of,
)

from svc_client.worker import RunContext, Worker

ASKED = {"handlerIds": ["h"], "ttlSeconds": 600}


def followed(*, by: str) -> Answer:
    """The answer to a completion, with the next lease."""
    next_lease = {**lease_of(id=by), "leaseKey": f"key-{by}", "leaseToken": TOKEN}
    return answer({**run_of(status="succeeded"), "next": next_lease})


def worked(protocol: Protocol, handler: Any = still, **options: Any) -> LogRecorder:
    """A worker that asks for runs until no lease call is left; the last one stops it."""
    with Stage(protocol) as stage, client_of(stage) as client:
        worker, recorder = worker_of(client, {"h": handler}, **options)
        protocol._answers["lease"].append(seen_by(worker._stopping.event, empty))
        stopped = threading.Event()
        protocol._answers["lease"][-1] = stopping(worker, stopped)
        worker.start()
        wait(stopped)
        assert worker.stop(60)
    return recorder


def stopping(worker: Worker, stopped: threading.Event, given: Answer = empty) -> Answer:
    def answers(reply: Any, seen: Any) -> None:
        worker._stopping.cancel()
        stopped.set()
        given(reply, seen)

    return answers


def asked(protocol: Protocol) -> list[Any]:
    return [(body["leaseKey"], body.get("leaseNext")) for body in protocol.sent("complete")]


def test_runs_that_are_ready_cost_a_request_each() -> None:
    protocol = Protocol(lease=[answer(lease_of())], complete=[followed(by="8"), followed(by="9"), ENDED])
    recorder = worked(protocol)
    assert asked(protocol) == [("key-7", ASKED), ("key-8", ASKED), ("key-9", ASKED)]
    assert len(protocol.sent("lease")) == 2
    assert TOKEN not in repr(recorder.logs)


def test_a_delivery_asks_for_no_other_run() -> None:
    protocol = Protocol()
    assert delivered(protocol)[0] == "executed"
    assert asked(protocol) == [("key-7", None)]


def test_a_worker_that_stops_asks_for_no_run() -> None:
    protocol = Protocol()
    with Stage(protocol) as stage:
        worker, recorder = worker_of(stage, {"h": lambda context: worker._stopping.cancel()})
        worker.start()
        wait(worker._idle)
        recorder.wait("The run is succeeded.")
        assert worker.stop(60)
    assert asked(protocol) == [("key-7", None)]


def test_a_handler_that_ends_the_program_asks_for_no_run() -> None:
    def work(context: RunContext) -> None:
        raise SystemExit

    protocol = Protocol()
    with Stage(protocol) as stage:
        worker, _ = worker_of(stage, {"h": work})
        worker.start()
        wait(worker._ended)
    assert asked(protocol) == [("key-7", None)]


def test_a_run_that_comes_when_the_worker_stops_is_given_back() -> None:
    begun: list[str] = []
    protocol = Protocol(release=answer(run_of(status="queued")))
    with Stage(protocol) as stage:
        worker, recorder = worker_of(stage, {"h": lambda context: begun.append(context.run["id"])})
        protocol._answers["complete"] = [stopping(worker, threading.Event(), followed(by="8"))]
        worker.start()
        wait(worker._idle)
        assert worker.stop(60)
        assert recorder.count("The run was given back.") == 1
    assert begun == ["7"]
    assert [body["leaseKey"] for body in protocol.sent("release")] == ["key-8"]


def test_a_repeated_completion_asks_for_no_run() -> None:
    unavailable = problem(503, "unavailable", {"retryable": True})
    protocol = Protocol(lease=[answer(lease_of())], complete=[hang_up, unavailable, ENDED])
    worked(protocol)
    assert asked(protocol) == [("key-7", ASKED), ("key-7", None), ("key-7", None)]


def test_a_server_that_does_not_know_the_question_is_asked_by_lease_calls() -> None:
    faults = {"errors": [{"pointer": "/leaseNext", "detail": "is not known here"}]}
    refused = problem(400, "validation_failed", faults)
    protocol = Protocol(lease=[answer(lease_of())] * 2, complete=[refused, ENDED])
    recorder = worked(protocol)
    assert asked(protocol) == [("key-7", ASKED), ("key-7", None), ("key-7", None)]
    assert protocol.results() == [{"status": "succeeded", "result": {"done": True}}] * 3
    assert recorder.count("refused") == 0


def test_a_result_that_the_service_refuses_says_nothing_of_the_question() -> None:
    refused = problem(400, "validation_failed")
    protocol = Protocol(lease=[answer(lease_of())], complete=[refused, refused, followed(by="8"), ENDED])
    worked(protocol)
    assert [result["status"] for result in protocol.results()] == [
        "succeeded",
        "succeeded",
        "failed",
        "succeeded",
    ]
    assert asked(protocol) == [("key-7", ASKED), ("key-7", None), ("key-7", ASKED), ("key-8", ASKED)]


def test_a_service_gives_the_runs_that_are_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    with running(external(1)) as address, client_of(address) as client:
        runs = [start(client, "h-0", number) for number in range(4)]
        worker, recorder = worker_of(client, {"h-0": lambda context: context.payload})
        polled, lease = [], worker._polling.lease

        def counted(run_id: str | None) -> Any:
            held = lease(run_id)
            polled.append(held)
            return held

        monkeypatch.setattr(worker._polling, "lease", counted)
        worker.start()
        for number, run_id in enumerate(runs):
            run = ended(client, run_id)
            assert (run["status"], run["result"], run["attempt"]) == ("succeeded", number, 1)
        recorder.wait("The run is succeeded.", 4)
        assert worker.stop(60)
    assert recorder.count("A run was leased.") == 4
    assert sum(held is not None for held in polled) == 1
