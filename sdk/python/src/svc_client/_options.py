"""The options of a client and of a call."""

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
    """The options of both clients."""

    api_key_header: str
    """The header that carries the key. `SVC_API_KEY_HEADER`, else `X-Svc-Api-Key`, if absent."""
    headers: Mapping[str, str | None]
    """Sent with every request; None removes a header that the client sends."""
    timeout: float
    """Time for a call in seconds, retries and pauses included; 60 if absent."""
    max_retries: int
    """How often the client retries a failed call where that is safe; 2 if absent. All clients of a process share a
    retry budget for each server: while it is spent, the client raises the failure without a retry."""
    max_response_bytes: int
    """The longest body that the client holds in memory; 134,217,728 (128 MiB) if absent. A longer one raises
    `APIResponseError`. The client does not limit bodies that it hands over as streams."""
    insecure: bool
    """Allows credentials over plain HTTP to other machines, where others can read them."""
    ssl_context: ssl.SSLContext
    """Replaces the TLS settings of the platform, such as for own authorities and client certificates."""


class ClientOptions(SharedOptions, total=False):
    """Options of `Client`."""

    api_key: Credential | None
    """`SVC_API_KEY` if absent; None for none."""
    token: Credential | None
    """An identity token (OIDC). `SVC_IDENTITY_TOKEN` if absent; None for none."""
    world: World
    """Replaces the clock, the random numbers and the retry budgets. For tests."""


class AsyncClientOptions(SharedOptions, total=False):
    """Options of `AsyncClient`."""

    api_key: AsyncCredential | None
    """`SVC_API_KEY` if absent; None for none."""
    token: AsyncCredential | None
    """An identity token (OIDC). `SVC_IDENTITY_TOKEN` if absent; None for none."""
    http_client: httpx2.AsyncClient
    """Replaces the HTTP client that this client makes. The caller has to close it."""
    world: AsyncWorld
    """Replaces the clock, the random numbers and the retry budgets. For tests."""


class AsyncCallOptions(TypedDict, total=False):
    """The options of one call, which override those of the client."""

    timeout: float
    """In seconds."""
    headers: Mapping[str, str | None]
    correlation_id: str
    """The id of the request in the log and the answer of the service: 1 to 128 letters, digits and `._:-`."""
    max_retries: int
    max_response_bytes: int


class CallOptions(AsyncCallOptions, total=False):
    """The options of one call of `Client`, which override those of the client."""

    cancellation: Cancellation
    """Ends the call, also during a pause between retries."""


NAMES = {
    *SharedOptions.__annotations__,
    *("api_key", "token", "world", "http_client"),
}
_CALL_NAMES = frozenset({*AsyncCallOptions.__annotations__, *CallOptions.__annotations__})
_PLAIN_NAMES = (NAMES | _CALL_NAMES) - {"api_key", "token", "headers"}


def keep_in(options: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of the options that does not print credentials by accident. A credential may have a misspelt name."""
    kept: dict[str, Any] = {}
    for name, value in options.items():
        if name == "headers":
            kept[name] = keep_headers(value)
        else:
            kept[name] = value if name in _PLAIN_NAMES else keep(value)
    return kept


# The longest timeout of a platform's sockets.
_TIMEOUT_MAX = (2**31 - 1) / 1000


def check_timeout(timeout: object) -> float:
    if isinstance(timeout, (int, float)) and not isinstance(timeout, bool) and 0 < timeout <= _TIMEOUT_MAX:
        return float(timeout)
    raise SvcError(f"timeout must be above 0 and at most {_TIMEOUT_MAX} seconds.")


def check_retries(max_retries: object) -> int:
    if isinstance(max_retries, int) and not isinstance(max_retries, bool) and max_retries >= 0:
        return max_retries
    raise SvcError("max_retries must be a whole number from 0.")


def check_response_bytes(max_response_bytes: object) -> int:
    if (
        isinstance(max_response_bytes, int)
        and not isinstance(max_response_bytes, bool)
        and max_response_bytes > 0
    ):
        return max_response_bytes
    raise SvcError("max_response_bytes must be a whole number from 1.")


def check_call(options: CallOptions | AsyncCallOptions | None) -> CallOptions:
    """The checked options of a call: a misspelt name is an error."""
    options = cast("CallOptions", keep_in(options or {}))
    for name in options:
        if name not in _CALL_NAMES:
            raise TypeError(f"there is no option {name!r} of a call")
    return options


def check_headers(headers: object) -> dict[str, str | None]:
    """The headers of a client or a call. Their names and values are checked when they are sent."""
    if headers is None:
        return {}
    if isinstance(headers, Mapping) and all(isinstance(name, str) for name in cast("Any", headers)):
        return {**cast("Mapping[str, str | None]", headers)}
    raise SvcError("headers must be a mapping of names to values.")
