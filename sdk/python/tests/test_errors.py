from __future__ import annotations

import copy
import gzip
import json
import pickle
from typing import Any

import pytest
from flavours import Flavour
from hypothesis import given, strategies
from stage import Clock, Stage, empty, foreign, hang_up, problem
from stage import json as answer

import svc_client
from svc_client import (
    APIConnectionError,
    APIResponseError,
    APIStatusError,
    APITimeoutError,
    BadRequestError,
    SvcError,
    UnavailableError,
)
from svc_client._problem import problem_of

ONCE: dict[str, Any] = {"max_retries": 0}


# Literals: what a consumer's `except` relies on.
@pytest.mark.parametrize(
    ("status", "name"),
    [
        (400, "BadRequestError"),
        (401, "AuthenticationError"),
        (403, "PermissionDeniedError"),
        (404, "NotFoundError"),
        (405, "APIStatusError"),
        (408, "APIStatusError"),
        (409, "ConflictError"),
        (412, "PreconditionFailedError"),
        (413, "PayloadTooLargeError"),
        (415, "APIStatusError"),
        (422, "UnprocessableEntityError"),
        (429, "RateLimitError"),
        (431, "APIStatusError"),
        (500, "InternalServerError"),
        (502, "InternalServerError"),
        (503, "UnavailableError"),
        (504, "InternalServerError"),
        (307, "APIStatusError"),
    ],
)
def test_the_class_of_an_answer_that_is_no_success(sdk: Flavour, status: int, name: str) -> None:
    with Stage(problem(status, "some_code"), foreign(status)) as stage:
        client = sdk.client(stage, **ONCE)
        for code in ("some_code", None):
            with pytest.raises(APIStatusError) as refused:
                sdk.call(client, "health")
            assert type(refused.value) is getattr(svc_client, name)
            error = refused.value
            assert (error.status, error.code, error.operation) == (status, code, "getHealth")


def test_the_tree() -> None:
    assert issubclass(APITimeoutError, APIConnectionError)
    assert issubclass(APIConnectionError, SvcError)
    assert issubclass(APIStatusError, SvcError)
    assert not issubclass(svc_client.APIAbortError, APIConnectionError)
    leaves = [
        each for each in vars(svc_client).values() if isinstance(each, type) and issubclass(each, SvcError)
    ]
    assert len(leaves) == 18


def test_an_error_tells_what_the_problem_says(sdk: Flavour) -> None:
    errors = [{"pointer": "/mutations/0", "detail": "must not", "keyword": "required"}]
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    more = {"errors": errors, "hint": "more", "traceId": trace}
    with Stage(problem(400, "validation_failed", more, {"X-Other": "y"})) as stage:
        with pytest.raises(BadRequestError) as refused:
            sdk.call(sdk.client(stage), "health")
    error = refused.value
    assert (error.code, error.retryable, error.retry_after) == ("validation_failed", False, None)
    assert (error.correlation_id, error.trace_id, error.errors) == ("c-1", trace, errors)
    assert error.problem is not None
    assert dict(error.problem)["hint"] == "more"
    assert error.headers["x-other"] == error.headers["X-Other"] == "y"
    text = "400 The title of validation_failed [validation_failed]: What happened with validation_failed."
    text += "\n  /mutations/0: must not"
    assert str(error) == text
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (type(again), str(again), again.errors, again.status) == (BadRequestError, text, errors, 400)


def test_an_error_shows_the_whole_body_as_a_place_and_counts_further_places(sdk: Flavour) -> None:
    errors = [{"pointer": "" if n == 0 else f"/items/{n}", "detail": f"fault {n}"} for n in range(25)]
    with Stage(problem(400, "validation_failed", {"errors": errors})) as stage:
        with pytest.raises(BadRequestError) as refused:
            sdk.call(sdk.client(stage), "health")
    lines = str(refused.value).split("\n")
    assert lines[1:3] == ["  (the whole body): fault 0", "  /items/1: fault 1"]
    assert lines[20:] == ["  /items/19: fault 19", "  and 5 more"]
    assert len(refused.value.errors) == 25


