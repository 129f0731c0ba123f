"""Calls over httpx2, for asyncio and trio."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING, Any

try:
    import anyio
    import anyio.to_thread
    import httpx2
except ImportError as error:
    raise ImportError(
        "AsyncClient needs httpx2: install the package with its extra 'async'.", name=error.name
    ) from error

from ._answer import Plan, form_of, parsed, refusal
from ._body import Body, ContentError
from ._credentials import API_KEY, TOKEN, Secret, async_given, bearer
from ._errors import SvcError
from ._headers import Headers
from ._operation import Given, OperationSpec
from ._options import AsyncCallOptions, Settings, check_call, check_retries, check_timeout
from ._request import WireRequest, wire_request
from ._responses import APIResponse, check_open
from ._transport import Mode
from ._world import AsyncWorld, chance, now

if TYPE_CHECKING:
    from typing_extensions import Self

_log = logging.getLogger("svc_client")

ASYNC_MACHINE = AsyncWorld(now=now, random=chance, sleep=anyio.sleep)


class AsyncStreamedResponse:
    """An answer whose body is read as it comes, from a connection that this holds: read it to its end, or
    close it. The time of the call does not bind whoever reads; each wait for more is bounded by it."""

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
        """The name of the request in the service's log."""
        return self.headers.get("x-correlation-id")

    def __aiter__(self) -> AsyncIterator[bytes]:
        """The bytes as they come. Once."""
        check_open(self._closed)
        return self._chunks

    async def read(self) -> bytes:
        """What is left of the body."""
        check_open(self._closed)
        return b"".join([chunk async for chunk in self._chunks])

    async def aclose(self) -> None:
        """Gives the connection up where the body was not read to its end."""
        self._closed = True
        await self._chunks.aclose()
        await self._release()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"AsyncStreamedResponse(status={self.status!r})"


class Connections:
    """The connections of a client and of those made of it."""

    def __init__(self, settings: Settings, given: httpx2.AsyncClient | None) -> None:
        self._settings = settings
        self._given = given
        self._own: httpx2.AsyncClient | None = None

    def client(self) -> httpx2.AsyncClient:
        if self._given is not None:
            return self._given
        if self._own is None:
            context = self._settings.ssl_context
            self._own = httpx2.AsyncClient(
                # Neither proxies nor credentials of the environment: a call goes where it was told to.
                trust_env=False,
                # Nothing that one answer brings goes along with the next call.
                cookies=CookieJar(policy=DefaultCookiePolicy(allowed_domains=[])),
                verify=True if context is None else context,
                limits=httpx2.Limits(
                    max_connections=None, max_keepalive_connections=20, keepalive_expiry=4.0
                ),
            )
        return self._own

    async def aclose(self) -> None:
        own, self._own = self._own, None
        if own is not None:
            await own.aclose()


@dataclass(frozen=True)
class AsyncLink:
    settings: Settings
    connections: Connections
    world: AsyncWorld


async def exchange(
    link: AsyncLink, operation: OperationSpec, given: Given, options: AsyncCallOptions, mode: Mode
) -> Any:
    """Makes a call: sends it, and again where that is safe and there is time."""
    settings, world = link.settings, link.world
    timeout = check_timeout(options.get("timeout", settings.timeout))
    max_retries = check_retries(options.get("max_retries", settings.max_retries))
    request = wire_request(operation, given, settings.headers, check_call(options), world.random)
    plan = Plan(operation, request, world.now() + timeout, max_retries)
    failures = 0
    while True:
        try:
            left = plan.until - world.now()
            with anyio.move_on_after(left):
                return await _attempt(link, plan, timeout, mode)
            raise plan.timeout()
        except SvcError as error:
            failures += 1
            delay = plan.pause_after(error, failures, world.now(), world.random())
            _log.debug("%s failed (%s); again in: %s", operation.id, type(error).__name__, delay)
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
        _log.debug("%s: %s", plan.operation.id, status)
        form = form_of(plan.operation, status, answered)
        if form is not None and (mode == "stream" or (mode == "data" and form == "bytes")):
            handed_over = True
            return AsyncStreamedResponse(status, answered, _chunks(plan, response), response.aclose)
        with _failures_of(plan):
            content = await response.aread()
    finally:
        if not handed_over:
            await response.aclose()
    if form is None:
        raise refusal(plan.operation.id, status, answered, content, link.world.now())
    data = parsed(plan.operation.id, form, content)
    return APIResponse(data, status, answered, content) if mode == "raw" else data


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
    headers: list[tuple[str, str]],
    idle: float,
) -> httpx2.Response:
    body = request.body
    length = 0 if body is None else body.length
    framed = [] if length is None or request.method == "GET" else [("Content-Length", str(length))]
    made = client.build_request(
        request.method,
        f"{settings.base_url}{request.target}",
        headers=[(name.encode("ascii"), value.encode("latin-1")) for name, value in (*headers, *framed)],
        content=None if body is None else _content_of(body),
        # The call's own time ends it; this bounds whoever reads a stream later.
        timeout=httpx2.Timeout(None, read=idle),
    )
    return await client.send(made, stream=True, auth=None, follow_redirects=False)


async def _content_of(body: Body) -> AsyncIterator[bytes]:
    async for chunk in body.async_chunks(anyio.to_thread.run_sync):
        if chunk:
            yield chunk


async def _chunks(plan: Plan, response: httpx2.Response) -> AsyncGenerator[bytes, None]:
    with _failures_of(plan):
        async with aclosing(response.aiter_bytes()) as chunks:
            async for chunk in chunks:
                yield chunk


@contextmanager
def _failures_of(plan: Plan) -> Generator[None, None, None]:
    """Whatever the platform throws, in the words of this client."""
    foreign: BaseException
    try:
        yield
        return
    except ContentError as error:
        foreign = error.error
    except httpx2.ReadTimeout as error:
        raise plan.timeout() from error
    except (httpx2.TransportError, httpx2.StreamError, OSError) as error:
        raise plan.broken() from error
    # What the caller gave as content failed: that is the caller's to see, as it was.
    raise foreign
