from __future__ import annotations

import json
from typing import Any

import pytest
from flavours import Flavour
from hypothesis import given, strategies
from stage import Clock, Stage, broken, foreign, hang_up, problem
from stage import json as answer
from wire import ROOT

from svc_client import (
    APIConnectionError,
    ConflictError,
    InternalServerError,
    RateLimitError,
    SvcError,
    UnavailableError,
)
from svc_client._retry import Failure, RetryQuestion, retry_after, retry_delay

TABLE = json.loads((ROOT / "sdk/retry-table.json").read_bytes())


@pytest.mark.parametrize("case", TABLE["cases"], ids=lambda case: case["name"])
def test_the_table_that_all_sdks_share(case: dict[str, Any]) -> None:
    failure = case["failure"]
    question = RetryQuestion(
        retry=case["retry"],
        key_given=case["keyGiven"],
        replayable=case["replayable"],
        failure=Failure(
            failure["kind"],
            failure.get("status", 0),
            failure.get("retryable"),
            failure.get("retryAfterSeconds"),
        ),
        failures=case["failures"],
        max_retries=case["maxRetries"],
        remaining=case["remainingSeconds"],
        random=case["random"],
    )
    assert retry_delay(question) == case["delaySeconds"]


def test_the_table_names_every_case_once() -> None:
    names = [case["name"] for case in TABLE["cases"]]
    assert len(set(names)) == len(names) > 50


@given(
    strategies.builds(
        RetryQuestion,
        retry=strategies.sampled_from(["safe", "with-key", "never"]),
        failure=strategies.builds(
            Failure,
            kind=strategies.sampled_from(["connection", "timeout", "abort", "response", "status"]),
            status=strategies.integers(300, 599),
            retryable=strategies.none() | strategies.booleans(),
            retry_after=strategies.none() | strategies.floats(0, 1e6),
        ),
        failures=strategies.integers(1, 5000),
        max_retries=strategies.integers(0, 5000),
        remaining=strategies.floats(0, 1000),
        random=strategies.floats(0, 1),
    )
)
def test_the_rules_hold_for_every_failure(question: RetryQuestion) -> None:
    delay = retry_delay(question)
    if delay is None:
        return
    assert question.retry == "safe" or (question.retry == "with-key" and question.key_given)
    assert question.replayable
    assert question.failures <= question.max_retries
    assert question.failure.status != 409 or question.failure.kind != "status"
    assert 0.375 <= delay < question.remaining
    assert (question.failure.retry_after or 0) <= delay or question.failure.kind != "status"
    assert delay <= max(8.0, question.failure.retry_after or 0)


@pytest.mark.parametrize("case", TABLE["retryAfter"], ids=lambda case: case["name"])
def test_how_long_an_answer_asks_to_wait(case: dict[str, Any]) -> None:
    seconds = retry_after(case["header"], case.get("bodyRetryAfterSeconds"), case["nowEpochSeconds"])
    if case["seconds"] == "too long":
        assert seconds is not None
        assert seconds > 60
    else:
        assert seconds == case["seconds"]


def test_the_table_of_waits_names_every_case_once() -> None:
    names = [case["name"] for case in TABLE["retryAfter"]]
    assert len(set(names)) == len(names) > 50


@pytest.mark.parametrize("asked", [{"retry-after": "9" * 400}, {"retry-after": "61"}])
def test_a_wait_that_is_too_long_is_not_waited_for(sdk: Flavour, asked: dict[str, str]) -> None:
    with Stage(foreign(503, asked)) as stage:
        with pytest.raises(UnavailableError) as refused:
            sdk.call(sdk.client(stage, Clock()), "health")
    assert len(stage.seen) == 1
    assert refused.value.retry_after in (61, 172_800)


json_scalars = strategies.none() | strategies.booleans() | strategies.text() | strategies.floats()


@given(
    strategies.none()
    | strategies.text()
    | strategies.from_regex(r"\A[A-Z][a-z]{2}, [0-9]{1,9} [A-Z][a-z]{2} [0-9:+ GMT-]*\Z")
    | strategies.from_regex(r"\A(Mon|Tue), [0-9]{2} (Feb|Dec) [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT\Z"),
    json_scalars | strategies.integers(),
)
def test_retry_after_is_no_trap(header: str | None, said: Any) -> None:
    seconds = retry_after(header, said, 1_767_225_600.0)
    assert seconds is None or 0 <= seconds <= 172_800


CONTENDED = problem(
    503, "store_contention", {"retryable": True, "retryAfterSeconds": 1}, {"retry-after": "1"}
)
COMMITTED = answer({"transactionId": "x", "replayed": False})
COMMIT = {"idempotencyKey": "once"}


def test_a_read_goes_again_after_the_pause_and_the_answer_is_that_of_the_last_time(sdk: Flavour) -> None:
    clock = Clock()
    with Stage(hang_up, CONTENDED, answer({"status": "ok"})) as stage:
        assert sdk.call(sdk.client(stage, clock), "health") == {"status": "ok"}
    assert len(stage.seen) == 3
    assert clock.slept == [0.5, 1.0]


@pytest.mark.parametrize(
    ("request_key", "argument", "headers", "times"),
    [
        (None, "k", {}, 2),
        (None, None, {"Idempotency-Key": "k"}, 2),
        ("k", None, {}, 2),
        ("k", "k", {}, 2),
        (" ", "", {}, 1),
        (None, None, {}, 1),
    ],
)
def test_a_start_goes_again_with_its_key_in_either_place(
    sdk: Flavour, request_key: str | None, argument: str | None, headers: dict[str, str], times: int
) -> None:
    with Stage(hang_up, CONTENDED) as stage:
        client = sdk.client(stage, Clock())
        options = {"max_retries": 1, "headers": headers}
        request = {"handlerId": "h", "idempotencyKey": request_key}
        with pytest.raises(SvcError):
            sdk.call(client, "start_execution_run", request, idempotency_key=argument, options=options)
    assert len(stage.seen) == times


