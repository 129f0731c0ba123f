"""Calls over the standard library's HTTP."""

from __future__ import annotations

import http.client
import logging
import sys
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from threading import Event
from typing import Literal

from ._answer import Plan, form_of, is_readable, is_said_by_status, parsed, refusal, refused
from ._body import ContentError
from ._bounded import BoundedBody
from ._connection import Connection, Pool
from ._credentials import API_KEY, TOKEN, Secret, bearer, given
from ._errors import APIConnectionError, APIResponseError, SvcError, without_frames
from ._headers import Headers
from ._limit import Cancelled, IdleLimit, Limit
from ._operation import AnswerForm, Given, OperationSpec
from ._options import CallOptions, check_response_bytes, check_retries, check_timeout
from ._request import WireRequest, wire_request
from ._responses import APIResponse, StreamedResponse
from ._retry_budget import settle_attempt
from ._settings import Settings
from ._world import World

Mode = Literal["data", "raw", "stream"]
"""The result of a call: the content, the content with status and headers, or the answer with its body unread."""

_CHUNK = 65_536

_log = logging.getLogger("svc_client")


@dataclass(frozen=True)
class Link:
    settings: Settings
    pool: Pool
    world: World


def exchange(link: Link, operation: OperationSpec, given: Given, options: CallOptions, mode: Mode) -> object:
    """Sends a call, and retries it while that is safe, the budget allows it and time remains."""
    settings, world = link.settings, link.world
    timeout = check_timeout(options.get("timeout", settings.timeout))
    max_retries = check_retries(options.get("max_retries", settings.max_retries))
    bytes_max = check_response_bytes(options.get("max_response_bytes", settings.max_response_bytes))
    request = wire_request(operation, given, settings, options, world.random)
    plan = Plan(operation, request, world.now() + timeout, max_retries, bytes_max, settings.base_url)
    cancellation = options.get("cancellation")
    limit = Limit(world.now, plan.until, cancellation)
    failures = 0
    while True:
        try:
            result = _Attempt(link, plan, limit, timeout).run(mode)
            settle_attempt(world.retry_tokens, settings.server, None)
            return result
        except SvcError as error:
            failures += 1
            delay = settle_attempt(world.retry_tokens, settings.server, plan.question(error, failures, world))
            _log.debug("%s failed (%s); again in: %s", operation.name, type(error).__name__, delay)
            if delay is None:
                raise
        world.sleep(delay, Event() if cancellation is None else cancellation.event)


@contextmanager
def _failures_of(plan: Plan, limit: Limit) -> Generator[None, None, None]:
    """Turns an error of the platform into an error of this client."""
    foreign: BaseException
    outside = sys.exc_info()[1]
    try:
        yield
        return
    except Cancelled as error:
        without_frames(error, outside)
        raise plan.aborted() from None
    except ContentError as error:
        foreign = error.error
    except (OSError, http.client.HTTPException, UnicodeError) as error:
        without_frames(error, outside)
        if limit.cancellation is not None and limit.cancellation.cancelled:
            raise plan.aborted() from None
        # A timeout of the system has an error number; it is a connection failure.
        if isinstance(error, TimeoutError) and error.errno is None:
            raise plan.timeout() from error
        raise plan.broken() from error
    # The caller's own content failed: raise its error unchanged.
    raise foreign


