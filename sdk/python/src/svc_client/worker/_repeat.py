"""What is sent again while a lease lives: calls whose repetition changes nothing."""

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
"""One call of a worker, without what it waits for a run."""

_BASE_SECONDS = 0.5
_CAP_SECONDS = 8.0

_LEASE_CODES = frozenset(["lease_stale", "lease_not_active"])


def bare(call: Callable[[], T]) -> T:
    """Makes a call. Its failure comes without the frames it came through: what was sent holds a token, and so does the
    answer to a lease."""
    outside = sys.exc_info()[1]
    try:
        return call()
    except SvcError as error:
        raise without_frames(error, outside)  # noqa: B904


def may_pass(error: BaseException) -> bool:
    """Whether the same request may be answered otherwise later. An answer that cannot be read says nothing of what was
    done."""
    if isinstance(error, APIStatusError):
        return error.status in (408, 429) or error.status >= 500
    return isinstance(error, (APIConnectionError, APIResponseError))


def says_lost(error: BaseException) -> bool:
    return isinstance(error, APIStatusError) and error.status == 409 and error.code in _LEASE_CODES


def pause_after(failures: int, error: BaseException, chance: float, cap: float = _CAP_SECONDS) -> float:
    """Any part of a time that doubles, so that workers which failed together do not come back together; and not before
    the service asks for it."""
    asked = error.retry_after if isinstance(error, APIStatusError) else None
    return max(chance * min(cap, _BASE_SECONDS * 2.0 ** min(failures - 1, 10)), asked or 0.0)


def until_known(held: HeldLease, world: World, send: Callable[[float], T]) -> T:
    """Sends until an answer says what became of it. `send` is given the time that it may take. What came last is raised
    where the lease ends before, or is given up."""
    failures = 0
    while True:
        left = held.left()
        if left <= 0:
            raise APITimeoutError("The lease was over before the call was answered.")
        try:
            return bare(partial(send, min(CALL_SECONDS_MAX, left)))
        except SvcError as error:
            failures += 1
            pause = pause_after(failures, error, world.random())
            if not may_pass(error) or pause >= held.left():
                raise
            world.sleep(pause, held.given_up.event)
            if held.given_up.cancelled:
                raise
