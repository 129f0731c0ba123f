"""What says who is calling.

The key goes in its own header and the token in `X-Serverless-Authorization`, which the service reads for an identity
whatever it is configured with: where keys are in use, a token alone in `Authorization` is an attempt at a key.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from inspect import isawaitable
from typing import Any, TypeAlias, cast

from ._errors import SvcError

Credential: TypeAlias = str | Callable[[], str]
"""A credential, or what gives one: it is asked before each request, so that it may hand out fresh ones."""

AsyncCredential: TypeAlias = str | Callable[[], str | Awaitable[str]]

# What the service takes for a key, and what RFC 6750 section 2.1 takes for a token. Anything else the platform would
# refuse as a header, in an error that quotes it.
API_KEY = re.compile(r"[\x21-\x7e]{1,512}")
TOKEN = re.compile(r"[A-Za-z0-9._~+/-]{1,16384}=*")


CREDENTIAL_HEADERS = (
    *("authorization", "proxy-authorization", "cookie", "set-cookie"),
    *("x-serverless-authorization", "x-svc-api-key", "x-api-key"),
)
"""The headers that say who is calling, or hand out what does, in lower case."""


class Secret(str):
    """Text that tools which print variables do not print."""

    def __repr__(self) -> str:
        return "'[redacted]'"


class Unfit:
    """Stands for what was given where a text belongs: that is refused, and may be a credential all the same."""

    def __repr__(self) -> str:
        return "[redacted]"


def keep(credential: Any) -> Any:
    """The credential, not to be printed by accident."""
    if credential is None or callable(credential):
        return credential
    return Secret(credential) if isinstance(credential, str) else Unfit()


def keep_headers(headers: Mapping[Any, Any] | None) -> Any:
    """Headers, of which each may hold a credential."""
    if not isinstance(cast("object", headers), Mapping):
        return None if headers is None else Unfit()
    return {name: keep(value) for name, value in (headers or {}).items()}


def checked(what: str, value: object, form: re.Pattern[str]) -> Secret:
    if isinstance(value, str) and form.fullmatch(value):
        return Secret(value)
    raise SvcError(f"The {what} is empty, too long, no text, or holds a character that it cannot hold.")


def bearer(token: Secret) -> Secret:
    return Secret(f"Bearer {token}")


def given(credential: AsyncCredential | None, what: str, form: re.Pattern[str]) -> Secret | None:
    """The credential as it is now."""
    if credential is None:
        return None
    value: Any = credential() if callable(credential) else credential
    if isawaitable(value):
        close = getattr(value, "close", None)
        if close is not None:
            close()
        raise SvcError(f"The {what} comes from a coroutine, which AsyncClient takes.")
    # Under the same name, so that no variable holds it as it was.
    value = keep(value)
    return checked(what, value, form)


async def async_given(credential: AsyncCredential | None, what: str, form: re.Pattern[str]) -> Secret | None:
    if credential is None:
        return None
    value: Any = credential() if callable(credential) else credential
    value = keep(await value if isawaitable(value) else value)
    return checked(what, value, form)
