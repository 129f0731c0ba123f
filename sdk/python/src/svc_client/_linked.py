"""Lists that name their next page in the header `Link` (RFC 8288)."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import replace
from typing import Any, TypeVar, cast
from urllib.parse import quote

from ._errors import SvcError
from ._headers import Headers
from ._operation import Given, PagingSpec
from ._paging import AsyncPages, Pages
from ._responses import APIResponse

Item = TypeVar("Item")

_LINK = re.compile(r"""<([^<>]*)>((?:\s*;\s*[\w*]+\s*(?:=\s*(?:"[^"]*"|[^\s",;]+))?)*)""")
_RELATION = re.compile(r""";\s*rel\s*=\s*(?:"([^"]*)"|([^\s",;]+))""", re.IGNORECASE)
_VISIBLE = "".join(map(chr, range(0x21, 0x7F)))


def next_query(headers: Headers) -> str | None:
    """The query of the next page; None if there is none. A list goes on at its own path, so the client takes nothing
    else of the reference: an answer cannot lead it, with its credentials, to another place."""
    for reference, parameters in _LINK.findall(headers.get("link", "")):
        relation = _RELATION.search(parameters)
        said = "" if relation is None else relation[1] or relation[2] or ""
        found = re.search(r"\?([^#]*)", reference)
        if found is not None and "next" in said.lower().split():
            return quote(found[1], safe=_VISIBLE)
    return None


# A page as the iterators read it: the list, and the query of the next page in place of a token.
LINKED = PagingSpec("query", "next", "next", "items")


def linked(response: APIResponse[Any]) -> Any:
    return {"items": response.data, "next": next_query(response.headers)}


def later(given: Given, query: str | None) -> Given:
    """The arguments for the page of the query."""
    return given if query is None else replace(given, query=query)


def method_of(operations: object, method: Callable[..., object]) -> Callable[..., Any]:
    """The same method of another caller."""
    found: Callable[..., Any] | None = getattr(operations, getattr(method, "__name__", ""), None)
    if not callable(found):
        raise SvcError("pages needs a method of this client that returns a list.")
    return found


def result_of(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    finally:
        coroutine.close()
    raise SvcError("The method waits before it makes its call.")


def _items(page: Any) -> list[Any]:
    return cast("list[Any]", page["items"])


class LinkedPages(Pages[Item, list[Item]]):
    def first(self) -> list[Item]:
        return _items(self._ask(None))

    def iter_pages(self) -> Iterator[list[Item]]:
        pages: Iterator[Any] = super().iter_pages()
        for page in pages:
            yield _items(page)

    def __iter__(self) -> Iterator[Item]:
        for page in self.iter_pages():
            yield from page


class AsyncLinkedPages(AsyncPages[Item, list[Item]]):
    async def first(self) -> list[Item]:
        return _items(await self._ask(None))

    def iter_pages(self) -> AsyncIterator[list[Item]]:
        pages: AsyncIterator[Any] = super().iter_pages()
        return _AsyncLists[Item](pages)

    def __aiter__(self) -> AsyncIterator[Item]:
        return _AsyncItems(self.iter_pages())


# No async generators: the event loop would have to clean up after a caller that stops in the middle.


class _AsyncLists(AsyncIterator[list[Item]]):
    def __init__(self, pages: AsyncIterator[Any]) -> None:
        self._pages = pages

    async def __anext__(self) -> list[Item]:
        return _items(await self._pages.__anext__())


class _AsyncItems(AsyncIterator[Item]):
    def __init__(self, pages: AsyncIterator[list[Item]]) -> None:
        self._pages = pages
        self._items: Iterator[Item] = iter(())

    async def __anext__(self) -> Item:
        while True:
            for item in self._items:
                return item
            self._items = iter(await self._pages.__anext__())
