"""Calls of the outbox, bounded and repeated."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Literal, TypeAlias, TypeVar

from .._cancellation import Cancellation
from ._options import Backoff
from ._outbox import OutboxCallError, failure_of
from ._timers import DispatcherWorld, Moment, pause

T = TypeVar("T")

CallOutcome: TypeAlias = Literal["done", "lost", "failed"]
"""`failed`: it was refused, or had no answer in time."""

_CALL_BACKOFF = Backoff(0.5, 15.0)


async def bounded(
    world: DispatcherWorld,
    seconds: float,
    signal: Cancellation,
    call: Callable[[Cancellation], Awaitable[T]],
) -> T:
    """Makes a call that ends after the seconds or with `signal`, even if the outbox ignores its own signal: an outbox
    that hangs must not block the dispatcher."""
    given, over = Cancellation(), Moment()

    def end() -> None:
        given.cancel()
        over.come()

    work = asyncio.ensure_future(call(given))
    work.add_done_callback(over.come)
    cancel = world.after(seconds, end)
    try:
        with signal.interrupting(end):
            if signal.cancelled:
                end()
            await over.wait()
    finally:
        cancel()
    if work.done() and not work.cancelled():
        return work.result()
    # A later failure has no other reader: without this one the loop reports it.
    work.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
    raise OutboxCallError("transient", "the call did not end in time")


async def repeat(
    world: DispatcherWorld,
    until: Callable[[], float],
    signal: Cancellation,
    on_error: Callable[[BaseException], object],
    call: Callable[[Cancellation], Awaitable[None]],
) -> CallOutcome:
    """Repeats a call while its failures are transient. No try starts after `until`: its effect would come too late."""
    tries = 0
    while True:
        tries += 1
        left = until() - world.now()
        if left <= 0 or signal.cancelled:
            return "failed"
        try:
            await bounded(world, left, signal, call)
        except Exception as error:
            on_error(error)
            failure = failure_of(error)
            if failure != "transient":
                return "lost" if failure == "lost" else "failed"
            delay = retry_delay(world, tries, error)
            if world.now() + delay >= until():
                return "failed"
            await pause(world, delay, signal)
        else:
            return "done"


def retry_delay(world: DispatcherWorld, failures: int, error: BaseException) -> float:
    """The delay after so many failures in a row; at least as long as the service asks for."""
    asked = error.retry_after if isinstance(error, OutboxCallError) else None
    return _CALL_BACKOFF.delay(failures, world.random(), asked)