def test_a_commit_goes_again_as_it_was_with_its_key(sdk: Flavour) -> None:
    clock = Clock()
    with Stage(hang_up, COMMITTED) as stage:
        sdk.call(sdk.client(stage, clock), "commit_canonical_transaction", "t", COMMIT)
    first, second = stage.seen
    assert (first.target, first.headers, first.body) == (second.target, second.headers, second.body)
    assert first.body == b'{"idempotencyKey":"once"}'
    assert clock.slept == [0.5]


@pytest.mark.parametrize(
    "request_",
    [{}, {"idempotencyKey": ""}, {"idempotencyKey": "  "}, {"idempotencyKey": 7}, {"idempotencyKey": None}],
)
def test_a_commit_without_a_key_does_not(sdk: Flavour, request_: Any) -> None:
    with Stage(CONTENDED) as stage:
        client = sdk.client(stage, Clock())
        with pytest.raises(UnavailableError):
            sdk.call(client, "commit_canonical_transaction", "t", request_)
    assert len(stage.seen) == 1


def test_the_key_must_be_where_the_operation_reads_it(sdk: Flavour) -> None:
    options = {"headers": {"Idempotency-Key": "k"}}
    with Stage(CONTENDED) as stage:
        client = sdk.client(stage, Clock())
        with pytest.raises(UnavailableError):
            sdk.call(client, "commit_canonical_transaction", "t", {}, options=options)
        request = {"consumerId": "c", "idempotencyKey": "k"}
        with pytest.raises(UnavailableError):
            sdk.call(client, "lease_canonical_outbox", "t", request, options=options)
    assert len(stage.seen) == 2


@pytest.mark.parametrize(
    ("method", "given_"),
    [
        ("lease_canonical_outbox", ["t", {"consumerId": "c"}]),
        ("acknowledge_canonical_outbox", ["t", "e", {"leaseToken": "l"}]),
        ("restore_canonical_tenant", ["t", {"snapshot": {}}]),
        ("apply_canonical_migrations", [[]]),
        ("probe_canonical_data_plane", []),
    ],
)
def test_what_takes_no_key_never_does(sdk: Flavour, method: str, given_: list[Any]) -> None:
    with Stage(hang_up) as stage:
        client = sdk.client(stage, Clock())
        with pytest.raises(APIConnectionError):
            sdk.call(client, method, *given_)
    assert len(stage.seen) == 1


def test_a_conflict_never_does(sdk: Flavour) -> None:
    with Stage(problem(409, "idempotency_conflict", {"retryable": True})) as stage:
        client = sdk.client(stage, Clock())
        with pytest.raises(ConflictError):
            sdk.call(client, "commit_canonical_transaction", "t", COMMIT)
    assert len(stage.seen) == 1


def test_max_retries_of_the_call_goes_before_that_of_the_client(sdk: Flavour) -> None:
    with Stage(CONTENDED) as stage:
        client = sdk.client(stage, Clock(), max_retries=5)
        with pytest.raises(UnavailableError):
            sdk.call(client, "health", options={"max_retries": 0})
        assert len(stage.seen) == 1
        with pytest.raises(UnavailableError):
            sdk.call(client.with_options(max_retries=1), "health")
        assert len(stage.seen) == 3
        with pytest.raises(UnavailableError):
            sdk.call(client, "health")
    assert len(stage.seen) == 9


def test_what_broke_off_inside_the_answer_is_a_failed_connection(sdk: Flavour) -> None:
    def half_a_chunk(reply: Any, _: Any) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        reply.write(head + b'5\r\n{"a":\r\n')
        reply.hang_up()

    clock = Clock()
    with Stage(broken, half_a_chunk, answer({"status": "ok"})) as stage:
        assert sdk.call(sdk.client(stage, clock), "health") == {"status": "ok"}
    assert clock.slept == [0.5, 1.0]


def test_the_error_is_that_of_the_last_time_and_says_how_long_to_wait(sdk: Flavour) -> None:
    with Stage(foreign(500), foreign(429, {"retry-after": "61"})) as stage:
        client = sdk.client(stage, Clock())
        with pytest.raises(InternalServerError):
            sdk.call(client, "health")
        with pytest.raises(RateLimitError) as refused:
            sdk.call(client, "health")
    assert (refused.value.retry_after, refused.value.retryable, refused.value.problem) == (61, None, None)
    assert len(stage.seen) == 2


def test_chance_comes_from_the_world(sdk: Flavour) -> None:
    clock = Clock()
    clock.chance = 0.5
    with Stage(hang_up, answer({})) as stage:
        sdk.call(sdk.client(stage, clock), "health")
    assert clock.slept == [0.4375]


@pytest.mark.parametrize("max_retries", [-1, 1.5, True, "2", None])
def test_max_retries_is_a_whole_number(sdk: Flavour, max_retries: Any) -> None:
    with Stage(answer({})) as stage:
        with pytest.raises(SvcError, match="max_retries"):
            sdk.client(stage, max_retries=max_retries)
        with pytest.raises(SvcError, match="max_retries"):
            sdk.call(sdk.client(stage), "health", options={"max_retries": max_retries})
    assert stage.seen == []
