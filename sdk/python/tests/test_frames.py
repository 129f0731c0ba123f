"""Credentials in reports of a failure with the variables of all frames, such as those that services collect."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import anyio
import httpx2
import pytest
from flavours import Flavour
from stage import Stage, broken, foreign, hang_up, problem, silence
from stage import json as answer

from svc_client import APIConnectionError, AsyncClient, Cancellation, Client, SvcError, World

KEY = "sk-canary-4711"
TOKEN = "eyJ.canary.0815"
CREDENTIALS: dict[str, Any] = {
    "api_key": KEY,
    "token": lambda: TOKEN,
    "headers": {"Authorization": "Basic canary", "X-Trace": "a"},
}


def chain(error: BaseException) -> list[BaseException]:
    """The exception and all that it came of, also where that is not printed."""
    found: list[BaseException] = []
    todo: list[BaseException | None] = [error]
    while todo:
        each = todo.pop()
        if each is not None and not any(each is other for other in found):
            found.append(each)
            todo += (each.__cause__, each.__context__)
    return found


def frames(error: BaseException) -> Iterator[FrameType]:
    for each in chain(error):
        trace = each.__traceback__
        while trace is not None:
            yield trace.tb_frame
            trace = trace.tb_next


def leaks(error: BaseException) -> list[str]:
    """The places where a credential can be read: in all frames except those of the tests."""
    found = [f"the text of {type(each).__name__}" for each in chain(error) if "canary" in f"{each!r} {each}"]
    for frame in frames(error):
        if "/sdk/python/tests/" in frame.f_code.co_filename:
            continue
        for name, value in frame.f_locals.items():
            if "canary" in repr(value):
                found.append(f"{name} of {frame.f_code.co_name}")
    return found


def test_the_search_finds_one() -> None:
    def sends(headers: dict[str, str]) -> None:
        raise OSError("x")

    sends.__code__ = sends.__code__.replace(co_filename="/elsewhere/client.py")

    def failing() -> None:
        try:
            sends({"a": "canary"})
        except OSError:
            raise ValueError("y") from None

    with pytest.raises(ValueError, match="y") as failed:
        failing()
    assert leaks(failed.value) == ["headers of sends"]


@contextmanager
def refused() -> Iterator[str]:
    with Stage(answer({})) as stage:
        address = stage.address
    yield address


@contextmanager
def no_tls() -> Iterator[str]:
    """A server that speaks HTTP where TLS is spoken to it."""
    with Stage(answer({})) as stage:
        yield stage.address.replace("http:", "https:")


@contextmanager
def no_host() -> Iterator[str]:
    yield "https://nowhere.invalid"


@contextmanager
def cut_off() -> Iterator[str]:
    """A server that resets the connection while it is written to."""

    def serve() -> None:
        connection, _ = server.accept()
        with connection:
            connection.recv(10)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        thread.join()


def saying(*answers: Any) -> Callable[[], Any]:
    @contextmanager
    def on_stage() -> Iterator[str]:
        with Stage(*answers) as stage:
            yield stage.address

    return on_stage


def garbage(reply: Any, _: Any) -> None:
    reply.write(b"NONSENSE\r\n\r\n")
    reply.hang_up()


SERVERS = {
    "refused": refused,
    "no TLS": no_tls,
    "no host": no_host,
    "cut off": cut_off,
    "hung up": saying(hang_up),
    "broken off": saying(broken),
    "no HTTP": saying(garbage),
    "no JSON": saying(foreign(200)),
    "silent": saying(silence),
    "a problem": saying(problem(401, "unauthenticated")),
    "turned away": saying(foreign(502)),
}
LARGE = {"idempotencyKey": "k", "actor": "x" * 8_000_000}


@pytest.mark.parametrize("server", SERVERS.values(), ids=SERVERS.keys())
def test_a_failed_call_shows_no_credential(sdk: Flavour, server: Any) -> None:
    with server() as address:
        timeout = 0.2 if server is SERVERS["silent"] else 30
        client = sdk.client(address, **CREDENTIALS, max_retries=0, timeout=timeout)
        with pytest.raises(SvcError) as failed:
            sdk.call(client, "commit_canonical_transaction", "t", LARGE)
        sdk.shut(client)
    # The call's own frames are there all the same.
    names = {frame.f_code.co_name for frame in frames(failed.value)}
    assert "commit_canonical_transaction" in names or sdk.name != "sync"
    assert leaks(failed.value) == []


@pytest.mark.parametrize("ends", ["time", "cancellation", "Control-C"])
def test_whenever_a_call_ends_it_shows_none(ends: str) -> None:
    """At each look at the clock in turn: also while the headers are sent, when the platform holds them as they are."""
    failures: list[BaseException] = []
    for last in range(1, 20):
        cancellation, looks = Cancellation(), iter(range(last))
        with Stage(answer({})) as stage:

            def now(
                stage: Stage = stage, looks: Iterator[int] = looks, cancellation: Cancellation = cancellation
            ) -> float:
                if next(looks, None) is not None:
                    return 0.0
                # Later it would end what only tidies up.
                if ends == "Control-C" and stage.seen == []:
                    raise KeyboardInterrupt
                if ends == "cancellation":
                    cancellation.cancel()
                return 1_000.0 if ends == "time" else 0.0

            world = World(now, lambda: 0.0, lambda *_: None)
            with Client(stage.address, **CREDENTIALS, world=world) as client:
                try:
                    client.health(options={"timeout": 30, "max_retries": 0, "cancellation": cancellation})
                except (SvcError, KeyboardInterrupt) as error:
                    failures.append(error)
    # Before the call, on the way to a connection, and while the headers are sent; what comes then is a matter of time.
    assert len(failures) >= 3
    assert [leaks(each) for each in failures] == [[]] * len(failures)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_no_end_of_an_asynchronous_call_shows_a_credential(backend: str) -> None:
    class Ended(BaseException):
        pass

    async def handles(self: Any, request: httpx2.Request) -> httpx2.Response:
        headers = {**request.headers}
        raise Ended(len(headers))

    handles.__code__ = handles.__code__.replace(co_filename="/elsewhere/transport.py")
    transport = type("Transport", (httpx2.AsyncBaseTransport,), {"handle_async_request": handles})

    async def main() -> None:
        async with httpx2.AsyncClient(transport=transport()) as given:
            client = AsyncClient("https://x.example", **CREDENTIALS, http_client=given)
            with pytest.raises(Ended) as failed:
                await client.health()
            assert leaks(failed.value) == []

    anyio.run(main, backend=backend)


def test_what_a_caller_was_dealing_with_keeps_its_frames() -> None:
    mine = LookupError("mine")

    def failing(make: Callable[[], Any]) -> None:
        try:
            raise mine
        except LookupError:
            make()

    async def asynchronous(address: str) -> None:
        try:
            raise mine
        except LookupError:
            await AsyncClient(address, **CREDENTIALS, max_retries=0).health()

    with refused() as address:
        for make in (
            lambda: Client(address, **CREDENTIALS, max_retries=0).health(),
            lambda: Client("nonsense", **CREDENTIALS),
            lambda: anyio.run(asynchronous, address),
        ):
            with pytest.raises(SvcError) as failed:
                failing(make)
            assert mine in chain(failed.value)
            assert mine.__traceback__ is not None


def test_the_cause_of_a_failure_is_still_reported(sdk: Flavour) -> None:
    with refused() as address, pytest.raises(APIConnectionError) as failed:
        sdk.call(sdk.client(address, **CREDENTIALS, max_retries=0), "health")
    assert failed.value.__cause__ is not None
    assert str(failed.value.__cause__) != ""
    if sdk.name == "sync":
        assert isinstance(failed.value.__cause__, ConnectionRefusedError)


def test_a_certificate_that_is_refused_shows_none(sdk: Flavour, tls_stage: Stage) -> None:
    client = sdk.client(tls_stage, **CREDENTIALS, max_retries=0)
    with pytest.raises(APIConnectionError) as failed:
        sdk.call(client, "health")
    assert leaks(failed.value) == []


def test_content_that_fails_shows_none(depots: Flavour) -> None:
    def content() -> Iterator[bytes]:
        yield b"a"
        raise LookupError("no more")

    with Stage(answer({})) as stage:
        client = depots.client(stage, **CREDENTIALS)
        with pytest.raises(LookupError) as failed:
            depots.call(client, "put_bytes", content())
    assert leaks(failed.value) == []


@pytest.mark.parametrize(
    "options",
    [
        {"timeout": -1},
        {"tiemout": 5},
        {"max_retries": None},
        {"api_key_header": "X A"},
        {"apikey": KEY},
        {"headers": [("Authorization", "canary")]},
        {"api_key": KEY.encode(), "timeout": -1},
        {"headers": {"Authorization": b"canary"}, "timeout": -1},
    ],
    ids=range(8),
)
def test_options_that_are_refused_show_none(
    sdk: Flavour, options: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {**CREDENTIALS, **options}
    sound = sdk.make("https://x.example", **CREDENTIALS)
    # A report that prints the environment prints the key; only the client must not.
    monkeypatch.setenv("SVC_API_KEY", KEY)
    for make in (lambda: sdk.make("https://x.example", **given), lambda: sound.with_options(**given)):
        with pytest.raises((SvcError, TypeError)) as failed:
            make()
        assert leaks(failed.value) == []


@pytest.mark.parametrize(
    "base_url",
    [
        "https://user:canary@x.example",
        "https://canary example",
        "https://x.example/?key=canary",
        "http://[canary",
    ],
)
def test_an_address_that_is_refused_shows_no_password(sdk: Flavour, base_url: str) -> None:
    sound = sdk.make("https://x.example", **CREDENTIALS)
    for make in (lambda: sdk.make(base_url), lambda: sound.with_options(base_url)):
        with pytest.raises(SvcError) as failed:
            make()
        assert leaks(failed.value) == []


@pytest.mark.parametrize("bad", [f"{KEY}\r\nx: y", f"{KEY}\u20ac", KEY.encode()], ids=range(3))
def test_a_credential_that_cannot_be_sent_is_not_shown(sdk: Flavour, bad: Any) -> None:
    with Stage(answer({})) as stage:
        for options in ({"api_key": bad}, {"token": lambda: bad}, {"headers": {"Authorization": bad}}):
            client = sdk.client(stage, **options)
            with pytest.raises(SvcError) as failed:
                sdk.call(client, "health")
            assert leaks(failed.value) == []
    assert stage.seen == []
