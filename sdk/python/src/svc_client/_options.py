"""What a client and a call can be told, and what follows where nothing is said."""

from __future__ import annotations

import ipaddress
import os
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict, cast
from urllib.parse import SplitResult, urlsplit

from ._cancellation import Cancellation
from ._credentials import AsyncCredential, Credential, keep
from ._errors import SvcError
from ._retry import MAX_RETRIES

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


@dataclass(frozen=True)
class Settings:
    """The options with everything that was left open decided, and judged."""

    base_url: str
    url: SplitResult
    api_key: AsyncCredential | None
    api_key_header: str
    token: AsyncCredential | None
    headers: Mapping[str, str | None]
    timeout: float
    max_retries: int
    ssl_context: ssl.SSLContext | None

    def __repr__(self) -> str:
        return (
            f"(base_url={self.base_url!r}, timeout={self.timeout!r}, max_retries={self.max_retries!r}, "
            f"api_key={_shown(self.api_key)}, token={_shown(self.token)})"
        )


_NAMES = {
    *SharedOptions.__annotations__,
    *("api_key", "token", "world", "http_client"),
}


def settle(base_url: str | None, options: Mapping[str, Any], env: Mapping[str, str] = os.environ) -> Settings:
    for name in options:
        if name not in _NAMES:
            raise TypeError(f"there is no option {name!r}")
    api_key = keep(options.get("api_key", env.get("SVC_API_KEY") or None))
    token = keep(options.get("token", env.get("SVC_IDENTITY_TOKEN") or None))
    url = _address_of(base_url or env.get("SVC_BASE_URL") or env.get("SVC_SERVER"))
    carries = api_key is not None or token is not None
    readable = url.scheme == "http" and not _is_this_machine(url.hostname or "")
    if readable and carries and not options.get("insecure", False):
        raise SvcError(
            f"{url.scheme}://{url.netloc} is plain HTTP to another machine: a credential sent there can be read "
            "on the way. Use https, or the option insecure where the way is safe."
        )
    header = options.get("api_key_header") or env.get("SVC_API_KEY_HEADER") or "X-Svc-Api-Key"
    if not HEADER_NAME.fullmatch(header):
        raise SvcError("api_key_header is no name of a header.")
    return Settings(
        base_url=f"{url.scheme}://{url.netloc}{url.path}",
        url=url,
        api_key=api_key,
        api_key_header=header,
        token=token,
        headers=options.get("headers") or {},
        timeout=check_timeout(options.get("timeout", 60.0)),
        max_retries=check_retries(options.get("max_retries", MAX_RETRIES)),
        ssl_context=options.get("ssl_context"),
    )


HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# Nothing that a parser would strip, mend or read in two ways.
_PLAIN = re.compile(r"[!-\[\]-~]+")


def _address_of(text: str | None) -> SplitResult:
    """What is refused is not quoted: it may hold a password."""
    if not text:
        raise SvcError("The client needs the address of a service: base_url, or SVC_BASE_URL.")
    try:
        url = urlsplit(text) if _PLAIN.fullmatch(text) else None
        sound = url is not None and bool(url.hostname) and url.port != 0
    except ValueError:
        url, sound = None, False
    if url is None or not sound:
        raise SvcError("base_url is no address such as https://svc.example.com.")
    if url.scheme not in ("http", "https"):
        raise SvcError("base_url is neither http nor https.")
    if "@" in url.netloc or "?" in text or "#" in text:
        raise SvcError("base_url holds more than host, port and path. A credential has options of its own.")
    return url._replace(path=url.path.rstrip("/"), netloc=url.netloc.lower())


def _is_this_machine(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _shown(credential: object) -> str:
    return "None" if credential is None else "[redacted]"


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


_CALL_NAMES = frozenset({*AsyncCallOptions.__annotations__, *CallOptions.__annotations__})


def check_call(options: CallOptions | AsyncCallOptions | None) -> CallOptions:
    """A call's options, whose names are checked: a misspelt one would do nothing."""
    for name in options or ():
        if name not in _CALL_NAMES:
            raise TypeError(f"there is no option {name!r} of a call")
    return cast("CallOptions", {**(options or {})})