class _Attempt:
    """One attempt of a call. It holds its connection until the answer is read or closed."""

    def __init__(self, link: Link, plan: Plan, limit: Limit, timeout: float) -> None:
        self._link = link
        self._plan = plan
        self._limit = limit
        self._timeout = timeout
        self._connection: Connection | None = None
        self._guard = ExitStack()

    def run(self, mode: Mode) -> object:
        plan, settings = self._plan, self._link.settings
        headers = plan.request.headers.with_credentials(credentials(settings))
        handed_over = False
        try:
            with _failures_of(plan, self._limit):
                self._limit.remaining()
                connection = self._take()
                response = _sent(connection, settings.url.path, plan.request, headers)
            status, answered = response.status, Headers(response.getheaders())
            _log.debug("%s: %s", plan.operation.name, status)
            form = form_of(plan.operation, status, answered)
            readable = is_readable(plan.operation, form, answered)
            if form is not None and (mode == "stream" or (mode == "data" and form == "bytes")):
                connection.limit = IdleLimit(self._timeout, self._limit.cancellation)
                handed_over = True
                chunks = self._chunks(connection, response)
                return StreamedResponse(status, answered, chunks, self._give_up)
            try:
                content = self._content(connection, response, form) if readable else b""
            except (APIConnectionError, APIResponseError) as error:
                if not is_said_by_status(form, error):
                    raise
                content = b""
        finally:
            if not handed_over:
                self._give_up()
        if form is None:
            problem = refusal(plan.operation.id, status, answered, content, self._link.world.now())
            refused(plan.operation, problem, unread=mode == "stream")
        data = None if form is None else parsed(plan.operation, form, content)
        return APIResponse(data, status, answered, content) if mode == "raw" else data

    def _content(
        self, connection: Connection, response: http.client.HTTPResponse, form: AnswerForm | None
    ) -> bytes:
        content = BoundedBody(self._plan.operation, form, self._plan.bytes_max)
        for chunk in self._chunks(connection, response):
            content.add(chunk)
        return content.whole()

    def _take(self) -> Connection:
        connection = self._link.pool.take()
        connection.limit = self._limit
        self._connection = connection
        if self._limit.cancellation is not None:
            self._guard.enter_context(self._limit.cancellation.interrupting(connection.interrupt))
        return connection

    def _chunks(self, connection: Connection, response: http.client.HTTPResponse) -> Iterator[bytes]:
        """The body. After its end another call can use the connection."""
        try:
            with _failures_of(self._plan, self._limit):
                yield from _body_of(response)
            keep_alive, is_last = response.headers.get("Keep-Alive"), response.will_close
            response.close()
            if not is_last and self._connection is connection:
                self._connection = None
                self._guard.close()
                self._link.pool.give(connection, keep_alive)
        finally:
            self._give_up()

    def _give_up(self) -> None:
        """Closes the connection if the attempt still holds it: its next bytes are unknown."""
        connection, self._connection = self._connection, None
        self._guard.close()
        if connection is not None:
            connection.drop()


def _sent(
    connection: Connection, base: str, request: WireRequest, headers: list[tuple[str, Secret]]
) -> http.client.HTTPResponse:
    body = request.body
    connection.putrequest(request.method, f"{base}{request.target}", skip_accept_encoding=True)
    for name, value in headers:
        connection.putheader(name, value)
    length = None if body is None else body.length
    chunked = body is not None and length is None
    if chunked:
        connection.putheader("Transfer-Encoding", "chunked")
    elif body is not None or request.method != "GET":
        connection.putheader("Content-Length", str(length or 0))
    try:
        _end_headers(connection)
        for chunk in () if body is None else body.chunks():
            if chunk:
                connection.send(b"%x\r\n%b\r\n" % (len(chunk), chunk) if chunked else chunk)
        if chunked:
            connection.send(b"0\r\n\r\n")
    except (BrokenPipeError, ConnectionResetError, ConnectionAbortedError) as error:
        # A server that refuses the body may answer early and then close the connection.
        try:
            return connection.getresponse()
        except (OSError, http.client.HTTPException):
            raise error from None
    return connection.getresponse()


def _end_headers(connection: Connection) -> None:
    """Connects, then sends the request."""
    try:
        connection.endheaders()
    except BaseException as error:
        # The frames below hold the credentials in variables, so drop them from every error, also from Control-C.
        raise error.with_traceback(None)  # noqa: B904


def _body_of(response: http.client.HTTPResponse) -> Iterator[bytes]:
    left = None if response.chunked else response.length
    while left is None or left > 0:
        chunk = response.read1(_CHUNK if left is None else min(_CHUNK, left))
        if not chunk:
            if left is not None:
                raise http.client.IncompleteRead(b"", left)
            return
        left = None if left is None else left - len(chunk)
        yield chunk


def credentials(settings: Settings) -> Iterator[tuple[str, Secret]]:
    key = given(settings.api_key, "API key", API_KEY)
    if key is not None:
        yield settings.api_key_header, key
    token = given(settings.token, "identity token", TOKEN)
    if token is not None:
        yield "X-Serverless-Authorization", bearer(token)
