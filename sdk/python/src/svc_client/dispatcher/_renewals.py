"""The loop that renews leases: that of the dispatcher, or one of a thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol


class Renewals(Protocol):
    """Leases belong to the loop that renews them, and all else to that of the dispatcher."""

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

    def left(self, leasing: asyncio.Task[None]) -> None:
        """The task that leases has ended: a program that ends its loop without a stop cancels it."""
        ...

    def close(self) -> None:
        """Ends the renewals."""
        ...


class LoopRenewals:
    """For an outbox that belongs to the loop of the dispatcher."""

    needed = True

    def post(self, call: Callable[[], object]) -> None:
        call()

    def tell(self, call: Callable[[], object]) -> None:
        call()

    def left(self, leasing: asyncio.Task[None]) -> None:
        pass

    def close(self) -> None:
        pass


class ThreadRenewals:
    """A thread with a loop of its own: a handler that blocks the loop of the dispatcher keeps its lease."""

    def __init__(self) -> None:
        """Begins with the first lease."""
        self._dispatcher: asyncio.AbstractEventLoop | None = None
        self._own: asyncio.AbstractEventLoop | None = None
        self._closed = False

    @property
    def needed(self) -> bool:
        if self._dispatcher is not None and self._dispatcher.is_closed():
            self.close()
        return not self._closed

    def post(self, call: Callable[[], object]) -> None:
        """Call it in the loop of the dispatcher."""
        if self._closed:
            return
        if self._own is None:
            self._dispatcher, self._own = asyncio.get_running_loop(), asyncio.new_event_loop()
            serve = threading.Thread(
                target=_serve, args=(self._own,), name="svc-outbox-renewals", daemon=True
            )
            serve.start()
        _call(self._own, call)

    def tell(self, call: Callable[[], object]) -> None:
        if self._dispatcher is not None:
            _call(self._dispatcher, call)

    def left(self, leasing: asyncio.Task[None]) -> None:
        if leasing.cancelled():
            self.close()

    def close(self) -> None:
        self._closed = True
        if self._own is not None:
            _call(self._own, self._own.stop)


def renewals_of(*, own_thread: bool) -> Renewals:
    """A thread for the calls of a client; those of another outbox may belong to the loop of the dispatcher."""
    return ThreadRenewals() if own_thread else LoopRenewals()


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
