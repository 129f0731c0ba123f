from __future__ import annotations

import threading
from functools import partial
from typing import Any

import anyio
import pytest
from flavours import Flavour
from stage import Clock, Stage, foreign, hang_up, silence
from stage import json as answer

from svc_client import (
    APIAbortError,
    APIConnectionError,
    APITimeoutError,
    AsyncClient,
    Cancellation,
    Client,
    SvcError,
    UnavailableError,
    World,
)


def test_a_call_ends_with_its_time(sdk: Flavour) -> None:
    with Stage(silence) as stage:
        client = sdk.client(stage)
        with pytest.raises(APITimeoutError) as over:
            sdk.call(client, "health", options={"timeout": 0.05})
        with pytest.raises(APITimeoutError):
            sdk.call(client.with_options(timeout=0.05), "health")
    assert str(over.value) == "health did not succeed in time."
    assert over.value.operation == "getHealth"
    assert len(stage.seen) <= 2


def test_also_where_the_answer_has_begun(sdk: Flavour) -> None:
    def begins(reply: Any, _: Any) -> None:
        reply.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{")
        stage.done.wait(30)

    with Stage(begins) as stage, pytest.raises(APITimeoutError):
        sdk.call(sdk.client(stage), "health", options={"timeout": 0.1})


def test_many_short_waits_are_not_longer_together_than_the_time_of_the_call() -> None:
    def trickles(reply: Any, _: Any) -> None:
        reply.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        while not stage.done.is_set():
            reply.write(b"1\r\n \r\n")

    ticks = iter(range(1_000_000))
    clock = Clock()
    with Stage(trickles) as stage:
        world = World(lambda: float(next(ticks)), clock.random, lambda seconds, until: clock.pause(seconds))
        client = Client(stage.address, api_key=None, token=None, world=world, timeout=50)
        with pytest.raises(APITimeoutError):
            client.health()
    assert next(ticks) < 100


def test_a_pause_that_is_too_long_is_not_begun(sdk: Flavour) -> None:
    clock = Clock()
    with Stage(foreign(503, {"retry-after": "5"})) as stage:
        client = sdk.client(stage, clock, timeout=4)
        with pytest.raises(UnavailableError):
            sdk.call(client, "health")
    assert clock.slept == []
    assert len(stage.seen) == 1


def test_repeats_and_their_pauses_are_within_the_time_of_the_call(sdk: Flavour) -> None:
    clock = Clock()
    with Stage(hang_up) as stage:
        client = sdk.client(stage, clock, timeout=1.2, max_retries=9)
        with pytest.raises(APIConnectionError) as failed:
            sdk.call(client, "health")
    assert not isinstance(failed.value, APITimeoutError)
    assert clock.slept == [0.5]
    assert len(stage.seen) == 2


def test_time_that_ran_out_in_a_pause_ends_the_call(sdk: Flavour) -> None:
    class Slow(Clock):
        def pause(self, seconds: float) -> None:
            super().pause(seconds + 100)

    with Stage(hang_up) as stage:
        client = sdk.client(stage, Slow(), timeout=5)
        with pytest.raises(APITimeoutError):
            sdk.call(client, "health")
    assert len(stage.seen) == 1


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), 2**31, True, "5", None])
def test_a_time_is_a_number_that_clocks_know(sdk: Flavour, timeout: Any) -> None:
    with Stage(answer({})) as stage:
        with pytest.raises(SvcError, match="timeout"):
            sdk.client(stage, timeout=timeout)
        with pytest.raises(SvcError, match="timeout"):
            sdk.call(sdk.client(stage), "health", options={"timeout": timeout})
    assert stage.seen == []


def test_the_time_of_a_call_does_not_cut_a_stream_off(sdk: Flavour) -> None:
    def slowly(reply: Any, _: Any) -> None:
        reply.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\nfirst")
        stage.done.wait(30)
        reply.write(b"second")

    clock = Clock()
    with Stage(slowly) as stage:
        found = sdk.stream(sdk.client(stage, clock, timeout=30), "health")
        chunks = sdk.each(found)
        assert next(chunks) == b"first"
        clock.at += 1_000
        stage.done.set()
        assert b"".join(chunks) == b"second"


