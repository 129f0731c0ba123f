"""The credentials of a request.

The key goes in its own header and the token in `X-Serverless-Authorization`, since a service
with API keys reads `Authorization` as an attempt at a key.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from inspect import isawaitable
from typing import Any, TypeAlias, cast

from ._errors import SvcError

Credential: TypeAlias = str | Callable[[], str]
"""A credential, or a function that returns one. The client calls it before each request."""

AsyncCredential: TypeAlias = str | Callable[[], str | Awaitable[str]]

# The service's form of a key, and the form of a token in RFC 6750 section 2.1. The platform refuses other values as a
# header, and quotes them in its error.
API_KEY = re.compile(r"[\x21-\x7e]{1,512}")
TOKEN = re.compile(r"[A-Za-z0-9._~+/-]{1,16384}=*")


CREDENTIAL_HEADERS = (
    *("authorization", "proxy-authorization", "cookie", "set-cookie"),
    *("x-serverless-authorization", "x-svc-api-key", "x-api-key"),
)
"""The headers that carry or set credentials, in lower case."""


class Secret(str):
    """Text that does not appear in printed variables."""

    def __repr__(self) -> str:
        return "'[redacted]'"


class Unfit:
    """Stands for a value of a wrong type. The client refuses it, but it may still be a credential."""

    def __repr__(self) -> str:
        return "[redacted]"


def keep(credential: Any) -> Any:
    """The credential in a form that is not printed by accident."""
    if credential is None or callable(credential):
        return credential
    return Secret(credential) if isinstance(credential, str) else Unfit()


def keep_headers(headers: Mapping[Any, Any] | None) -> Any:
    """Headers. Each may hold a credential."""
    if not isinstance(cast("object", headers), Mapping):
        return None if headers is None else Unfit()
    return {name: keep(value) for name, value in (headers or {}).items()}


def checked(what: str, value: object, form: re.Pattern[str]) -> Secret:
    if isinstance(value, str) and form.fullmatch(value):
        return Secret(value)
    raise SvcError(f"The {what} is empty, too long, not a str, or has an invalid character.")


def bearer(token: Secret) -> Secret:
    return Secret(f"Bearer {token}")


def given(credential: AsyncCredential | None, what: str, form: re.Pattern[str]) -> Secret | None:
    """The current credential."""
    if credential is None:
        return None
    value: Any = credential() if callable(credential) else credential
    if isawaitable(value):
        close = getattr(value, "close", None)
        if close is not None:
            close()
        raise SvcError(f"The {what} comes from a coroutine function, which only AsyncClient accepts.")
    # Reuse the name, so that no local variable still holds the unwrapped credential.
    value = keep(value)
    return checked(what, value, form)


async def async_given(credential: AsyncCredential | None, what: str, form: re.Pattern[str]) -> Secret | None:
    if credential is None:
        return None
    value: Any = credential() if callable(credential) else credential
    value = keep(await value if isawaitable(value) else value)
    return checked(what, value, form)
