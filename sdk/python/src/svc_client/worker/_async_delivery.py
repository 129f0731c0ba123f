"""Runs that a queue delivers over HTTP, to an ASGI server."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any, TypeAlias

from .._errors import SvcError
from ._delivery_rules import (
    NO_CONTENT,
    Refusal,
    check_head,
    check_size,
    check_verified,
    declared_length,
    refusal_of,
    run_of,
    too_short,
)
from ._endings import ORDERS
from ._log import Log, OnLog

if TYPE_CHECKING:
    from ._async_worker import AsyncWorker

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]

AsyncVerify: TypeAlias = Callable[[Scope], "bool | Awaitable[bool]"]
"""Verifies that the queue sent the request, by the scope of ASGI, which has its `headers`. Only `True`, returned or
awaited, admits it: every other value and every exception refuses it."""


class _Disconnected(Exception):
    """The caller left before the end of the body."""


class AsyncDeliveryApp:
    """An ASGI application: a route of another one, such as of Starlette and FastAPI, or the application of a server,
    whose end stops the worker."""

    def __init__(self, worker: AsyncWorker, verify: AsyncVerify, on_log: OnLog | None) -> None:
        self._worker = worker
        self._verify = verify
        self._log = Log(on_log)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)
        else:
            raise SvcError(f"A delivery needs HTTP, and not {scope['type']}.")

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            event = str((await receive())["type"])
            if event == "lifespan.shutdown":
                await self._worker.stop()
            await send({"type": f"{event}.complete"})
            if event == "lifespan.shutdown":
                return

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        status, headers, body = NO_CONTENT, list[tuple[str, str]](), b""
        try:
            await self._deliver(scope, receive)
        except Refusal as refusal:
            status, headers, body = refusal.status, refusal.headers, refusal.body
        except _Disconnected:
            return
        pairs = [(name.lower().encode(), value.encode()) for name, value in headers]
        await send({"type": "http.response.start", "status": int(status[:3]), "headers": pairs})
        await send({"type": "http.response.body", "body": body})

    async def _deliver(self, scope: Scope, receive: Receive) -> None:
        check_head(scope["method"], _header(scope, b"x-svc-execution-dispatch"))
        check_verified(await self._verdict(scope))
        run_id = run_of(await _body_of(scope, receive))
        try:
            await self._worker.deliver(run_id)
        except Exception as error:
            raise refusal_of(error, run_id, self._log) from None

    async def _verdict(self, scope: Scope) -> object:
        try:
            verified: object = self._verify(scope)
            return await verified if inspect.isawaitable(verified) else verified
        except ORDERS:
            raise
        except Exception as error:
            self._log.say("warning", "A delivery could not be authenticated.", error=error)
            return False


def async_delivery_app(
    worker: AsyncWorker, *, verify: AsyncVerify, on_log: OnLog | None = None
) -> AsyncDeliveryApp:
    """An ASGI application for a queue that pushes runs, such as Cloud Tasks. It answers and refuses as `delivery_app`
    does, and takes a body without Content-Length. `verify` authenticates the queue: without it any caller could start
    runs."""
    if not callable(verify):
        raise SvcError(
            "async_delivery_app needs verify: a function that is given the scope of a request, and says whether"
            " the queue sent it."
        )
    return AsyncDeliveryApp(worker, verify, on_log)


def _header(scope: Scope, name: bytes) -> str:
    """The value of the header, the last one if several are sent; empty without one."""
    values = [value for key, value in scope["headers"] if key.lower() == name]
    return str(values[-1], "latin-1") if values else ""


async def _body_of(scope: Scope, receive: Receive) -> bytes:
    length = declared_length(_header(scope, b"content-length"))
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise _Disconnected
        body += message.get("body", b"")
        check_size(len(body))
        if not message.get("more_body", False):
            break
    if length is not None and len(body) != length:
        raise too_short()
    return bytes(body)
