"""One leased event, from the lease call until it is acknowledged, released or lost."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, cast

from .._cancellation import Cancellation
from .._coroutines import is_coroutine_function
from .._in_thread import in_thread
from ._calls import CallOutcome, repeat
from ._errors import ORDERS, AbortReason, DeliveryAborted, NoHandlerError, asked_delay, error_text
from ._hooks import Hooks
from ._lease_keeper import LeaseKeepers
from ._options import DeliveryContext, DispatcherEvent, During, EventHandler, Settings
from ._outbox import Hold, OutboxCallError
from ._timers import Moment, within

if TYPE_CHECKING:
    from .._generated import models

# The delay of an event that was never begun: the shortest that the service accepts.
_AT_ONCE_SECONDS = 0.001
_RELEASE_SECONDS_MAX = 86_400.0
_LATE = "the event came after the stop had ended: it stays leased until its lease expires"


@dataclass(frozen=True)
class Surroundings:
    """The part of the dispatcher that a delivery uses."""

    settings: Settings
    ending: Cancellation
    """Set when handlers must end."""
    over: Cancellation
    """Set when all work and all calls must end."""
    hooks: Hooks
    keepers: LeaseKeepers
    obey: Callable[[BaseException], object]
    """Stops the dispatcher: a handler has ended the program."""


class Delivery:
    def __init__(self, around: Surroundings, event: models.CanonicalOutboxEvent, token: str) -> None:
        self.event = event
        self._around = around
        self._settings = around.settings
        self._hold = Hold(self._settings.tenant_id, event["id"], token)
        self._keeper = around.keepers.of(self._hold)
        self._keeper.on_error = self._renewal_failed
        self._began = 0.0
        self._handled = False

    def when_lost(self, call: Callable[[], object]) -> None:
        """Calls back when the lease is lost."""
        self._keeper.when_lost = call

    @property
    def is_last(self) -> bool:
        """Whether a release would dead-letter the event."""
        most = self.event["maxDeliveryAttempts"]
        return most is not None and self.event["deliveryCount"] >= most

    async def run(self) -> None:
        """Handles the event, then acknowledges or releases it."""
        self._began = self._settings.world.now()
        try:
            error = await self._handle()
            self._handled = True
            if not self._is_held():
                # Another consumer may hold the event: the service would refuse an acknowledgement or a release.
                self._around.hooks.report(DispatcherEvent("lost", self.event))
            elif error is None:
                await self._acknowledge()
            else:
                await self._release_failed(error)
        finally:
            self._keeper.end()

    def _is_held(self) -> bool:
        # A thread renews until the last call has its answer: a handler may block the loop before that is sent.
        own_thread = self._around.keepers.renewals.own_thread
        return not self._is_lost() if own_thread else self._keeper.end()

    def _is_lost(self) -> bool:
        return self._keeper.lost.cancelled

    def _renewal_failed(self, error: BaseException) -> None:
        if not self._handled:
            self._around.hooks.fail(error, "renew", self.event)

    async def release_unbegun(self) -> None:
        """Releases the event without having begun it."""
        self._keeper.end()
        if self._around.over.cancelled:
            self._around.hooks.fail(OutboxCallError("transient", _LATE), "release", self.event)
            return
        reason = self.event["lastError"] or "the dispatcher stopped before it began"
        outcome = await self._release(_AT_ONCE_SECONDS, reason)
        # Without an answer the event may stay leased: the errors of the calls say so.
        if outcome != "failed":
            self._around.hooks.report(
                DispatcherEvent("returned" if outcome == "done" else "lost", self.event)
            )

    async def _handle(self) -> BaseException | None:
        """The exception of the handler, or the one that counts as its exception."""
        settings = self._settings
        if self._is_lost():
            return DeliveryAborted("lease_lost")
        handler = settings.handler_of(self.event["topic"])
        if handler is None:
            return NoHandlerError(self.event["topic"])
        context, over = DeliveryContext(), Moment()
        work = asyncio.ensure_future(self._attempt(handler, context))
        work.add_done_callback(over.come)

        def abort(reason: AbortReason) -> None:
            context._abort(reason)
            if is_coroutine_function(handler):
                work.cancel()
            over.come()

        def lose() -> None:
            # At once: the loop may be blocked by another handler, and this one may be a function.
            context._abort("lease_lost")
            self._around.keepers.renewals.tell(partial(abort, "lease_lost"))

        with ExitStack() as stack:
            stack.enter_context(self._keeper.lost.interrupting(lose))
            if self._is_lost():
                abort("lease_lost")
            stack.enter_context(self._around.ending.interrupting(partial(abort, "stopping")))
            if self._around.ending.cancelled:
                abort("stopping")
            if settings.handler_timeout_seconds is not None:
                late = partial(abort, "handler_timeout")
                stack.callback(settings.world.after(settings.handler_timeout_seconds, late))
            await over.wait()
            if context.reason is None:
                return asyncio.CancelledError() if work.cancelled() else work.exception() or work.result()
            # Keep the key blocked until the handler ends, so that an obedient handler never overlaps the next event of
            # its key. Its return value is ignored: it may have stopped half-way.
            work.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
            await within(settings.world, settings.abort_grace_seconds, work)
            return DeliveryAborted(context.reason)

    async def _attempt(self, handler: EventHandler, context: DeliveryContext) -> BaseException | None:
        """Calls the handler. Returns an exception that addresses the program: raised in a task, it would end the loop,
        and with it the other handlers."""
        try:
            await _called(handler, self.event, context)
        except ORDERS as order:
            self._around.obey(order)
            return order
        return None

    async def _acknowledge(self) -> None:
        outcome = await self._repeat(
            "acknowledge", lambda signal: self._settings.outbox.acknowledge(self._hold, signal)
        )
        if outcome == "lost":
            self._around.hooks.report(DispatcherEvent("lost", self.event))
        else:
            kind: Literal["delivered", "unacknowledged"]
            kind = "delivered" if outcome == "done" else "unacknowledged"
            self._around.hooks.report(DispatcherEvent(kind, self.event, duration_seconds=self._duration))

    async def _release_failed(self, error: BaseException) -> None:
        delay = self._retry_delay(error)
        self._around.hooks.fail(error, "handle", self.event)
        self._around.hooks.report(
            DispatcherEvent(
                "failed",
                self.event,
                error=error,
                retry_in_seconds=delay,
                duration_seconds=self._duration,
            )
        )
        await self._release(delay, error_text(error))

    def _retry_delay(self, error: BaseException) -> float:
        asked = asked_delay(error)
        if asked is None:
            return self._settings.backoff.delay(self.event["deliveryCount"], self._settings.world.random())
        return min(max(asked, _AT_ONCE_SECONDS), _RELEASE_SECONDS_MAX)

    async def _release(self, delay: float, reason: str) -> CallOutcome:
        return await self._repeat(
            "release", lambda signal: self._settings.outbox.release(self._hold, delay, reason, signal)
        )

    async def _repeat(self, during: During, call: Callable[[Cancellation], Awaitable[None]]) -> CallOutcome:
        return await repeat(
            self._settings.world,
            lambda: self._keeper.until,
            self._around.over,
            lambda error: self._around.hooks.fail(error, during, self.event),
            call,
        )

    @property
    def _duration(self) -> float:
        return self._settings.world.now() - self._began


async def _called(
    handler: EventHandler, event: models.CanonicalOutboxEvent, context: DeliveryContext
) -> object:
    if is_coroutine_function(handler):
        return await cast("Awaitable[object]", handler(event, context))
    result = await in_thread(partial(handler, event, context), f"svc-outbox-{event['id']}")
    # Such as that of a function that returns a coroutine.
    return await result if inspect.isawaitable(result) else result
