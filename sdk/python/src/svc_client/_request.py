"""The request of a call, without credentials."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import quote

from ._body import Body, content_segments, json_text
from ._credentials import Secret
from ._errors import SvcError
from ._generated.version import VERSION
from ._multipart import multipart
from ._operation import BodySpec, Given, OperationSpec, ParameterSpec
from ._options import CallOptions, check_headers
from ._settings import HEADER_NAME, Settings, refuse_readable


class WireHeaders:
    """The request headers in the order of their setting. No value can contain a line break."""

    def __init__(self) -> None:
        self._values: dict[str, tuple[str, Secret | None]] = {}

    def set(self, name: str, value: str | None) -> None:
        """None removes the header, also a credential."""
        if not HEADER_NAME.fullmatch(name) or name.lower() in _FRAMING:
            raise SvcError("The name of a header is not valid, or the client sets that header itself.")
        if value is None:
            self._values[name.lower()] = (name, None)
            return
        if not isinstance(cast("object", value), str) or not _VALUE.fullmatch(value):
            raise SvcError(f"The value of the header {name} has an invalid character.")
        self._values[name.lower()] = (name, Secret(value.strip(" \t")))

    def get(self, name: str) -> str | None:
        held = self._values.get(name.lower())
        return None if held is None else held[1]

    def with_credentials(self, credentials: Iterator[tuple[str, Secret]]) -> list[tuple[str, Secret]]:
        """All headers. A header that the caller set or removed overrides a credential."""
        set_ = [(name, value) for name, value in self._values.values() if value is not None]
        missing = [(name, value) for name, value in credentials if name.lower() not in self._values]
        return [*set_, *missing]


_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
# These headers delimit a message: with two of them, two readers may find different ends.
_FRAMING = frozenset(
    [
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    ]
)


@dataclass(frozen=True)
class WireRequest:
    method: str
    target: str
    """Path and query."""
    headers: WireHeaders
    body: Body | None
    key_given: bool
    """Whether the caller gave an idempotency key in the place of the operation."""

    @property
    def replayable(self) -> bool:
        return self.body is None or self.body.replayable


def wire_request(
    operation: OperationSpec,
    given: Given,
    settings: Settings,
    options: CallOptions,
    random: Callable[[], float],
) -> WireRequest:
    request: Any = given.request
    body, content_type = None, None
    if operation.body is not None:
        if request is None and not operation.body.optional:
            raise _refused(operation, "the whole", "is missing")
        empty: dict[str, Any] = {}
        request = empty if request is None else request
        body, content_type = _encoded(operation, operation.body, request, random)
    headers = WireHeaders()
    headers.set("User-Agent", f"svc-client-python/{VERSION}")
    headers.set("Accept-Encoding", "identity")
    headers.set("Content-Type", content_type)
    for name, value in _entries(operation.headers, given.parameters):
        headers.set(name, value)
    headers.set("X-Correlation-ID", options.get("correlation_id"))
    if operation.key is not None and operation.key.place == "header":
        headers.set(operation.key.name, given.idempotency_key)
    of_call = check_headers(options.get("headers"))
    for more in (settings.headers, of_call):
        for name, said in more.items():
            headers.set(name, said)
    refuse_readable(settings, [name for name, said in of_call.items() if said is not None])
    return WireRequest(
        method=operation.method,
        target=_target(operation, given),
        headers=headers,
        body=body,
        key_given=_is_key_given(operation, request, headers),
    )


def _target(operation: OperationSpec, given: Given) -> str:
    values = iter(given.path)

    def segment(match: re.Match[str]) -> str:
        text = _text(next(values, None))
        # Such a segment changes the path, so the request would reach another resource.
        if text in ("", ".", ".."):
            raise _refused(operation, match[1], "is empty or a dot segment")
        return _encode(operation, match[1], text)

    path = re.sub(r"\{([^{}]*)\}", segment, operation.path)
    if given.query is not None:
        return f"{path}?{given.query}"
    query = [
        f"{_encode(operation, name, name)}={_encode(operation, name, value)}"
        for name, value in _entries(operation.query, given.parameters)
    ]
    return f"{path}{'?' if query else ''}{'&'.join(query)}"


def _refused(operation: OperationSpec, place: str, rule: str) -> SvcError:
    """The refusal of a part of a request that cannot be sent; it names the place, and quotes no value."""
    return SvcError(f"The request of {operation.name} is not valid: {place}: {rule}", operation=operation.id)


def _encode(operation: OperationSpec, name: str, text: str) -> str:
    """Percent-encodes all but the unreserved characters (RFC 3986)."""
    try:
        return quote(text, safe="")
    except UnicodeEncodeError as error:
        raise _refused(operation, ascii(name)[1:-1], "is no Unicode text") from error


def _text(value: object) -> str:
    """Writes a value as JSON and other languages do."""
    if value is None:
        return ""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def _entries(specs: tuple[ParameterSpec, ...], values: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """The caller's parameters in the order of the contract."""
    for spec in specs:
        value = values.get(spec.key)
        if value is None:
            continue
        if not spec.prefix:
            yield spec.name, _text(value)
            continue
        for last, entry in cast("Mapping[str, object]", value).items():
            if entry is not None:
                yield f"{spec.name}{last}", _text(entry)


def _encoded(
    operation: OperationSpec, spec: BodySpec, request: Any, random: Callable[[], float]
) -> tuple[Body, str]:
    if spec.kind == "json":
        return Body((json_text(request, operation),)), spec.media_type
    if spec.kind == "bytes":
        return Body(content_segments(request)), spec.media_type
    if not isinstance(request, Mapping):
        raise _refused(operation, "the whole", "must be a mapping of its parts")
    boundary = "svc-" + "-".join(f"{int(random() * 2**32):08x}" for _ in range(4))
    parts = multipart(spec.parts, cast("Mapping[str, Any]", request), boundary, operation)
    return parts, f"{spec.media_type}; boundary={boundary}"


def _is_key_given(operation: OperationSpec, request: Any, headers: WireHeaders) -> bool:
    key = operation.key
    if key is None:
        return False
    member = key.name if key.place == "body" else key.member
    values: list[object] = [headers.get(key.name)] if key.place == "header" else []
    if member is not None and isinstance(request, Mapping):
        values.append(cast("Any", request).get(member))
    return any(isinstance(value, str) and value.strip() != "" for value in values)
