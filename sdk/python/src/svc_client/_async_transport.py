"""Calls over httpx2, for asyncio and trio."""

from __future__ import annotations

import logging
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

try:
    import anyio
    import anyio.to_thread
    import httpx2
except ImportError as error:
    raise ImportError(
        "AsyncClient needs httpx2: install the package with its extra 'async'.", name=error.name
    ) from error

from ._answer import Plan, form_of, is_readable, is_said_by_status, parsed, refusal, refused
from ._async_connections import Connections as Connections
from ._body import Body, ContentError
from ._bounded import BoundedBody
from ._credentials import API_KEY, TOKEN, Secret, async_given, bearer
from ._errors import APIConnectionError, APIResponseError, SvcError, without_frames
from ._headers import Headers
from ._operation import AnswerForm, Given, OperationSpec
from ._options import AsyncCallOptions, check_call, check_response_bytes, check_retries, check_timeout
from ._request import WireRequest, wire_request
from ._responses import APIResponse, check_open
from ._retry_budget import settle_attempt
from ._settings import Settings
from ._transport import Mode
from ._world import AsyncWorld, chance, now

if TYPE_CHECKING:
    from typing_extensions import Self

_log = logging.getLogger("svc_client")

ASYNC_MACHINE = AsyncWorld(now=now, random=chance, sleep=anyio.sleep)


class AsyncStreamedResponse:
    """An answer with an unread body. It holds its connection: read the body to its end, or close the answer. The
    timeout of the call bounds each wait for more bytes, not the whole body."""

    def __init__(
        self,
        status: int,
        headers: Headers,
        chunks: AsyncGenerator[bytes, None],
        release: Callable[[], Awaitable[None]],
    ) -> None:
        self.status = status
        self.headers = headers
        self._chunks = chunks
        self._release = release
        self._closed = False

    @property
    def correlation_id(self) -> str | None:
        """The id of the request in the log of the service."""
        return self.headers.get("x-correlation-id")

    def __aiter__(self) -> AsyncIterator[bytes]:
        """The bytes as they arrive. It can be iterated once."""
        check_open(self._closed)
        return self._chunks

    async def read(self) -> bytes:
        """The rest of the body."""
        check_open(self._closed)
        whole = bytearray()
        async for chunk in self._chunks:
            whole += chunk
        return bytes(whole)

    async def aclose(self) -> None:
        """Closes the connection if the body is not read to its end."""
        self._closed = True
        await self._chunks.aclose()
        await self._release()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"AsyncStreamedResponse(status={self.status!r})"


@dataclass(frozen=True)
class AsyncLink:
    settings: Settings
    connections: Connections
    world: AsyncWorld


async def exchange(
    link: AsyncLink, operation: OperationSpec, given: Given, options: AsyncCallOptions, mode: Mode
) -> Any:
    """Sends a call, and retries it while that is safe, the budget allows it and time remains."""
    settings, world = link.settings, link.world
    timeout = check_timeout(options.get("timeout", settings.timeout))
    max_retries = check_retries(options.get("max_retries", settings.max_retries))
    bytes_max = check_response_bytes(options.get("max_response_bytes", settings.max_response_bytes))
    request = wire_request(operation, given, settings, check_call(options), world.random)
    plan = Plan(operation, request, world.now() + timeout, max_retries, bytes_max, settings.base_url)
    failures = 0
    while True:
        try:
            with anyio.move_on_after(plan.until - world.now()):
                result = await _attempt(link, plan, timeout, mode)
                settle_attempt(world.retry_tokens, settings.server, None)
                return result
            raise plan.timeout()
        except SvcError as error:
            failures += 1
            delay = settle_attempt(world.retry_tokens, settings.server, plan.question(error, failures, world))
            _log.debug("%s failed (%s); again in: %s", operation.name, type(error).__name__, delay)
            if delay is None:
                raise
        await world.sleep(delay)


