"""Runs that a queue delivers over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from .._errors import SvcError
from .._problem import json_of
from ._endings import ORDERS, WorkerBusyError, identifier
from ._log import Log, OnLog
from ._options import is_coroutine_function

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

    from ._worker import Worker

Verify: TypeAlias = "Callable[[WSGIEnvironment], bool]"
"""Verifies that the queue sent the request, such as by its `HTTP_AUTHORIZATION`. Only `True` admits it: every other
value and every exception refuses it."""

_BODY_BYTES_MAX = 64 * 1024
_RETRY_AFTER_SECONDS = 5

_NO_CONTENT = "204 No Content"
_BAD_REQUEST = "400 Bad Request"


class _Refusal(Exception):
    def __init__(self, status: str, text: str, *headers: tuple[str, str]) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.headers = headers


class DeliveryApp:
    """A WSGI application. Its server calls it in threads, as many at once as the concurrency of the worker."""

    def __init__(self, worker: Worker, verify: Verify, on_log: OnLog | None) -> None:
        self._worker = worker
        self._verify = verify
        self._log = Log(on_log)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        try:
            self._deliver(environ)
        except _Refusal as refusal:
            body = f"{refusal.text}\n".encode()
            headers = [
                ("Content-Type", "text/plain; charset=utf-8"),
                ("Content-Length", str(len(body))),
                *refusal.headers,
            ]
            start_response(refusal.status, headers)
            return [body]
        start_response(_NO_CONTENT, [])
        return []

    def _deliver(self, environ: WSGIEnvironment) -> None:
        if environ.get("REQUEST_METHOD") != "POST":
            raise _Refusal("405 Method Not Allowed", "A delivery must be a POST request.", ("Allow", "POST"))
        if environ.get("HTTP_X_SVC_EXECUTION_DISPATCH") != "1":
            raise _Refusal(_BAD_REQUEST, "The header X-Svc-Execution-Dispatch must be 1.")
        self._authenticate(environ)
        run_id = _run_of(_body_of(environ))
        try:
            self._worker.deliver(run_id)
        except WorkerBusyError as error:
            after = ("Retry-After", str(_RETRY_AFTER_SECONDS))
            raise _Refusal("503 Service Unavailable", str(error), after) from None
        except ORDERS:
            raise
        except BaseException as error:
            self._log.say("error", f"The run {run_id} could not be carried out.", error=error)
            text = "The run could not be carried out; deliver it again."
            raise _Refusal("500 Internal Server Error", text) from None

    def _authenticate(self, environ: WSGIEnvironment) -> None:
        verified: object = False
        try:
            verified = self._verify(environ)
        except ORDERS:
            raise
        except BaseException as error:
            self._log.say("warning", "A delivery could not be authenticated.", error=error)
        # Only `True` counts: a check that returns nothing has verified nothing.
        if verified is not True:
            raise _Refusal("401 Unauthorized", "The caller is not verified.", ("WWW-Authenticate", "Bearer"))


def delivery_app(worker: Worker, *, verify: Verify, on_log: OnLog | None = None) -> DeliveryApp:
    """A WSGI application for a queue that pushes runs, such as Cloud Tasks. It answers 204 if the message is done, and
    503 or 500 if the queue should deliver it again. `verify` authenticates the queue: without it any caller could
    start runs."""
    if not callable(verify):
        raise SvcError(
            "delivery_app needs verify: a function that is given the environ of a request, and says whether"
            " the queue sent it."
        )
    if is_coroutine_function(verify):
        raise SvcError(
            "verify is a coroutine function, which is not awaited: it is called in threads, and returns True or"
            " False."
        )
    return DeliveryApp(worker, verify, on_log)


def _body_of(environ: WSGIEnvironment) -> bytes:
    said = str(environ.get("CONTENT_LENGTH") or "")
    if said == "":
        raise _Refusal("411 Length Required", "The request needs the header Content-Length.")
    if not (said.isascii() and said.isdigit()):
        raise _Refusal(_BAD_REQUEST, "The header Content-Length must be a number.")
    # Refuse long texts of digits: converting them takes time.
    if len(said) > 18 or int(said) > _BODY_BYTES_MAX:
        raise _Refusal("413 Content Too Large", f"The body is larger than {_BODY_BYTES_MAX} bytes.")
    body = cast("bytes", environ["wsgi.input"].read(int(said)))
    if len(body) != int(said):
        raise _Refusal(_BAD_REQUEST, "The body is shorter than the header Content-Length says.")
    return body


def _run_of(body: bytes) -> str:
    try:
        message: Any = json_of(body)
    except (ValueError, RecursionError):
        message = None
    if not isinstance(message, dict):
        raise _Refusal(_BAD_REQUEST, "The body must be a JSON object.")
    given = cast("dict[str, Any]", message)
    try:
        run_id = identifier(given.get("runId"), "runId")
    except SvcError as error:
        raise _Refusal(_BAD_REQUEST, str(error)) from None
    # These members are for people and logs. The state in the store decides.
    for name in ("reason", "scheduledAtUtc"):
        if not isinstance(given.get(name), (str, type(None))):
            raise _Refusal(_BAD_REQUEST, f"{name} is a text.")
    return run_id
