"""Runs that a queue delivers over HTTP, to a WSGI server."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeAlias, cast

from .._coroutines import is_coroutine_function
from .._errors import SvcError
from ._delivery_rules import (
    NO_CONTENT,
    Refusal,
    check_head,
    check_verified,
    declared_length,
    no_length,
    refusal_of,
    run_of,
    too_short,
)
from ._endings import ORDERS
from ._log import Log, OnLog

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

    from ._worker import Worker

Verify: TypeAlias = "Callable[[WSGIEnvironment], bool]"
"""Verifies that the queue sent the request, such as by its `HTTP_AUTHORIZATION`. Only `True` admits it: every other
value and every exception refuses it."""


class DeliveryApp:
    """A WSGI application. Its server calls it in threads, as many at once as the concurrency of the worker."""

    def __init__(self, worker: Worker, verify: Verify, on_log: OnLog | None) -> None:
        self._worker = worker
        self._verify = verify
        self._log = Log(on_log)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        try:
            self._deliver(environ)
        except Refusal as refusal:
            start_response(refusal.status, refusal.headers)
            return [refusal.body]
        start_response(NO_CONTENT, [])
        return []

    def _deliver(self, environ: WSGIEnvironment) -> None:
        check_head(environ.get("REQUEST_METHOD"), environ.get("HTTP_X_SVC_EXECUTION_DISPATCH"))
        check_verified(self._verdict(environ))
        run_id = run_of(_body_of(environ))
        try:
            self._worker.deliver(run_id)
        except BaseException as error:
            raise refusal_of(error, run_id, self._log) from None

    def _verdict(self, environ: WSGIEnvironment) -> object:
        try:
            return self._verify(environ)
        except ORDERS:
            raise
        except BaseException as error:
            self._log.say("warning", "A delivery could not be authenticated.", error=error)
            return False


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
    length = declared_length(str(environ.get("CONTENT_LENGTH") or ""))
    if length is None:
        raise no_length()
    body = cast("bytes", environ["wsgi.input"].read(length))
    if len(body) != length:
        raise too_short()
    return body