def test_a_place_that_the_message_names_is_not_repeated(sdk: Flavour) -> None:
    errors = [{"pointer": "/limt", "detail": "is not known here"}]
    more = {"errors": errors, "detail": "The request is not valid: /limt: is not known here"}
    with Stage(problem(400, "validation_failed", more)) as stage:
        with pytest.raises(BadRequestError) as refused:
            sdk.call(sdk.client(stage), "health")
    assert str(refused.value).count("/limt") == 1


def test_an_error_tells_what_is_in_the_headers_where_the_body_says_nothing(sdk: Flavour) -> None:
    with Stage(foreign(503, {"x-correlation-id": "c-9", "retry-after": "90"})) as stage:
        with pytest.raises(UnavailableError) as refused:
            sdk.call(sdk.client(stage), "health")
    error = refused.value
    assert (error.correlation_id, error.retry_after, error.retryable, error.errors) == ("c-9", 90, None, [])
    assert error.trace_id is None
    assert str(error) == "503: without a problem document"


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        (99.5, 99.5),
        (99, 99),
        ("99", None),
        (True, None),
        (-1, None),
        (None, None),
        (1e300, 172_800.0),
        (10**400, 172_800.0),
        ([1], None),
    ],
)
def test_when_to_come_back_is_also_in_the_body(sdk: Flavour, said: Any, heard: float | None) -> None:
    with Stage(problem(429, "rate_limited", {"retryable": True, "retryAfterSeconds": said})) as stage:
        with pytest.raises(svc_client.RateLimitError) as refused:
            sdk.call(sdk.client(stage, **ONCE), "health")
    assert refused.value.retry_after == heard


SOUND = {
    "type": "t",
    "title": "t",
    "status": 400,
    "detail": "d",
    "instance": "i",
    "code": "c",
    "retryable": False,
    "correlationId": "c",
}


@pytest.mark.parametrize(
    "broken",
    [
        *(b"", b"null", b"NaN", b"[]", b'"c"', b"{", b"\xff", b"[" * 100_000),
        *(
            json.dumps({**SOUND, **change}).encode()
            for change in ({"code": 1}, {"retryable": "no"}, {"errors": {}}, {"title": None})
        ),
    ],
    ids=range(12),
)
def test_a_problem_that_is_none_of_ours_is_none(broken: bytes) -> None:
    assert problem_of("application/problem+json", broken) is None
    text = json.dumps(SOUND).encode()
    assert problem_of("application/problem+json", text) == SOUND
    assert problem_of("application/json", text) is None


json_values = strategies.recursive(
    strategies.none() | strategies.booleans() | strategies.floats() | strategies.text(),
    lambda inner: strategies.lists(inner) | strategies.dictionaries(strategies.text(), inner),
    max_leaves=5,
)


@given(
    strategies.dictionaries(strategies.sampled_from([*SOUND, "errors"]), json_values), strategies.booleans()
)
def test_no_document_breaks_its_reader(changes: dict[str, Any], whole: bool) -> None:
    found = problem_of(
        "application/problem+json", json.dumps({**(SOUND if whole else {}), **changes}).encode()
    )
    if found is not None:
        error = APIStatusError("m", status=400, problem=found)
        assert isinstance(error.code, str)
        assert isinstance(error.retryable, bool)
        assert isinstance(error.errors, list)


def test_of_a_problem_nothing_is_believed_that_is_of_another_type(sdk: Flavour) -> None:
    place = {"pointer": "/a", "detail": "d"}
    wrong = [None, 5, "x", [], {}, {"pointer": "/a"}, {**place, "detail": 5}, {**place, "keyword": None}]
    more = {"errors": [*wrong, place], "retryAfterSeconds": "5", "hint": None}
    with Stage(problem(400, "validation_failed", more)) as stage:
        with pytest.raises(BadRequestError) as refused:
            sdk.call(sdk.client(stage), "health")
    error = refused.value
    assert (error.code, error.errors, error.retry_after) == ("validation_failed", [place], None)
    assert error.problem is not None
    assert "retryAfterSeconds" not in error.problem
    assert error.problem.get("errors") == [place]
    assert dict(error.problem)["hint"] is None


