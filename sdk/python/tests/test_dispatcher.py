"""The dispatcher of the outbox, by the vectors that the one in TypeScript plays too, and with the real service."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from dispatcher_stage import DispatcherStage, StagedOutbox, an_event, options_of, turn
from service import running
from stage import Stage, empty, problem
from wire import ROOT
from workers import client_of, wait

from svc_client import Client, SvcError
from svc_client.dispatcher import DeliveryAborted, DeliveryContext, Dispatcher, OutboxCallError
from svc_client.dispatcher._errors import error_text
from svc_client.dispatcher._outbox import ClientOutbox, Hold, failure_for

VECTORS = json.loads((ROOT / "sdk/dispatcher/vectors.json").read_bytes())


@pytest.mark.parametrize("scenario", VECTORS["scenarios"], ids=lambda scenario: scenario["name"])
def test_does_what_the_vectors_say(scenario: Any) -> None:
    async def play() -> None:
        stage = DispatcherStage(scenario.get("options", {}))
        stage.world.dice = scenario.get("dice", 0.5)
        stage.outbox.deaf = scenario.get("deaf", False)
        for verb, given in scenario.get("faults", {}).items():
            stage.fault(verb, given)
        stage.dispatcher.start()
        await turn()
        for at, (verb, *given) in enumerate(scenario["steps"]):
            if not await stage.act(verb, given):
                expected = given[1] if verb in ("calls", "count") else given[0]
                assert stage.found(verb, given) == expected, (at, verb, given)

    asyncio.run(play())


@pytest.mark.parametrize("options", VECTORS["refusedOptions"], ids=str)
def test_refuses_options(options: Any) -> None:
    with pytest.raises(SvcError, match="must be"):
        Dispatcher(StagedOutbox(), tenant_id="a", consumer_id="c", handlers={}, **options_of(options))


@pytest.mark.parametrize("each", VECTORS["reasons"], ids=lambda each: each["end"])
def test_a_reason_fits_what_an_outbox_keeps(each: Any) -> None:
    shown = error_text(ValueError(each["unit"] * each["times"] + each["then"]))
    assert shown == each["unit"] * each["shown"] + each["end"]


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise ValueError("canary")


def test_a_reason_of_an_exception_without_a_text() -> None:
    assert error_text(ValueError()) == "ValueError"
    assert error_text(Unspeakable()) == "the handler failed without saying why"
    assert error_text(ValueError("a\ud800b")) == "a\ufffdb"


@pytest.mark.parametrize("each", VECTORS["failures"], ids=lambda each: f"{each['status']} {each['code']}")
def test_a_refusal_counts_as_the_vectors_say(each: Any) -> None:
    assert failure_for(each["status"], each["code"]) == each["failure"]
    hold = Hold("acme", "e", "secret-token")

    async def call(client: Client) -> OutboxCallError:
        with pytest.raises(OutboxCallError) as caught:
            await ClientOutbox(client).acknowledge(hold, _signal())
        return caught.value

    content = problem(each["status"], each["code"]) if each["code"] else empty
    if each["code"] is None:
        return
    with Stage(content) as stage, client_of(stage) as client:
        error = asyncio.run(call(client))
    assert (error.failure, error.code) == (each["failure"], each["code"])
    assert "secret-token" not in f"{error}{error.__cause__!r}{hold!r}"


def _signal() -> Any:
    return DeliveryContext().cancellation


def on_stage(options: dict[str, Any], main: Callable[[DispatcherStage], Awaitable[None]]) -> None:
    async def whole() -> None:
        stage = DispatcherStage(options)
        stage.dispatcher.start()
        await turn()
        await main(stage)

    asyncio.run(whole())


def test_a_function_runs_in_a_thread_and_checks_whether_it_must_end() -> None:
    begun, seen = threading.Event(), list[Any]()

    def work(event: Any, context: DeliveryContext) -> None:
        seen.append(threading.current_thread() is threading.main_thread())
        begun.set()
        wait(context.cancellation.event)
        try:
            context.check()
        except DeliveryAborted as error:
            seen.append(error.reason)
            raise

    async def main(stage: DispatcherStage) -> None:
        await stage.outbox.give(an_event("a"))
        await asyncio.get_running_loop().run_in_executor(None, wait, begun)
        stopping = asyncio.ensure_future(stage.dispatcher.stop())
        await turn()
        await stage.pass_time(1000)
        await stopping
        assert stage.outbox.of("release") == [
            "release a 0.001 the dispatcher stopped before the handler had ended"
        ]

    on_stage({"handlers": {"claim": work}, "graceSeconds": 1}, main)
    assert seen == [False, "stopping"]


def test_the_fallback_takes_other_topics_and_hooks_that_raise_change_nothing() -> None:
    seen: list[str] = []

    async def fallback(event: Any, context: DeliveryContext) -> None:
        seen.append(event["topic"])

    def fails(*given: Any) -> None:
        raise ValueError("hook")

    async def main(stage: DispatcherStage) -> None:
        await stage.outbox.give(an_event("a", topic="other"), an_event("b"))
        assert (seen, stage.handler.begun) == (["other"], ["b"])
        assert stage.outbox.of("acknowledge") == ["acknowledge a"]

    on_stage({"fallback": fallback, "on_event": fails, "on_error": fails}, main)


def test_a_dispatcher_that_was_stopped_stays_stopped() -> None:
    async def main(stage: DispatcherStage) -> None:
        await stage.dispatcher.stop()
        stage.dispatcher.start()
        await turn()
        assert stage.outbox.of("lease") == ["lease 4"]
        never = DispatcherStage({}).dispatcher
        await never.stop()
        with pytest.raises(SvcError, match="stays stopped"):
            await never.run()

    on_stage({}, main)


@pytest.mark.parametrize("order", [SystemExit(3), KeyboardInterrupt()], ids=["exit", "interrupt"])
@pytest.mark.parametrize("threaded", [False, True], ids=["coroutine", "function"])
def test_an_exit_of_a_handler_stops_the_dispatcher_and_not_the_loop(
    order: BaseException, threaded: bool
) -> None:
    other_ended: list[str] = []

    def leave_in_thread(event: Any, context: DeliveryContext) -> None:
        raise order

    async def leave(event: Any, context: DeliveryContext) -> None:
        raise order

    async def whole() -> None:
        stopping, done = asyncio.Event(), asyncio.Event()

        async def other(event: Any, context: DeliveryContext) -> None:
            await done.wait()
            other_ended.append(event["id"])

        def failed(error: BaseException, during: str, event: Any) -> None:
            assert (error, during, event["id"]) == (order, "handle", "a")
            stopping.set()

        handlers = {"claim": leave_in_thread if threaded else leave, "other": other}
        stage = DispatcherStage({"handlers": handlers, "on_error": failed})

        async def drive() -> int:
            await stage.outbox.give(an_event("b", topic="other"), an_event("a"))
            await stopping.wait()
            await turn()
            held = stage.dispatcher.held
            done.set()
            return held

        driven = asyncio.ensure_future(drive())
        # In this task: the order ends the loop once it is raised by a task that the loop alone awaits.
        with pytest.raises(type(order)) as raised:
            await stage.dispatcher.run()
        assert raised.value is order
        assert await driven == 1
        assert stage.outbox.of("acknowledge") == ["acknowledge b"]
        assert len(stage.outbox.of("release a")) == 1
        assert stage.dispatcher.held == 0

    asyncio.run(whole())
    assert other_ended == ["b"]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with running() as found:
        yield found


def test_delivers_events_of_the_real_service_and_ends_with_its_task(address: str) -> None:
    seen: list[Any] = []

    async def main(client: Client) -> None:
        done = asyncio.Event()

        async def paid(event: Any, context: DeliveryContext) -> None:
            seen.append([event["deliveryCount"], event["payload"]])
            if event["deliveryCount"] == 1:
                raise OSError("out of paper")
            done.set()

        def faxed(event: Any, context: DeliveryContext) -> None:
            raise RuntimeError("no fax machine answers")

        dispatcher = Dispatcher(
            client,
            tenant_id="dispatched",
            consumer_id="mailer-1",
            handlers={"claim.paid": paid, "claim.faxed": faxed},
            backoff=_soon(),
        )
        running_ = asyncio.ensure_future(dispatcher.run())
        await done.wait()
        running_.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running_
        assert dispatcher.held == 0

    with client_of(address) as client:
        outbox: Any = [
            {"topic": "claim.paid", "key": "7", "payload": {"cents": 4200}},
            {"id": "fax", "topic": "claim.faxed", "key": "f", "payload": {}, "maxDeliveryAttempts": 1},
        ]
        client.commit_canonical_transaction("dispatched", {"idempotencyKey": "1", "outbox": outbox})
        asyncio.run(main(client))
        dead = client.query_canonical_outbox("dispatched", {"state": "dead-letter"}).collect()
        ready = client.query_canonical_outbox("dispatched", {"state": "ready"}).collect()
    assert seen == [[1, {"cents": 4200}], [2, {"cents": 4200}]]
    assert [(each["id"], each["lastError"]) for each in dead] == [("fax", "no fax machine answers")]
    assert ready == []


def _soon() -> Any:
    return options_of({"backoff": {"baseMs": 50, "capMs": 50}})["backoff"]
