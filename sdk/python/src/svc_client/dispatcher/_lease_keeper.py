"""Renews the lease of an event."""

from __future__ import annotations

from collections.abc import Callable

from .._cancellation import Cancellation
from ._calls import bounded, retry_delay
from ._options import Settings
from ._outbox import Hold, failure_of
from ._timers import Tasks

# Two more tries fit in before the lease expires.
_RENEW_AT = 1 / 3


class LeaseKeeper:
    """Renews one lease in time. `lost` is cancelled when the service refuses the renewal, or when the lease expires by
    the local clock: the service decides who holds the event, the clock only prevents useless work."""

    def __init__(self, settings: Settings, hold: Hold, on_error: Callable[[BaseException], object]) -> None:
        """Starts at once: the lease counts from the arrival of its answer."""
        self._settings = settings
        self._hold = hold
        self._on_error = on_error
        self._ended = Cancellation()
        self._tasks = Tasks()
        self._cancel_renewal: Callable[[], object] = _nothing
        self._cancel_expiry: Callable[[], object] = _nothing
        self.lost = Cancellation()
        self.when_lost: Callable[[], object] = _nothing
        self.until = 0.0
        """The expiry of the lease by the clock of the dispatcher."""
        self._hold_from(settings.world.now())

    def end(self) -> None:
        """Renews no more, and reports no loss any more. The current term of the lease stays in force."""
        self._ended.cancel()
        self._cancel_renewal()
        self._cancel_expiry()

    def _hold_from(self, begin: float) -> None:
        world, seconds = self._settings.world, self._settings.lease_seconds
        self.until = begin + seconds
        self._cancel_expiry()
        self._cancel_expiry = world.after(self.until - world.now(), self._lose)
        self._renew_after(begin + seconds * _RENEW_AT - world.now(), 1)

    def _renew_after(self, delay: float, tries: int) -> None:
        self._cancel_renewal()
        self._cancel_renewal = self._settings.world.after(
            delay, lambda: self._tasks.begin(self._renew(tries))
        )

    async def _renew(self, tries: int) -> None:
        world, outbox, seconds = self._settings.world, self._settings.outbox, self._settings.lease_seconds
        sent = world.now()
        try:
            await bounded(
                world,
                seconds * _RENEW_AT,
                self._ended,
                lambda signal: outbox.renew(self._hold, seconds, signal),
            )
        except Exception as error:
            if self._over:
                return
            self._on_error(error)
            if failure_of(error) == "transient":
                self._renew_after(retry_delay(world, tries, error), tries + 1)
            else:
                self._lose()
        else:
            # Count from before the call: the service cannot have started the new term earlier.
            if not self._over:
                self._hold_from(sent)

    @property
    def _over(self) -> bool:
        return self._ended.cancelled or self.lost.cancelled

    def _lose(self) -> None:
        self.end()
        self.lost.cancel()
        self.when_lost()


def _nothing() -> None:
    pass
