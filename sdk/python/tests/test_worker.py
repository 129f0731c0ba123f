"""Workers against the real service."""

from __future__ import annotations

import threading
from asyncio import CancelledError
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from itertools import count
from typing import Any

import pytest
from service import running
from workers import client_of, ended, external, start, types, wait, worker_of

from svc_client import Client, SvcError
from svc_client.worker import (
    PluginHandler,
    RunCancelled,
    RunContext,
    RunFailure,
    RunSuspended,
)

_ids = count()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with running({**external(40), "ExecutionRuntime:ExternalHandlers:0:PluginId": "plugin-1"}) as found:
        yield found


@pytest.fixture
def client(address: str) -> Iterator[Client]:
    with client_of(address) as made:
        yield made


@pytest.fixture
def handler() -> str:
    """One that no other test has. The first has a plugin."""
    return f"h-{next(_ids) + 1}"


def test_reads_a_checkpoint_back_under_any_key(client: Client, handler: str) -> None:
    keys = ["k/1", "a\\b", "50%", "a?b", "a#b", "%2F"]

    def work(context: RunContext) -> None:
        for key in keys:
            context.checkpoint(key, {"key": key})

    run_id = start(client, handler, None)
    worker, _ = worker_of(client, {handler: work})
    with worker:
        ended(client, run_id)
    assert [client.get_execution_run_checkpoint(run_id, key)["key"] for key in keys] == keys


def test_carries_out_a_run_and_tells_of_it(client: Client, handler: str) -> None:
    def work(context: RunContext) -> object:
        context.check()
        run = context.report({"currentStep": "reading", "progress": 0.5})
        assert (run["progress"], context.run["progress"]) == (0.5, 0.5)
        context.record_event("half of it", event_type="half", severity="warning", details={"at": 1})
        assert context.put_artifact({"name": "page", "kind": "text", "text": "hello"})["sizeBytes"] == 5
        assert context.read_checkpoint("place") is None
        context.checkpoint("place", {"at": 1}, metadata={"a": "b"})
        kept = context.read_checkpoint("place")
        assert kept is not None
        assert (kept["content"], kept["metadata"]) == ({"at": 1}, {"a": "b"})
        return {"twice": [context.payload, context.run["handlerId"]]}

    run_id = start(client, handler, {"order": "7"})
    worker, recorder = worker_of(client, {handler: work})
    with worker:
        run = ended(client, run_id)
    assert (run["status"], run["result"]) == ("succeeded", {"twice": [{"order": "7"}, handler]})
    assert {"half", "artifact.written", "checkpoint.written"} <= set(types(client, run_id))
    assert client.get_execution_run_artifact(run_id, "page")["text"] == "hello"
    # A reader may see the end of the run before the worker receives the answer to its completion.
    recorder.wait("The run is succeeded.")
    assert {each.run_id for each in recorder.logs} == {run_id}


def test_leaves_what_was_reported_as_the_result_where_it_returns_nothing(
    client: Client, handler: str
) -> None:
    def work(context: RunContext) -> None:
        context.report({"result": {"so": "far"}})

    run_id = start(client, handler)
    worker, _ = worker_of(client, {handler: work})
    with worker:
        assert ended(client, run_id)["result"] == {"so": "far"}


def test_tries_again_what_failed_for_a_while_and_not_what_is_invalid(client: Client, handler: str) -> None:
    def work(context: RunContext) -> object:
        if context.payload == "invalid":
            raise RunFailure("no such\norder", failure_class="validation", status_details={"order": "7"})
        if context.run["attempt"] == 1:
            raise RunFailure("not now", failure_class="transient")
        return context.run["attempt"]

    policy = {"maxAttempts": 3, "initialDelaySeconds": 0}
    once = start(client, handler, "invalid", retryPolicy=policy)
    twice = start(client, handler, "valid", retryPolicy=policy)
    worker, _ = worker_of(client, {handler: work})
    with worker:
        failed, again = ended(client, once), ended(client, twice)
    assert (failed["status"], failed["failureClass"], failed["attempt"]) == ("failed", "validation", 1)
    assert (failed["error"], failed["statusDetails"]) == ("no such\norder", {"order": "7"})
    assert (again["status"], again["result"]) == ("succeeded", 2)
    assert "retry.scheduled" in types(client, twice)


@pytest.mark.parametrize("status", ["timed_out", "rejected"])
def test_ends_as_the_handler_says(client: Client, handler: str, status: Any) -> None:
    def work(context: RunContext) -> None:
        raise RunFailure("x" * 5_000, status=status)

    run_id = start(client, handler)
    worker, _ = worker_of(client, {handler: work})
    with worker:
        run = ended(client, run_id)
    assert (run["status"], run["error"]) == (status, "x" * 4_096)


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise ValueError("canary")


