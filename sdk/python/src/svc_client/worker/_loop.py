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
    the task once. None if the loop ends: otherwise the handler, or code that knows its task, has cancelled it, and its
    `CancelledError` is an exception like any other."""
    ended: Future[Ending | None] = Future()
    tasks: list[asyncio.Task[Ending | None]] = []
    watches: list[_Watch] = []

    async def attempt() -> Ending | None:
        try:
            return await work(), None
        except BaseException as error:
            # A `SystemExit` or `KeyboardInterrupt` would end the loop, and with it the other handlers.
            ends = isinstance(error, asyncio.CancelledError) and any(each.loop_ends for each in watches)
            return None if ends and not cancellation.cancelled else (None, error)

    def begin() -> None:
        # Before the handler: its first step may be the last one of the loop.
        watches.append(_Watch(loop))
        task = asyncio.ensure_future(attempt(), loop=loop)
        tasks.append(task)
        task.add_done_callback(done)
        if cancellation.cancelled:
            task.cancel()

    def done(task: asyncio.Task[Ending | None]) -> None:
        for each in watches:
            each.end()
        # A task that is cancelled before its first step has no result. No handler had it yet, so the loop ends.
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


class _Watch:
    """A task beside that of a handler. The end of a loop cancels every task: a cancellation of the handler alone is not
    the end of the program."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._never: asyncio.Future[None] = loop.create_future()
        self._task = loop.create_task(self._wait())

    @property
    def loop_ends(self) -> bool:
        # A task is cancelled by what it awaits, at once: before a step of any other task that is cancelled with it.
        return self._never.cancelled()

    def end(self) -> None:
        if not self._never.done():
            self._never.set_result(None)

    async def _wait(self) -> None:
        with suppress(asyncio.CancelledError):
            await self._never