async def _attempt(link: AsyncLink, plan: Plan, idle: float, mode: Mode) -> object:
    settings = link.settings
    headers = plan.request.headers.with_credentials(iter([pair async for pair in _credentials(settings)]))
    with _failures_of(plan):
        response = await _sent(link.connections.client(), settings, plan.request, headers, idle)
    handed_over = False
    try:
        status, answered = response.status_code, Headers(response.headers.multi_items())
        _log.debug("%s: %s", plan.operation.name, status)
        form = form_of(plan.operation, status, answered)
        readable = is_readable(plan.operation, form, answered)
        if form is not None and (mode == "stream" or (mode == "data" and form == "bytes")):
            handed_over = True
            return AsyncStreamedResponse(status, answered, _chunks(plan, response), response.aclose)
        try:
            content = await _content(plan, response, form) if readable else b""
        except (APIConnectionError, APIResponseError) as error:
            if not is_said_by_status(form, error):
                raise
            content = b""
    finally:
        if not handed_over:
            await response.aclose()
    if form is None:
        problem = refusal(plan.operation.id, status, answered, content, link.world.now())
        refused(plan.operation, problem, unread=mode == "stream")
    data = None if form is None else parsed(plan.operation, form, content)
    return APIResponse(data, status, answered, content) if mode == "raw" else data


async def _content(plan: Plan, response: httpx2.Response, form: AnswerForm | None) -> bytes:
    content = BoundedBody(plan.operation, form, plan.bytes_max)
    async with aclosing(_chunks(plan, response)) as chunks:
        async for chunk in chunks:
            content.add(chunk)
    return content.whole()


async def _credentials(settings: Settings) -> AsyncIterator[tuple[str, Secret]]:
    key = await async_given(settings.api_key, "API key", API_KEY)
    if key is not None:
        yield settings.api_key_header, key
    token = await async_given(settings.token, "identity token", TOKEN)
    if token is not None:
        yield "X-Serverless-Authorization", bearer(token)


async def _sent(
    client: httpx2.AsyncClient,
    settings: Settings,
    request: WireRequest,
    headers: list[tuple[str, Secret]],
    idle: float,
) -> httpx2.Response:
    body = request.body
    length = 0 if body is None else body.length
    framed = [] if length is None or request.method == "GET" else [("Content-Length", str(length))]
    content = None if body is None else _Content(body)
    made = client.build_request(
        request.method,
        f"{settings.base_url}{request.target}",
        headers=[(name.encode("ascii"), value.encode("latin-1")) for name, value in (*headers, *framed)],
        content=content,
        # This bounds later reads of a stream; the caller of this function checks the deadline of the call.
        timeout=httpx2.Timeout(None, read=idle),
    )
    if content is not None:
        # httpx2 wraps the body in a generator, and does not close it if the connection fails.
        made.stream = content
    try:
        return await client.send(made, stream=True, auth=None, follow_redirects=False)
    except BaseException as error:
        # The frames below hold the credentials in variables, so drop them from every error, also from a cancellation.
        raise error.with_traceback(None)  # noqa: B904
    finally:
        if content is not None:
            await content.aclose()


class _Content(httpx2.AsyncByteStream, AsyncIterator[bytes]):
    """A body in the form that httpx2 needs."""

    def __init__(self, body: Body) -> None:
        self._chunks = body.async_chunks(anyio.to_thread.run_sync)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        # An empty chunk would end the body.
        while not (chunk := await anext(self._chunks)):
            pass
        return chunk

    async def aclose(self) -> None:
        await self._chunks.aclose()


async def _chunks(plan: Plan, response: httpx2.Response) -> AsyncGenerator[bytes, None]:
    with _failures_of(plan):
        async with aclosing(response.aiter_bytes()) as chunks:
            async for chunk in chunks:
                yield chunk


@contextmanager
def _failures_of(plan: Plan) -> Generator[None, None, None]:
    """Turns an error of the platform into an error of this client."""
    foreign: BaseException
    outside = sys.exc_info()[1]
    try:
        yield
        return
    except ContentError as error:
        foreign = error.error
    except httpx2.ReadTimeout as error:
        raise plan.timeout() from without_frames(error, outside)
    except (httpx2.RequestError, httpx2.StreamError, OSError) as error:
        raise plan.broken() from without_frames(error, outside)
    # The caller's own content failed: raise its error unchanged.
    raise foreign
