"""The loop that renews leases: that of the dispatcher, or one of a thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol


class Renewals(Protocol):
    """Leases belong to the loop that renews them, and all else to that of the dispatcher."""

    own_thread: bool

    @property
    def needed(self) -> bool:
        """False when the program has left the dispatcher without a stop."""
        ...

    def post(self, call: Callable[[], object]) -> None:
        """Calls in the loop that renews."""
        ...

    def tell(self, call: Callable[[], object]) -> None:
        """Calls in the loop of the dispatcher."""
        ...

    def begin(self, leasing: asyncio.Task[None]) -> None:
        """Begins in the loop of the dispatcher, before the first lease of this task."""
        ...

    def close(self) -> None:
        """Ends the renewals."""
        ...


class LoopRenewals:
    """For an outbox that belongs to the loop of the dispatcher."""

    own_thread = False
    needed = True

    def post(self, call: Callable[[], object]) -> None:
        call()

    def tell(self, call: Callable[[], object]) -> None:
        call()

    def begin(self, leasing: asyncio.Task[None]) -> None:
        pass

    def close(self) -> None:
        pass


class ThreadRenewals:
    """A thread with a loop of its own: a handler that blocks the loop of the dispatcher keeps its lease."""

    own_thread = True

    def __init__(self) -> None:
        self._dispatcher: asyncio.AbstractEventLoop | None = None
        self._own: asyncio.AbstractEventLoop | None = None
        self._closed = False

    @property
    def needed(self) -> bool:
        if self._dispatcher is not None and self._dispatcher.is_closed():
            self.close()
        return not self._closed

    def post(self, call: Callable[[], object]) -> None:
        if self._own is not None:
            _call(self._own, call)

    def tell(self, call: Callable[[], object]) -> None:
        if self._dispatcher is not None:
            _call(self._dispatcher, call)

    def begin(self, leasing: asyncio.Task[None]) -> None:
        own = asyncio.new_event_loop()
        self._dispatcher, self._own = asyncio.get_running_loop(), own
        threading.Thread(target=_serve, args=(own,), name="svc-outbox-renewals", daemon=True).start()
        leasing.add_done_callback(self._left)

    def _left(self, leasing: asyncio.Task[None]) -> None:
        # A program that ends its loop without a stop cancels the task.
        if leasing.cancelled():
            self.close()

    def close(self) -> None:
        self._closed = True
        if self._own is not None:
            _call(self._own, self._own.stop)


def _call(loop: asyncio.AbstractEventLoop, call: Callable[[], object]) -> None:
    # A closed loop has no work left.
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(call)


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
        left = asyncio.all_tasks(loop)
        for each in left:
            each.cancel()
        if left:
            loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
    finally:
        loop.close()
