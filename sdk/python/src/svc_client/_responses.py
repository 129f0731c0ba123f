"""Answers beside what their bodies hold."""

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
    """What is left of an answer that was closed is not its end."""
    if closed:
        raise SvcError("The answer was closed.")


@dataclass(frozen=True)
class APIResponse(Generic[T]):
    """An answer with what its body holds."""

    data: T
    status: int
    headers: Headers
    content: bytes = field(repr=False)
    """The body as it came."""

    @property
    def correlation_id(self) -> str | None:
        """The name of the request in the service's log."""
        return self.headers.get("x-correlation-id")


class StreamedResponse:
    """An answer whose body is read as it comes, from a connection that this holds: read it to its end, or
    close it. The time of the call does not bind whoever reads; each wait for more is bounded by it."""

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
        """The name of the request in the service's log."""
        return self.headers.get("x-correlation-id")

    def __iter__(self) -> Iterator[bytes]:
        """The bytes as they come. Once."""
        # Not the iterator itself: whoever iterates holds this, and so the connection.
        check_open(self._closed)
        for chunk in self._chunks:
            yield chunk
            check_open(self._closed)

    def read(self) -> bytes:
        """What is left of the body."""
        check_open(self._closed)
        return b"".join(self._chunks)

    def close(self) -> None:
        """Gives the connection up where the body was not read to its end."""
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
