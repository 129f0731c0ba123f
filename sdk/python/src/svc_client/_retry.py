"""The retry decision: whether and when to send a failed call again. All SDKs share it (`sdk/retry-table.json`)."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Literal

RetryRule = Literal["safe", "with-key", "never"]

# The delay doubles up to the cap. Random jitter takes off up to a quarter, so that callers do not retry together.
_BASE_SECONDS = 0.5
_CAP_SECONDS = 8.0
_JITTER = 0.25
# If the service asks for a longer wait than this, the client raises instead.
_RETRY_AFTER_CAP_SECONDS = 60.0
# No refusal of the service lasts longer than the budget of a day of a provider can: two days.
_RETRY_AFTER_MAX_SECONDS = 172_800.0
MAX_RETRIES = 2

# The retry budget of one server. Retries end while most attempts fail, so that clients do not keep it overloaded.
TOKENS_MAX = 500
_RETRY_TOKENS = 5
_ANSWER_TOKENS = 1


@dataclass(frozen=True)
class Failure:
    kind: Literal["connection", "timeout", "abort", "response", "status"]
    status: int = 0
    retryable: bool | None = None
    """From the problem document; None without one."""
    retry_after: float | None = None
    """In seconds."""


@dataclass(frozen=True)
class RetryQuestion:
    retry: RetryRule
    key_given: bool
    """Whether the caller gave an idempotency key in the place of the operation."""
    replayable: bool
    """Whether the client can send the body again."""
    failure: Failure
    failures: int
    """The number of failures so far, this one included."""
    max_retries: int
    remaining: float
    """The rest of the call's time in seconds."""
    random: float
    """From 0 to 1, drawn for each decision."""


def retry_delay(question: RetryQuestion) -> float | None:
    """The delay before the next attempt in seconds; None if the call must not be retried."""
    may = question.retry == "safe" or (question.retry == "with-key" and question.key_given)
    if not may or not question.replayable:
        return None
    failure = question.failure
    if question.failures > question.max_retries or not _may_pass(failure):
        return None
    asked = failure.retry_after or 0.0
    if asked > _RETRY_AFTER_CAP_SECONDS:
        return None
    # The cap holds after a few doublings, and a large power overflows.
    doubled = _BASE_SECONDS * 2.0 ** min(question.failures - 1, 10)
    delay = max(min(_CAP_SECONDS, doubled) * (1 - _JITTER * question.random), asked)
    # Raise the failure now: a wait beyond the timeout would hide it behind a timeout error.
    return delay if delay < question.remaining else None


def budgeted_retry(question: RetryQuestion | None, tokens: int) -> tuple[float | None, int]:
    """As `retry_delay`, within the budget. `question` is None after a success. Returns the delay, and the tokens that
    the budget then holds."""
    delay = None if question is None else retry_delay(question)
    if delay is not None:
        return (None, tokens) if tokens < _RETRY_TOKENS else (delay, tokens - _RETRY_TOKENS)
    # Only an answer shows that the server keeps up, also one to an operation that is never retried.
    is_answer = question is None or (question.failure.kind == "status" and not _may_pass(question.failure))
    return None, min(TOKENS_MAX, tokens + _ANSWER_TOKENS) if is_answer else tokens


def _may_pass(failure: Failure) -> bool:
    if failure.kind != "status":
        return failure.kind == "connection"
    # Never retry a conflict: the stored state decides, even if the answer calls it retryable.
    if failure.status == 409:
        return False
    if failure.retryable is not None:
        return failure.retryable
    # Only a proxy answers so: it did not reach the service, or got no whole answer.
    if failure.status in (502, 504):
        return True
    return failure.status in (429, 503) and failure.retry_after is not None


_SECONDS = re.compile(r"[0-9]+(\.[0-9]+)?")
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
# An IMF-fixdate (RFC 9110 section 5.6.7), the only form that is still sent.
_DATE = re.compile(
    r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), "
    rf"([0-9]{{2}}) ({'|'.join(_MONTHS)}) ([0-9]{{4}}) ([0-9]{{2}}):([0-9]{{2}}):([0-9]{{2}}) GMT"
)


def retry_after(header: str | None, said: object, now: float) -> float | None:
    """The longer of `Retry-After` and the time in the problem document, in seconds, at most two days; None without
    both."""
    asked = [each for each in (_of_header(header, now), _of_body(said)) if each is not None]
    return min(max(asked), _RETRY_AFTER_MAX_SECONDS) if asked else None


def _of_header(value: str | None, now: float) -> float | None:
    """`Retry-After` (RFC 9110 section 10.2.3)."""
    text = (value or "").strip(" \t")
    if _SECONDS.fullmatch(text):
        return float(text)
    date = _DATE.fullmatch(text)
    if date is None:
        return None
    day, month, year, hour, minute, second = date.groups()
    try:
        moment = datetime(
            *(int(year), _MONTHS.index(month) + 1, int(day)),
            *(int(hour), int(minute), int(second)),
            tzinfo=timezone.utc,
        )
    except ValueError:
        return None
    return max(0.0, moment.timestamp() - now)


def _of_body(said: object) -> float | None:
    """Checks the types: an answer may hold anything."""
    if not isinstance(said, (int, float)) or isinstance(said, bool) or not said >= 0:
        return None
    try:
        return float(said)
    except OverflowError:
        return math.inf
