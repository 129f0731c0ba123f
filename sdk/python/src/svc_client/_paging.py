"""Lists that come in pages."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator, Mapping
from typing import Any, Generic, TypeVar, cast

from ._errors import APIResponseError, SvcError
from ._operation import Given, OperationSpec, PagingSpec

Page = TypeVar("Page")
Item = TypeVar("Item")

_MOST = 10_000


class Pages(Generic[Item, Page]):
    """The entries of a list, asked for page by page as they are used. Nothing is asked for before that, and whoever
    iterates twice asks twice."""

    def __init__(self, paging: PagingSpec, ask: Callable[[str | None], Page]) -> None:
        self._paging = paging
        self._ask = ask

    def first(self) -> Page:
        """The first page alone."""
        return self._ask(None)

    def iter_pages(self) -> Iterator[Page]:
        """The pages. A page may be short or empty and not be the last."""
        page = self._ask(None)
        token: str | None = None
        while True:
            yield page
            token = _next_token(self._paging, page, token)
            if token is None:
                return
            page = self._ask(token)

    def __iter__(self) -> Iterator[Item]:
        for page in self.iter_pages():
            yield from _items(self._paging, page)

    def collect(self, *, limit: int | None = None) -> list[Item]:
        """All entries as one list. `limit` ends it early: at most so many. Without it more than 10,000 entries are an
        error, so that no list grows without anybody having meant it."""
        most = _check_limit(limit)
        items: list[Item] = []
        for item in self:
            if len(items) == most:
                raise _too_many()
            items.append(item)
            if len(items) == limit:
                break
        return items


class AsyncPages(Generic[Item, Page]):
    """The entries of a list, asked for page by page as they are used. Awaited, it gives the first page; iterated, all
    entries. Nothing is asked for before that, and whoever iterates twice asks twice."""

    def __init__(self, paging: PagingSpec, ask: Callable[[str | None], Awaitable[Page]]) -> None:
        self._paging = paging
        self._ask = ask

    def __await__(self) -> Generator[Any, Any, Page]:
        return self.first().__await__()

    async def first(self) -> Page:
        """The first page alone."""
        return await self._ask(None)

    def iter_pages(self) -> AsyncIterator[Page]:
        """The pages. A page may be short or empty and not be the last."""
        return _AsyncPageIterator(self._paging, self._ask)

    def __aiter__(self) -> AsyncIterator[Item]:
        return _AsyncItemIterator(self._paging, self.iter_pages())

    async def collect(self, *, limit: int | None = None) -> list[Item]:
        """All entries as one list. `limit` ends it early: at most so many. Without it more than 10,000 entries are an
        error, so that no list grows without anybody having meant it."""
        most = _check_limit(limit)
        items: list[Item] = []
        async for item in self:
            if len(items) == most:
                raise _too_many()
            items.append(item)
            if len(items) == limit:
                break
        return items


# No generators: whoever leaves one of those in the middle leaves something behind that an event loop has to clear away.


class _AsyncPageIterator(AsyncIterator[Page]):
    def __init__(self, paging: PagingSpec, ask: Callable[[str | None], Awaitable[Page]]) -> None:
        self._paging = paging
        self._ask = ask
        self._token: str | None = None
        self._page: Page | None = None

    async def __anext__(self) -> Page:
        if self._page is not None:
            self._token = _next_token(self._paging, self._page, self._token)
            if self._token is None:
                raise StopAsyncIteration
        self._page = await self._ask(self._token)
        return self._page


class _AsyncItemIterator(AsyncIterator[Item]):
    def __init__(self, paging: PagingSpec, pages: AsyncIterator[object]) -> None:
        self._paging = paging
        self._pages = pages
        self._items: Iterator[Item] = iter(())

    async def __anext__(self) -> Item:
        while True:
            for item in self._items:
                return item
            self._items = iter(_items(self._paging, await self._pages.__anext__()))


def as_it_is(given: Given) -> Given:
    """What a caller gave, whatever becomes of the caller's objects before the last page is asked for."""
    return Given(given.path, copy.deepcopy(given.request), {**given.parameters}, given.idempotency_key)


def with_token(operation: OperationSpec, given: Given, token: str | None) -> Given:
    """The same call for the page that the token names."""
    paging = paging_of(operation)
    if token is None:
        return given
    said = {paging.request_token: token}
    request: Any = given.request
    parameters = given.parameters
    if paging.token_in == "body":
        request = {**cast("Mapping[str, Any]", request or {}), **said}
    else:
        parameters = {**parameters, **said}
    return Given(given.path, request, parameters, given.idempotency_key)


def paging_of(operation: OperationSpec) -> PagingSpec:
    if operation.paging is None:
        raise TypeError(f"{operation.id} has no pages")
    return operation.paging


def _next_token(paging: PagingSpec, page: object, before: str | None) -> str | None:
    token = cast("Mapping[str, object]", page).get(paging.response_token)
    if not isinstance(token, str) or token == "":
        return None
    # The same page over and over would never end.
    if token == before:
        raise APIResponseError("Two pages in a row have the same continuation token.")
    return token


def _items(paging: PagingSpec, page: object) -> list[Any]:
    return cast("Mapping[str, Any]", page).get(paging.items) or []


def _check_limit(limit: int | None) -> int:
    if limit is None:
        return _MOST
    if not isinstance(cast("object", limit), int) or isinstance(limit, bool) or limit < 1:
        raise SvcError("limit is a whole number from 1.")
    return limit


def _too_many() -> SvcError:
    return SvcError(f"There are more than {_MOST} entries: give a limit, or iterate.")
