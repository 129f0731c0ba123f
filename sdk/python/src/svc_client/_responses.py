"""Answers with status and headers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from ._errors import SvcError
from ._headers import Headers

if TYPE_CHECKING:
    from typing_extensions import Self

T = TypeVar("T")


def check_open(closed: bool) -> None:
    """A closed answer has no readable rest."""
    if closed:
        raise SvcError("The answer was closed.")


@dataclass(frozen=True)
class APIResponse(Generic[T]):
    """An answer with the content of its body."""

    data: T
    status: int
    headers: Headers
    content: bytes = field(repr=False)
    """The bytes of the body."""

    @property
    def correlation_id(self) -> str | None:
        """The id of the request in the log of the service."""
        return self.headers.get("x-correlation-id")


class StreamedResponse:
    """An answer with an unread body. It holds its connection: read the body to its end, or close the answer. The
    timeout of the call bounds each wait for more bytes, not the whole body."""

    def __init__(
        self,
        status: int,
        headers: Headers,
        chunks: Iterator[bytes],
        release: Callable[[], None],
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

    def __iter__(self) -> Iterator[bytes]:
        """The bytes as they arrive. It can be iterated once."""
        # Do not return the inner iterator: this frame keeps the answer, and so the connection, alive.
        check_open(self._closed)
        for chunk in self._chunks:
            yield chunk
            check_open(self._closed)

    def read(self) -> bytes:
        """The rest of the body."""
        check_open(self._closed)
        whole = bytearray()
        for chunk in self._chunks:
            whole += chunk
        return bytes(whole)

    def close(self) -> None:
        """Closes the connection if the body is not read to its end."""
        self._closed = True
        self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self._release()

    def __repr__(self) -> str:
        return f"StreamedResponse(status={self.status!r})"
