"""Threads of a worker: how they ask for runs, and what they outlive."""

from __future__ import annotations

import threading
from typing import Any

from stage import Answer, Clock, Stage, empty, problem
from stage import json as answer
from workers import (
    UNKNOWN,
    LogRecorder,
    Protocol,
    after,
    client_of,
    delivered,
    jumping,
    lease_of,
    seen_by,
    still,
    wait,
    worker_of,
)

from svc_client.worker import RunContext, RunSuspended, Worker

BUSY = problem(503, "store_contention", {"retryable": True})


def polled(protocol: Protocol, clock: Clock, times: int, **options: Any) -> LogRecorder:
    """A worker that asks so often, and is stopped by the last answer."""
    recorder = LogRecorder()
    with Stage(protocol) as stage, client_of(stage, world=jumping(clock)) as client:
        worker = Worker(
            client, worker_id="worker-1", handlers={"h": still}, **{"on_log": recorder, **options}
        )
        protocol._answers["lease"][times - 1] = seen_by(worker._stopping.event, empty)
        worker.start()
        wait(worker._idle)
    return recorder


def test_asks_again_later_and_later_where_the_service_fails() -> None:
    clock = Clock()
    clock.chance = 1.0
    faults: list[Answer] = [BUSY] * 8
    recorder = polled(Protocol(lease=[*faults, empty]), clock, 9)
    assert clock.slept[:8] == [0.5, 1, 2, 4, 8, 16, 30, 30]
    assert recorder.count("No run could be leased.") == 8


def test_pauses_where_the_service_does_not_wait() -> None:
    clock = Clock()
    polled(Protocol(lease=[empty] * 7), clock, 7)
    assert clock.slept[:6] == [0.5, 1, 2, 4, 8, 8]


def test_asks_at_once_where_the_service_has_waited() -> None:
    clock = Clock()

    def waited(reply: Any, seen: Any) -> None:
        clock.at += 20
        empty(reply, seen)

    protocol = Protocol(lease=[waited, waited, waited, empty])
    polled(protocol, clock, 4)
    assert [body["waitSeconds"] for body in protocol.sent("lease")] == [20] * 4
    assert all("runId" not in body or body["runId"] is None for body in protocol.sent("lease"))
    assert clock.slept in ([], [0.5])


def test_one_thread_of_a_worker_waits_at_the_service_at_a_time() -> None:
    let_go, asked = threading.Event(), threading.Event()
    protocol = Protocol(lease=[seen_by(asked, after(let_go, answer(lease_of()))), empty])
    together = threading.Event()
    with Stage(protocol) as stage:
        worker, recorder = worker_of(stage, {"h": lambda context: together.set()}, concurrency=5)
        worker.start()
        wait(asked)
        assert len(protocol.sent("lease")) == 1
        let_go.set()
        wait(together)
        recorder.wait("The run is succeeded.")
        assert worker.stop(60)


def test_a_listener_that_fails_ends_nothing() -> None:
    def listen(said: Any) -> None:
        raise RuntimeError("no")

    protocol = Protocol()
    assert delivered(protocol, on_log=listen)[0] == "executed"


def test_a_suspension_of_its_own_making_ends_nothing() -> None:
    def work(context: RunContext) -> None:
        raise RunSuspended

    protocol = Protocol()
    assert delivered(protocol, work)[0] == UNKNOWN
    assert protocol.sent("complete") == []
