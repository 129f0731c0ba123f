"""The clock, the random numbers and the retry budgets. Tests replace those of the machine."""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from threading import Event

# Both clients share it, so that a process has one budget for each server.
_retry_tokens: dict[str, int] = {}


@dataclass(frozen=True)
class World:
    now: Callable[[], float]
    """Seconds of the Unix epoch. Monotonic: it does not jump when the system clock is set."""
    random: Callable[[], float]
    """From 0 to 1."""
    sleep: Callable[[float, Event], None]
    """Waits for the seconds, or until the event is set."""
    retry_tokens: dict[str, int] = field(default_factory=lambda: _retry_tokens, repr=False, compare=False)
    """The tokens for retries, by the origin of the server. All clients of the process share them if absent."""


@dataclass(frozen=True)
class AsyncWorld:
    now: Callable[[], float]
    random: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]]
    retry_tokens: dict[str, int] = field(default_factory=lambda: _retry_tokens, repr=False, compare=False)


_epoch = time.time() - time.monotonic()


def now() -> float:
    return _epoch + time.monotonic()


def chance() -> float:
    return random.random()


def _sleep(seconds: float, until: Event) -> None:
    until.wait(seconds)


MACHINE = World(now=now, random=chance, sleep=_sleep)
