"""Workers where the service, or what is between, does not answer as it should."""

from __future__ import annotations

from asyncio import CancelledError
from datetime import datetime
from typing import Any

import pytest
from stage import Answer, Clock, broken, empty, foreign, hang_up, problem
from stage import json as answer
from workers import (
    ENDED,
    TOKEN,
    UNKNOWN,
    Protocol,
    delivered,
    lease_of,
    run_of,
    still,
)

from svc_client import ConflictError, SvcError, UnavailableError
from svc_client.worker import RunCancelled, RunContext, RunFailure
from svc_client.worker._repeat import pause_after

STALE = problem(409, "lease_stale")
BUSY = problem(503, "store_contention", {"retryable": True})


def suspended(how: str) -> Answer:
    return problem(409, "lease_not_active", {"how": how})


@pytest.mark.parametrize("members", [{}, {"showsHandlerErrors": False}], ids=["release 0.5.0", "Production"])
@pytest.mark.parametrize("thrown", [ValueError("canary-7"), CancelledError("canary-7")])
def test_sends_no_message_of_an_exception_to_a_server_of(
    members: dict[str, object], thrown: BaseException
) -> None:
    def work(context: RunContext) -> None:
        raise thrown

    protocol = Protocol(lease=answer({**lease_of(), **members}))
    ending, logged = delivered(protocol, work)
    assert ending == "executed"
    assert protocol.results() == [
        {"status": "failed", "failureClass": "unknown", "error": "External plugin handler failed."}
    ]
    assert "canary" not in str(protocol.bodies)
    assert [each.error for each in logged.logs if each.message == "The handler failed."] == [thrown]


def test_asks_for_a_run_as_the_contract_says() -> None:
    protocol = Protocol()
    assert delivered(protocol)[0] == "executed"
    [asked] = protocol.sent("lease")
    assert asked == {
        "workerId": "worker-1",
        "handlerIds": ["h"],
        "runId": "7",
        "ttlSeconds": 60,
        "waitSeconds": 0,
    }
    [sent] = protocol.sent("complete")
    assert sent == {
        "leaseKey": "key-7",
        "leaseToken": TOKEN,
        "workerId": "worker-1",
        "result": {"status": "succeeded", "result": {"done": True}},
    }


def test_drops_an_event_for_which_the_tenant_has_no_bytes_left_and_no_other_refused_one() -> None:
    def work(context: RunContext) -> object:
        context.record_event("dropped")
        with pytest.raises(ConflictError):
            context.record_event("refused")
        return {"done": True}

    refusals = [problem(409, "quota_exceeded"), problem(409, "idempotency_conflict")]
    protocol = Protocol(events=refusals)
    ending, logged = delivered(protocol, work)
    assert ending == "executed"
    assert len(protocol.sent("events")) == 2
    assert protocol.results() == [{"status": "succeeded", "result": {"done": True}}]
    assert logged.count("An event was dropped.") == 1


def test_repeats_a_completion_until_it_is_known() -> None:
    limited = problem(429, "rate_limited", {"retryable": True}, {"Retry-After": "7"})
    faults = [hang_up, broken, foreign(502), problem(500, "internal_error"), BUSY, limited]
    protocol, clock = Protocol(complete=[*faults, ENDED]), Clock()
    assert delivered(protocol, clock=clock)[0] == "executed"
    bodies = protocol.sent("complete")
    assert len(bodies) == 7
    assert all(body == bodies[0] for body in bodies)
    assert clock.slept == [0.5, 1, 2, 4, 8, 8]


def test_waits_any_part_of_the_pause_and_as_long_as_it_is_asked_to() -> None:
    limited = problem(429, "rate_limited", {"retryable": True}, {"Retry-After": "7"})
    protocol, clock = Protocol(complete=[BUSY, BUSY, limited, ENDED]), Clock()
    clock.chance = 0.25
    assert delivered(protocol, clock=clock)[0] == "executed"
    assert clock.slept == [0.125, 0.25, 7]


@pytest.mark.parametrize("asked", [61.0, 999_999_999.0, float("inf")])
def test_waits_a_minute_at_most_for_a_service_that_asks_for_more(asked: float) -> None:
    error = UnavailableError("busy", status=503, retry_after=asked)
    assert pause_after(1, error, 0.5) == 60


