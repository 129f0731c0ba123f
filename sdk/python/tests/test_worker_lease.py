"""How a worker keeps a lease, and where its token can be seen."""

from __future__ import annotations

import io
import logging
import threading
import traceback
from typing import Any

import pytest
from stage import Answer, Clock, Stage, broken, foreign, hang_up, problem, silence
from stage import json as answer
from workers import (
    TOKEN,
    LogRecorder,
    Protocol,
    after,
    client_of,
    jumping,
    lease_of,
    run_of,
    seen_by,
    wait,
    worker_of,
)

from svc_client import APIConnectionError, ConflictError, SvcError, UnavailableError
from svc_client.worker import DeliveryError, RunCancelled, RunContext, Worker
from svc_client.worker._heartbeat import Heartbeat
from svc_client.worker._lease import HeldLease
from svc_client.worker._log import Log

STALE = problem(409, "lease_stale")
BUSY = problem(503, "store_contention", {"retryable": True})


class Beats:
    """A lease that is kept in the thread of the test."""

    def __init__(self, *answers: Answer, seconds: float = 60) -> None:
        self.clock = Clock()
        self.clock.chance = 1.0
        self.recorder = LogRecorder()
        self.done = threading.Event()
        self.protocol = Protocol(heartbeat=[*answers, seen_by(self.done, answer(lease_of()))])
        with Stage(self.protocol) as stage:
            client = client_of(stage, world=jumping(self.clock))
            world = client._link.world
            # The lease is a plain dict, and the class takes the generated type.
            self.held = HeldLease(world, lease_of(), seconds=seconds, until=world.now() + seconds)  # type: ignore[arg-type]
            heartbeat = Heartbeat(lambda: client, seconds / 3, world, Log(self.recorder))
            heartbeat.keep(self.held, self.done)


def test_renews_its_lease_in_time() -> None:
    beats = Beats(answer(lease_of()), BUSY, answer(lease_of()))
    assert beats.held.state == "held"
    assert beats.held.left() == 60
    # Sooner after a failure.
    assert beats.clock.slept == [20, 20, 0.5, 20]
    assert beats.protocol.sent("heartbeat")[0] == {
        "leaseKey": "key-7",
        "leaseToken": TOKEN,
        "workerId": "worker-1",
        "ttlSeconds": 60,
    }


def test_hears_of_a_cancellation_from_its_heartbeat() -> None:
    beats = Beats(answer(lease_of(cancellationRequested=True)))
    assert (beats.held.cancellation.reason, beats.held.state) == ("cancelled", "held")


@pytest.mark.parametrize("fault", [BUSY, hang_up, problem(401, "unauthenticated"), foreign(404), broken])
def test_a_lease_that_cannot_be_renewed_before_its_end_is_lost(fault: Answer) -> None:
    beats = Beats(*[fault] * 100)
    assert (beats.held.state, beats.held.cancellation.reason) == ("lost", "lease_lost")
    assert beats.held.given_up.cancelled
    assert sum(beats.clock.slept) == 60
    assert beats.recorder.count("could not be renewed before its end") == 1


def test_a_lease_of_another_is_lost_at_once() -> None:
    beats = Beats(STALE)
    assert (beats.held.state, beats.clock.slept) == ("lost", [20])


def test_a_heartbeat_that_is_late_says_nothing_of_a_lease_that_is_over() -> None:
    held = Beats(answer(lease_of())).held
    held.suspend()
    assert held.lose() is False
    assert (held.state, held.cancellation.reason, held.given_up.cancelled) == ("suspended", None, False)


def test_a_silent_service_costs_the_lease_and_ends_what_the_handler_waits_for() -> None:
    asked = threading.Event()
    raised: list[BaseException] = []

    def work(context: RunContext) -> None:
        wait(asked)
        try:
            context.report({"progress": 1})
        except RunCancelled as error:
            raised.append(error)
            raise

    protocol = Protocol(heartbeat=seen_by(asked, silence), reports=silence)
    with Stage(protocol) as stage:
        worker, recorder = worker_of(stage, {"h": work}, lease_seconds=3, heartbeat_seconds=0.1)
        with pytest.raises(DeliveryError, match=r"lost|unknown"):
            worker.deliver("7")
    assert protocol.sent("complete") == []
    assert recorder.count("could not be renewed.") >= 1
    assert all(getattr(error, "reason", None) == "lease_lost" for error in raised)


