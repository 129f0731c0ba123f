"""How long a connection may keep a caller waiting."""

from __future__ import annotations

from collections.abc import Callable

from ._cancellation import Cancellation


class Cancelled(Exception):
    """The caller's `Cancellation` was called."""


class Limit:
    """Asked before each wait, so that many short waits are not longer together than the call's time."""

    def __init__(self, now: Callable[[], float], until: float, cancellation: Cancellation | None) -> None:
        self._now = now
        self._until = until
        self.cancellation = cancellation

    def remaining(self) -> float:
        """Seconds, above 0. Raises `TimeoutError` or `Cancelled` where there are none."""
        if self.cancellation is not None and self.cancellation.cancelled:
            raise Cancelled
        left = self._until - self._now()
        if left <= 0:
            raise TimeoutError
        return left


class IdleLimit(Limit):
    """Of whoever reads a stream: no wait is longer, but there may be as many as it takes."""

    def __init__(self, seconds: float, cancellation: Cancellation | None) -> None:
        super().__init__(lambda: 0.0, seconds, cancellation)