def test_sends_no_completion_after_the_end_of_its_lease() -> None:
    protocol, clock = Protocol(complete=BUSY), Clock()
    begun = clock.at
    said, recorder = delivered(protocol, clock=clock)
    assert said == UNKNOWN
    assert 40 < sum(clock.slept) < 60
    assert clock.at - begun < 60
    assert recorder.count("could not be completed") == 1
    late = Protocol()
    clock = Clock()

    def slow(context: RunContext) -> None:
        clock.at += 60

    assert delivered(late, slow, clock)[0] == UNKNOWN
    assert late.sent("complete") == []


@pytest.mark.parametrize(
    "code", [("validation_failed", 400), ("payload_too_large", 413), ("unprocessable", 422)]
)
@pytest.mark.parametrize("gives", ["a result", "details of a failure"])
def test_ends_a_run_whose_content_the_service_refuses(code: tuple[str, int], gives: str) -> None:
    def work(context: RunContext) -> object:
        if gives == "a result":
            return "x"
        raise RunFailure("no", status_details={"a": 1})

    protocol = Protocol(complete=[problem(code[1], code[0]), BUSY, ENDED])
    said, recorder = delivered(protocol, work)
    assert said == "executed"
    ending = {"status": "failed", "failureClass": "validation", "error": "The result was refused."}
    assert protocol.results()[1:] == [ending, ending]
    assert recorder.count("The service refused the result.") == 1


REFUSED: list[tuple[Answer, Any]] = [
    (problem(409, "lease_stale"), still),
    (problem(403, "forbidden"), still),
    (foreign(413), still),
    # It gave nothing that could be refused.
    (problem(400, "validation_failed"), lambda context: None),
]


@pytest.mark.parametrize(("refusal", "handler"), REFUSED)
def test_says_nothing_else_where_a_completion_is_refused_otherwise(refusal: Answer, handler: Any) -> None:
    protocol = Protocol(complete=refusal)
    said, recorder = delivered(protocol, handler)
    assert (said, len(protocol.sent("complete"))) == (UNKNOWN, 1)
    assert [each.level for each in recorder.logs][-1] == "error"


def test_does_not_argue_about_a_refusal() -> None:
    protocol = Protocol(complete=problem(400, "validation_failed"))
    assert (delivered(protocol)[0], len(protocol.sent("complete"))) == (UNKNOWN, 2)


def test_ends_a_run_of_a_handler_that_it_does_not_have() -> None:
    protocol = Protocol(lease=answer(lease_of(handlerId="other")))
    assert delivered(protocol)[0] == "executed"
    [result] = protocol.results()
    assert (result["status"], result["failureClass"]) == ("failed", "handler_missing")


def test_does_not_begin_with_a_run_that_is_to_be_cancelled_unawares() -> None:
    protocol = Protocol(lease=answer(lease_of(cancellationRequested=True)))
    assert delivered(protocol, lambda context: context.check())[0] == "executed"
    assert [result["status"] for result in protocol.results()] == ["cancelled"]


def test_repeats_what_may_be_repeated_and_not_what_adds_something() -> None:
    def work(context: RunContext) -> None:
        assert context.report({"progress": 1})["id"] == "7"
        assert context.checkpoint("a", 1)["key"] == "a"
        assert context.wait_for_external_event("e")["name"] == "e"
        context.record_event("once")
        assert context.put_artifact({"name": "a"})["name"] == "a"

    wait_answer = {"run": run_of(), "suspended": False, "outcome": {"name": "e", "outcome": "external_event"}}
    protocol = Protocol(
        reports=[BUSY, hang_up, answer(run_of())],
        checkpoints=[BUSY, answer({"key": "a"})],
        wait=[hang_up, answer(wait_answer)],
        events=[hang_up, foreign(502), empty],
        artifacts=[BUSY, hang_up, answer({"name": "a"})],
    )
    assert delivered(protocol, work)[0] == "executed"
    counts = {name: len(bodies) for name, bodies in protocol.bodies.items()}
    assert counts == {
        "lease": 1,
        "reports": 3,
        "checkpoints": 2,
        "wait": 2,
        "events": 3,
        "artifacts": 3,
        "complete": 1,
    }
    # The id of a write lets the service know its repeat.
    ids = [protocol.sent(name)[0].get("writeId") for name in ("checkpoints", "events", "artifacts")]
    assert [*ids, protocol.sent("wait")[0].get("waitId")] == ["w1", "w3", "w4", "w2"]
    for bodies in protocol.bodies.values():
        assert all(body == bodies[0] for body in bodies)