def encoded(status: int, body: bytes, media_type: str = "application/json") -> Any:
    headers = {"content-type": media_type, "content-encoding": "gzip"}
    return lambda reply, _: reply.send(status, headers, body)


@pytest.mark.parametrize("body", [gzip.compress(b"{}"), b"{}"], ids=["gzip", "none in truth"])
def test_an_encoding_that_was_not_asked_for(sdk: Flavour, body: bytes) -> None:
    with Stage(encoded(200, body)) as stage:
        client = sdk.client(stage, Clock())
        for call in (sdk.call, sdk.raw, sdk.stream):
            with pytest.raises(APIResponseError, match="encoding"):
                call(client, "health")
        assert [seen.headers["accept-encoding"] for seen in stage.seen] == ["identity"] * 3
    with Stage(encoded(500, body), encoded(404, body, "application/problem+json")) as stage:
        client = sdk.client(stage)
        for status in (500, 404):
            with pytest.raises(APIStatusError) as refused:
                sdk.call(client, "health")
            assert (refused.value.status, refused.value.problem) == (status, None)


def test_identity_is_no_encoding(sdk: Flavour) -> None:
    with Stage(answer({"a": 1}, 200, {"Content-Encoding": "Identity"})) as stage:
        assert sdk.call(sdk.client(stage), "health") == {"a": 1}


@pytest.mark.parametrize(
    "body",
    [b"<html>a proxy</html>", b"", b"NaN", b'{"a":Infinity}', b"\xff\xfe\xff", b"[" * 100_000],
    ids=range(6),
)
def test_a_success_that_is_no_json(sdk: Flavour, body: bytes) -> None:
    with Stage(lambda reply, _: reply.send(200, {"content-type": "application/json"}, body)) as stage:
        with pytest.raises(APIResponseError) as refused:
            sdk.call(sdk.client(stage), "health")
    assert "proxy" not in str(refused.value)
    assert len(stage.seen) == 1


def test_no_answer_at_all(sdk: Flavour) -> None:
    with Stage(hang_up) as stage, pytest.raises(APIConnectionError) as refused:
        sdk.call(sdk.client(stage, **ONCE), "health")
    assert not isinstance(refused.value, APITimeoutError)
    assert refused.value.__cause__ is not None


@pytest.mark.parametrize(
    "garbage",
    [
        b"NONSENSE\r\n\r\n",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nX-A: " + b"b" * 200_000 + b"\r\n\r\n",
    ],
    ids=["no status line", "no status", "no chunk", "an endless header"],
)
def test_an_answer_that_is_no_http(sdk: Flavour, garbage: bytes) -> None:
    def answering(reply: Any, _: Any) -> None:
        reply.write(garbage)
        reply.hang_up()

    with Stage(answering) as stage, pytest.raises(APIConnectionError):
        sdk.call(sdk.client(stage, **ONCE), "health")


def test_no_server_listens(sdk: Flavour) -> None:
    with Stage(answer({})) as stage:
        address = stage.address
    with pytest.raises(APIConnectionError) as failed:
        sdk.call(sdk.client(address, **ONCE), "health")
    assert str(failed.value).startswith("health: the connection failed")
    assert str(failed.value).endswith(f": GET {address}/health")


def test_a_redirect_is_not_followed_and_said_to_be_one(sdk: Flavour) -> None:
    with Stage(answer({})) as elsewhere, Stage(foreign(307, {"location": elsewhere.address})) as stage:
        client = sdk.client(stage, api_key="k", token="t")
        with pytest.raises(APIStatusError, match="redirect"):
            sdk.call(client, "health")
    assert elsewhere.seen == []


def test_a_later_release_may_answer_with_another_success(sdk: Flavour) -> None:
    with Stage(answer({"more": 1}, 202), empty) as stage:
        client = sdk.client(stage)
        assert sdk.call(client, "health") == {"more": 1}
        assert sdk.call(client, "health") is None