def test_keeps_its_lease_on_a_connection_of_its_own() -> None:
    def work(context: RunContext) -> None:
        context.report({"progress": 1})
        # The connection of the report lies idle meanwhile.
        recorder.wait("The lease was renewed.", times=2)
        context.report({"progress": 1})

    protocol = Protocol(reports=answer(run_of()))
    with Stage(protocol) as stage:
        worker, recorder = worker_of(stage, {"h": work}, lease_seconds=30, heartbeat_seconds=0.1)
        assert worker.deliver("7") == "executed"
        beats = {seen.connection for seen in stage.seen if seen.target.endswith("heartbeat")}
        others = {seen.connection for seen in stage.seen if not seen.target.endswith("heartbeat")}
    assert (len(beats), len(others)) == (1, 1)
    assert beats != others


def test_keeps_its_lease_while_a_call_of_the_handler_is_not_answered() -> None:
    renewed = threading.Event()

    def work(context: RunContext) -> None:
        # Answered only once the heartbeat was.
        context.report({"progress": 1})

    protocol = Protocol(
        reports=after(renewed, answer(run_of())), heartbeat=seen_by(renewed, answer(lease_of()))
    )
    with Stage(protocol) as stage:
        worker, _ = worker_of(stage, {"h": work}, lease_seconds=30, heartbeat_seconds=0.1)
        assert worker.deliver("7") == "executed"


def shown(error: BaseException | None) -> str:
    """An exception with every variable of its frames, as tools that collect failures show it."""
    if error is None:
        return ""
    trace = traceback.TracebackException.from_exception(error, capture_locals=True)
    return "".join(trace.format())


def test_never_shows_its_token() -> None:
    errors: list[BaseException] = []

    def work(context: RunContext) -> None:
        assert TOKEN not in repr(context) + repr(context._held) + repr(vars(context._held))
        calls = (
            lambda: context.record_event("e"),
            lambda: context.put_artifact({"name": "a", "text": "b"}),
            lambda: context.checkpoint("a", {1, 2}),
            lambda: context.read_checkpoint("a"),
            lambda: context.report({"progress": 1}),
        )
        for call in calls:
            with pytest.raises((SvcError, RunCancelled)) as error:
                call()
            errors.append(error.value)
            if error.value.__context__ is not None:
                errors.append(error.value.__context__)
        raise ValueError("the handler's own")

    out = io.StringIO()
    root, listener = logging.getLogger(), logging.StreamHandler(out)
    level = root.level
    root.addHandler(listener)
    root.setLevel(logging.DEBUG)
    try:
        refused, whole = problem(400, "validation_failed"), answer(lease_of())
        for lease, fault in ((whole, refused), (whole, BUSY), (whole, hang_up), (broken_lease, BUSY)):
            protocol = Protocol(
                lease=lease,
                events=fault,
                artifacts=fault,
                checkpoints_read=problem(403, "forbidden"),
                reports=refused,
                complete=refused,
            )
            clock = Clock()
            clock.chance = 1.0
            with Stage(protocol) as stage, client_of(stage, world=jumping(clock)) as client:
                worker = Worker(client, worker_id="worker-1", handlers={"h": work})
                recorder = LogRecorder()
                loud = Worker(client, worker_id="worker-1", handlers={"h": work}, on_log=recorder)
                for each in (worker, loud):
                    with pytest.raises(SvcError) as raised:
                        each.deliver("7")
                    errors.append(raised.value)
                    out.write(repr(each))
                assert not any(TOKEN in seen.target for seen in stage.seen)
            errors += [said.error for said in recorder.logs if said.error is not None]
            out.write(repr(recorder.logs))
    finally:
        root.removeHandler(listener)
        root.setLevel(level)
    beats = Beats(STALE)
    errors += [said.error for said in beats.recorder.logs if said.error is not None]
    said = out.getvalue()
    assert "The handler failed." in said
    assert len(errors) > 10
    assert {type(error) for error in errors} > {
        ConflictError,
        APIConnectionError,
        UnavailableError,
        ValueError,
    }
    assert TOKEN not in said
    for error in errors:
        assert TOKEN not in shown(error), shown(error)


def broken_lease(reply: Any, seen: Any) -> None:
    """A lease whose answer breaks off behind its token."""
    text = f'{{"leaseToken":"{TOKEN}",'.encode()
    reply.send(200, {"content-type": "application/json"}, text)
