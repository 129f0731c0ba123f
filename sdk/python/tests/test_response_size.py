"""How much of an answer a client holds in memory."""

from __future__ import annotations

from typing import Any

import pytest
from flavours import Flavour
from stage import Answer, Clock, Reply, Seen, Stage, problem
from stage import json as answer

from svc_client import APIResponseError, NotFoundError, SvcError

MIB = 1024 * 1024

# On trio httpx2 leaves generators of its own behind, of which trio complains.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def endless(status: int = 200, media_type: str = "application/json") -> Answer:
    """An answer that ends only when the client closes the connection."""

    def send(reply: Reply, _: Seen) -> None:
        head = f"HTTP/1.1 {status} Reason\r\nContent-Type: {media_type}\r\nTransfer-Encoding: chunked\r\n\r\n"
        reply.write(head.encode())
        while True:
            reply.write(b"%x\r\n%b\r\n" % (MIB, b" " * MIB))

    return send


def test_the_client_stops_reading_at_its_limit(sdk: Flavour) -> None:
    with Stage(endless()) as stage:
        client = sdk.client(stage, Clock(), max_response_bytes=3 * MIB)
        for call in (sdk.call, sdk.raw):
            with pytest.raises(APIResponseError, match=f"longer than {3 * MIB} bytes"):
                call(client, "health")
    assert len(stage.seen) == 2


def test_128_mib_are_the_limit_without_the_option(sdk: Flavour) -> None:
    with Stage(endless()) as stage:
        with pytest.raises(APIResponseError, match="longer than 134217728 bytes"):
            sdk.call(sdk.client(stage, Clock()), "health")


def test_a_call_has_its_own_limit(sdk: Flavour) -> None:
    with Stage(answer({"status": "ok"})) as stage:
        client = sdk.client(stage, max_response_bytes=10)
        with pytest.raises(APIResponseError):
            sdk.call(client, "health")
        assert sdk.call(client, "health", options={"max_response_bytes": 20}) == {"status": "ok"}
        assert sdk.call(client.with_options(max_response_bytes=20), "health") == {"status": "ok"}


def test_a_refusal_keeps_its_status_without_its_problem_document(sdk: Flavour) -> None:
    long = problem(404, "not_found", {"more": "x" * 2 * MIB})
    with Stage(endless(404, "application/problem+json"), long) as stage:
        client = sdk.client(stage, Clock())
        for _ in range(2):
            with pytest.raises(NotFoundError) as refused:
                sdk.call(client, "health")
            assert refused.value.problem is None


def test_a_stream_has_no_limit(sdk: Flavour) -> None:
    with Stage(endless()) as stage:
        stream = sdk.stream(sdk.client(stage, Clock(), max_response_bytes=MIB), "health")
        read = 0
        for chunk in sdk.each(stream):
            read += len(chunk)
            if read > 3 * MIB:
                break
        sdk.shut(stream)


@pytest.mark.parametrize("bytes_max", [0, -1, 1.5, True, "2", None])
def test_the_limit_is_a_whole_number_from_1(sdk: Flavour, bytes_max: Any) -> None:
    with Stage(answer({})) as stage:
        with pytest.raises(SvcError, match="max_response_bytes"):
            sdk.client(stage, max_response_bytes=bytes_max)
        with pytest.raises(SvcError, match="max_response_bytes"):
            sdk.call(sdk.client(stage), "health", options={"max_response_bytes": bytes_max})
    assert stage.seen == []
