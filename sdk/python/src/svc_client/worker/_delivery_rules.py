"""What a delivery must be, for WSGI and ASGI alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from .._errors import SvcError
from .._problem import json_of
from ._endings import ORDERS, WorkerBusyError, identifier

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ._log import Log

BODY_BYTES_MAX = 64 * 1024
_RETRY_AFTER_SECONDS = 5

NO_CONTENT = "204 No Content"
_BAD_REQUEST = "400 Bad Request"


class Refusal(Exception):
    """The answer to a request that delivers no run."""

    def __init__(self, status: str, text: str, *more: tuple[str, str]) -> None:
        super().__init__(text)
        self.status = status
        self.body = f"{text}\n".encode()
        self.headers = [
            ("Content-Type", "text/plain; charset=utf-8"),
            ("Content-Length", str(len(self.body))),
            *more,
        ]


def check_head(method: object, dispatch: object) -> None:
    """`dispatch` is the header X-Svc-Execution-Dispatch."""
    if method != "POST":
        raise Refusal("405 Method Not Allowed", "A delivery must be a POST request.", ("Allow", "POST"))
    if dispatch != "1":
        raise Refusal(_BAD_REQUEST, "The header X-Svc-Execution-Dispatch must be 1.")


def check_verified(verified: object) -> None:
    # Only `True` counts: a check that returns nothing has verified nothing.
    if verified is not True:
        raise Refusal("401 Unauthorized", "The caller is not verified.", ("WWW-Authenticate", "Bearer"))


def declared_length(said: str) -> int | None:
    """The value of the header Content-Length; None without one."""
    if said == "":
        return None
    if not (said.isascii() and said.isdigit()):
        raise Refusal(_BAD_REQUEST, "The header Content-Length must be a number.")
    # Refuse long texts of digits: converting them takes time.
    if len(said) > 18:
        raise too_large()
    check_size(int(said))
    return int(said)


def check_size(size: int) -> None:
    if size > BODY_BYTES_MAX:
        raise too_large()


def too_large() -> Refusal:
    return Refusal("413 Content Too Large", f"The body is larger than {BODY_BYTES_MAX} bytes.")


def no_length() -> Refusal:
    return Refusal("411 Length Required", "The request needs the header Content-Length.")


def too_short() -> Refusal:
    return Refusal(_BAD_REQUEST, "The body is shorter than the header Content-Length says.")


def run_of(body: bytes) -> str:
    """The run that the message names."""
    try:
        message: Any = json_of(body)
    except (ValueError, RecursionError):
        message = None
    if not isinstance(message, dict):
        raise Refusal(_BAD_REQUEST, "The body must be a JSON object.")
    given = cast("Mapping[str, Any]", message)
    try:
        run_id = identifier(given.get("runId"), "runId")
    except SvcError as error:
        raise Refusal(_BAD_REQUEST, str(error)) from None
    # These members are for people and logs. The state in the store decides.
    for name in ("reason", "scheduledAtUtc"):
        if not isinstance(given.get(name), (str, type(None))):
            raise Refusal(_BAD_REQUEST, f"{name} is a text.")
    return run_id


def refusal_of(error: BaseException, run_id: str, log: Log) -> Refusal:
    """The answer where the worker raised; an order of the program passes."""
    if isinstance(error, WorkerBusyError):
        after = ("Retry-After", str(_RETRY_AFTER_SECONDS))
        return Refusal("503 Service Unavailable", str(error), after)
    if isinstance(error, ORDERS):
        raise error
    log.say("error", f"The run {run_id} could not be carried out.", error=error)
    return Refusal("500 Internal Server Error", "The run could not be carried out; deliver it again.")
