"""The lease calls of a dispatcher."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from .._cancellation import Cancellation
from ._calls import bounded
from ._options import Settings
from ._outbox import LeaseRequest
from ._timers import within

if TYPE_CHECKING:
    from .._generated import models

Leases: TypeAlias = "Sequence[tuple[models.CanonicalOutboxEvent, str]]"
"""Events with the tokens of their leases."""

# The time of a lease call in addition to its wait.
_CALL_SECONDS = 30.0


class LeaseCalls:
    def __init__(
        self, settings: Settings, stopping: Cancellation, accept: Callable[[Leases], object]
    ) -> None:
        """`accept` takes the events of an answer that came too late: otherwise they stay leased until expiry."""
        self._settings = settings
        self._stopping = stopping
        self._accept = accept
        # Those without an answer, with those that were given up.
        self._begun: set[asyncio.Task[Leases]] = set()

    async def lease(self, most: int) -> Leases:
        """Ends at the stop, even if the outbox ignores its signal."""
        settings = self._settings
        seconds = settings.wait_seconds + _CALL_SECONDS
        request = LeaseRequest(
            settings.tenant_id, settings.consumer_id, most, settings.lease_seconds, settings.wait_seconds
        )

        def begin(signal: Cancellation) -> asyncio.Task[Leases]:
            call = asyncio.get_running_loop().create_task(self._call(request, signal))
            self._begun.add(call)
            call.add_done_callback(self._begun.discard)
            return call

        return await bounded(settings.world, seconds, self._stopping, begin)

    async def ended(self, seconds: float) -> None:
        """Waits for the calls that were given up, at most for the seconds: they may still bring events."""
        calls = asyncio.gather(*self._begun, return_exceptions=True)
        await within(self._settings.world, seconds, calls)

    async def _call(self, request: LeaseRequest, signal: Cancellation) -> Leases:
        leases = await self._settings.outbox.lease(request, signal)
        if not signal.cancelled:
            return leases
        self._accept(leases)
        return []
