"""The event loop of an `AsyncWorker`, for the threads that lease, renew and complete."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .._cancellation import Cancellation

_LOOK_SECONDS = 0.5

Ending = tuple[object, BaseException | None]
"""The result of a handler, or its exception."""


def carried_out(
    loop: asyncio.AbstractEventLoop, work: Callable[[], Awaitable[object]], cancellation: Cancellation
) -> Ending | None:
    """Runs a handler as a task of the loop, and blocks the calling thread until it has ended. The cancellation cancels
    the task once. None if the task was cancelled from outside or the loop is closed: the program ends."""
    ended: Future[Ending | None] = Future()
    tasks: list[asyncio.Task[Ending | None]] = []

    async def attempt() -> Ending | None:
        try:
            return await work(), None
        except BaseException as error:
            # A `SystemExit` or `KeyboardInterrupt` would end the loop, and with it the other handlers.
            if _is_cancelled(error) and not cancellation.cancelled:
                return None
            return None, error

    def begin() -> None:
        task = asyncio.ensure_future(attempt(), loop=loop)
        tasks.append(task)
        task.add_done_callback(done)
        if cancellation.cancelled:
            task.cancel()

    def done(task: asyncio.Task[Ending | None]) -> None:
        # A task that is cancelled before its first step has no result.
        unbegun = (None, asyncio.CancelledError()) if cancellation.cancelled else None
        ended.set_result(unbegun if task.cancelled() else task.result())

    def cancel() -> None:
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(lambda: [task.cancel() for task in tasks])

    with cancellation.interrupting(cancel):
        try:
            loop.call_soon_threadsafe(begin)
        except RuntimeError:
            return None
        return _ending(ended, loop)


def _ending(ended: Future[Ending | None], loop: asyncio.AbstractEventLoop) -> Ending | None:
    """Looks at the loop from time to time: a closed loop drops the tasks that it has not begun, without a signal."""
    while not wait([ended], _LOOK_SECONDS).done:
        if loop.is_closed():
            return None
    return ended.result()


def _is_cancelled(error: BaseException) -> bool:
    """Whether the task of the handler was cancelled, and not another one for which the handler waited."""
    task = asyncio.current_task()
    # Python 3.10 does not count the cancellations of a task.
    cancelling: Callable[[], int] = getattr(task, "cancelling", lambda: 1)
    return isinstance(error, asyncio.CancelledError) and cancelling() > 0
