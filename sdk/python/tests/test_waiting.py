"""Waiting for the end of a run."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import pytest
from flavours import Flavour
from service import running
from stage import Answer, Clock, Stage, problem
from stage import json as answer

from svc_client import (
    APIAbortError,
    APITimeoutError,
    AsyncClient,
    AsyncWorld,
    Cancellation,
    Client,
    NotFoundError,
    SvcError,
    World,
)

GOING = answer({"id": "7", "status": "running", "completedAtUtc": None})
ENDED = answer({"id": "7", "status": "failed", "completedAtUtc": "2026-01-01T00:00:00.000Z"})


def after(clock: Clock, seconds: float, given: Answer) -> Answer:
    """As a service that waits: `seconds` pass before the answer."""

    def answers(reply: Any, seen: Any) -> None:
        clock.at += seconds
        given(reply, seen)

    return answers


def waits(stage: Stage) -> list[float]:
    """The seconds that each read asked the service to wait."""
    return [float(parse_qs(urlsplit(seen.target).query)["waitSeconds"][0]) for seen in stage.seen]


def waited(sdk: Flavour, stage: Stage, clock: Clock, **named: Any) -> Any:
    return sdk.call(sdk.client(stage, clock), "wait_for_execution_run", "7", **named)


def test_is_one_read_where_the_run_has_ended_however_it_ended(sdk: Flavour) -> None:
    clock = Clock()
    with Stage(ENDED) as stage:
        client = sdk.client(stage, clock)
        run = sdk.call(client, "wait_for_execution_run", "a/b", options={"correlation_id": "c-7"})
    assert (run["id"], run["status"]) == ("7", "failed")
    assert [(seen.method, urlsplit(seen.target).path) for seen in stage.seen] == [
        ("GET", "/execution/runs/a%2Fb")
    ]
    assert (waits(stage), clock.slept) == ([20], [])
    assert {name.lower(): value for name, value in stage.seen[0].headers.items()}["x-correlation-id"] == "c-7"


def test_reads_again_at_once_where_the_service_has_waited(sdk: Flavour) -> None:
    clock = Clock()
    with Stage(after(clock, 20, GOING), after(clock, 10, GOING), ENDED) as stage:
        assert waited(sdk, stage, clock)["status"] == "failed"
    assert (waits(stage), clock.slept) == ([20, 20, 20], [])


def test_is_at_most_half_the_time_of_a_call_at_the_service(sdk: Flavour) -> None:
    with Stage(ENDED) as stage:
        client = sdk.client(stage, Clock(), timeout=10)
        wait = partial(sdk.call, client, "wait_for_execution_run", "7")
        wait()
        wait(options={"timeout": 3})
        wait(options={"timeout": 39})
        wait(options={"timeout": 600})
    assert waits(stage) == [5, 1.5, 19.5, 20]


def test_ends_with_its_time_while_the_run_goes_on(sdk: Flavour) -> None:
    clock = Clock()
    answers = [after(clock, 20, GOING), after(clock, 20, GOING), after(clock, 5.0625, GOING)]
    with Stage(*answers) as stage:
        with pytest.raises(APITimeoutError, match="it goes on") as over:
            waited(sdk, stage, clock, wait_timeout=45.0625)
    assert over.value.operation == "getExecutionRun"
    # In whole milliseconds.
    assert waits(stage) == [20, 20, 5.062]


def test_looks_once_more_at_the_end_of_its_time(sdk: Flavour) -> None:
    clock = Clock()
    with Stage(GOING, ENDED) as stage:
        assert waited(sdk, stage, clock, wait_timeout=0.25)["status"] == "failed"
    assert (waits(stage), clock.slept) == ([0.25, 0], [0.25])


def test_asks_for_no_part_of_a_millisecond(sdk: Flavour) -> None:
    clock = Clock()
    with Stage(after(clock, 1, GOING)) as stage, pytest.raises(APITimeoutError):
        waited(sdk, stage, clock, wait_timeout=2**-20)
    assert waits(stage) == [0.001]


def test_of_no_time_is_one_look(sdk: Flavour) -> None:
    clock = Clock()
    with Stage(GOING) as stage, pytest.raises(APITimeoutError):
        waited(sdk, stage, clock, wait_timeout=0)
    assert (waits(stage), clock.slept) == ([0], [])


def test_pauses_where_the_service_answers_at_once_longer_each_time_and_not_for_ever(sdk: Flavour) -> None:
    clock = Clock()
    with Stage(*[GOING] * 6, ENDED) as stage:
        waited(sdk, stage, clock)
    assert clock.slept == [0.5, 1, 2, 4, 8, 8]


def test_pauses_from_the_beginning_again_after_the_service_has_waited(sdk: Flavour) -> None:
    clock = Clock()
    with Stage(GOING, GOING, after(clock, 20, GOING), GOING, ENDED) as stage:
        waited(sdk, stage, clock)
    assert clock.slept == [0.5, 1, 0.5]


@pytest.mark.parametrize("wait_timeout", [-1, float("nan"), "5", True])
def test_what_is_no_time_is_refused(sdk: Flavour, wait_timeout: Any) -> None:
    with Stage(ENDED) as stage:
        with pytest.raises(SvcError, match="wait_timeout must be a number of seconds from 0"):
            waited(sdk, stage, Clock(), wait_timeout=wait_timeout)
        with pytest.raises(SvcError, match="timeout must be above 0"):
            waited(sdk, stage, Clock(), options={"timeout": 0})
        with pytest.raises(TypeError, match="no option 'tiemout'"):
            waited(sdk, stage, Clock(), options={"tiemout": 5})
    assert stage.seen == []


def test_tells_the_error_of_a_read_as_it_is(sdk: Flavour) -> None:
    clock = Clock()
    with Stage(after(clock, 20, GOING), problem(404, "not_found")) as stage:
        with pytest.raises(NotFoundError) as absent:
            waited(sdk, stage, clock)
    assert absent.value.code == "not_found"
    assert len(stage.seen) == 2


def test_is_not_given_up_for_a_read_that_failed_once(sdk: Flavour) -> None:
    clock = Clock()
    with Stage(problem(503, "unavailable", {"retryable": True}), ENDED) as stage:
        assert waited(sdk, stage, clock)["status"] == "failed"


def test_a_cancellation_ends_a_read() -> None:
    cancellation = Cancellation()
    with Stage(lambda *_: cancellation.cancel()) as stage:
        with Client(stage.address, api_key=None, token=None) as client:
            with pytest.raises(APIAbortError, match="get_execution_run was aborted"):
                client.wait_for_execution_run("7", options={"cancellation": cancellation})
    assert len(stage.seen) == 1


def test_a_cancellation_ends_a_pause_and_nothing_more_is_asked_for() -> None:
    cancellation = Cancellation()
    tokens: Iterator[str] = iter(["t"])

    def sleep(seconds: float, until: threading.Event) -> None:
        assert (seconds, until) == (0.5, cancellation.event)
        cancellation.cancel()

    with Stage(GOING) as stage:
        world = World(Clock().now, Clock().random, sleep)
        client = Client(stage.address, api_key=None, token=lambda: next(tokens), world=world)
        with pytest.raises(APIAbortError, match="wait for the run was aborted") as ended:
            client.wait_for_execution_run("7", options={"cancellation": cancellation})
        client.close()
    assert ended.value.operation == "getExecutionRun"
    assert len(stage.seen) == 1


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_task_that_is_cancelled_ends_its_pause(backend: str) -> None:
    async def main(stage: Stage) -> None:
        async with anyio.create_task_group() as tasks:

            async def sleep(seconds: float) -> None:
                tasks.cancel_scope.cancel()
                await anyio.sleep_forever()

            world = AsyncWorld(Clock().now, Clock().random, sleep)
            async with AsyncClient(stage.address, api_key=None, token=None, world=world) as client:
                await client.wait_for_execution_run("7")
        assert tasks.cancel_scope.cancelled_caught

    with Stage(GOING) as stage:
        anyio.run(main, stage, backend=backend)
    assert len(stage.seen) == 1


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with running({"ExecutionRuntime:ExternalHandlers:0:HandlerId": "work"}) as found:
        yield found


def test_at_the_real_service_it_ends_with_the_run(sdk: Flavour, address: str) -> None:
    client = sdk.client(address)
    run = sdk.call(client, "start_execution_run", {"handlerId": "work", "payload": {}})
    with pytest.raises(APITimeoutError):
        sdk.call(client, "wait_for_execution_run", run["id"], wait_timeout=0.001)
    with Client(address, api_key=None, token=None) as other:
        ends = threading.Timer(0.2, partial(other.cancel_execution_run, run["id"]))
        ends.start()
        ended = sdk.call(client, "wait_for_execution_run", run["id"], wait_timeout=60)
        ends.join()
    assert ended["status"] == "cancelled"