UNCERTAIN: list[tuple[str, Any, Answer]] = [
    ("events", lambda context: context.record_event("e"), BUSY),
    ("artifacts", lambda context: context.put_artifact({"name": "a"}), hang_up),
    ("checkpoints", lambda context: context.checkpoint("a", 1), problem(500, "internal_error")),
    ("wait", lambda context: context.wait_for_external_event("e"), foreign(502)),
    ("reports", lambda context: context.report({"progress": 1}), broken),
]


@pytest.mark.parametrize(("name", "call", "fault"), UNCERTAIN)
def test_leaves_a_run_to_its_lease_where_the_outcome_of_a_call_stays_unknown(
    name: str, call: Any, fault: Answer
) -> None:
    raised: list[object] = []

    def work(context: RunContext) -> None:
        try:
            call(context)
        except RunCancelled as error:
            raised.append(error.reason)
            raise

    protocol, clock = Protocol(**{name: fault}), Clock()
    said, _ = delivered(protocol, work, clock)
    assert said == "The run 7 was not carried out to its end: lost."
    assert raised == ["lease_lost"]
    assert len(protocol.sent(name)) > 3
    assert protocol.sent("complete") == []


def test_gives_a_call_up_although_its_lease_is_renewed() -> None:
    clock = Clock()

    def work(context: RunContext) -> None:
        context._held._until = clock.at + 86_400
        context.record_event("e")

    protocol = Protocol(events=BUSY)
    begun = clock.at
    assert delivered(protocol, work, clock)[0].endswith("lost.")
    assert 40 < clock.at - begun <= 60


def test_a_wait_asks_for_moments() -> None:
    clock = Clock()

    def work(context: RunContext) -> None:
        context.wait_for_external_event("e", timeout_seconds=90)

    protocol = Protocol(wait=answer({"run": run_of(status="waiting"), "suspended": True, "outcome": None}))
    assert delivered(protocol, work, clock)[0] == "suspended"
    [asked] = protocol.sent("wait")
    assert asked["timeoutAtUtc"] == "2026-01-01T00:01:30.000Z"
    assert protocol.sent("complete") == []


@pytest.mark.parametrize(
    ("how", "became"),
    [("suspended", "suspended"), ("expired", "The run 7 was not carried out to its end: lost.")],
)
def test_a_wait_whose_answer_was_lost_was_made_where_the_service_says_so(how: str, became: str) -> None:
    protocol = Protocol(wait=[hang_up, suspended(how)])

    def work(context: RunContext) -> None:
        context.wait_for_external_event("e")

    assert delivered(protocol, work)[0] == became
    assert protocol.sent("complete") == []


def test_a_lease_that_the_service_has_ended_is_lost() -> None:
    raised: list[BaseException] = []

    def work(context: RunContext) -> str:
        for call in (
            lambda: context.report({"progress": 1}),
            lambda: context.checkpoint("a", 1),
            context.check,
        ):
            with pytest.raises(RunCancelled) as error:
                call()
            raised.append(error.value)
        return "swallowed"

    protocol = Protocol(reports=STALE)
    said, _ = delivered(protocol, work)
    assert said == "The run 7 was not carried out to its end: lost."
    assert [getattr(error, "reason", None) for error in raised] == ["lease_lost"] * 3
    assert (protocol.sent("checkpoints"), protocol.sent("complete")) == ([], [])


def test_a_context_that_is_kept_says_nothing_of_its_run_afterwards() -> None:
    kept: list[RunContext] = []
    protocol = Protocol(reports=answer(run_of()))
    delivered(protocol, lambda context: kept.append(context))
    with pytest.raises(SvcError, match="has returned"):
        kept[0].report({"progress": 1})
    assert protocol.sent("reports") == []


def test_refuses_what_no_wait_can_be() -> None:
    def work(context: RunContext) -> None:
        for wrong in ({}, {"after_seconds": 1, "at": datetime.now()}, {"at": datetime(2026, 1, 1)}):
            with pytest.raises(SvcError):
                context.wait_for_timer("t", **wrong)
        for seconds in (-1, float("nan"), "soon", True):
            with pytest.raises(SvcError):
                # The text is refused at run time: a caller may have no type checker.
                context.wait_for_external_event("e", timeout_seconds=seconds)  # type: ignore[arg-type]  # untyped code may pass it

    protocol = Protocol()
    assert delivered(protocol, work)[0] == "executed"
    assert [result["status"] for result in protocol.results()] == ["succeeded"]
