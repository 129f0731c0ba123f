"""The places of a worker: as many runs at once as its concurrency."""

from __future__ import annotations

import threading


class Places:
    """Counts the places in use. `idle` is set while none is."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.idle = threading.Event()
        self.idle.set()
        self._lock = threading.Lock()
        self._busy = 0

    def take(self, number: int = 1) -> bool:
        """Takes this number of places, or none: false if fewer are free."""
        with self._lock:
            if self._busy + number > self.total:
                return False
            self._busy += number
            self.idle.clear()
            return True

    def leave(self) -> None:
        """Gives one place back."""
        with self._lock:
            self._busy -= 1
            if self._busy == 0:
                self.idle.set()
