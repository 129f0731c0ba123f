"""The asynchronous client, on httpx2: for asyncio and trio."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, cast

from . import _logging as _logging
from ._async_job_waits import AsyncJobWaits
from ._async_transport import ASYNC_MACHINE, AsyncLink, Connections, exchange
from ._client import P
from ._credentials import keep
from ._errors import NotFoundError
from ._generated.async_client import (
    AsyncOperations,
    AsyncOperationsWithRawResponse,
    AsyncOperationsWithStreamingResponse,
)
from ._linked import LINKED, AsyncLinkedPages, Item, later, linked, method_of, result_of
from ._notices import warn
from ._operation import Given, OperationSpec
from ._options import AsyncCallOptions, AsyncClientOptions, check_call, check_timeout, keep_in
from ._paging import AsyncPages, as_it_is, begin_of, paging_of, with_token
from ._settings import settle
from ._transport import Mode
from ._waiting import Wait

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from typing_extensions import Self, Unpack

    from ._generated import models


class AsyncClient(AsyncJobWaits):
    """A client of one service, for one event loop. It never shows its credentials.

    It keeps connections for later calls. `aclose`, or the end of an `async with` block, closes them.
    """

    def __init__(self, base_url: str | None = None, **options: Unpack[AsyncClientOptions]) -> None:
        """`base_url` is the address of the service: host, port and path. `SVC_BASE_URL` or `SVC_SERVER` if absent.
        The other options are those of `AsyncClientOptions`."""
        # Reuse the names, so that no local variable still holds the unwrapped credentials.
        base_url, options = keep(base_url), cast("AsyncClientOptions", keep_in(options))
        self._connect(base_url, options, None)

    def _connect(
        self, base_url: str | None, options: AsyncClientOptions, connections: Connections | None
    ) -> None:
        settings = settle(base_url, options)
        if connections is None:
            connections = Connections(settings, options.get("http_client"))
        self._options = cast("AsyncClientOptions", {**options, **settings.given()})
        self._link = AsyncLink(settings, connections, options.get("world", ASYNC_MACHINE))
        super().__init__(_AsyncCaller(self._link, "data"))

    @property
    def base_url(self) -> str:
        """The address of the service."""
        return self._link.settings.base_url

    def with_options(self, base_url: str | None = None, **options: Unpack[AsyncClientOptions]) -> Self:
        """A client with the options of this one, replaced by those given here. It shares connections if it can."""
        base_url, options = keep(base_url), cast("AsyncClientOptions", keep_in(options))
        other = copy.copy(self)
        elsewhere = "ssl_context" in options or "http_client" in options
        merged = cast("AsyncClientOptions", {**self._options, **options})
        other._connect(base_url or self.base_url, merged, None if elsewhere else self._link.connections)
        return other

    @property
    def with_raw_response(self) -> AsyncOperationsWithRawResponse:
        """The same methods; each returns `APIResponse`, with status and headers."""
        return AsyncOperationsWithRawResponse(_AsyncCaller(self._link, "raw"))

    @property
    def with_streaming_response(self) -> AsyncOperationsWithStreamingResponse:
        """The same methods; each returns `AsyncStreamedResponse`, whose body is not read yet."""
        return AsyncOperationsWithStreamingResponse(_AsyncCaller(self._link, "stream"))

    def pages(
        self, method: Callable[P, Coroutine[Any, Any, list[Item]]], /, *args: P.args, **kwargs: P.kwargs
    ) -> AsyncPages[Item, list[Item]]:
        """All pages of a list that names its next page in the header `Link`, such as
        `client.pages(client.list_execution_runs, limit=200)`. The method alone gives the first page."""
        operations = AsyncOperations(_AsyncLinkedCaller(self._link, "data"))
        pages = result_of(method_of(operations, method)(*args, **kwargs))
        return cast("AsyncPages[Item, list[Item]]", pages)

    async def find_canonical_document(
        self,
        tenant_id: str,
        request: models.CanonicalDocumentReadRequest,
        *,
        options: AsyncCallOptions | None = None,
    ) -> models.CanonicalDocument | None:
        """The current revision of a document, as `get_canonical_document` reads it; None if there is none. A deleted
        document is None unless `includeDeleted` is true."""
        try:
            return await self.get_canonical_document(tenant_id, request, options=options)
        except NotFoundError as error:
            if error.code == "not_found":
                return None
            raise

    async def wait_for_execution_run(
        self, run_id: str, *, wait_timeout: float | None = None, options: AsyncCallOptions | None = None
    ) -> models.ExecutionRun:
        """Waits until the run has ended and returns it with any final `status`. Each read waits at the service, so the
        end arrives without delay. Raises `APITimeoutError` if `wait_timeout`, in seconds, passes first; the run then
        continues. Without `wait_timeout` the wait is unlimited. `options` apply to each read, `timeout` included."""
        options, settings, world = check_call(options), self._link.settings, self._link.world
        wait = Wait.begin(world.now(), wait_timeout, check_timeout(options.get("timeout", settings.timeout)))
        while True:
            begun = world.now()
            run = await self.get_execution_run(run_id, wait_seconds=wait.read_seconds(begun), options=options)
            if run["completedAtUtc"] is not None:
                return run
            pause = wait.pause_after(begun, world.now())
            if pause > 0:
                await world.sleep(pause)

    async def aclose(self) -> None:
        """Closes the idle connections. A later call opens new ones."""
        await self._link.connections.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        # A client with refused options has no settings, and a tool that prints variables calls this all the same.
        link = vars(self).get("_link")
        return f"{type(self).__name__}{'()' if link is None else repr(link.settings)}"


class _AsyncCaller:
    """Makes the calls of the generated methods."""

    def __init__(self, link: AsyncLink, mode: Mode) -> None:
        self._link = link
        self._mode: Mode = mode

    async def call(self, operation: OperationSpec, given: Given, options: AsyncCallOptions | None) -> Any:
        warn(operation.notice)
        options = check_call(options)
        return await exchange(self._link, operation, given, options, self._mode)

    def pages(self, operation: OperationSpec, given: Given, options: AsyncCallOptions | None) -> Any:
        warn(operation.notice)
        first, options = as_it_is(given), check_call(options)

        async def ask(token: str | None) -> Any:
            return await exchange(
                self._link, operation, with_token(operation, first, token), options, self._mode
            )

        # This view shows status and headers, so it covers the first page alone.
        if self._mode != "data":
            return ask(None)
        paging = paging_of(operation)
        return AsyncPages[Any, Any](paging, ask, begin_of(paging, first))


class _AsyncLinkedCaller(_AsyncCaller):
    async def call(self, operation: OperationSpec, given: Given, options: AsyncCallOptions | None) -> Any:
        warn(operation.notice)
        first, options = as_it_is(given), check_call(options)

        async def ask(query: str | None) -> Any:
            return linked(await exchange(self._link, operation, later(first, query), options, "raw"))

        return AsyncLinkedPages[Any](LINKED, ask)
