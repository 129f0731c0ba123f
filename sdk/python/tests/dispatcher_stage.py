"""A dispatcher in a world whose time only the test advances, and an outbox that gives what a test gives it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from svc_client import Cancellation
from svc_client.dispatcher import (
    Backoff,
    DeliveryContext,
    Dispatcher,
    DispatcherEvent,
    Hold,
    LeaseRequest,
    OutboxCallError,
    RetryAfter,
)


async def turn() -> None:
    """Runs everything that is due without advancing the time."""
    for _ in range(40):
        await asyncio.sleep(0)


def an_event(id: str, **more: Any) -> Any:
    return {
        "id": id,
        "tenantId": "acme",
        "topic": "claim",
        "key": id,
        "payload": None,
        "deliveryCount": 1,
        "maxDeliveryAttempts": None,
        "lastError": None,
        **more,
    }


class ManualWorld:
    """Counts in milliseconds, so that no sum is off by a fraction."""

    def __init__(self) -> None:
        self.ms = 0
        self.dice = 0.5
        self.timers: list[tuple[float, Callable[[], object]]] = []

    def now(self) -> float:
        return self.ms / 1000

    def after(self, seconds: float, callback: Callable[[], object]) -> Callable[[], object]:
        timer = (round(self.ms + seconds * 1000, 6), callback)
        self.timers.append(timer)

        def cancel() -> None:
            self.timers[:] = [each for each in self.timers if each is not timer]

        return cancel

    def random(self) -> float:
        return self.dice

    def advance(self, ms: int) -> None:
        end = self.ms + ms
        while due := sorted((each for each in self.timers if each[0] <= end), key=lambda each: each[0]):
            self.timers.remove(due[0])
            self.ms = max(self.ms, int(due[0][0]))
            due[0][1]()
        self.ms = end


Fault = Any


class StagedOutbox:
    def __init__(self) -> None:
        self.calls: list[str] = []
        self.requests: list[LeaseRequest] = []
        self.faults: dict[str, list[Fault]] = {
            "lease": [],
            "renew": [],
            "acknowledge": [],
            "release": [],
        }
        self.deaf = False
        self.waiting: asyncio.Future[list[Any]] | None = None
        self._given: list[list[Any]] = []

    async def give(self, *events: Any) -> None:
        """Answers the waiting lease call, or else the next one."""
        if self.waiting is None:
            self._given.append([*events])
        else:
            self.answer(self.waiting, events)
        await turn()

    def answer(self, waiting: asyncio.Future[list[Any]] | None, events: Sequence[Any]) -> None:
        assert waiting is not None
        if self.waiting is waiting:
            self.waiting = None
        waiting.set_result([*events])

    def of(self, begin: str) -> list[str]:
        return [call for call in self.calls if call.startswith(begin)]

    async def lease(self, request: LeaseRequest, signal: Cancellation) -> list[tuple[Any, str]]:
        self.requests.append(request)
        await self._call("lease", str(request.max_items))
        events = self._given.pop(0) if self._given else await self._wait(signal)
        return [(event, f"token of {event['id']}") for event in events]

    async def renew(self, hold: Hold, lease_seconds: float, signal: Cancellation) -> None:
        await self._call("renew", _name(hold))

    async def acknowledge(self, hold: Hold, signal: Cancellation) -> None:
        await self._call("acknowledge", _name(hold))

    async def release(self, hold: Hold, retry_after_seconds: float, error: str, signal: Cancellation) -> None:
        await self._call("release", f"{_name(hold)} {retry_after_seconds:g} {error}")

    async def _call(self, verb: str, subject: str) -> None:
        self.calls.append(f"{verb} {subject}")
        fault = self.faults[verb].pop(0) if self.faults[verb] else None
        if fault == "hang":
            await asyncio.get_running_loop().create_future()
        if isinstance(fault, Exception):
            raise fault
        if isinstance(fault, asyncio.Event):
            await fault.wait()

    async def _wait(self, signal: Cancellation) -> list[Any]:
        waiting: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        self.waiting = waiting

        def abort() -> None:
            if not self.deaf and not waiting.done():
                self.waiting = None
                waiting.set_exception(RuntimeError("aborted"))

        with signal.interrupting(abort):
            return await waiting


def _name(hold: Hold) -> str:
    assert (hold.tenant_id, hold.lease_token) == ("acme", f"token of {hold.event_id}")
    return hold.event_id


class StagedHandler:
    """A handler whose runs a test ends one by one."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.aborted: dict[str, Any] = {}
        self.obeys = True
        self._runs: dict[str, asyncio.Future[None]] = {}

    async def handle(self, event: Any, context: DeliveryContext) -> None:
        run: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.begun.append(event["id"])
        self._runs[event["id"]] = run
        try:
            await asyncio.shield(run)
        except asyncio.CancelledError:
            self.aborted[event["id"]] = context.reason
            # At the end of a test the loop cancels every task.
            if self.obeys or context.reason is None:
                raise
            await run

    async def end(self, id: str, error: BaseException | None = None) -> None:
        if error is None:
            self._runs[id].set_result(None)
        else:
            self._runs[id].set_exception(error)
        await turn()


