"""The exceptions of handlers, and what the outbox stores of them."""

from __future__ import annotations

import math
import re
from typing import Literal, TypeAlias

AbortReason: TypeAlias = Literal["lease_lost", "handler_timeout", "stopping"]
"""The lease of the event is lost; the handler took longer than its timeout; or the dispatcher stops."""

_MESSAGES: dict[AbortReason, str] = {
    "lease_lost": "the lease of the event is lost: another consumer may have it",
    "handler_timeout": "the handler took longer than its timeout",
    "stopping": "the dispatcher stopped before the handler had ended",
}

ORDERS = (KeyboardInterrupt, SystemExit)
"""Exceptions that address the program: they stop the dispatcher."""

_LENGTH_MAX = 1_000
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


class RetryAfter(Exception):
    """A handler raises it to choose when its event is due again."""

    def __init__(self, seconds: float, message: str) -> None:
        super().__init__(message)
        self.seconds = seconds


class DeliveryAborted(Exception):
    """The handler was aborted. `check()` of its context raises it."""

    def __init__(self, reason: AbortReason) -> None:
        super().__init__(_MESSAGES[reason])
        self.reason: AbortReason = reason


class NoHandlerError(Exception):
    """Neither a handler for the topic of an event nor a fallback is configured."""

    def __init__(self, topic: str) -> None:
        super().__init__(f"no handler for the topic {topic}")


def asked_delay(error: BaseException) -> float | None:
    """The delay that the error asks for; None if it asks for none, or for one that is no number."""
    if isinstance(error, DeliveryAborted) and error.reason == "stopping":
        return 0.0
    asked: object = getattr(error, "seconds", None) if isinstance(error, RetryAfter) else None
    if isinstance(asked, (int, float)) and not math.isnan(asked):
        return float(asked)
    return None


def error_text(error: BaseException) -> str:
    """The text that the outbox stores: of bounded length, without control characters."""
    try:
        text = str(error) or type(error).__name__
        # The bound counts UTF-16 units. The cut may have split a pair.
        units = text.encode("utf-16-le", "surrogatepass")[: 2 * _LENGTH_MAX]
        shown = _CONTROL.sub(" ", units.decode("utf-16-le", "replace")).strip()
    except Exception:
        # The code of the exception makes the text, and may raise anything.
        shown = ""
    return shown or "the handler failed without saying why"
