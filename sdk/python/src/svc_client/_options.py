"""What a client and a call can be told."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypedDict, cast

from ._cancellation import Cancellation
from ._credentials import AsyncCredential, Credential, keep, keep_headers
from ._errors import SvcError

if TYPE_CHECKING:
    import httpx2

    from ._world import AsyncWorld, World


class SharedOptions(TypedDict, total=False):
    """What both clients can be told. What is not given is decided as said."""

    api_key_header: str
    """The header that the service reads the key from: `SVC_API_KEY_HEADER`, else `X-Svc-Api-Key`."""
    headers: Mapping[str, str | None]
    """Sent with every request; None takes one of the client's own away."""
    timeout: float
    """Seconds that a call may take, repeats and the pauses between them included; 60 where it is not given."""
    max_retries: int
    """How often a call that failed is sent again, where that is safe; 2 where it is not given."""
    insecure: bool
    """Lets credentials go over plain HTTP to other machines, where they can be read on the way."""
    ssl_context: ssl.SSLContext
    """Instead of that of the platform; for authorities and client certificates of your own."""


class ClientOptions(SharedOptions, total=False):
    """Options of `Client`."""

    api_key: Credential | None
    """`SVC_API_KEY` where it is not given; None for none."""
    token: Credential | None
    """An identity token (OIDC). `SVC_IDENTITY_TOKEN` where it is not given; None for none."""
    world: World
    """Instead of the machine's clock and chance. For tests."""


class AsyncClientOptions(SharedOptions, total=False):
    """Options of `AsyncClient`."""

    api_key: AsyncCredential | None
    """`SVC_API_KEY` where it is not given; None for none."""
    token: AsyncCredential | None
    """An identity token (OIDC). `SVC_IDENTITY_TOKEN` where it is not given; None for none."""
    http_client: httpx2.AsyncClient
    """Instead of one that the client makes. It is not closed with the client."""
    world: AsyncWorld
    """Instead of the machine's clock and chance. For tests."""


class AsyncCallOptions(TypedDict, total=False):
    """What can be said of one call; it goes before what the client was made with."""

    timeout: float
    """In seconds."""
    headers: Mapping[str, str | None]
    correlation_id: str
    """Names the request in the service's log and answer: 1 to 128 letters, digits and `._:-`."""
    max_retries: int


class CallOptions(AsyncCallOptions, total=False):
    """What can be said of one call of `Client`."""

    cancellation: Cancellation
    """Ends the call, a pause between repeats included."""


NAMES = {
    *SharedOptions.__annotations__,
    *("api_key", "token", "world", "http_client"),
}
_CALL_NAMES = frozenset({*AsyncCallOptions.__annotations__, *CallOptions.__annotations__})
_PLAIN_NAMES = (NAMES | _CALL_NAMES) - {"api_key", "token", "headers"}


def keep_in(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a client or a call, whose credentials are not printed by accident. One may stand under a name that is
    misspelt."""
    kept: dict[str, Any] = {}
    for name, value in options.items():
        if name == "headers":
            kept[name] = keep_headers(value)
        else:
            kept[name] = value if name in _PLAIN_NAMES else keep(value)
    return kept


# The longest wait that a platform's sockets take.
_TIMEOUT_MAX = (2**31 - 1) / 1000


def check_timeout(timeout: object) -> float:
    if isinstance(timeout, (int, float)) and not isinstance(timeout, bool) and 0 < timeout <= _TIMEOUT_MAX:
        return float(timeout)
    raise SvcError(f"timeout is above 0 and at most {_TIMEOUT_MAX}, in seconds.")


def check_retries(max_retries: object) -> int:
    if isinstance(max_retries, int) and not isinstance(max_retries, bool) and max_retries >= 0:
        return max_retries
    raise SvcError("max_retries is a whole number from 0.")


def check_call(options: CallOptions | AsyncCallOptions | None) -> CallOptions:
    """A call's options, whose names are checked: a misspelt one would do nothing."""
    options = cast("CallOptions", keep_in(options or {}))
    for name in options:
        if name not in _CALL_NAMES:
            raise TypeError(f"there is no option {name!r} of a call")
    return options


def check_headers(headers: object) -> dict[str, str | None]:
    """Those of a client or a call. What their names and values are is judged when they are sent."""
    if headers is None:
        return {}
    if isinstance(headers, Mapping) and all(isinstance(name, str) for name in cast("Any", headers)):
        return {**cast("Mapping[str, str | None]", headers)}
    raise SvcError("headers is a mapping of names to texts.")
