"""The exceptions of handlers and of deliveries."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias

from .._errors import SvcError

if TYPE_CHECKING:
    from .._generated import models
    from ._cancelled import CancellationReason

Delivered: TypeAlias = Literal["executed", "suspended", "nothing"]
"""The outcome of a delivery: the run has a result, is parked on a wait, or could not be leased."""

FailureStatus: TypeAlias = Literal["failed", "timed_out", "rejected"]
"""How a `RunFailure` ends the attempt."""

_STATUSES: tuple[FailureStatus, ...] = ("failed", "timed_out", "rejected")

_IDENTIFIER_MAX = 160
_MESSAGE_MAX = 4_096
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
# Of a text for people the service keeps tabs and line breaks.
_CONTROL_IN_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


class RunFailure(Exception):
    """A handler raises it to end the attempt; the run keeps its class and message. The run is retried while its retry
    policy has an attempt left, unless the class is `validation` or `cancelled`, or the status is `rejected`."""

    message: str
    failure_class: str
    status: FailureStatus
    status_details: Mapping[str, object] | None
    retryable: bool = True

    def __init__(
        self,
        message: str,
        *,
        failure_class: str = "unknown",
        status: FailureStatus = "failed",
        status_details: Mapping[str, object] | None = None,
        retryable: bool = True,
    ) -> None:
        """False for `retryable`, which is a preview, ends the run in any class. To a server that does not
        know this, the failure has the class `validation`."""
        super().__init__(message)
        self.retryable = retryable
        self.message = message
        self.failure_class = identifier(failure_class, "failure_class")
        self.status = status
        self.status_details = status_details
        if status not in _STATUSES:
            raise SvcError("status must be failed, timed_out or rejected.")


class RunCancelled(Exception):
    """Raised by `context.check()`, and by calls of a context whose lease is lost. A handler lets it pass."""

    def __init__(self, reason: CancellationReason) -> None:
        super().__init__(f"The handler is to stop: {reason}.")
        self.reason = reason


class RunSuspended(BaseException):
    """Raised by a wait without an outcome: the run is parked, and the handler is called again from its beginning after
    the wait. A handler must not catch it: it can no longer complete the run."""

    def __init__(self) -> None:
        super().__init__("The run is parked until its wait has ended.")


class DeliveryError(SvcError):
    """The delivered run has no result; the queue should deliver it again."""


class WorkerBusyError(DeliveryError):
    """All slots of the worker are in use, or it stops. It has leased nothing."""


ORDERS = (KeyboardInterrupt, SystemExit)
"""Exceptions that address the program: they stop the worker."""

FAILED_TEXT = "External plugin handler failed."
"""The message for an exception that is no `RunFailure`: the exception's own message may be confidential."""


def raised(error: BaseException, *, shows_text: bool) -> models.ExecutionRunResult:
    """The result for an exception that is no `RunFailure`. Its message is sent only if `shows_text`, which a lease of a
    Development server says."""
    return failed("unknown", (_text_of(error) if shows_text else "") or FAILED_TEXT)


def _text_of(value: object) -> str:
    try:
        return prose(str(value))
    except BaseException:
        # The code of the value makes the text, and may raise anything.
        return ""


def succeeded(value: object) -> models.ExecutionRunResult:
    """None keeps an earlier reported result."""
    return {"status": "succeeded"} if value is None else {"status": "succeeded", "result": value}


def failed(failure_class: str, text: str) -> models.ExecutionRunResult:
    return {"status": "failed", "failureClass": failure_class, "error": text}


def failure_result(failure: RunFailure, *, knows_retryable: bool) -> models.ExecutionRunResult:
    """A subclass may lack members, or have others: the run has to end all the same."""
    try:
        result: models.ExecutionRunResult = {
            "status": failure.status if failure.status in _STATUSES else "failed",
            "failureClass": _class_of(failure.failure_class)
            if failure.retryable or knows_retryable
            else "validation",
            "error": _text_of(failure.message) or FAILED_TEXT,
        }
        details = failure.status_details
        if not failure.retryable and knows_retryable:
            result["retryable"] = False
    except BaseException:
        return failed("unknown", FAILED_TEXT)
    if details is not None:
        result["statusDetails"] = details
    return result


def _class_of(given: object) -> str:
    try:
        return identifier(given, "failure_class")
    except SvcError:
        return "unknown"


def cancelled() -> models.ExecutionRunResult:
    return {"status": "cancelled", "failureClass": "cancelled", "error": "The run was cancelled."}


def prose(text: str) -> str:
    """Cuts a text to `_MESSAGE_MAX` UTF-16 units and replaces control characters: tabs and line breaks stay."""
    clean = _CONTROL_IN_TEXT.sub(" ", text).strip()
    units = clean.encode("utf-16-le")[: 2 * _MESSAGE_MAX]
    # Cut off a lone surrogate at the end too.
    return units.decode("utf-16-le", errors="ignore")


def identifier(value: object, what: str) -> str:
    """A name as the service has it: trimmed, of 1 to 160 units, without control characters."""
    if isinstance(value, str):
        name = value.strip()
        units = len(name.encode("utf-16-le", errors="replace")) // 2
        if 0 < units <= _IDENTIFIER_MAX and not _CONTROL.search(name):
            return name
    raise SvcError(f"{what} must be a text of 1 to {_IDENTIFIER_MAX} characters, without control characters.")