def test_what_the_contract_describes_is_an_answer_also_with_a_status_of_failure(sdk: Flavour) -> None:
    report = {"dataPlaneProbe": None}
    with Stage(answer(report, 503), problem(503, "unavailable")) as stage:
        client = sdk.client(stage, **ONCE)
        found = sdk.raw(client, "get_canonical_preflight")
        assert (found.data, found.status) == (report, 503)
        with pytest.raises(UnavailableError):
            sdk.call(client, "get_canonical_preflight")


def test_an_answer_comes_with_its_status_and_headers(sdk: Flavour) -> None:
    headers = {"idempotency-replayed": "true", "x-correlation-id": "c-2", "X-Twice": "a"}
    with Stage(answer({"a": 1.5}, 200, headers), problem(404, "not_found")) as stage:
        client = sdk.client(stage)
        found = sdk.raw(client, "commit_canonical_transaction", "t", {"idempotencyKey": "k"})
        assert (found.data, found.status, found.correlation_id) == ({"a": 1.5}, 200, "c-2")
        assert found.headers["Idempotency-Replayed"] == "true"
        assert found.content == b'{"a": 1.5}'
        with pytest.raises(svc_client.NotFoundError):
            sdk.raw(client, "health")
        with pytest.raises(svc_client.NotFoundError):
            sdk.stream(client, "health")


def test_an_answer_comes_with_its_body_unread(sdk: Flavour) -> None:
    def slowly(reply: Any, _: Any) -> None:
        reply.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\nfirst")
        stage.done.wait(30)
        reply.write(b"second")

    with Stage(slowly) as stage:
        client = sdk.client(stage)
        found = sdk.stream(client, "export_canonical_tenant", "t")
        assert (found.status, found.headers["content-type"]) == (200, "application/json")
        chunks = sdk.each(found)
        assert next(chunks) == b"first"
        stage.done.set()
        assert b"".join(chunks) == b"second"
        whole = sdk.stream(client, "export_canonical_tenant", "t")
        assert sdk.run(whole.read) == b"firstsecond"
        assert repr(whole).endswith("StreamedResponse(status=200)")


def test_what_is_left_of_an_answer_that_was_closed_is_not_its_end(sdk: Flavour) -> None:
    def chunked(reply: Any, _: Any) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        reply.write(head + b"5\r\nfirst\r\n")
        stage.done.wait(30)

    with Stage(chunked) as stage:
        client = sdk.client(stage)
        found = sdk.stream(client, "health")
        # On trio httpx2 leaves generators of its own behind, of which trio complains.
        assert sdk.name == "trio" or next(sdk.each(found)) == b"first"
        sdk.shut(found)
        sdk.shut(found)
        with pytest.raises(SvcError, match="closed"):
            sdk.run(found.read)
        with pytest.raises(SvcError, match="closed"):
            list(sdk.each(found))


def test_cookies_are_not_kept(sdk: Flavour) -> None:
    with Stage(answer({}, 200, {"set-cookie": "a=b; Path=/"})) as stage:
        client = sdk.client(stage)
        sdk.call(client, "health")
        sdk.call(client, "health")
    assert [seen.headers.get("cookie") for seen in stage.seen] == [None, None]


def test_a_list_in_pages_comes_with_the_headers_of_its_first_page(sdk: Flavour) -> None:
    page = {"items": [1], "continuationToken": "more"}
    with Stage(answer(page)) as stage:
        client = sdk.client(stage)
        assert sdk.raw(client, "query_canonical_documents", "t").data == page
        assert json.loads(sdk.run(sdk.stream(client, "query_canonical_documents", "t").read)) == page


def test_headers_are_a_mapping_of_names_in_any_case() -> None:
    headers = svc_client.Headers([("Set-Cookie", "a"), ("X-B", "b"), ("set-cookie", "c")])
    assert headers["SET-COOKIE"] == "a, c"
    assert dict(headers) == {"set-cookie": "a, c", "x-b": "b"}
    assert "x-B" in headers
    assert "x-c" not in headers
    assert 5 not in headers
    assert repr(headers) == "Headers({'set-cookie': 'a, c', 'x-b': 'b'})"
