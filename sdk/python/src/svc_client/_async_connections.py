"""The connections of an `AsyncClient`, which are those of httpx2."""

from __future__ import annotations

from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx2

from ._settings import Settings


class Connections:
    """The connections that a client shares with the clients derived from it."""

    def __init__(self, settings: Settings, given: httpx2.AsyncClient | None) -> None:
        self._settings = settings
        self._given = given
        self._own: httpx2.AsyncClient | None = None

    def client(self) -> httpx2.AsyncClient:
        if self._given is not None:
            return self._given
        if self._own is None:
            context = self._settings.ssl_context
            self._own = httpx2.AsyncClient(
                # Ignore proxies and credentials of the environment: the call goes to the given address alone.
                trust_env=False,
                # Keep no cookies: an answer must not change the next call.
                cookies=CookieJar(policy=DefaultCookiePolicy(allowed_domains=[])),
                verify=True if context is None else context,
                limits=httpx2.Limits(
                    max_connections=None, max_keepalive_connections=20, keepalive_expiry=4.0
                ),
            )
        return self._own

    async def aclose(self) -> None:
        own, self._own = self._own, None
        if own is not None:
            await own.aclose()
