"""The time limit of a connection."""

from __future__ import annotations

from collections.abc import Callable

from ._cancellation import Cancellation


class Cancelled(Exception):
    """The caller's `Cancellation` was called."""


class Limit:
    """Gives the time for each wait, so that all waits together stay within the timeout of the call."""

    def __init__(self, now: Callable[[], float], until: float, cancellation: Cancellation | None) -> None:
        self._now = now
        self._until = until
        self.cancellation = cancellation

    def remaining(self) -> float:
        """The remaining seconds, above 0. Raises `TimeoutError` or `Cancelled` if none remain."""
        if self.cancellation is not None and self.cancellation.cancelled:
            raise Cancelled
        left = self._until - self._now()
        if left <= 0:
            raise TimeoutError
        return left


class IdleLimit(Limit):
    """The limit of a streamed body: it bounds each wait, not their sum."""

    def __init__(self, seconds: float, cancellation: Cancellation | None) -> None:
        super().__init__(lambda: 0.0, seconds, cancellation)
