"""Renews the lease of an event."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

from .._cancellation import Cancellation
from ._calls import bounded, retry_delay
from ._options import Settings
from ._outbox import ClientOutbox, Hold, failure_of
from ._renewals import LoopRenewals, Renewals, ThreadRenewals
from ._timers import Tasks

# Two more tries fit in before the lease expires.
_RENEW_AT = 1 / 3


class LeaseKeeper:
    """Renews one lease in time. `lost` is cancelled when the service refuses the renewal, or when the lease expires by
    the local clock: the service decides who holds the event, the clock only prevents useless work."""

    def __init__(
        self,
        settings: Settings,
        hold: Hold,
        renewals: Renewals,
    ) -> None:
        """Starts at once: the lease counts from the arrival of its answer. The hooks are called in the loop of the
        dispatcher, and the interrupts of `lost` in the one that renews."""
        self._settings = settings
        self._hold = hold
        self._renewals = renewals
        self._lock = threading.Lock()
        self._over = False
        self._ended = Cancellation()
        self._tasks = Tasks()
        self._cancel_renewal: Callable[[], object] = _nothing
        self._cancel_expiry: Callable[[], object] = _nothing
        self.lost = Cancellation()
        self.when_lost: Callable[[], object] = _nothing
        self.on_error: Callable[[BaseException], object] = _nothing
        begin = settings.world.now()
        self.until = begin + settings.lease_seconds
        """The expiry of the lease by the clock of the dispatcher."""
        renewals.post(partial(self._hold_from, begin))

    def end(self) -> bool:
        """Renews no more, and reports no loss any more. The current term of the lease stays in force. False if the
        lease is lost already."""
        if self._settle():
            self._renewals.post(self._stop)
        return not self.lost.cancelled

    def _settle(self, *, lost: bool = False) -> bool:
        """Whether this is the end of the renewals: a lease that has ended cannot be lost any more."""
        with self._lock:
            if self._over:
                return False
            self._over = True
            if lost:
                # Here, so that an end that comes second finds it.
                self.lost.cancel()
            return True

    def _stop(self) -> None:
        self._ended.cancel()
        self._cancel_renewal()
        self._cancel_expiry()

    def _hold_from(self, begin: float) -> None:
        if self._over:
            return
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
        if not self._renewals.needed:
            return
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
            self._renewals.tell(partial(self._fail, error))
            if failure_of(error) == "transient":
                self._renew_after(retry_delay(world, tries, error), tries + 1)
            else:
                self._lose()
        else:
            # Count from before the call: the service cannot have started the new term earlier.
            self._hold_from(sent)

    def _fail(self, error: BaseException) -> None:
        self.on_error(error)

    def _lose(self) -> None:
        if self._settle(lost=True):
            self._stop()
            self._renewals.tell(lambda: self.when_lost())


class LeaseKeepers:
    """Begins to renew a lease in the thread that gets it: the loop of the dispatcher may be blocked then."""

    def __init__(self, settings: Settings, *, own_thread: bool) -> None:
        """In a thread only for the calls of a client: those of another outbox may belong to the loop of the
        dispatcher."""
        self._settings = settings
        self.renewals: Renewals = ThreadRenewals() if own_thread else LoopRenewals()
        self._begun: dict[str, LeaseKeeper] = {}
        if own_thread and isinstance(settings.outbox, ClientOutbox):
            settings.outbox.on_lease = self._begin

    def _begin(self, hold: Hold) -> None:
        self._begun[hold.lease_token] = LeaseKeeper(self._settings, hold, self.renewals)

    def of(self, hold: Hold) -> LeaseKeeper:
        """That of the lease, for the delivery of its event."""
        begun = self._begun.pop(hold.lease_token, None)
        return begun or LeaseKeeper(self._settings, hold, self.renewals)


def _nothing(*_: object) -> None:
    pass