def test_a_reader_of_a_stream_has_bounded_time(sdk: Flavour) -> None:
    def stalls(reply: Any, _: Any) -> None:
        reply.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{")
        stage.done.wait(30)

    with Stage(stalls) as stage:
        # Time enough for the headers, also on a busy machine.
        found = sdk.stream(sdk.client(stage), "health", options={"timeout": 3})
        chunks = sdk.each(found)
        assert next(chunks) == b"{"
        with pytest.raises(APITimeoutError):
            next(chunks)
        sdk.shut(found)


class TestCancellation:
    """Of the synchronous client: other threads end its calls."""

    def test_ends_a_call_that_waits(self) -> None:
        cancellation = Cancellation()
        with Stage(lambda *_: cancellation.cancel()) as stage:
            with Client(stage.address, api_key=None, token=None) as client:
                with pytest.raises(APIAbortError, match="health was aborted"):
                    client.health(options={"cancellation": cancellation})
        assert len(stage.seen) == 1

    def test_ends_a_pause(self) -> None:
        cancellation = Cancellation()

        def sleep(seconds: float, until: threading.Event) -> None:
            assert until is cancellation.event
            cancellation.cancel()

        with Stage(hang_up) as stage:
            world = World(Clock().now, Clock().random, sleep)
            client = Client(stage.address, api_key=None, token=None, world=world)
            with pytest.raises(APIAbortError):
                client.health(options={"cancellation": cancellation})
        assert len(stage.seen) == 1

    def test_a_pause_of_the_machine_is_over_when_it_is_called(self) -> None:
        cancellation = Cancellation()

        def unavailable(reply: Any, seen: Any) -> None:
            foreign(503, {"retry-after": "50"})(reply, seen)
            threading.Timer(0.05, cancellation.cancel).start()

        with Stage(unavailable) as stage, Client(stage.address, api_key=None, token=None) as client:
            with pytest.raises(APIAbortError):
                client.health(options={"cancellation": cancellation})

    def test_a_call_after_it_is_not_made(self) -> None:
        cancellation = Cancellation()
        cancellation.cancel()
        assert cancellation.cancelled
        with Stage(answer({})) as stage, Client(stage.address, api_key=None, token=None) as client:
            with pytest.raises(APIAbortError):
                client.health(options={"cancellation": cancellation})
            assert client.health() == {}
        assert len(stage.seen) == 1

    def test_touches_no_other_call(self) -> None:
        """A connection that was handed back belongs to the next call."""
        cancellation = Cancellation()

        def late(reply: Any, seen: Any) -> None:
            cancellation.cancel()
            answer({"b": 2})(reply, seen)

        with (
            Stage(answer({"a": 1}), late) as stage,
            Client(stage.address, api_key=None, token=None) as client,
        ):
            assert client.health(options={"cancellation": cancellation}) == {"a": 1}
            assert client.health() == {"b": 2}
        assert len({seen.connection for seen in stage.seen}) == 1

    def test_ends_a_reader_of_a_stream(self) -> None:
        cancellation = Cancellation()

        def begins(reply: Any, _: Any) -> None:
            reply.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{")
            stage.done.wait(30)

        with Stage(begins) as stage, Client(stage.address, api_key=None, token=None) as client:
            options: Any = {"cancellation": cancellation}
            with client.with_streaming_response.health(options=options) as found:
                chunks = iter(found)
                assert next(chunks) == b"{"
                threading.Timer(0.05, cancellation.cancel).start()
                with pytest.raises(APIAbortError):
                    next(chunks)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_task_that_is_cancelled_ends_its_call_and_leaves_the_client_well(backend: str) -> None:
    async def main(stage: Stage, arrived: threading.Event) -> None:
        async with AsyncClient(stage.address, api_key=None, token=None) as client:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.health)
                await anyio.to_thread.run_sync(partial(arrived.wait, 30))
                tasks.cancel_scope.cancel()
            assert await client.health() == {}

    arrived = threading.Event()

    def first(*_: Any) -> None:
        arrived.set()
        stage.done.wait(30)

    with Stage(first, answer({})) as stage:
        anyio.run(main, stage, arrived, backend=backend)
    assert len(stage.seen) == 2
