"""The outbox calls of a dispatcher."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, TypeVar

from .._errors import APIStatusError, SvcError, without_frames
from .._in_thread import in_thread

if TYPE_CHECKING:
    from .._cancellation import Cancellation
    from .._client import Client
    from .._generated import models
    from .._options import CallOptions

T = TypeVar("T")

CallFailure: TypeAlias = Literal["lost", "transient", "refused"]
"""`lost`: the lease expired or another consumer holds it; `transient`: a repeated call may succeed, and whether this
one took effect is unknown; `refused`: a repeated call fails too."""

_LOST_CODES = frozenset(["lease_stale", "lease_not_active", "not_found"])
_TRANSIENT = frozenset([401, 408, 425, 429])
_RETRY_AFTER_SECONDS_MAX = 3_600.0

# The time of a call, without the wait for an event.
_CALL_SECONDS = 15.0


class OutboxCallError(Exception):
    """A call of the outbox failed."""

    def __init__(
        self,
        failure: CallFailure,
        message: str,
        *,
        retry_after: float | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message)
        self.failure: CallFailure = failure
        self.retry_after = retry_after
        self.code = code


@dataclass(frozen=True)
class LeaseRequest:
    """What a dispatcher asks for."""

    tenant_id: str
    consumer_id: str
    max_items: int
    lease_seconds: float
    wait_seconds: float


@dataclass(frozen=True, repr=False)
class Hold:
    """A lease of an event. The token is a secret."""

    tenant_id: str
    event_id: str
    lease_token: str


class Outbox(Protocol):
    """The four calls that a dispatcher needs, which end when `signal` is cancelled. A call that fails raises
    `OutboxCallError`; any other exception counts as `transient`."""

    async def lease(
        self, request: LeaseRequest, signal: Cancellation
    ) -> Sequence[tuple[models.CanonicalOutboxEvent, str]]:
        """Leases due events, each with the token of its lease. If none is due, waits up to `wait_seconds` for one."""
        ...

    async def renew(self, hold: Hold, lease_seconds: float, signal: Cancellation) -> None:
        """Extends the lease to `lease_seconds` from now."""
        ...

    async def acknowledge(self, hold: Hold, signal: Cancellation) -> None:
        """Marks the event as delivered. A repeated call with the same token must be safe."""
        ...

    async def release(self, hold: Hold, retry_after_seconds: float, error: str, signal: Cancellation) -> None:
        """Releases the event, which becomes due again after the delay."""
        ...


class ClientOutbox:
    """The outbox of a `Client`, whose calls are made in threads."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.on_lease: Callable[[Hold], object] | None = None
        """Called in the thread that gets a lease."""

    async def lease(
        self, request: LeaseRequest, signal: Cancellation
    ) -> Sequence[tuple[models.CanonicalOutboxEvent, str]]:
        body: models.CanonicalOutboxLeaseRequest = {
            "consumerId": request.consumer_id,
            "maxItems": request.max_items,
            "leaseSeconds": request.lease_seconds,
            "waitSeconds": request.wait_seconds,
        }
        options = _options(signal, request.wait_seconds)
        call = partial(self._client.lease_canonical_outbox, request.tenant_id, body, options=options)

        def leased() -> list[tuple[models.CanonicalOutboxEvent, str]]:
            found = [(lease["event"], lease["leaseToken"]) for lease in call()]
            for event, token in found:
                if self.on_lease is not None:
                    self.on_lease(Hold(request.tenant_id, event["id"], token))
            return found

        return await _made(leased)

    async def renew(self, hold: Hold, lease_seconds: float, signal: Cancellation) -> None:
        body: models.CanonicalOutboxLeaseRenewalRequest = {
            "leaseToken": hold.lease_token,
            "leaseSeconds": lease_seconds,
        }
        renew = self._client.renew_canonical_outbox_lease
        await _made(partial(renew, hold.tenant_id, hold.event_id, body, options=_options(signal)))

    async def acknowledge(self, hold: Hold, signal: Cancellation) -> None:
        body: models.CanonicalOutboxAcknowledgement = {"leaseToken": hold.lease_token}
        acknowledge = self._client.acknowledge_canonical_outbox
        await _made(partial(acknowledge, hold.tenant_id, hold.event_id, body, options=_options(signal)))

    async def release(self, hold: Hold, retry_after_seconds: float, error: str, signal: Cancellation) -> None:
        body: models.CanonicalOutboxNackRequest = {
            "leaseToken": hold.lease_token,
            "retryAfterSeconds": retry_after_seconds,
            "error": error,
        }
        release = self._client.release_canonical_outbox
        await _made(partial(release, hold.tenant_id, hold.event_id, body, options=_options(signal)))


def _options(signal: Cancellation, wait: float = 0.0) -> CallOptions:
    # The dispatcher repeats calls itself, by the time that is left of a lease.
    return {"timeout": _CALL_SECONDS + wait, "max_retries": 0, "cancellation": signal}


async def _made(call: Callable[[], T]) -> T:
    try:
        return await in_thread(call, "svc-outbox-call")
    except SvcError as error:
        # The frames hold the lease token.
        cause = without_frames(error, None)
    failure: CallFailure = "transient"
    code, after = None, None
    if isinstance(cause, APIStatusError):
        code, after = cause.code, cause.retry_after
        failure = failure_for(cause.status, code)
    asked = None if after is None else min(max(after, 0.0), _RETRY_AFTER_SECONDS_MAX)
    raise OutboxCallError(failure, str(cause), retry_after=asked, code=code) from cause


def failure_for(status: int, code: str | None) -> CallFailure:
    """How a refusal of the service counts."""
    if code in _LOST_CODES:
        return "lost"
    # 401 too: the next call asks for a new token, and this one may have just expired.
    return "transient" if status >= 500 or status in _TRANSIENT else "refused"


def failure_of(error: BaseException) -> CallFailure:
    return error.failure if isinstance(error, OutboxCallError) else "transient"
