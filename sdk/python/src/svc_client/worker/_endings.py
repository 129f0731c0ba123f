"""How a handler ends, other than by returning, and how a delivery fails."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias

from .._errors import SvcError

if TYPE_CHECKING:
    from .._generated import models
    from ._cancelled import CancellationReason

FailureStatus: TypeAlias = Literal["failed", "timed_out", "rejected"]
"""How a `RunFailure` ends the attempt."""

_IDENTIFIER_MAX = 160
_MESSAGE_MAX = 4_096
# Of a line of text: the service refuses what is none.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


class RunFailure(Exception):
    """Raised by a handler: ends the attempt, and is told to whoever asks for the run. The run is tried again while its
    retry policy has an attempt left, unless the class is `validation` or `cancelled`, or the status `rejected`."""

    message: str
    failure_class: str
    status: FailureStatus
    status_details: Mapping[str, object] | None

    def __init__(
        self,
        message: str,
        *,
        failure_class: str = "unknown",
        status: FailureStatus = "failed",
        status_details: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.failure_class = identifier(failure_class, "failure_class")
        self.status = status
        self.status_details = status_details
        if status not in ("failed", "timed_out", "rejected"):
            raise SvcError("status is one of: failed, timed_out, rejected.")


class RunCancelled(Exception):
    """Raised by `context.check()`, and by calls of a context whose lease is lost. A handler lets it pass."""

    def __init__(self, reason: CancellationReason) -> None:
        super().__init__(f"The handler is to stop: {reason}.")
        self.reason = reason


class RunSuspended(BaseException):
    """Raised by a wait that goes on: the run is parked, and the handler is called again, from its beginning, once the
    wait has ended. A handler lets it pass; nothing that it does can complete the run any more."""

    def __init__(self) -> None:
        super().__init__("The run is parked until its wait has ended.")


class DeliveryError(SvcError):
    """What was delivered could not be carried out to its end; it is to be delivered again."""


class WorkerBusyError(DeliveryError):
    """The worker is at its concurrency, or stops. Nothing was leased."""


FAILED_TEXT = "External plugin handler failed."
"""Said of an exception that is no `RunFailure`: its own message may hold what callers should not see."""


def succeeded(value: object) -> models.ExecutionRunResult:
    """None leaves what was reported as the result before."""
    return {"status": "succeeded"} if value is None else {"status": "succeeded", "result": value}


def failed(failure_class: str, text: str) -> models.ExecutionRunResult:
    return {"status": "failed", "failureClass": failure_class, "error": text}


def told(failure: RunFailure) -> models.ExecutionRunResult:
    text = line(failure.message)
    result: models.ExecutionRunResult = {
        "status": failure.status,
        "failureClass": failure.failure_class,
        "error": text or FAILED_TEXT,
    }
    if failure.status_details is not None:
        result["statusDetails"] = failure.status_details
    return result


def cancelled() -> models.ExecutionRunResult:
    return {"status": "cancelled", "failureClass": "cancelled", "error": "The run was cancelled."}


def line(text: str) -> str:
    """As the service takes it: without control characters, and in so many UTF-16 units."""
    clean = _CONTROL.sub(" ", text).strip()
    units = clean.encode("utf-16-le")[: 2 * _MESSAGE_MAX]
    # Half a character at the end is cut off too.
    return units.decode("utf-16-le", errors="ignore")


def identifier(value: object, what: str) -> str:
    """A name as the service has it: trimmed, of 1 to 160 units, without control characters."""
    if isinstance(value, str):
        name = value.strip()
        units = len(name.encode("utf-16-le", errors="replace")) // 2
        if 0 < units <= _IDENTIFIER_MAX and not _CONTROL.search(name):
            return name
    raise SvcError(f"{what} is a text of 1 to {_IDENTIFIER_MAX} characters, without control characters.")