@pytest.mark.parametrize(
    ("thrown", "error"),
    [
        (ValueError("no\tconnection\r\nto\0 10.0.0.7"), "no\tconnection\r\nto  10.0.0.7"),
        (CancelledError("no connection"), "no connection"),
        (ValueError(" "), "External plugin handler failed."),
        (Unspeakable(), "External plugin handler failed."),
        (ValueError("x" * 5_000), "x" * 4_096),
    ],
)
def test_a_development_server_shows_the_message_of_an_exception(
    client: Client, handler: str, thrown: BaseException, error: str
) -> None:
    def work(context: RunContext) -> None:
        raise thrown

    runs = [start(client, handler), start(client, handler)]
    worker, recorder = worker_of(client, {handler: work})
    with worker:
        for run_id in runs:
            run = ended(client, run_id)
            assert (run["status"], run["failureClass"], run["error"]) == ("failed", "unknown", error)
    assert [each.error for each in recorder.logs if each.message == "The handler failed."] == [thrown, thrown]


def test_fails_what_returns_something_that_json_cannot_say(client: Client, handler: str) -> None:
    run_id = start(client, handler)
    worker, recorder = worker_of(client, {handler: lambda context: {"a", "set"}})
    with worker:
        run = ended(client, run_id)
    assert (run["failureClass"], run["error"]) == ("validation", "The result cannot be written as JSON")
    assert isinstance(next(each.error for each in recorder.logs if each.level == "error"), SvcError)


def test_fails_for_good_what_returns_more_than_the_service_takes(client: Client, handler: str) -> None:
    run_id = start(client, handler, retryPolicy={"initialDelaySeconds": 0, "maxAttempts": 3})
    worker, _ = worker_of(client, {handler: lambda context: "x" * 300_000})
    with worker:
        run = ended(client, run_id)
    assert (run["status"], run["failureClass"], run["attempt"]) == ("failed", "validation", 1)
    assert run["error"] == "The result was refused."


def test_a_handler_of_another_plugin_is_not_called(client: Client) -> None:
    right, wrong = start(client, "h-0"), start(client, "h-0")
    called: list[str] = []

    def work(context: RunContext) -> None:
        called.append(context.run["id"])

    mine, _ = worker_of(client, {"h-0": PluginHandler("plugin-1", work)})
    other, _ = worker_of(client, {"h-0": PluginHandler("plugin-2", work)})
    assert (mine.deliver(right), other.deliver(wrong)) == ("executed", "executed")
    assert called == [right]
    assert client.get_execution_run(wrong)["failureClass"] == "plugin_mismatch"


def test_keeps_the_lease_of_a_handler_that_blocks_for_longer(client: Client, handler: str) -> None:
    def work(context: RunContext) -> object:
        # Eleven heartbeats, each a tenth of the lease after the one before, take longer than the lease.
        recorder.wait("The lease was renewed.", times=11)
        return context.run["attempt"]

    run_id = start(client, handler)
    worker, recorder = worker_of(client, {handler: work}, lease_seconds=8, heartbeat_seconds=0.8)
    rival, _ = worker_of(client, {handler: lambda context: "taken over"}, worker_id="rival")
    with worker:
        recorder.wait("A run was leased.")
        with rival:
            run = ended(client, run_id)
    assert (run["status"], run["result"], run["attempt"]) == ("succeeded", 1, 1)


@pytest.mark.parametrize("way", ["checks", "throws", "returns", "raises a failure"])
def test_a_cancelled_run_ends_as_cancelled_however_its_handler_ends(
    client: Client, handler: str, way: str
) -> None:
    begun = threading.Event()

    def work(context: RunContext) -> object:
        context.check()
        begun.set()
        wait(context.cancellation.event)
        assert context.cancellation.reason == "cancelled"
        if way == "checks":
            context.check()
        if way == "throws":
            raise ValueError("in the middle of it")
        if way == "raises a failure":
            raise RunFailure("half done")
        return "what there was"

    run_id = start(client, handler, retryPolicy={"maxAttempts": 3, "initialDelaySeconds": 0})
    worker, _ = worker_of(client, {handler: work}, heartbeat_seconds=0.1)
    with worker:
        wait(begun)
        client.cancel_execution_run(run_id)
        run = ended(client, run_id)
    assert (run["status"], run["failureClass"], run["attempt"]) == ("cancelled", "cancelled", 1)
    assert run["result"] == ("what there was" if way == "returns" else None)


