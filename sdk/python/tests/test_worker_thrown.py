"""Exceptions of a caller's code: an attempt ends as a result or as a loss that counts, and nothing runs in a loop."""

from __future__ import annotations

import io
import json as json_module
import threading
from asyncio import CancelledError
from collections.abc import Callable
from typing import Any

import pytest
from stage import Answer, Clock, Reply, Seen, Stage, silence
from stage import json as answer
from workers import (
    UNKNOWN,
    Protocol,
    client_of,
    delivered,
    jumping,
    lease_of,
    run_of,
    still,
    wait,
    worker_of,
)

from svc_client import Client
from svc_client.worker import RunCancelled, RunContext, RunFailure, delivery_app

SHOWN = answer({**lease_of(), "showsHandlerErrors": True})
HIDDEN = "External plugin handler failed."


class Timeout(BaseException):
    """As the time limits of other libraries."""


class Mute(Exception):
    def __str__(self) -> str:
        raise Timeout


class Wordless(RunFailure):
    def __init__(self) -> None:
        """Leaves out that of its parent."""


class Guarded(RunFailure):
    @property
    def message(self) -> str:
        raise Timeout

    @message.setter
    def message(self, given: str) -> None:
        pass


def changed(**members: object) -> RunFailure:
    failure = RunFailure("no order", failure_class="transient")
    for name, value in members.items():
        setattr(failure, name, value)
    return failure


class Details(dict[str, object]):
    def items(self) -> Any:
        raise Timeout


FAILED: list[tuple[BaseException, str, str]] = [
    (CancelledError("late"), "unknown", "late"),
    (Timeout("late"), "unknown", "late"),
    (GeneratorExit("late"), "unknown", "late"),
    (StopIteration("late"), "unknown", "late"),
    (RecursionError("late"), "unknown", "late"),
    (MemoryError(), "unknown", HIDDEN),
    (Mute(), "unknown", HIDDEN),
    (Wordless(), "unknown", HIDDEN),
    (Guarded("x"), "unknown", HIDDEN),
    # The type checker refuses it, and not every caller has one.
    (RunFailure(ValueError("no order"), failure_class="transient"), "transient", "no order"),  # type: ignore[arg-type]  # untyped code may pass it
    (changed(message=Mute()), "transient", HIDDEN),
    (changed(failure_class="\0"), "unknown", "no order"),
    (changed(failure_class=7), "unknown", "no order"),
    (changed(status="done"), "transient", "no order"),
    (changed(status=[]), "transient", "no order"),
    (changed(status_details={"at": {1}}), "validation", "The result cannot be written as JSON"),
    (changed(status_details=Details(a=1)), "validation", "The result cannot be written as JSON"),
]


@pytest.mark.parametrize(("thrown", "failure_class", "error"), FAILED, ids=lambda each: repr(each)[:40])
def test_what_a_handler_raises_is_a_failure_that_counts(
    thrown: BaseException, failure_class: str, error: str
) -> None:
    calls: list[RunContext] = []

    def work(context: RunContext) -> None:
        calls.append(context)
        raise thrown

    protocol = Protocol(lease=SHOWN)
    assert delivered(protocol, work)[0] == "executed"
    assert protocol.results() == [{"status": "failed", "failureClass": failure_class, "error": error}]
    assert (len(calls), protocol.sent("release")) == (1, [])


@pytest.mark.parametrize("result", [Details(a=1), [Details(a=1)]], ids=["itself", "a part"])
def test_a_result_whose_own_code_fails_is_a_failure_that_counts(result: object) -> None:
    protocol = Protocol()
    assert delivered(protocol, lambda _: result)[0] == "executed"
    assert [each["failureClass"] for each in protocol.results()] == ["validation"]


def test_a_thread_of_a_worker_goes_on_with_the_next_run() -> None:
    thrown = [CancelledError(), Timeout(), None]

    def work(context: RunContext) -> None:
        error = thrown.pop(0)
        if error is not None:
            raise error

    protocol = Protocol(lease=[*[answer(lease_of())] * 3, silence])
    with Stage(protocol) as stage:
        worker, lines = worker_of(stage, {"h": work})
        worker.start()
        lines.wait("The run is", times=3)
        assert worker.stop(60)
    assert [each["status"] for each in protocol.results()] == ["failed", "failed", "succeeded"]


ORDERS = pytest.mark.parametrize(
    ("order", "results"),
    [(SystemExit(3), ["failed"]), (KeyboardInterrupt(), [])],
    ids=["SystemExit", "KeyboardInterrupt"],
)
"""The first fails its run. The second may be the user's, so the run is left to the end of its lease, which counts."""


@ORDERS
def test_an_order_to_the_program_stops_a_worker_that_polls(order: BaseException, results: list[str]) -> None:
    def work(context: RunContext) -> None:
        raise order

    protocol = Protocol()
    with Stage(protocol) as stage:
        worker, lines = worker_of(stage, {"h": work})
        with pytest.raises(type(order)) as raised:
            worker.run()
    assert raised.value is order
    assert lines.count("The worker stops") == 1
    assert [each["status"] for each in protocol.results()] == results
    # A run that is given back counts no attempt, and the next worker would get the same order.
    assert (len(protocol.sent("lease")), protocol.sent("release")) == (1, [])


@ORDERS
def test_an_order_to_the_program_passes_a_delivery_and_stops_its_worker(
    order: BaseException, results: list[str]
) -> None:
    def work(context: RunContext) -> None:
        raise order

    protocol = Protocol()
    with Stage(protocol) as stage:
        worker, _ = worker_of(stage, {"h": work})
        with pytest.raises(type(order)):
            worker.deliver("7")
        assert worker.stopping
        wait(worker._ended)
    assert [each["status"] for each in protocol.results()] == results
    assert protocol.sent("release") == []


