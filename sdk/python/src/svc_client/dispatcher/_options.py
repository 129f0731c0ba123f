"""The options of a dispatcher and their checks."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from .._cancellation import Cancellation
from .._errors import SvcError
from ._errors import DeliveryAborted

if TYPE_CHECKING:
    from .._generated import models
    from ._errors import AbortReason
    from ._outbox import Outbox
    from ._timers import DispatcherWorld


class DeliveryContext:
    """What a handler gets beside its event."""

    def __init__(self) -> None:
        self.cancellation = Cancellation()
        """Set when the handler must end; its result is ignored then. As the `cancellation` of a call it ends that call
        too. The task of a coroutine handler is cancelled."""
        self._reason: AbortReason | None = None
        self._first = threading.Lock()

    @property
    def reason(self) -> AbortReason | None:
        """Why the handler must end; None while it may continue."""
        return self._reason

    def check(self) -> None:
        """Raises `DeliveryAborted` if the handler must end. Call it between steps."""
        if self._reason is not None:
            raise DeliveryAborted(self._reason)

    def _abort(self, reason: AbortReason) -> None:
        with self._first:
            if self._reason is not None:
                return
            self._reason = reason
        self.cancellation.cancel()


EventHandler: TypeAlias = "Callable[[models.CanonicalOutboxEvent, DeliveryContext], object]"
"""Does the work of one event: a function, which is called in a thread, or a coroutine function. If it returns, the
event is acknowledged; if it raises, the event is released. It may run more than once for one event: make its effect
repeatable."""


@dataclass(frozen=True)
class DispatcherEvent:
    """A report for logs and metrics."""

    type: Literal["leased", "delivered", "unacknowledged", "failed", "lost", "returned"]
    """`unacknowledged`: handled, but the event returns; `failed`: the handler failed; `returned`: released at a stop
    before the handler began, and the service has answered."""
    event: models.CanonicalOutboxEvent | None = None
    count: int | None = None
    """Of `leased`."""
    error: BaseException | None = None
    retry_in_seconds: float | None = None
    duration_seconds: float | None = None


OnEvent: TypeAlias = Callable[[DispatcherEvent], object]

During: TypeAlias = Literal["lease", "renew", "handle", "acknowledge", "release", "hook"]
"""What the dispatcher was doing when an exception came."""

OnError: TypeAlias = "Callable[[BaseException, During, models.CanonicalOutboxEvent | None], object]"
"""Gets an exception, what the dispatcher was doing, and the event."""


@dataclass(frozen=True)
class Backoff:
    """Random delays, from a range that doubles with each failure up to the cap."""

    base_seconds: float = 1.0
    cap_seconds: float = 300.0

    def delay(self, failures: int, chance: float, at_least: float | None = None) -> float:
        """The delay after failure number `failures`, from 1."""
        ceiling = min(self.cap_seconds, self.base_seconds * 2.0 ** min(max(failures - 1, 0), 30))
        # An immediate retry would meet the same failure.
        return max(round(chance * ceiling, 3), 0.05, at_least or 0.0)


@dataclass(frozen=True)
class Settings:
    outbox: Outbox
    world: DispatcherWorld
    tenant_id: str
    consumer_id: str
    handlers: Mapping[str, EventHandler]
    fallback: EventHandler | None
    concurrency: int
    batch_size: int
    lease_seconds: float
    wait_seconds: float
    idle_seconds: float
    handler_timeout_seconds: float | None
    backoff: Backoff
    grace_seconds: float
    abort_grace_seconds: float

    def handler_of(self, topic: str) -> EventHandler | None:
        return self.handlers.get(topic, self.fallback)

    def __post_init__(self) -> None:
        _whole("concurrency", self.concurrency, 1, 10_000)
        _whole("batch_size", self.batch_size, 1, 100)
        _between("lease_seconds", self.lease_seconds, 1, 86_400)
        _between("wait_seconds", self.wait_seconds, 0, 20)
        _between("idle_seconds", self.idle_seconds, 0.01, 3_600)
        if self.handler_timeout_seconds is not None:
            _between("handler_timeout_seconds", self.handler_timeout_seconds, 0.001, 86_400)
        _between("base_seconds of backoff", self.backoff.base_seconds, 0.001, 86_400)
        _between("cap_seconds of backoff", self.backoff.cap_seconds, 0.001, 86_400)
        _between("grace_seconds", self.grace_seconds, 0, 3_600)
        _between("abort_grace_seconds", self.abort_grace_seconds, 0, 600)


def _between(name: str, value: object, least: float, most: float) -> None:
    number = value if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan
    if not least <= number <= most:
        raise SvcError(f"{name} must be a number from {least:g} to {most:g}.")


def _whole(name: str, value: object, least: int, most: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise SvcError(f"{name} must be a whole number from {least} to {most}.")