def test_hears_of_a_cancellation_from_what_it_reports_too(client: Client, handler: str) -> None:
    def work(context: RunContext) -> None:
        client.cancel_execution_run(context.run["id"])
        context.report({"progress": 0.1})
        with pytest.raises(RunCancelled, match="cancelled"):
            context.check()
        context.check()

    run_id = start(client, handler)
    worker, _ = worker_of(client, {handler: work}, lease_seconds=600)
    with worker:
        assert ended(client, run_id)["status"] == "cancelled"


def test_waits_for_an_event_and_goes_on_elsewhere(client: Client, handler: str) -> None:
    attempts: list[tuple[str, int]] = []
    swallowed: list[Exception] = []

    def work(context: RunContext) -> object:
        attempts.append((threading.current_thread().name.rsplit("-", 1)[0], context.run["attempt"]))
        try:
            ended = context.wait_for_external_event("approval")
        except Exception as error:
            swallowed.append(error)
            return "swallowed"
        assert ended["event"] is not None
        return [ended["outcome"], ended["event"]["payload"]]

    run_id = start(client, handler)
    first, recorder = worker_of(client, {handler: work}, worker_id="first")
    with first:
        recorder.wait("The run is parked.")
    assert client.get_execution_run(run_id)["status"] == "waiting"
    client.raise_execution_event(run_id, {"name": "approval", "payload": {"by": "kim"}})
    second, _ = worker_of(client, {handler: work}, worker_id="second")
    with second:
        run = ended(client, run_id)
    assert (run["status"], run["result"]) == ("succeeded", ["external_event", {"by": "kim"}])
    assert swallowed == []
    assert attempts == [("svc-worker-first", 1), ("svc-worker-second", 2)]


def test_a_handler_that_swallows_its_suspension_completes_nothing(client: Client, handler: str) -> None:
    def work(context: RunContext) -> object:
        with suppress(BaseException):
            context.wait_for_external_event("approval")
        for call in (lambda: context.report({"progress": 1}), lambda: context.checkpoint("a", 1)):
            with pytest.raises(RunSuspended):
                call()
        return "swallowed"

    run_id = start(client, handler)
    worker, recorder = worker_of(client, {handler: work})
    assert worker.deliver(run_id) == "suspended"
    assert worker.deliver(run_id) == "nothing"
    run = client.get_execution_run(run_id)
    assert (run["status"], run["result"], run["attempt"]) == ("waiting", None, 1)
    assert recorder.count("lost") == 0


@pytest.mark.parametrize("way", ["after", "at"])
def test_waits_for_a_timer_and_goes_on_elsewhere(client: Client, handler: str, way: str) -> None:
    def work(context: RunContext) -> object:
        if way == "after":
            # Not due before the service has parked the run, also on a busy machine.
            ended = context.wait_for_timer("pause", after_seconds=4, payload={"a": 1})
        else:
            soon = datetime.now(timezone(timedelta(hours=5))) + timedelta(seconds=4)
            ended = context.wait_for_timer("pause", at=soon, payload={"a": 1})
        assert ended["timer"] is not None
        return [ended["outcome"], ended["timer"]["payload"], context.run["attempt"]]

    run_id = start(client, handler)
    first, _ = worker_of(client, {handler: work}, worker_id="first")
    assert first.deliver(run_id) == "suspended"
    second, _ = worker_of(client, {handler: work}, worker_id="second")
    with second:
        assert ended(client, run_id)["result"] == ["timer", {"a": 1}, 2]


def test_a_wait_ends_with_its_time(client: Client, handler: str) -> None:
    def work(context: RunContext) -> object:
        return context.wait_for_external_event("approval", timeout_seconds=4)["outcome"]

    run_id = start(client, handler)
    worker, recorder = worker_of(client, {handler: work})
    with worker:
        assert ended(client, run_id)["result"] == "timed_out"
    assert recorder.count("The run is parked.") == 1


def test_works_on_as_many_runs_at_once_as_it_may(client: Client, handler: str) -> None:
    together = threading.Barrier(3)
    lock = threading.Lock()
    now, most = 0, 0

    def work(context: RunContext) -> None:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        together.wait(60)
        with lock:
            now -= 1

    runs = [start(client, handler) for _ in range(6)]
    worker, _ = worker_of(client, {handler: work}, concurrency=3)
    with worker:
        for run_id in runs:
            assert ended(client, run_id)["status"] == "succeeded"
    assert most == 3
