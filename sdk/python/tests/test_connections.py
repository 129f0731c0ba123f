"""How the synchronous client keeps its connections. Those of the other are httpx2's."""

from __future__ import annotations

import gc
import os
import socket
import ssl
import threading
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import anyio
import httpx2
import pytest
from flavours import Flavour
from stage import Clock, Stage, broken, foreign, problem
from stage import json as answer

from svc_client import (
    APIConnectionError,
    APIStatusError,
    AsyncClient,
    Client,
    NotFoundError,
    PayloadTooLargeError,
    World,
)
from svc_client._connection import idle_seconds


def client_of(stage: Stage, **options: Any) -> Client:
    return Client(stage.address, **{"api_key": None, "token": None, **options})


def connections(stage: Stage) -> int:
    return len({seen.connection for seen in stage.seen})


def test_calls_that_follow_each_other_share_one() -> None:
    with Stage(answer({}), problem(404, "not_found"), answer({})) as stage, client_of(stage) as client:
        client.health()
        with pytest.raises(NotFoundError):
            client.health()
        client.with_raw_response.health()
        client.with_options(timeout=5).health()
        assert client.with_streaming_response.health().read() == b"{}"
        client.health()
    assert (len(stage.seen), connections(stage)) == (6, 1)


@pytest.mark.parametrize(
    "headers", [{"connection": "close"}, {"keep-alive": "timeout=1"}, {"keep-alive": "timeout=2, max=5"}]
)
def test_one_that_the_other_side_will_close_is_not_used_again(headers: dict[str, str]) -> None:
    clock = Clock()
    with Stage(answer({}, 200, headers)) as stage:
        with client_of(stage, world=World(clock.now, clock.random, lambda *_: None)) as client:
            client.health()
            clock.at += 0.5
            client.health()
    assert connections(stage) == 2


def test_one_that_was_idle_for_long_is_not_used_again() -> None:
    clock = Clock()
    with Stage(answer({}, 200, {"keep-alive": "timeout=30"})) as stage:
        with client_of(stage, world=World(clock.now, clock.random, lambda *_: None)) as client:
            client.health()
            clock.at += 28
            client.health()
            clock.at += 28.1
            client.health()
    assert [connections(stage), len(stage.seen)] == [2, 3]


@pytest.mark.parametrize(
    ("said", "seconds"),
    [(None, 4), ("", 4), ("timeout=65", 60), ("max=5, timeout=10", 8), ("timeout=1", 0), ("timeout=x", 4)],
)
def test_how_long_one_is_kept(said: str | None, seconds: float) -> None:
    assert idle_seconds(said) == seconds


def test_one_that_was_closed_meanwhile_is_not_used_again() -> None:
    gone = threading.Event()

    def last(reply: Any, seen: Any) -> None:
        answer({})(reply, seen)
        reply.hang_up()
        gone.set()

    with Stage(last, answer({})) as stage, client_of(stage, max_retries=0) as client:
        client.health()
        assert gone.wait(30)
        # A write is not sent again, so it must not meet the end of the old connection.
        client.lease_canonical_outbox("t", {"consumerId": "c"})
    assert connections(stage) == 2


def test_one_that_says_more_than_it_was_asked_is_not_used_again() -> None:
    sent = threading.Event()

    def later(reply: Any, seen: Any) -> None:
        answer({"mine": 1})(reply, seen)
        answer({"forged": 1})(reply, seen)
        sent.set()

    with Stage(later, answer({"mine": 2})) as stage, client_of(stage) as client:
        assert client.health() == {"mine": 1}
        assert sent.wait(30)
        assert client.health() == {"mine": 2}
    assert connections(stage) == 2


def test_also_where_all_of_it_came_at_once() -> None:
    def twice(reply: Any, seen: Any) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n"
        reply.write(head + b'{"mine":1}' + head + b'{"forg":1}')

    with Stage(twice, answer({"mine": 2})) as stage, client_of(stage) as client:
        assert [client.health(), client.health()] == [{"mine": 1}, {"mine": 2}]
    assert connections(stage) == 2