@ORDERS
def test_an_order_to_the_program_lets_the_other_handlers_end(
    order: BaseException, results: list[str]
) -> None:
    both = threading.Barrier(2)
    first = threading.Lock()

    def work(context: RunContext) -> object:
        both.wait(60)
        if first.acquire(blocking=False):
            raise order
        wait(worker._stopping.event)
        return "whole"

    protocol = Protocol()
    with Stage(protocol) as stage:
        worker, _ = worker_of(stage, {"h": work}, concurrency=2)
        with pytest.raises(type(order)):
            worker.run()
    assert sorted(each["status"] for each in protocol.results()) == sorted([*results, "succeeded"])


def test_a_task_that_is_cancelled_because_the_worker_stops_is_no_fault_of_its_handler() -> None:
    begun = threading.Event()

    def work(context: RunContext) -> None:
        begun.set()
        wait(worker._stopping.event)
        raise CancelledError

    protocol = Protocol(release=answer(run_of(status="queued")))
    with Stage(protocol) as stage:
        worker, lines = worker_of(stage, {"h": work})
        worker.start()
        wait(begun)
        assert worker.stop(60)
    assert lines.count("The handler stopped.") == 1
    assert (protocol.results(), len(protocol.sent("release"))) == ([], 1)


@pytest.mark.parametrize("thrown", [CancelledError(), Timeout(), RunCancelled("cancelled")], ids=repr)
def test_a_task_that_is_cancelled_because_the_run_is_ends_as_cancelled(thrown: BaseException) -> None:
    def work(context: RunContext) -> None:
        context.report({"progress": 1})
        assert context.cancellation.reason == "cancelled"
        raise thrown

    protocol = Protocol(reports=answer(run_of(cancellationRequested=True)))
    assert delivered(protocol, work)[0] == "executed"
    assert [each["status"] for each in protocol.results()] == ["cancelled"]


def test_a_task_that_is_cancelled_because_the_lease_is_lost_completes_nothing() -> None:
    def work(context: RunContext) -> None:
        context._held.lose()
        raise CancelledError

    protocol = Protocol()
    assert delivered(protocol, work)[0] == "The run 7 was not carried out to its end: lost."
    assert protocol.results() == []


class Token:
    """A credential whose provider raises at some of its calls."""

    def __init__(self, raises: Callable[[], bool]) -> None:
        self._raises = raises

    def __call__(self) -> str:
        if self._raises():
            raise Timeout
        return "t"


def test_a_credential_that_raises_is_a_failure_of_the_question_alone() -> None:
    failures = [True, False]
    protocol, clock = Protocol(lease=[answer(lease_of()), silence]), Clock()
    token = Token(lambda: bool(failures) and failures.pop(0))
    with Stage(protocol) as stage, client_of(stage, world=jumping(clock), token=token) as client:
        worker, lines = worker_of(client, {"h": still})
        worker.start()
        lines.wait("The run is succeeded.")
        worker.stop(0)
    assert lines.count("No run could be leased.") == 1


def test_a_credential_that_raises_is_a_failure_of_one_heartbeat_alone() -> None:
    renewed, tries = threading.Event(), [True]
    protocol = Protocol(heartbeat=said(renewed, answer(lease_of())))

    def in_a_heartbeat() -> bool:
        return threading.current_thread().name.startswith("svc-heartbeat") and bool(tries) and tries.pop()

    def work(context: RunContext) -> None:
        wait(renewed)

    with Stage(protocol) as stage, client_of(stage, token=Token(in_a_heartbeat)) as client:
        worker, lines = worker_of(client, {"h": work}, lease_seconds=60, heartbeat_seconds=0.05)
        assert worker.deliver("7") == "executed"
    assert lines.count("could not be renewed.") == 1


def test_a_credential_that_raises_leaves_a_completion_to_the_end_of_the_lease() -> None:
    returned: list[bool] = []

    def work(context: RunContext) -> None:
        returned.append(True)

    protocol = Protocol()
    with Stage(protocol) as stage, client_of(stage, token=Token(lambda: bool(returned))) as client:
        assert ending(client, work) == UNKNOWN


def test_a_verification_that_raises_admits_no_delivery() -> None:
    def verify(environ: Any) -> bool:
        raise CancelledError

    protocol = Protocol()
    with Stage(protocol) as stage:
        worker, lines = worker_of(stage, {"h": still})
        app = delivery_app(worker, verify=verify, on_log=lines)
        body = json_module.dumps({"runId": "7"}).encode()
        statuses: list[str] = []
        environ = {
            "REQUEST_METHOD": "POST",
            "HTTP_X_SVC_EXECUTION_DISPATCH": "1",
            "CONTENT_LENGTH": str(len(body)),
            "wsgi.input": io.BytesIO(body),
        }
        app(environ, lambda status, _: statuses.append(status))  # type: ignore[arg-type]  # of WSGI, as few as the test needs
    assert (statuses, protocol.sent("lease")) == (["401 Unauthorized"], [])


@pytest.mark.parametrize("thrown", [RuntimeError(), CancelledError(), Timeout()], ids=repr)
def test_a_listener_that_raises_ends_nothing(thrown: BaseException) -> None:
    def listen(_: Any) -> None:
        raise thrown

    protocol = Protocol()
    assert delivered(protocol, on_log=listen)[0] == "executed"


def said(event: threading.Event, given: Answer) -> Answer:
    """Gives a signal after the answer was sent."""

    def answers(reply: Reply, seen: Seen) -> None:
        given(reply, seen)
        event.set()

    return answers


def ending(client: Client, handler: Callable[[RunContext], object]) -> str:
    worker, _ = worker_of(client, {"h": handler})
    try:
        return worker.deliver("7")
    except Exception as error:
        return str(error)
