"""Retries of idempotent calls under a lease."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from .._errors import (
    APIConnectionError,
    APIResponseError,
    APIStatusError,
    APITimeoutError,
    SvcError,
    without_frames,
)

if TYPE_CHECKING:
    from .._world import World
    from ._lease import HeldLease

T = TypeVar("T")

CALL_SECONDS_MAX = 30.0
"""The timeout of one call of a worker, without the wait for a run."""

_BASE_SECONDS = 0.5
_CAP_SECONDS = 8.0
# The longest pause that `Retry-After` can cause.
_ASKED_SECONDS_MAX = 60.0

_LEASE_CODES = frozenset(["lease_stale", "lease_not_active"])


def bare(call: Callable[[], T]) -> T:
    """Makes a call. Its error has no traceback: the frames hold the lease token in variables."""
    outside = sys.exc_info()[1]
    try:
        return call()
    except SvcError as error:
        raise without_frames(error, outside)  # noqa: B904


def may_pass(error: BaseException) -> bool:
    """Whether the same request may succeed later. After an unreadable answer the outcome is unknown."""
    if isinstance(error, APIStatusError):
        return error.status in (408, 429) or error.status >= 500
    return isinstance(error, (APIConnectionError, APIResponseError))


def says_lost(error: BaseException) -> bool:
    return isinstance(error, APIStatusError) and error.status == 409 and error.code in _LEASE_CODES


def is_of_content(error: APIStatusError) -> bool:
    """Whether the service itself refused what the request holds, not a proxy in front of it."""
    return error.problem is not None and error.status in (400, 413, 422)


def pause_after(failures: int, error: BaseException, chance: float, cap: float = _CAP_SECONDS) -> float:
    """A random part of a doubling time, so that workers do not retry together; at least the time that the service asks
    for, which is at most a minute."""
    asked = error.retry_after if isinstance(error, APIStatusError) else None
    return max(
        chance * min(cap, _BASE_SECONDS * 2.0 ** min(failures - 1, 10)), min(asked or 0.0, _ASKED_SECONDS_MAX)
    )


def until_known(
    held: HeldLease, world: World, send: Callable[[float], T], *, seconds: float = float("inf")
) -> T:
    """Sends until the outcome is known. `send` gets its timeout. Raises the last error if the lease ends
    first, or after `seconds`."""
    failures = 0
    give_up = world.now() + seconds
    while True:
        left = held.left()
        if left <= 0:
            raise APITimeoutError("The lease was over before the call was answered.")
        try:
            return bare(partial(send, min(CALL_SECONDS_MAX, left)))
        except SvcError as error:
            failures += 1
            pause = pause_after(failures, error, world.random())
            if not may_pass(error) or pause >= min(held.left(), give_up - world.now()):
                raise
            world.sleep(pause, held.given_up.event)
            if held.given_up.cancelled:
                raise
