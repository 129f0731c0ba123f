"""Time and chance of a dispatcher. Tests replace those of the machine."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from typing import Protocol, TypeVar

from .._cancellation import Cancellation
from .._world import chance, now

T = TypeVar("T")


class DispatcherWorld(Protocol):
    """The clock, the timers and the random numbers."""

    def now(self) -> float:
        """Seconds since an arbitrary start."""
        ...

    def after(self, seconds: float, callback: Callable[[], object]) -> Callable[[], object]:
        """Calls back once after the seconds. The returned function cancels it."""
        ...

    def random(self) -> float:
        """From 0 to 1. Spreads retries; it protects no secret."""
        ...


class Machine:
    """That of the machine, and the timers of the running event loop."""

    def now(self) -> float:
        return now()

    def after(self, seconds: float, callback: Callable[[], object]) -> Callable[[], object]:
        return asyncio.get_running_loop().call_later(max(0.0, seconds), callback).cancel

    def random(self) -> float:
        return chance()


class Moment:
    """Comes once. Code of the loop may wait for it."""

    def __init__(self) -> None:
        self._future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def come(self, *_: object) -> None:
        if not self._future.done():
            self._future.set_result(None)

    async def wait(self) -> None:
        await asyncio.shield(self._future)


async def pause(world: DispatcherWorld, seconds: float, *until: Cancellation) -> None:
    """Waits for the seconds, or until one of the cancellations."""
    over = Moment()
    with ExitStack() as stack:
        for each in until:
            stack.enter_context(each.interrupting(over.come))
            if each.cancelled:
                return
        stack.callback(world.after(seconds, over.come))
        await over.wait()


async def within(world: DispatcherWorld, seconds: float, work: asyncio.Future[T]) -> None:
    """Waits until the work has ended, or for the seconds."""
    over = Moment()
    work.add_done_callback(over.come)
    cancel = world.after(seconds, over.come)
    try:
        await over.wait()
    finally:
        cancel()
        work.remove_done_callback(over.come)


class Tasks:
    """Work that nothing awaits. The loop itself holds tasks weakly."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Future[None]] = set()

    def begin(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
