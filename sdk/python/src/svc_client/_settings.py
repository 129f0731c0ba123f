"""The settings of a client, from its options and from the environment."""

from __future__ import annotations

import ipaddress
import os
import re
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import SplitResult

from ._bounded import RESPONSE_BYTES_MAX
from ._credentials import CREDENTIAL_HEADERS, AsyncCredential, keep
from ._errors import SvcError
from ._options import NAMES, check_headers, check_response_bytes, check_retries, check_timeout
from ._retry import MAX_RETRIES

if TYPE_CHECKING:
    import httpx2


@dataclass(frozen=True)
class Settings:
    """The checked options with all defaults filled in."""

    base_url: str
    url: SplitResult
    api_key: AsyncCredential | None
    api_key_header: str
    token: AsyncCredential | None
    headers: Mapping[str, str | None]
    timeout: float
    max_retries: int
    max_response_bytes: int
    ssl_context: ssl.SSLContext | None
    insecure: bool

    @property
    def server(self) -> str:
        """The origin of the address. It names the retry budget."""
        return f"{self.url.scheme}://{self.url.netloc}"

    def given(self) -> dict[str, Any]:
        """As options: a client that is derived later ignores changes of the environment."""
        names = ("api_key", "api_key_header", "token", "headers")
        return {name: getattr(self, name) for name in names}

    def __repr__(self) -> str:
        return (
            f"(base_url={self.base_url!r}, timeout={self.timeout!r}, max_retries={self.max_retries!r}, "
            f"api_key={_shown(self.api_key)}, token={_shown(self.token)})"
        )


def settle(base_url: str | None, options: Mapping[str, Any]) -> Settings:
    """Checks the options. A refused value appears neither in the error nor in the variables of its traceback."""
    try:
        return _settled(base_url, options, os.environ)
    except (SvcError, TypeError) as error:
        raise error.with_traceback(None) from None


def _settled(base_url: str | None, options: Mapping[str, Any], env: Mapping[str, str]) -> Settings:
    for name in options:
        if name not in NAMES:
            raise TypeError(f"there is no option {name!r}")
    api_key = keep(options.get("api_key", env.get("SVC_API_KEY") or None))
    token = keep(options.get("token", env.get("SVC_IDENTITY_TOKEN") or None))
    url = _address_of(base_url or env.get("SVC_BASE_URL") or env.get("SVC_SERVER"))
    header = options.get("api_key_header") or env.get("SVC_API_KEY_HEADER") or "X-Svc-Api-Key"
    if not isinstance(header, str) or not HEADER_NAME.fullmatch(header):
        raise SvcError("api_key_header is no valid header name.")
    headers = check_headers(options.get("headers"))
    other: httpx2.AsyncClient | None = options.get("http_client")
    settings = Settings(
        base_url=f"{url.scheme}://{url.netloc}{url.path}",
        url=url,
        api_key=api_key,
        api_key_header=header,
        token=token,
        headers=headers,
        timeout=check_timeout(options.get("timeout", 60.0)),
        max_retries=check_retries(options.get("max_retries", MAX_RETRIES)),
        max_response_bytes=check_response_bytes(options.get("max_response_bytes", RESPONSE_BYTES_MAX)),
        ssl_context=options.get("ssl_context"),
        insecure=bool(options.get("insecure", False)),
    )
    carried = [name for name, value in headers.items() if value is not None]
    carried += [] if other is None else other.headers
    carried += ["authorization"] if api_key is not None or token is not None else []
    refuse_readable(settings, carried)
    return settings


def refuse_readable(settings: Settings, names: Iterable[str]) -> None:
    """Refuses headers with credentials if others can read them on their way."""
    url = settings.url
    if settings.insecure or url.scheme != "http" or _is_this_machine(url.hostname or ""):
        return
    credentials = {*CREDENTIAL_HEADERS, settings.api_key_header.lower()}
    if any(name.lower() in credentials for name in names):
        raise SvcError(
            f"{settings.server} is plain HTTP to another machine: a credential sent there can be read "
            "on the way. Use https, or the option insecure where the way is safe."
        )


HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# Refuses every address that a parser would correct or could read in two ways, so that all SDKs take the same
# addresses (`sdk/base-url-table.json`).
_ADDRESS = re.compile(
    r"(?P<scheme>https?)://(?P<host>[a-z0-9._-]+|\[[0-9a-f:]+\])(?::(?P<port>[0-9]{1,5}))?"
    r"(?P<path>(?:/(?:[\w.~!$&'()*+,;=:@-]|%[0-9a-f]{2})*)*)",
    re.ASCII | re.IGNORECASE,
)
_DOTS = re.compile(r"(?:\.|%2e){1,2}", re.IGNORECASE)
_USUAL_PORTS = {"http": 80, "https": 443}


def _address_of(text: str | None) -> SplitResult:
    """The error does not quote the address: it may hold a password."""
    if not text:
        raise SvcError("The client needs the address of a service: base_url, or SVC_BASE_URL.")
    if not isinstance(cast("object", text), str):
        raise SvcError("base_url is no address such as https://svc.example.com.")
    if re.match(r"(?!https?:)[a-z][a-z0-9+.-]*://", text, re.IGNORECASE):
        raise SvcError("base_url is neither http nor https.")
    if re.match(r"[^/]*//[^/]*@|[^?#]*[?#]", text):
        raise SvcError("base_url holds more than host, port and path. A credential has options of its own.")
    found = _ADDRESS.fullmatch(text)
    if found is None or not _is_sound(found):
        raise SvcError("base_url is no address such as https://svc.example.com.")
    scheme, host = found["scheme"].lower(), found["host"].lower()
    port = int(found["port"] or _USUAL_PORTS[scheme])
    netloc = host if port == _USUAL_PORTS[scheme] else f"{host}:{port}"
    return SplitResult(scheme, netloc, found["path"].rstrip("/"), "", "")


def _is_sound(found: re.Match[str]) -> bool:
    """Whether all parsers read host, port and path in the same way."""
    host = found["host"].lower()
    last = host.removesuffix(".").rpartition(".")[2]
    try:
        if host.startswith("["):
            ipaddress.IPv6Address(host[1:-1])
        # A host that ends in a number is an IP address, and some parsers read `127.1` and `0x7f.0.0.1` as one too.
        elif re.fullmatch(r"[0-9]+|0x[0-9a-f]*", last):
            ipaddress.IPv4Address(host)
    except ValueError:
        return False
    dots = any(_DOTS.fullmatch(segment) for segment in found["path"].split("/"))
    return not dots and 0 < int(found["port"] or 1) < 65536


def _is_this_machine(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _shown(credential: object) -> str:
    return "None" if credential is None else "[redacted]"