_NAMES = {
    "batchSize": "batch_size",
    "leaseSeconds": "lease_seconds",
    "waitSeconds": "wait_seconds",
    "handlerTimeoutSeconds": "handler_timeout_seconds",
    "graceSeconds": "grace_seconds",
    "abortGraceSeconds": "abort_grace_seconds",
}


def options_of(given: dict[str, Any]) -> dict[str, Any]:
    """The options of a vector, by their names in Python."""
    options = {_NAMES.get(name, name): value for name, value in given.items()}
    if "idleMs" in options:
        options["idle_seconds"] = options.pop("idleMs") / 1000
    if "backoff" in options:
        each = options["backoff"]
        options["backoff"] = Backoff(each["baseMs"] / 1000, each["capMs"] / 1000)
    return options


class DispatcherStage:
    def __init__(self, options: dict[str, Any]) -> None:
        self.world, self.outbox, self.handler = ManualWorld(), StagedOutbox(), StagedHandler()
        self.reported: list[DispatcherEvent] = []
        self.errors: list[str] = []
        named: dict[str, Any] = {
            "handlers": {"claim": self.handler.handle},
            "concurrency": 4,
            "lease_seconds": 30,
            "world": self.world,
            "on_event": self.reported.append,
            "on_error": lambda error, during, event: self.errors.append(during),
            **options_of(options),
        }
        self.dispatcher = Dispatcher(self.outbox, tenant_id="acme", consumer_id="test", **named)
        self.late = asyncio.Event()
        self._kept: asyncio.Future[list[Any]] | None = None
        self._stop: asyncio.Future[None] | None = None

    def fault(self, verb: str, given: Sequence[Fault]) -> None:
        self.outbox.faults[verb].extend(self._fault_of(each) for each in given)

    def _fault_of(self, given: Fault) -> Fault:
        if isinstance(given, dict):
            return OutboxCallError("transient", "away", retry_after=given["transient"] / 1000)
        if given in ("transient", "lost", "refused"):
            return OutboxCallError(given, "no")
        return {"odd": RuntimeError("odd"), "hang": "hang", "late": self.late}[given]

    async def act(self, verb: str, given: Sequence[Any]) -> bool:
        if verb == "give":
            await self.outbox.give(*(an_event(**each) for each in given))
        elif verb == "keep the answer":
            self._kept = self.outbox.waiting
        elif verb == "give the kept answer":
            self.outbox.answer(self._kept, [an_event(**each) for each in given])
            await turn()
        elif verb == "answer late":
            self.late.set()
        elif verb == "pass":
            await self.pass_time(*given)
        elif verb == "end":
            await self.handler.end(given[0], _error_of(given[1] if len(given) > 1 else None))
        elif verb == "obeys":
            self.handler.obeys = given[0]
        elif verb == "dice":
            self.world.dice = given[0]
        elif verb == "fault":
            self.fault(given[0], given[1:])
        elif verb == "stop":
            self._stop = asyncio.ensure_future(self.dispatcher.stop())
            await turn()
        else:
            return False
        return True

    async def pass_time(self, ms: int, step: int = 500) -> None:
        """Advances in steps, so that the effects of one timer are complete before the next one fires."""
        end = self.world.ms + ms
        while self.world.ms < end:
            self.world.advance(min(step, end - self.world.ms))
            await turn()

    def found(self, verb: str, given: Sequence[Any]) -> Any:
        calls = self.outbox.of(given[0]) if verb in ("calls", "count") else []
        return {
            "requests": [_request(each) for each in self.outbox.requests],
            "calls": calls,
            "count": len(calls),
            "begun": self.handler.begun,
            "aborted": self.handler.aborted,
            "held": self.dispatcher.held,
            "types": [each.type for each in self.reported if each.type != "leased"],
            "errors": self.errors,
            "stopped": self._stop is not None and self._stop.done(),
            "timers": len(self.world.timers),
        }[verb]


def _request(request: LeaseRequest) -> dict[str, Any]:
    return {
        "tenantId": request.tenant_id,
        "consumerId": request.consumer_id,
        "maxItems": request.max_items,
        "leaseSeconds": request.lease_seconds,
        "waitSeconds": request.wait_seconds,
    }


def _error_of(given: Any) -> BaseException | None:
    if given is None:
        return None
    if "retryAfter" in given:
        return RetryAfter(given["retryAfter"], given["error"])
    return ValueError(given["error"])
