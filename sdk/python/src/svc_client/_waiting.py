"""Waiting for the end of a run, in both clients."""

from __future__ import annotations

from dataclasses import dataclass

from ._errors import APITimeoutError

READ_SECONDS_MAX = 20.0
"""The longest that one read may wait at the service."""

PAUSE_SECONDS_MIN = 0.5
PAUSE_SECONDS_MAX = 8.0
"""Before the next read where the service answered at once, because as many calls wait there as may."""


@dataclass
class Wait:
    """What is left of the time, and what to do next. It reads no clock: it is told the time."""

    until: float | None
    read_seconds_max: float
    pause_seconds: float = PAUSE_SECONDS_MIN

    @classmethod
    def begin(cls, now: float, wait_timeout: float | None, call_timeout: float) -> Wait:
        if wait_timeout is not None and not wait_timeout >= 0:
            raise ValueError("wait_timeout must be a number of seconds")
        until = None if wait_timeout is None else now + wait_timeout
        # A read must not be given up while the service still waits for it.
        return cls(until, min(READ_SECONDS_MAX, call_timeout / 2))

    def read_seconds(self, now: float) -> float:
        left = self.read_seconds_max if self.until is None else self.until - now
        return max(0.0, min(self.read_seconds_max, left))

    def pause_after(self, begun: float, now: float) -> float:
        """How long to pause after a read that found the run going on; raises where the time is over."""
        if self.until is not None and now >= self.until:
            raise APITimeoutError("The run has not ended in the time that was given to wait for it")
        if now - begun >= self.read_seconds(begun) / 2:
            self.pause_seconds = PAUSE_SECONDS_MIN
            return 0.0
        pause = self.pause_seconds if self.until is None else min(self.pause_seconds, self.until - now)
        self.pause_seconds = min(2 * self.pause_seconds, PAUSE_SECONDS_MAX)
        return pause
