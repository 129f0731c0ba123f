"""The shapes that the generated code and the runtime share: what an operation is on the wire."""

from __future__ import annotations

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
    """The value is a mapping: each entry is a parameter of its own, named `name` and its key."""


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
    """Whether it may be left out, which then stands for `{}`."""
    parts: tuple[PartSpec, ...] = ()


@dataclass(frozen=True)
class KeySpec:
    """Where the caller's idempotency key goes."""

    place: Literal["header", "body"]
    name: str
    member: str | None = None
    """Of a header: the member of the request that says the same."""


@dataclass(frozen=True)
class PagingSpec:
    token_in: Literal["body", "query"]
    request_token: str
    """The member of the request, or the argument, that says where the page before ended."""
    response_token: str
    items: str


@dataclass(frozen=True)
class NoticeSpec:
    """What a caller is warned of."""

    kind: Literal["preview", "deprecated"]
    text: str


@dataclass(frozen=True)
class OperationSpec:
    id: str
    method: str
    path: str
    """`/canonical/tenants/{tenantId}/export`; the values come in the order of the braces."""
    retry: RetryRule
    answers: Mapping[int, AnswerForm]
    """What is returned, by status; every other answer is raised."""
    query: tuple[ParameterSpec, ...] = ()
    headers: tuple[ParameterSpec, ...] = ()
    body: BodySpec | None = None
    key: KeySpec | None = None
    """None where no key is taken."""
    paging: PagingSpec | None = None
    notice: NoticeSpec | None = None


@dataclass(frozen=True)
class Given:
    """What a caller gave, as a generated method hands it to the runtime."""

    path: tuple[object, ...] = ()
    request: Any = None
    parameters: Mapping[str, object] = field(default_factory=dict[str, object])
    idempotency_key: str | None = None


class BinaryReader(Protocol):
    """A file opened for reading bytes, or what reads like one."""

    def read(self, size: int, /) -> bytes: ...


BinaryContent: TypeAlias = (
    bytes | bytearray | memoryview | BinaryReader | Iterable[bytes] | AsyncIterable[bytes]
)
"""Bytes to send. A stream can be sent once, so a call that sends one is never repeated by the client; a file that can
be wound back can be sent again. Async iterables are for `AsyncClient` alone."""


@dataclass(frozen=True)
class FilePart:
    """A file of a multipart request."""

    content: BinaryContent
    filename: str | None = None
    """The name of the part where none is given."""
    content_type: str | None = None
    """`application/octet-stream` where none is given."""


class PreviewWarning(UserWarning):
    """The operation is a preview: it may change in any release, also in ways that break callers."""
