"""Handlers with steps and servers of earlier releases, which refuse the members that they do not know."""

from __future__ import annotations

from typing import Any

import pytest
from stage import Answer, Reply, Seen, Stage, problem
from stage import json as answer
from workers import Protocol, client_of, lease_of, worker_of

from svc_client.steps import Retry, Steps, Stop, handler

CHECKPOINT = answer({"key": "svc.steps.0", "content": []})


@handler("h", version="3", retry=Retry(max_attempts=2))
def failing(ctx: Steps, _: Any) -> None:
    ctx.step("a", lambda: 1)
    raise Stop("no car", failure_class="no_car")


def served(lease: Answer | list[Answer]) -> Protocol:
    """One run, by a worker of handlers with steps."""
    protocol = Protocol(lease=lease, checkpoints=CHECKPOINT)
    with Stage(protocol) as stage, client_of(stage) as client:
        worker, _ = worker_of(client, [failing])  # type: ignore[arg-type]
        assert worker.deliver("7") == "executed"
    return protocol


def run_lease(**more: Any) -> dict[str, Any]:
    return {**lease_of(attempt=1, maxAttempts=3), **more}


def test_a_server_that_knows_the_members_gets_them() -> None:
    known = run_lease(isLastAttempt=False, checkpoints={"found": [], "absent": ["svc.steps.0"]})
    protocol = served(answer(known))
    [asked] = protocol.sent("lease")
    assert (asked["checkpointKeys"], asked["handlerVersion"]) == (["svc.steps.0"], "3")
    [write] = protocol.sent("checkpoints")
    assert write["event"]["type"] == "step.completed"
    assert write["event"]["message"] == "a"
    [result] = protocol.results()
    assert (result["failureClass"], result["retryable"]) == ("no_car", False)


def test_a_server_of_an_earlier_release_is_asked_without_them() -> None:
    protocol = served([problem(400, "validation_failed"), answer(run_lease())])
    first, second = protocol.sent("lease")
    assert "checkpointKeys" in first
    assert "checkpointKeys" not in second
    assert "handlerVersion" not in second
    [write] = protocol.sent("checkpoints")
    assert "event" not in write
    [result] = protocol.results()
    # The class alone can say there that the failure is final.
    assert result == {"status": "failed", "failureClass": "validation", "error": "no car"}


def test_a_refusal_that_remains_is_that_of_the_request() -> None:
    protocol = Protocol(lease=[problem(400, "validation_failed")])
    with Stage(protocol) as stage, client_of(stage) as client:
        worker, _ = worker_of(client, [failing])  # type: ignore[arg-type]
        for _ in range(2):
            with pytest.raises(Exception, match="validation_failed"):
                worker.deliver("7")
    # It tries the members again: the server may know them.
    assert ["checkpointKeys" in each for each in protocol.sent("lease")] == [True, False, True, False]


def test_a_segment_that_came_with_the_lease_is_not_read() -> None:
    def refuse(reply: Reply, seen: Seen) -> None:
        raise AssertionError("the journal is read")

    head = {"k": "@", "t": "mark", "v": {"format": 1, "handler": "h", "version": "1"}}
    content = [head, {"k": "a", "t": "step", "v": 1, "ms": 0, "at": 0}]
    lease = {**lease_of(attempt=2, maxAttempts=3), "isLastAttempt": False}
    lease["checkpoints"] = {"found": [{"key": "svc.steps.0", "content": content}], "absent": []}
    protocol = Protocol(lease=answer(lease), checkpoints_read=refuse)
    with Stage(protocol) as stage, client_of(stage) as client:
        worker, _ = worker_of(client, [failing])  # type: ignore[arg-type]
        assert worker.deliver("7") == "executed"
    assert protocol.sent("checkpoints_read") == []
    assert protocol.sent("checkpoints") == []
