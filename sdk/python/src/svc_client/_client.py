"""The synchronous client, on the standard library alone."""

from __future__ import annotations

import copy
from threading import Event
from typing import TYPE_CHECKING, Any, ParamSpec, cast

from . import _logging as _logging
from ._connection import Pool
from ._credentials import keep
from ._errors import NotFoundError
from ._generated.client import Operations, OperationsWithRawResponse, OperationsWithStreamingResponse
from ._job_waits import JobWaits
from ._linked import LINKED, Item, LinkedPages, later, linked, method_of
from ._notices import warn
from ._operation import Given, OperationSpec
from ._options import CallOptions, ClientOptions, check_call, check_timeout, keep_in
from ._paging import Pages, as_it_is, begin_of, paging_of, with_token
from ._settings import settle
from ._transport import Link, Mode, exchange
from ._waiting import Wait, aborted
from ._world import MACHINE

P = ParamSpec("P")

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self, Unpack

    from ._generated import models


class Client(JobWaits):
    """A client of one service. Threads may share it. It never shows its credentials.

    It keeps connections for later calls. `close`, or the end of a `with` block, closes them.
    """

    def __init__(self, base_url: str | None = None, **options: Unpack[ClientOptions]) -> None:
        """`base_url` is the address of the service: host, port and path. `SVC_BASE_URL` or `SVC_SERVER` if absent.
        The other options are those of `ClientOptions`."""
        # Reuse the names, so that no local variable still holds the unwrapped credentials.
        base_url, options = keep(base_url), cast("ClientOptions", keep_in(options))
        self._connect(base_url, options, None)

    def _connect(self, base_url: str | None, options: ClientOptions, pool: Pool | None) -> None:
        settings = settle(base_url, options)
        world = options.get("world", MACHINE)
        pool = Pool(settings.url, settings.ssl_context, world.now) if pool is None else pool
        self._options = cast("ClientOptions", {**options, **settings.given()})
        self._link = Link(settings, pool, world)
        super().__init__(_Caller(self._link, "data"))

    @property
    def base_url(self) -> str:
        """The address of the service."""
        return self._link.settings.base_url

    def with_options(self, base_url: str | None = None, **options: Unpack[ClientOptions]) -> Self:
        """A client with the options of this one, replaced by those given here. It shares connections if it can."""
        base_url, options = keep(base_url), cast("ClientOptions", keep_in(options))
        other = copy.copy(self)
        elsewhere = base_url is not None or "ssl_context" in options or "world" in options
        merged: ClientOptions = {**self._options, **options}
        other._connect(base_url or self.base_url, merged, None if elsewhere else self._link.pool)
        return other

    @property
    def with_raw_response(self) -> OperationsWithRawResponse:
        """The same methods; each returns `APIResponse`, with status and headers."""
        return OperationsWithRawResponse(_Caller(self._link, "raw"))

    @property
    def with_streaming_response(self) -> OperationsWithStreamingResponse:
        """The same methods; each returns `StreamedResponse`, whose body is not read yet."""
        return OperationsWithStreamingResponse(_Caller(self._link, "stream"))

    def pages(
        self, method: Callable[P, list[Item]], /, *args: P.args, **kwargs: P.kwargs
    ) -> Pages[Item, list[Item]]:
        """All pages of a list that names its next page in the header `Link`, such as
        `client.pages(client.list_execution_runs, limit=200)`. The method alone gives the first page."""
        operations = Operations(_LinkedCaller(self._link, "data"))
        return cast("Pages[Item, list[Item]]", method_of(operations, method)(*args, **kwargs))

    def find_canonical_document(
        self,
        tenant_id: str,
        request: models.CanonicalDocumentReadRequest,
        *,
        options: CallOptions | None = None,
    ) -> models.CanonicalDocument | None:
        """The current revision of a document, as `get_canonical_document` reads it; None if there is none. A deleted
        document is None unless `includeDeleted` is true."""
        try:
            return self.get_canonical_document(tenant_id, request, options=options)
        except NotFoundError as error:
            if error.code == "not_found":
                return None
            raise

    def wait_for_execution_run(
        self, run_id: str, *, wait_timeout: float | None = None, options: CallOptions | None = None
    ) -> models.ExecutionRun:
        """Waits until the run has ended and returns it with any final `status`. Each read waits at the service, so the
        end arrives without delay. Raises `APITimeoutError` if `wait_timeout`, in seconds, passes first; the run then
        continues. Without `wait_timeout` the wait is unlimited. `options` apply to each read, `timeout` included."""
        options, settings, world = check_call(options), self._link.settings, self._link.world
        cancellation = options.get("cancellation")
        wait = Wait.begin(world.now(), wait_timeout, check_timeout(options.get("timeout", settings.timeout)))
        while True:
            begun = world.now()
            run = self.get_execution_run(run_id, wait_seconds=wait.read_seconds(begun), options=options)
            if run["completedAtUtc"] is not None:
                return run
            pause = wait.pause_after(begun, world.now())
            if pause > 0:
                world.sleep(pause, Event() if cancellation is None else cancellation.event)
            if cancellation is not None and cancellation.cancelled:
                raise aborted()

    def close(self) -> None:
        """Closes the idle connections. A later call opens new ones."""
        self._link.pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        # A client with refused options has no settings, and a tool that prints variables calls this all the same.
        link = vars(self).get("_link")
        return f"{type(self).__name__}{'()' if link is None else repr(link.settings)}"


class _Caller:
    """Makes the calls of the generated methods."""

    def __init__(self, link: Link, mode: Mode) -> None:
        self._link = link
        self._mode: Mode = mode

    def call(self, operation: OperationSpec, given: Given, options: CallOptions | None) -> object:
        warn(operation.notice)
        options = check_call(options)
        return exchange(self._link, operation, given, options, self._mode)

    def pages(self, operation: OperationSpec, given: Given, options: CallOptions | None) -> object:
        warn(operation.notice)
        first, options = as_it_is(given), check_call(options)

        def ask(token: str | None) -> Any:
            return exchange(self._link, operation, with_token(operation, first, token), options, self._mode)

        # This view shows status and headers, so it covers the first page alone.
        if self._mode != "data":
            return ask(None)
        paging = paging_of(operation)
        return Pages[Any, Any](paging, ask, begin_of(paging, first))


class _LinkedCaller(_Caller):
    def call(self, operation: OperationSpec, given: Given, options: CallOptions | None) -> object:
        warn(operation.notice)
        first, options = as_it_is(given), check_call(options)

        def ask(query: str | None) -> Any:
            response: Any = exchange(self._link, operation, later(first, query), options, "raw")
            return linked(response)

        return LinkedPages[Any](LINKED, ask)
