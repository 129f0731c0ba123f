"""The leases of a dispatcher whose handlers misbehave: a thread renews them, and none is kept for ever."""

from __future__ import annotations

import asyncio
import json as json_module
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from async_workers import blocking
from dispatcher_stage import an_event
from stage import Answer, Reply, Seen, Stage, empty, problem
from stage import json as answer
from workers import after, client_of, seen_by, wait

from svc_client import Client
from svc_client.dispatcher import DeliveryContext, Dispatcher, DispatcherEvent, EventHandler

THREAD = "svc-outbox-renewals"


def named(name: str) -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == name]


def leased(event: Any) -> Any:
    return {"event": event, "leaseToken": f"token of {event['id']}"}


class OutboxProtocol:
    """A service with these events; of each other operation answers in turn, the last for all that follow."""

    def __init__(self, *events: Any, **answers: list[Answer]) -> None:
        leases = [leased(each) for each in events]
        self.asked_twice = threading.Event()
        self.when_renewed: dict[str, threading.Event] = {}
        self.answers: dict[str, list[Answer]] = {
            "leases": [answer(leases), _never],
            "renew": [answer(an_event("a"))],
            "ack": [empty],
            "nack": [answer(an_event("a"))],
            **answers,
        }
        self.calls: list[str] = []
        self.bodies: list[Any] = []
        self._lock = threading.Lock()

    def __call__(self, reply: Reply, seen: Seen) -> None:
        verb = seen.target.rsplit("/", 1)[1]
        with self._lock:
            answers = self.answers[verb]
            chosen = answers.pop(0) if len(answers) > 1 else answers[0]
            self.calls.append(verb)
            self.bodies.append((verb, json_module.loads(seen.body)))
            if self.calls.count("leases") == 2:
                self.asked_twice.set()
            if verb == "renew" and (token := self.bodies[-1][1]["leaseToken"]) in self.when_renewed:
                self.when_renewed[token].set()
        chosen(reply, seen)

    def sent(self, verb: str) -> list[Any]:
        return [body for each, body in self.bodies if each == verb]


def _never(reply: Reply, seen: Seen) -> None:
    """The dispatcher waits for more events."""


def dispatched(
    protocol: OutboxProtocol,
    handlers: dict[str, EventHandler],
    main: Callable[[Dispatcher, list[DispatcherEvent]], Awaitable[None]],
    **options: Any,
) -> list[str]:
    """The types of the reports of a dispatcher that has stopped."""
    reports: list[DispatcherEvent] = []
    errors: list[Any] = []

    async def whole(client: Client) -> None:
        dispatcher = Dispatcher(
            client,
            tenant_id="acme",
            consumer_id="c",
            handlers=handlers,
            on_event=reports.append,
            on_error=lambda *given: errors.append((*given[:2], threading.current_thread())),
            **{"lease_seconds": 6, "grace_seconds": 60, **options},
        )
        async with dispatcher:
            await main(dispatcher, reports)

    with Stage(protocol) as stage, client_of(stage) as client:
        asyncio.run(whole(client))
    assert all(thread is threading.main_thread() for _, _, thread in errors)
    return [each.type for each in reports if each.type != "leased"]


async def drained(dispatcher: Dispatcher, reports: list[DispatcherEvent]) -> None:
    while len(reports) == 0 or dispatcher.held > 0:
        await dispatcher._change()


async def both_drained(dispatcher: Dispatcher, reports: list[DispatcherEvent]) -> None:
    while len([each for each in reports if each.type == "delivered"]) < 2 or dispatcher.held > 0:
        await dispatcher._change()


def test_a_handler_that_blocks_the_loop_keeps_its_lease_and_that_of_the_others() -> None:
    over = threading.Event()
    renewed = answer(an_event("a"))
    protocol = OutboxProtocol(an_event("a"), an_event("b"), renew=[renewed, seen_by(over, renewed), renewed])

    async def blocks(event: Any, context: DeliveryContext) -> None:
        wait(over)

    assert dispatched(protocol, {"claim": blocks}, drained) == ["delivered", "delivered"]
    assert {each["leaseToken"] for each in protocol.sent("renew")} == {"token of a", "token of b"}
    assert protocol.sent("nack") == []
    # The stop has ended the thread.
    for each in named(THREAD):
        each.join(60)
    assert named(THREAD) == []


def test_an_event_whose_lease_was_lost_while_the_loop_was_blocked_is_not_acknowledged() -> None:
    ended = threading.Event()
    reasons: list[Any] = []

    async def blocks(event: Any, context: DeliveryContext) -> None:
        wait(ended)
        wait(context.cancellation.event)

    def works(event: Any, context: DeliveryContext) -> None:
        wait(context.cancellation.event)
        reasons.append(context.reason)
        ended.set()

    protocol = OutboxProtocol(
        an_event("a", topic="works"), an_event("b"), renew=[problem(409, "lease_stale")]
    )
    # The function ends although the loop is blocked until then.
    assert dispatched(protocol, {"claim": blocks, "works": works}, drained) == ["lost", "lost"]
    assert (reasons, protocol.sent("ack"), protocol.sent("nack")) == (["lease_lost"], [], [])


