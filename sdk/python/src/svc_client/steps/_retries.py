"""Durations, and when a failed step is tried again."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

Duration: TypeAlias = float | timedelta
"""Seconds, or a timedelta."""

# 3,660 days, as the service has it.
_MS_MAX = 316_224_000_000
_ATTEMPTS_MAX = 1_000
# A shorter delay passes under the lease; a longer one parks the run.
DURABLE_MS = 5_000


def rounded(number: float) -> int:
    """To the nearest whole number, halves upward, as ECMAScript does."""
    return math.floor(number + 0.5)


def duration_ms(given: object, label: str) -> int:
    """Whole milliseconds."""
    seconds = given.total_seconds() if isinstance(given, timedelta) else given
    if isinstance(seconds, (int, float)) and not isinstance(seconds, bool) and math.isfinite(seconds):
        ms = rounded(seconds * 1_000)
        if seconds >= 0 and ms <= _MS_MAX:
            return ms
    raise TypeError(f"{label} must be a number of seconds, or a timedelta, up to 3,660 days.")


@dataclass(frozen=True)
class Retry:
    """Limits of a run: `max_attempts` is a default for the registration of its handler."""

    max_attempts: int | None = None


@dataclass(frozen=True)
class RetryRule:
    attempts: int
    delay_ms: int
    factor: float
    max_delay_ms: int


def retry_rule(attempts: int, delay: Duration, factor: float, max_delay: Duration) -> RetryRule:
    if type(attempts) is not int or not 1 <= attempts <= _ATTEMPTS_MAX:
        raise TypeError(f"attempts must be a whole number from 1 to {_ATTEMPTS_MAX}.")
    if not 1 <= factor <= 100:
        raise TypeError("factor must be from 1 to 100.")
    return RetryRule(attempts, duration_ms(delay, "delay"), factor, duration_ms(max_delay, "max_delay"))


def retry_after(rule: RetryRule, tries: int) -> tuple[bool, int] | None:
    """Whether the run is parked after the failure of try number `tries`, and for how many milliseconds. None: that was
    the last try."""
    if tries >= rule.attempts:
        return None
    grown: float
    try:
        grown = rule.delay_ms * rule.factor ** (tries - 1)
    except OverflowError:
        grown = rule.max_delay_ms if rule.delay_ms > 0 else 0
    delay = rounded(min(grown, rule.max_delay_ms))
    return delay >= DURABLE_MS, delay
