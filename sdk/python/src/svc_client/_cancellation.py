"""Ending a call from another thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager


class Cancellation:
    """Ends the calls that were given it, once `cancel` is called: also from another thread, also in a pause between
    repeats. Calls end with `APIAbortError`."""

    def __init__(self) -> None:
        self.event = threading.Event()
        self._lock = threading.Lock()
        self._interrupts: list[Callable[[], None]] = []

    @property
    def cancelled(self) -> bool:
        return self.event.is_set()

    def cancel(self) -> None:
        with self._lock:
            self.event.set()
            # Under the lock, so that none of them reaches a connection that was handed on to another call.
            for interrupt in self._interrupts:
                interrupt()

    @contextmanager
    def interrupting(self, interrupt: Callable[[], None]) -> Generator[None, None, None]:
        """What ends a wait that is going on."""
        with self._lock:
            self._interrupts.append(interrupt)
        try:
            yield
        finally:
            with self._lock:
                self._interrupts.remove(interrupt)