def test_one_that_broke_off_is_not_used_again() -> None:
    with Stage(broken, answer({})) as stage, client_of(stage, max_retries=0) as client:
        with pytest.raises(APIConnectionError):
            client.health()
        client.health()
    assert connections(stage) == 2


def test_one_whose_answer_was_not_read_is_not_used_again() -> None:
    with Stage(answer({"a": "x" * 100_000})) as stage, client_of(stage) as client:
        with client.with_streaming_response.health() as found:
            assert next(iter(found)).startswith(b'{"a"')
        client.health()
        # A caller that forgets to close an answer loses its connection, and nothing else.
        client.with_streaming_response.health()
        gc.collect()
        client.health()
    assert connections(stage) == 3


def test_a_stream_in_a_loop_keeps_its_connection() -> None:
    with Stage(answer({"a": "x" * 300_000})) as stage, client_of(stage) as client:
        size = 0
        for chunk in client.with_streaming_response.health():
            gc.collect()
            size += len(chunk)
        assert size > 300_000


def test_threads_share_a_client() -> None:
    gate = threading.Barrier(8, timeout=30)

    def together(reply: Any, seen: Any) -> None:
        if len(stage.seen) <= 8:
            gate.wait()
        answer({"of": seen.headers["x-correlation-id"]})(reply, seen)

    def work(name: int) -> None:
        for turn in range(25):
            said = f"{name}-{turn}"
            assert client.health(options={"correlation_id": said}) == {"of": said}

    with Stage(together) as stage, client_of(stage) as client, ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(work, name) for name in range(8)]:
            done.result()
    # The first eight calls were under way at once, and no more connections were ever needed.
    assert (len(stage.seen), connections(stage)) == (200, 8)


def test_idle_ones_are_bounded() -> None:
    gate = threading.Barrier(14, timeout=30)

    def together(reply: Any, seen: Any) -> None:
        gate.wait()
        answer({})(reply, seen)

    with Stage(together) as stage, client_of(stage) as client:
        with ThreadPoolExecutor(14) as pool:
            list(pool.map(lambda _: client.health(), range(14)))
        assert connections(stage) == 14
        assert len(client._link.pool._idle) == 10


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_does_not_write_to_the_connections_of_its_parent() -> None:
    with Stage(answer({})) as stage, client_of(stage) as client:
        client.health()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                client.health()
                code = 0
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        client.health()
    first, of_child, last = stage.seen
    assert first.connection == last.connection != of_child.connection


LARGE = {"idempotencyKey": "k", "actor": "x" * 20_000_000}


