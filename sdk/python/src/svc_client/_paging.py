"""Paged lists."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator, Mapping
from typing import Any, Generic, TypeVar, cast

from ._errors import APIResponseError, SvcError
from ._operation import Given, OperationSpec, PagingSpec

Page = TypeVar("Page")
Item = TypeVar("Item")

_MOST = 10_000
_EMPTY_MOST = 1_000


class Pages(Generic[Item, Page]):
    """The entries of a paged list. The client reads a page when the caller needs it. A second iteration reads the
    pages again."""

    def __init__(self, paging: PagingSpec, ask: Callable[[str | None], Page], begin: object = None) -> None:
        self._paging = paging
        self._ask = ask
        self._begin = begin

    def first(self) -> Page:
        """The first page alone."""
        return self._ask(None)

    def iter_pages(self) -> Iterator[Page]:
        """The pages. A short or empty page need not be the last one. An endless list is an error: a token that comes
        twice, or 1,000 empty pages in a row."""
        bounds = _Bounds(self._paging, self._begin)
        page = _checked(self._paging, self._ask(None))
        while True:
            yield page
            token = bounds.next_token(page)
            if token is None:
                return
            page = _checked(self._paging, self._ask(token))

    def __iter__(self) -> Iterator[Item]:
        for page in self.iter_pages():
            yield from _items(self._paging, page)

    def collect(self, *, limit: int | None = None) -> list[Item]:
        """All entries as one list, at most `limit` of them. Without `limit`, more than 10,000 entries are an error: the
        caller must choose a larger list on purpose."""
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
    """The entries of a paged list. Awaited, it gives the first page; iterated, all entries. The client reads a page
    when the caller needs it. A second iteration reads the pages again."""

    def __init__(
        self, paging: PagingSpec, ask: Callable[[str | None], Awaitable[Page]], begin: object = None
    ) -> None:
        self._paging = paging
        self._ask = ask
        self._begin = begin

    def __await__(self) -> Generator[Any, Any, Page]:
        return self.first().__await__()

    async def first(self) -> Page:
        """The first page alone."""
        return await self._ask(None)

    def iter_pages(self) -> AsyncIterator[Page]:
        """The pages. A short or empty page need not be the last one. An endless list is an error: a token that comes
        twice, or 1,000 empty pages in a row."""
        return _AsyncPageIterator(self._paging, self._ask, self._begin)

    def __aiter__(self) -> AsyncIterator[Item]:
        return _AsyncItemIterator(self._paging, self.iter_pages())

    async def collect(self, *, limit: int | None = None) -> list[Item]:
        """All entries as one list, at most `limit` of them. Without `limit`, more than 10,000 entries are an error: the
        caller must choose a larger list on purpose."""
        most = _check_limit(limit)
        items: list[Item] = []
        async for item in self:
            if len(items) == most:
                raise _too_many()
            items.append(item)
            if len(items) == limit:
                break
        return items


# No async generators: the event loop would have to clean up after a caller that stops in the middle.


class _AsyncPageIterator(AsyncIterator[Page]):
    def __init__(
        self, paging: PagingSpec, ask: Callable[[str | None], Awaitable[Page]], begin: object
    ) -> None:
        self._paging = paging
        self._bounds = _Bounds(paging, begin)
        self._ask = ask
        self._token: str | None = None
        self._page: Page | None = None

    async def __anext__(self) -> Page:
        if self._page is not None:
            self._token = self._bounds.next_token(self._page)
            if self._token is None:
                raise StopAsyncIteration
            self._page = None
        self._page = _checked(self._paging, await self._ask(self._token))
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


def begin_of(paging: PagingSpec, given: Given) -> object:
    """The caller's continuation token, if any."""
    place = given.request if paging.token_in == "body" else given.parameters
    return cast("Any", place).get(paging.request_token) if isinstance(place, Mapping) else None


def as_it_is(given: Given) -> Given:
    """A copy of the arguments: the caller may change its objects before the last page."""
    return Given(given.path, copy.deepcopy(given.request), {**given.parameters}, given.idempotency_key)


def with_token(operation: OperationSpec, given: Given, token: str | None) -> Given:
    """The arguments for the page of the token."""
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
        raise TypeError(f"{operation.name} has no pages")
    return operation.paging


def _checked(paging: PagingSpec, page: Page) -> Page:
    said: Any = page
    if not isinstance(said, Mapping) or not isinstance(cast("Any", said).get(paging.items, []), list):
        raise APIResponseError("A page of the list is not a list.")
    return page


class _Bounds:
    """Detects endless lists."""

    def __init__(self, paging: PagingSpec, begin: object) -> None:
        self._paging = paging
        self._seen: set[str] = {begin} if isinstance(begin, str) else set()
        self._empty = 0

    def next_token(self, page: object) -> str | None:
        token = cast("Mapping[str, object]", page).get(self._paging.response_token)
        if not isinstance(token, str) or token == "":
            return None
        # A repeated token gives the same pages without end.
        if token in self._seen:
            raise APIResponseError("A continuation token was repeated.")
        self._seen.add(token)
        self._empty = 0 if _items(self._paging, page) else self._empty + 1
        if self._empty == _EMPTY_MOST:
            raise APIResponseError(f"{_EMPTY_MOST} pages in a row are empty, and more follow.")
        return token


def _items(paging: PagingSpec, page: object) -> list[Any]:
    return cast("Mapping[str, list[Any]]", page).get(paging.items, [])


def _check_limit(limit: int | None) -> int:
    if limit is None:
        return _MOST
    if not isinstance(cast("object", limit), int) or isinstance(limit, bool) or limit < 1:
        raise SvcError("limit must be a whole number from 1.")
    return limit


def _too_many() -> SvcError:
    return SvcError(f"There are more than {_MOST} entries: set limit, or iterate.")
