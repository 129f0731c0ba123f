"""The types that the generated code and the runtime share: an operation on the wire."""

from __future__ import annotations

import os
from collections.abc import AsyncIterable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from ._retry import RetryRule

AnswerForm = Literal["json", "bytes", "none"]


@dataclass(frozen=True)
class ParameterSpec:
    name: str
    """On the wire."""
    key: str
    """The name of the argument."""
    prefix: bool = False
    """The value is a mapping. Each entry becomes a parameter, named `name` followed by the key."""


@dataclass(frozen=True)
class PartSpec:
    name: str
    binary: bool
    """A file; otherwise JSON."""


@dataclass(frozen=True)
class BodySpec:
    kind: Literal["json", "bytes", "multipart"]
    media_type: str
    optional: bool = False
    """Whether the caller may omit it; the client then sends `{}`."""
    parts: tuple[PartSpec, ...] = ()


@dataclass(frozen=True)
class KeySpec:
    """Where the caller's idempotency key goes."""

    place: Literal["header", "body"]
    name: str
    member: str | None = None
    """For a key in a header: the request member with the same meaning."""


@dataclass(frozen=True)
class PagingSpec:
    token_in: Literal["body", "query"]
    request_token: str
    """The request member or the argument that takes the continuation token."""
    response_token: str
    items: str


@dataclass(frozen=True)
class NoticeSpec:
    """The warning for callers."""

    kind: Literal["preview", "deprecated"]
    text: str


@dataclass(frozen=True)
class OperationSpec:
    id: str
    name: str
    """The method of the clients. Errors name it in their text, and the id in `operation`."""
    method: str
    path: str
    """`/canonical/tenants/{tenantId}/export`; the values come in the order of the braces."""
    retry: RetryRule
    answers: Mapping[int, AnswerForm]
    """The form of the answers that the method returns, by status. Every other answer is raised."""
    absent: bool = False
    """Whether a 404 of the service for something that does not exist is the result None."""
    query: tuple[ParameterSpec, ...] = ()
    headers: tuple[ParameterSpec, ...] = ()
    body: BodySpec | None = None
    key: KeySpec | None = None
    """None if the operation takes no key."""
    paging: PagingSpec | None = None
    notice: NoticeSpec | None = None


@dataclass(frozen=True)
class Given:
    """The arguments that a generated method passes to the runtime."""

    path: tuple[object, ...] = ()
    request: Any = None
    parameters: Mapping[str, object] = field(default_factory=dict[str, object])
    idempotency_key: str | None = None
    query: str | None = None
    """Replaces the query of the parameters, for a later page of the same list."""


class BinaryReader(Protocol):
    """A file opened for reading bytes, or an object with the same methods."""

    def read(self, size: int, /) -> bytes: ...


BinaryContent: TypeAlias = (
    bytes | bytearray | memoryview | os.PathLike[str] | BinaryReader | Iterable[bytes] | AsyncIterable[bytes]
)
"""Bytes to send; a path is the file there. A stream can be read once, so the client never retries a call with one. It
can send a file again. Async iterables are for `AsyncClient` alone."""


@dataclass(frozen=True)
class FilePart:
    """A file of a multipart request."""

    content: BinaryContent
    filename: str | None = None
    """The name of the part if absent, for a path that of its file."""
    content_type: str | None = None
    """`application/octet-stream` if absent."""


class PreviewWarning(UserWarning):
    """The operation is a preview: it may change in any release, also in ways that break callers."""