@contextmanager
def impatient(close: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that answers before it has read the body, and then closes the connection with `close`."""

    def serve() -> None:
        connection, _ = server.accept()
        with connection:
            connection.recv(1_000)
            body = (
                b'{"code":"payload_too_large","title":"t","detail":"d","correlationId":"c","retryable":false}'
            )
            head = f"HTTP/1.1 413 X\r\nContent-Type: application/problem+json\r\nContent-Length: {len(body)}\r\n\r\n"
            connection.sendall(head.encode() + body)
            close(connection)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        thread.join()


def test_who_refuses_a_body_may_answer_before_its_end(sdk: Flavour) -> None:
    def drain(connection: socket.socket) -> None:
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(1_000_000):
            pass

    with impatient(drain) as address:
        client = sdk.client(address)
        with pytest.raises(PayloadTooLargeError):
            sdk.call(client, "commit_canonical_transaction", "t", LARGE)
        sdk.shut(client)


def test_and_hang_up() -> None:
    with impatient(lambda _: None) as address, Client(address, api_key=None, token=None) as client:
        with pytest.raises(PayloadTooLargeError):
            client.commit_canonical_transaction("t", cast("Any", LARGE))


class TestTls:
    def test_an_authority_of_the_callers_is_trusted(
        self, sdk: Flavour, tls_stage: Stage, certificate: Path
    ) -> None:
        context = ssl.create_default_context(cafile=str(certificate / "cert.pem"))
        client = sdk.client(tls_stage, ssl_context=context, api_key="k")
        assert sdk.call(client, "health") == sdk.call(client, "health") == {"secure": True}
        assert connections(tls_stage) == 1
        assert tls_stage.seen[0].headers["x-svc-api-key"] == "k"

    def test_an_unknown_one_is_not(self, sdk: Flavour, tls_stage: Stage) -> None:
        with pytest.raises(APIConnectionError) as failed:
            sdk.call(sdk.client(tls_stage, api_key="k", max_retries=0), "health")
        # On trio httpx2 keeps the reason to itself.
        assert sdk.name == "trio" or "CERTIFICATE_VERIFY_FAILED" in "".join(
            traceback.format_exception(failed.value)
        )
        assert tls_stage.seen == []

    def test_nor_is_one_of_another_host(self, sdk: Flavour, tls_stage: Stage, certificate: Path) -> None:
        context = ssl.create_default_context(cafile=str(certificate / "cert.pem"))
        elsewhere = tls_stage.address.replace("127.0.0.1", "localhost")
        with pytest.raises(APIConnectionError):
            sdk.call(sdk.client(elsewhere, ssl_context=context, max_retries=0), "health")
        assert tls_stage.seen == []


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_client_of_the_callers_is_used_and_left_open(backend: str) -> None:
    async def main(stage: Stage) -> None:
        async with httpx2.AsyncClient(follow_redirects=True, auth=("user", "canary"), timeout=1e-9) as given:
            async with AsyncClient(stage.address, api_key=None, token=None, http_client=given) as client:
                assert await client.health() == {}
            # It follows no redirect, though the caller's would, and it may be used on.
            with pytest.raises(APIStatusError, match="redirect"):
                await client.with_options(timeout=5).health()
            assert not given.is_closed

    with Stage(answer({}), foreign(307, {"location": "/elsewhere"})) as stage:
        anyio.run(main, stage, backend=backend)
    assert [seen.target for seen in stage.seen] == ["/health", "/health"]
    assert all("authorization" not in seen.headers for seen in stage.seen)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_asynchronous_calls_go_side_by_side_and_share_connections(backend: str) -> None:
    gate = threading.Barrier(20, timeout=30)

    def together(reply: Any, seen: Any) -> None:
        if len(stage.seen) <= 20:
            gate.wait()
        answer({"of": seen.headers["x-correlation-id"]})(reply, seen)

    async def one(client: AsyncClient, name: str) -> None:
        assert await client.health(options={"correlation_id": name}) == {"of": name}

    async def main() -> None:
        async with AsyncClient(stage.address, api_key=None, token=None) as client:
            for turn in range(2):
                async with anyio.create_task_group() as tasks:
                    for name in range(20):
                        tasks.start_soon(one, client, f"{turn}-{name}")
            await client.with_options(timeout=5).health(options={"correlation_id": "last"})

    with Stage(together) as stage:
        anyio.run(main, backend=backend)
    assert len(stage.seen) == 41
    assert connections(stage) == 20


def test_the_environment_does_not_say_where_a_call_goes(
    sdk: Flavour, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Stage(foreign(502)) as proxy, Stage(answer({})) as stage:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.address)
        monkeypatch.setenv("NO_PROXY", "")
        assert sdk.call(sdk.client(stage, api_key="k"), "health") == {}
    assert proxy.seen == []


def test_an_address_that_says_nothing_leaves_time_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    with Stage(answer({})) as stage, socket.socket() as dead:
        # Bound and not listening: it refuses.
        dead.bind(("127.0.0.1", 0))
        real = socket.getaddrinfo

        def both(host: Any, port: Any, *given: Any, **named: Any) -> Any:
            return real(host, dead.getsockname()[1], *given, **named) + real(host, port, *given, **named)

        monkeypatch.setattr(socket, "getaddrinfo", both)
        with client_of(stage, max_retries=0) as client:
            assert client.health() == {}