def test_leases_that_come_while_the_loop_is_blocked_are_renewed() -> None:
    blocked, renewed = threading.Event(), threading.Event()
    begun: list[str] = []
    protocol = OutboxProtocol(an_event("a"))
    protocol.answers["leases"][1:] = [after(blocked, answer([leased(an_event("b"))])), _never]

    async def blocks(event: Any, context: DeliveryContext) -> None:
        begun.append(event["id"])
        if event["id"] == "a":
            await asyncio.get_running_loop().run_in_executor(None, wait, protocol.asked_twice)
            blocked.set()
            wait(renewed)

    protocol.when_renewed["token of b"] = renewed
    assert dispatched(protocol, {"claim": blocks}, both_drained) == ["delivered", "delivered"]
    assert (begun, len(protocol.sent("ack"))) == (["a", "b"], 2)


def test_a_renewal_that_fails_is_repeated_and_reported_in_the_loop() -> None:
    over = threading.Event()
    renewed = answer(an_event("a"))
    protocol = OutboxProtocol(an_event("a"), renew=[problem(503, "unavailable"), seen_by(over, renewed)])

    def works(event: Any, context: DeliveryContext) -> None:
        wait(over)

    assert dispatched(protocol, {"claim": works}, drained) == ["delivered"]


@pytest.mark.parametrize("cancels", [True, False], ids=["cancelled tasks", "a closed loop"])
def test_a_loop_that_ends_without_a_stop_ends_the_renewals(cancels: bool) -> None:
    begun = threading.Event()
    protocol = OutboxProtocol(an_event("a"))
    left: list[Any] = []

    async def works(event: Any, context: DeliveryContext) -> None:
        begun.set()
        await asyncio.get_running_loop().create_future()

    async def main(client: Client) -> None:
        options: Any = {"tenant_id": "acme", "consumer_id": "c", "lease_seconds": 1}
        left.append(Dispatcher(client, handlers={"claim": works}, **options))
        left[0].start()
        await blocking(wait, begun)
        left.extend(asyncio.all_tasks())

    with Stage(protocol) as stage, client_of(stage) as client:
        if cancels:
            asyncio.run(main(client))
        else:
            loop = asyncio.new_event_loop()
            loop.run_until_complete(main(client))
            loop.close()
        for each in named(THREAD):
            each.join(60)
        assert named(THREAD) == []
    for task in left[1:]:
        # Those of the closed loop stay pending, and are no fault of the test.
        task._log_destroy_pending = False
    assert protocol.sent("ack") == []


def test_a_delivery_that_is_cancelled_from_outside_does_not_hold_up_a_stop() -> None:
    protocol = OutboxProtocol(an_event("a"), an_event("b", key="a"))
    seen: list[str] = []
    begun = threading.Event()

    async def works(event: Any, context: DeliveryContext) -> None:
        seen.append(event["id"])
        begun.set()
        if event["id"] == "a":
            await asyncio.get_running_loop().create_future()

    async def main(dispatcher: Dispatcher, reports: list[DispatcherEvent]) -> None:
        await blocking(wait, begun)
        (task,) = dispatcher._tasks._tasks
        task.cancel()
        await drained(dispatcher, reports)

    # Its event returns when its lease expires; the next one of its key goes on.
    assert dispatched(protocol, {"claim": works}, main) == ["delivered"]
    assert (seen, len(protocol.sent("ack"))) == (["a", "b"], 1)


def test_a_function_that_raises_stop_iteration_fails_its_event() -> None:
    def works(event: Any, context: DeliveryContext) -> None:
        next(iter([]))

    protocol = OutboxProtocol(an_event("a"))
    assert dispatched(protocol, {"claim": works}, drained) == ["failed"]
    assert [each["error"] for each in protocol.sent("nack")] == ["the call raised StopIteration"]


class AsyncCallable:
    """An object that is a coroutine function."""

    def __init__(self) -> None:
        self.threads: list[threading.Thread] = []
        self.begun = threading.Event()

    async def __call__(self, event: Any, context: DeliveryContext) -> None:
        self.threads.append(threading.current_thread())
        self.begun.set()
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            self.threads.append(threading.current_thread())
            raise


def test_an_object_whose_call_is_a_coroutine_function_is_cancelled_like_one() -> None:
    handler = AsyncCallable()

    async def main(dispatcher: Dispatcher, reports: list[DispatcherEvent]) -> None:
        await blocking(wait, handler.begun)

    protocol = OutboxProtocol(an_event("a"))
    assert dispatched(protocol, {"claim": handler}, main, grace_seconds=0) == ["failed"]
    assert handler.threads == [threading.main_thread()] * 2
    assert [each["retryAfterSeconds"] for each in protocol.sent("nack")] == [0.001]


def test_twenty_handlers_at_once_and_each_event_is_acknowledged_once() -> None:
    events = [an_event(f"e{at}") for at in range(20)]
    all_there = threading.Barrier(20)

    def works(event: Any, context: DeliveryContext) -> None:
        all_there.wait(60)

    protocol = OutboxProtocol(*events)
    reported = dispatched(protocol, {"claim": works}, drained, concurrency=20, lease_seconds=60)
    assert reported == ["delivered"] * 20
    assert len({each["leaseToken"] for each in protocol.sent("ack")}) == len(protocol.sent("ack")) == 20
