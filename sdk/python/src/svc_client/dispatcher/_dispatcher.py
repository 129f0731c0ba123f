"""The dispatcher of the outbox."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from .._cancellation import Cancellation
from .._client import Client
from .._errors import SvcError
from ._calls import retry_delay
from ._delivery import Delivery, Surroundings
from ._hooks import Hooks
from ._lanes import Lanes
from ._lease_calls import LeaseCalls, Leases
from ._lease_keeper import LeaseKeepers
from ._options import Backoff, DispatcherEvent, EventHandler, OnError, OnEvent, Settings
from ._outbox import ClientOutbox, Outbox
from ._timers import DispatcherWorld, Machine, Moment, Tasks, pause, within

if TYPE_CHECKING:
    from typing_extensions import Self

# The time of an aborted lease call at a stop, and that of the last releases of the stop.
_LAST_CALLS_SECONDS = 3.0


class Dispatcher:
    """Delivers the outbox events of one tenant to handlers, at least once each. Events of one key are handled one at a
    time, in the order of their leases; a failed event returns later and does not block the events behind it. An event
    is acknowledged only if its lease was held until its handler returned. It belongs to the loop that starts it."""

    def __init__(
        self,
        client: Client | Outbox,
        *,
        tenant_id: str,
        consumer_id: str,
        handlers: Mapping[str, EventHandler],
        fallback: EventHandler | None = None,
        concurrency: int = 8,
        batch_size: int | None = None,
        lease_seconds: float = 60.0,
        wait_seconds: float = 20.0,
        idle_seconds: float = 1.0,
        handler_timeout_seconds: float | None = None,
        backoff: Backoff | None = None,
        grace_seconds: float = 8.0,
        abort_grace_seconds: float = 2.0,
        on_event: OnEvent | None = None,
        on_error: OnError | None = None,
        world: DispatcherWorld | None = None,
    ) -> None:
        """`consumer_id` names this consumer: each dispatcher of a tenant needs a name of its own. `handlers` are by
        topic, `fallback` handles every other topic. At most `concurrency` events are held at a time, `batch_size` of
        one lease call. Failed events return after a delay of `backoff`. `stop` gives handlers `grace_seconds`, then
        aborts them and gives them `abort_grace_seconds`."""
        size = min(concurrency, 100) if batch_size is None else batch_size
        self._settings = Settings(
            outbox=ClientOutbox(client) if isinstance(client, Client) else client,
            world=world or Machine(),
            tenant_id=tenant_id,
            consumer_id=consumer_id,
            handlers=dict(handlers),
            fallback=fallback,
            concurrency=concurrency,
            batch_size=size,
            lease_seconds=lease_seconds,
            wait_seconds=wait_seconds,
            idle_seconds=idle_seconds,
            handler_timeout_seconds=handler_timeout_seconds,
            backoff=backoff or Backoff(),
            grace_seconds=grace_seconds,
            abort_grace_seconds=abort_grace_seconds,
        )
        self._stopping, self._ending, self._over = Cancellation(), Cancellation(), Cancellation()
        self._hooks = Hooks(on_event, on_error)
        keepers = LeaseKeepers(self._settings, own_thread=isinstance(client, Client) and world is None)
        self._around = Surroundings(
            self._settings, self._ending, self._over, self._hooks, keepers, self._obey
        )
        self._renewals = keepers.renewals
        self._calls = LeaseCalls(self._settings, self._stopping, self._accept)
        self._lanes, self._tasks = Lanes(), Tasks()
        self._held = 0
        self._changed: Moment | None = None
        self._leasing: asyncio.Task[None] | None = None
        self._stopped: asyncio.Task[None] | None = None
        self._order: BaseException | None = None

    @property
    def held(self) -> int:
        """The number of leased events that are not yet acknowledged, released or lost."""
        return self._held

    def start(self) -> None:
        """Starts to lease, in the running event loop. A second call does nothing; a stopped dispatcher stays so."""
        if self._leasing is None and not self._stopping.cancelled:
            self._leasing = asyncio.get_running_loop().create_task(self._lease())
            self._renewals.begin(self._leasing)

    async def run(self) -> None:
        """Starts, and returns when the dispatcher has stopped. If its task is cancelled, as by Control-C, it stops. A
        `SystemExit` or `KeyboardInterrupt` of a handler stops it too, and is raised here."""
        self.start()
        if self._leasing is None:
            raise SvcError("A dispatcher that was stopped stays stopped: create another one.")
        try:
            await asyncio.shield(self._leasing)
        finally:
            await self.stop()
        if self._order is not None:
            raise self._order

    async def stop(self) -> None:
        """Stops leasing, releases events that were not begun, gives handlers the grace period, then aborts them and
        releases their events. Ends a few seconds after the grace period at the latest. An event on its last delivery is
        still begun: a release would dead-letter it without a try."""
        await asyncio.shield(self._begin_stop())

    def _begin_stop(self) -> asyncio.Task[None]:
        if self._stopped is None:
            self._stopped = asyncio.get_running_loop().create_task(self._stop())
        return self._stopped

    def _obey(self, order: BaseException) -> None:
        """Stops in order: what a handler raised addresses the program."""
        self._order = self._order or order
        self._begin_stop()

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def _stop(self) -> None:
        settings = self._settings
        self._stopping.cancel()
        self._wake()
        self._release_all(self._lanes.take(self._must_release))
        idle = asyncio.ensure_future(self._idle())
        await within(settings.world, settings.grace_seconds, idle)
        self._ending.cancel()
        self._release_all(self._lanes.take(lambda _: True))
        await within(settings.world, settings.abort_grace_seconds + _LAST_CALLS_SECONDS, idle)
        self._over.cancel()
        await idle
        self._renewals.close()

    async def _idle(self) -> None:
        if self._leasing is not None:
            await self._leasing
        # An aborted call may still bring events, which must be released before the end.
        await self._calls.ended(_LAST_CALLS_SECONDS)
        while self._held > 0:
            await self._change()

    async def _lease(self) -> None:
        """Makes one call at a time, with a pause after an empty answer."""
        settings, world = self._settings, self._settings.world
        failures = 0
        while not self._is_stopping():
            free = settings.concurrency - self._held
            if free <= 0:
                await self._change()
                continue
            began = world.now()
            try:
                leases = await self._calls.lease(min(free, settings.batch_size))
            except Exception as error:
                failures += 1
                if self._is_stopping():
                    return
                self._hooks.fail(error, "lease", None)
                await pause(world, retry_delay(world, failures, error), self._stopping)
                continue
            failures = 0
            if len(leases) > 0:
                self._accept(leases)
            else:
                # A call that waited at the service counts towards the pause.
                rest = began + settings.idle_seconds * (1 - world.random() / 2) - world.now()
                if rest > 0:
                    await pause(world, rest, self._stopping)

    def _is_stopping(self) -> bool:
        return self._stopping.cancelled

    def _accept(self, leases: Leases) -> None:
        if len(leases) == 0:
            return
        deliveries = [Delivery(self._around, event, token) for event, token in leases]
        self._held += len(deliveries)
        self._hooks.report(DispatcherEvent("leased", count=len(leases)))
        for delivery in deliveries:
            if self._must_release(delivery):
                self._release_all([delivery])
            elif self._lanes.enter(delivery):
                self._tasks.begin(self._run(delivery))
            else:
                delivery.when_lost(partial(self._drop_if_waiting, delivery))

    def _drop_if_waiting(self, delivery: Delivery) -> None:
        """Drops an event whose lease is lost while the event waits for its key."""
        if self._lanes.take(lambda each: each is delivery):
            self._hooks.report(DispatcherEvent("lost", delivery.event))
            self._drop_held()

    def _must_release(self, delivery: Delivery) -> bool:
        return self._ending.cancelled or (self._stopping.cancelled and not delivery.is_last)

    async def _run(self, delivery: Delivery) -> None:
        try:
            await self._guarded(delivery, delivery.run())
        finally:
            following = self._lanes.advance(delivery.event["key"])
            if following is not None:
                self._tasks.begin(self._run(following))

    def _release_all(self, deliveries: Sequence[Delivery]) -> None:
        for delivery in deliveries:
            self._tasks.begin(self._guarded(delivery, delivery.release_unbegun()))

    async def _guarded(self, delivery: Delivery, work: Awaitable[None]) -> None:
        """A failure with one event, or a cancellation from outside, must not block other events or a stop."""
        try:
            await work
        except Exception as error:
            self._hooks.fail(error, "handle", delivery.event)
        finally:
            self._drop_held()

    def _drop_held(self) -> None:
        self._held -= 1
        self._wake()

    async def _change(self) -> None:
        self._changed = self._changed or Moment()
        await self._changed.wait()

    def _wake(self) -> None:
        changed, self._changed = self._changed, None
        if changed is not None:
            changed.come()
