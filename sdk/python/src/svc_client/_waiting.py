"""Waiting for the end of a run or job, in both clients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ._errors import APIAbortError, APITimeoutError, SvcError

if TYPE_CHECKING:
    from collections.abc import Mapping

READ_SECONDS_MAX = 20.0
"""The longest wait of one read at the service."""

PAUSE_SECONDS_MIN = 0.5
PAUSE_SECONDS_MAX = 8.0
"""The pause after a read that the service answered at once: it has too many waiting calls."""

_OPERATION = "getExecutionRun"

JOB_PAUSE_SECONDS_MIN = 0.25
JOB_PAUSE_SECONDS_MAX = 4.0
"""The pause between two reads of a job."""


@dataclass
class Wait:
    """Decides the next read and the next pause. The caller passes the time in."""

    until: float | None
    read_seconds_max: float
    pause_seconds: float = PAUSE_SECONDS_MIN

    @classmethod
    def begin(cls, now: float, wait_timeout: float | None, call_timeout: float) -> Wait:
        until = None if wait_timeout is None else now + _check_wait(wait_timeout)
        # The call must not time out while the service still waits with its answer.
        return cls(until, min(READ_SECONDS_MAX, call_timeout / 2))

    def read_seconds(self, now: float) -> float:
        left = self.read_seconds_max if self.until is None else self.until - now
        # Whole milliseconds: the query parameter takes no exponent and no long fraction.
        return 0.0 if left <= 0 else max(0.001, round(min(self.read_seconds_max, left), 3))

    def pause_after(self, begun: float, now: float) -> float:
        """The pause after a read of an unfinished run. Raises if the time is over."""
        if self.until is not None and now >= self.until:
            message = "The run did not end in the time to wait for it; it goes on."
            raise APITimeoutError(message, operation=_OPERATION)
        if now - begun >= self.read_seconds(begun) / 2:
            self.pause_seconds = PAUSE_SECONDS_MIN
            return 0.0
        pause = self.pause_seconds if self.until is None else min(self.pause_seconds, self.until - now)
        self.pause_seconds = min(2 * self.pause_seconds, PAUSE_SECONDS_MAX)
        return pause


@dataclass
class JobWait:
    """Decides the next pause between two reads of a job: it doubles while the job works."""

    operation: str
    until: float | None
    pause_seconds: float = JOB_PAUSE_SECONDS_MIN

    @classmethod
    def begin(cls, operation: str, now: float, wait_timeout: float | None) -> JobWait:
        return cls(operation, None if wait_timeout is None else now + _check_wait(wait_timeout))

    def pause_after(self, now: float) -> float:
        """The pause after a read of an unfinished job. Raises if the time is over."""
        if self.until is not None and now >= self.until:
            message = "The job did not end in the time to wait for it; it goes on."
            raise APITimeoutError(message, operation=self.operation)
        pause = self.pause_seconds if self.until is None else min(self.pause_seconds, self.until - now)
        self.pause_seconds = min(2 * self.pause_seconds, JOB_PAUSE_SECONDS_MAX)
        return pause

    def aborted(self) -> APIAbortError:
        """The error of a cancelled wait for a job."""
        return APIAbortError("The wait for the job was aborted.", operation=self.operation)


def is_working(job: Mapping[str, object]) -> bool:
    """Whether the job has not ended. Families of jobs write their statuses in lower case or with a capital."""
    return job["status"] in ("queued", "running", "Queued", "Running")


def aborted() -> APIAbortError:
    """The error of a cancelled wait."""
    return APIAbortError("The wait for the run was aborted.", operation=_OPERATION)


def _check_wait(wait_timeout: object) -> float:
    # Infinity means no limit; NaN is refused.
    if isinstance(wait_timeout, (int, float)) and not isinstance(wait_timeout, bool) and wait_timeout >= 0:
        return float(wait_timeout)
    raise SvcError("wait_timeout must be a number of seconds from 0.")
