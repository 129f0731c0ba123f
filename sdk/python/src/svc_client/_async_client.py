"""The asynchronous client, on httpx2: for asyncio and trio."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, cast

from . import _logging as _logging
from ._async_transport import ASYNC_MACHINE, AsyncLink, Connections, exchange
from ._client import warn
from ._credentials import keep_in
from ._generated.async_client import (
    AsyncOperations,
    AsyncOperationsWithRawResponse,
    AsyncOperationsWithStreamingResponse,
)
from ._operation import Given, OperationSpec
from ._options import AsyncCallOptions, AsyncClientOptions, check_call, settle
from ._paging import AsyncPages, as_it_is, paging_of, with_token
from ._transport import Mode

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack


class AsyncClient(AsyncOperations):
    """A client of one service, for one event loop. What it was given as credentials is in nothing that it shows.

    It keeps connections for later calls; `aclose`, or leaving an `async with` block, closes those.
    """

    def __init__(self, base_url: str | None = None, **options: Unpack[AsyncClientOptions]) -> None:
        """`base_url` is the address of the service, a path is kept; `SVC_BASE_URL` or `SVC_SERVER` where it is not
        given. The other options stand in `AsyncClientOptions`."""
        self._connect(base_url, options, None)

    def _connect(
        self, base_url: str | None, options: AsyncClientOptions, connections: Connections | None
    ) -> None:
        settings = settle(base_url, options)
        if connections is None:
            connections = Connections(settings, options.get("http_client"))
        self._base_url = base_url
        self._options = cast("AsyncClientOptions", keep_in(options))
        self._link = AsyncLink(settings, connections, options.get("world", ASYNC_MACHINE))
        super().__init__(_AsyncCaller(self._link, "data"))

    @property
    def base_url(self) -> str:
        """The address of the service."""
        return self._link.settings.base_url

    def with_options(self, base_url: str | None = None, **options: Unpack[AsyncClientOptions]) -> Self:
        """Another client, with these options before those of this one. It shares the connections where it can."""
        other = copy.copy(self)
        elsewhere = "ssl_context" in options or "http_client" in options
        merged = cast("AsyncClientOptions", {**self._options, **options})
        other._connect(base_url or self._base_url, merged, None if elsewhere else self._link.connections)
        return other

    @property
    def with_raw_response(self) -> AsyncOperationsWithRawResponse:
        """The same methods; each gives `APIResponse`, with status and headers."""
        return AsyncOperationsWithRawResponse(_AsyncCaller(self._link, "raw"))

    @property
    def with_streaming_response(self) -> AsyncOperationsWithStreamingResponse:
        """The same methods; each gives `AsyncStreamedResponse`, whose body is not read yet."""
        return AsyncOperationsWithStreamingResponse(_AsyncCaller(self._link, "stream"))

    async def aclose(self) -> None:
        """Closes the connections that lie idle. A call after it opens others."""
        await self._link.connections.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self._link.settings!r}"


class _AsyncCaller:
    """How the generated methods make calls."""

    def __init__(self, link: AsyncLink, mode: Mode) -> None:
        self._link = link
        self._mode: Mode = mode

    async def call(self, operation: OperationSpec, given: Given, options: AsyncCallOptions | None) -> Any:
        warn(operation.notice)
        return await exchange(self._link, operation, given, check_call(options), self._mode)

    def pages(self, operation: OperationSpec, given: Given, options: AsyncCallOptions | None) -> Any:
        warn(operation.notice)
        first, checked = as_it_is(given), check_call(options)

        async def ask(token: str | None) -> Any:
            return await exchange(
                self._link, operation, with_token(operation, first, token), checked, self._mode
            )

        # Of an answer beside its body there is one: that of the first page.
        return AsyncPages[Any, Any](paging_of(operation), ask) if self._mode == "data" else ask(None)
